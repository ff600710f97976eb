"""Delayed rewards: what a seat gains between one decision of its own and the next, whoever decides in between.

`TimeStep.reward` is what every seat gains by one action. A learner wants what followed from its own: a batch made with
`delayed_rewards=True` books that, for each seat at each table, like the rewards of PettingZoo's `last()`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compile.kernel import kernel
from ..engine.batch_kernels import Batch

Rows = npt.NDArray[np.int64]


class DelayedRewards(NamedTuple):
    """What came of the latest decision of each seat, at each of B tables. The next step overwrites the arrays: copy
    what you keep.

    A seat's entries are complete when it is to act again, or when its episode has ended; they then remain until it
    decides again, in a later episode where tables start again by themselves. So a seat's decisions at a table, and what
    is here when it decides the next time, are one sequence as a learner of one agent has it: nothing is counted
    twice or lost. What a seat gains in an episode before its own first decision belongs to no decision; it is in
    `TimeStep.reward` alone. A checkpoint may write to the arrays.
    """

    reward: npt.NDArray[np.float32]
    """[B, N] what the seat has gained since its latest decision, up to the end of that episode; 0 before its first."""
    ended: npt.NDArray[np.bool_]
    """[B, N] the episode of the seat's latest decision is over: terminated, truncated, or dropped by `restart` or
    `reset`. True before its first decision. So where it is True for the seat to act, an episode begins for that
    seat."""


@kernel
def decide(
    rows: Rows, seat: npt.NDArray[np.int8], gained: npt.NDArray[np.float32], ended: npt.NDArray[np.bool_]
) -> None:
    """Begin the account of the decisions that the seats to act now make."""
    for row in rows:
        gained[row, seat[row]] = 0.0
        ended[row, seat[row]] = False


@kernel
def gather(
    rows: Rows,
    reward: npt.NDArray[np.float32],
    terminated: npt.NDArray[np.bool_],
    truncated: npt.NDArray[np.bool_],
    gained: npt.NDArray[np.float32],
    ended: npt.NDArray[np.bool_],
) -> None:
    """Add what every seat gained by the latest action, where the episode of its latest decision still went on."""
    for row in rows:
        over = terminated[row] or truncated[row]
        for seat in range(gained.shape[1]):
            if not ended[row, seat]:
                gained[row, seat] += reward[row, seat]
                ended[row, seat] = over


class Booking:
    """The delayed rewards of B tables with N seats. Rows are valid, and each is named once."""

    def __init__(self, num_envs: int, num_seats: int) -> None:
        self._set(np.zeros((num_envs, num_seats), np.float32), np.ones((num_envs, num_seats), np.bool_))

    def _set(self, gained: npt.NDArray[np.float32], ended: npt.NDArray[np.bool_]) -> None:
        # Callers get views of owners that are used nowhere here, as the engine's do: reshaping them reshapes nothing
        # that compiled code uses.
        self._gained, self._ended = gained[:], ended[:]
        self.shown = DelayedRewards(gained.view(), ended.view())

    def decide(self, rows: Rows, batch: Batch) -> None:
        """Note, before an action on each of `rows`, whose decision it is."""
        decide(rows, batch.seat, self._gained, self._ended)

    def gather(self, rows: Rows, batch: Batch) -> None:
        """Add, after these actions, what every seat gained."""
        gather(rows, batch.reward, batch.terminated, batch.truncated, self._gained, self._ended)

    def break_off(self, rows: Rows) -> None:
        """End the accounts of episodes that are dropped, if any; what was gained remains."""
        self._ended[rows] = True

    def forget(self, rows: Rows) -> None:
        """Begin as new tables do."""
        self._gained[rows] = 0
        self._ended[rows] = True

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The accounts themselves, [B, N] each."""
        return {"gained": self._gained, "ended": self._ended}

    def __getstate__(self) -> dict[str, Any]:
        return {name: np.array(array) for name, array in self.arrays().items()}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self._set(kept["gained"], kept["ended"])
