"""Rows of features of actions, which share most of their numbers (`GameType.action_features`)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..compile.kernel import kernel

Numbers = npt.NDArray[np.float32]


@kernel
def start_row(out: Numbers, action: int, first: int, shared: int) -> Numbers:
    """Clear the row of an action in `out` [A, F] and return it; its first `shared` numbers are those of the row
    `first`, if that is not -1."""
    row: Numbers = out[action]
    for number in range(row.shape[0]):
        row[number] = out[first, number] if first >= 0 and number < shared else 0.0
    return row
