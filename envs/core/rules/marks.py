"""Check rows of an observation that mark places with a 1, for `GameType.consistent` of a game."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ..compile.kernel import kernel


@kernel
def marks(row: npt.NDArray[Any]) -> int:
    """Return how many numbers of a row are not 0."""
    count = 0
    for place in range(row.shape[0]):
        count += int(row[place] != 0)
    return count


@kernel
def one_marked(row: npt.NDArray[Any]) -> bool:
    """Return whether exactly one place of a row is marked, with a 1."""
    ones = 0
    for place in range(row.shape[0]):
        ones += int(row[place] == 1)
    return ones == 1 and marks(row) == 1


@kernel
def my_turn(turn: npt.NDArray[Any]) -> bool:
    """Return whether the row of turns marks the observer, whose place is the first."""
    return bool(turn[0] == 1) and marks(turn) == 1
