"""Rows of an observation that mark places with a 1: what `GameType.consistent` of a game counts."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from .kernel import kernel


@kernel
def marks(row: npt.NDArray[Any]) -> int:
    """How many numbers of a row are not 0."""
    count = 0
    for place in range(row.shape[0]):
        count += int(row[place] != 0)
    return count


@kernel
def one_marked(row: npt.NDArray[Any]) -> bool:
    """Whether just one place of a row is marked, and with a 1."""
    ones = 0
    for place in range(row.shape[0]):
        ones += int(row[place] == 1)
    return ones == 1 and marks(row) == 1


@kernel
def my_turn(turn: npt.NDArray[Any]) -> bool:
    """Whether the seat whose turn a row marks is the observer, whose place is the first."""
    return bool(turn[0] == 1) and marks(turn) == 1
