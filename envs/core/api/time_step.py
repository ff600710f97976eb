"""`TimeStep`: what the tables of a batch show now."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class TimeStep(NamedTuple):
    """The present data of B tables. The next step overwrites the arrays: copy what you keep. Writing to them changes
    nothing else: the batch has its own copies of legal actions and turns.

    Where a table's episode has just ended, `reward`, `terminated` and `truncated` belong to that episode, and
    `observation`, `action_mask` and `seat` already to the next one.
    """

    observation: npt.NDArray[Any]
    """[B, O] what the seat to act may know."""
    action_mask: npt.NDArray[np.int8]
    """[B, A] 1 for each legal action."""
    seat: npt.NDArray[np.int8]
    """[B] the seat to act."""
    reward: npt.NDArray[np.float32]
    """[B, N] what every seat gained by the latest action."""
    terminated: npt.NDArray[np.bool_]
    """[B] the latest action ended the game."""
    truncated: npt.NDArray[np.bool_]
    """[B] the latest action was the last that an episode may have."""
