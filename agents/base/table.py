"""Play by a table: rows of observations, each with its action. What was never seen gets the first legal action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import kernel
from backalley.envs.core.rules import rng


@kernel
def digest_of(shown: npt.NDArray[Any]) -> np.uint64:
    """Return a number that depends on an observation [O], byte by byte."""
    found, written = np.uint64(0), shown.view(np.uint8)
    for place in range(written.shape[0]):
        if written[place] != 0:
            found = rng.fork(rng.fork(found, place), int(written[place]))
    return found


class Entries(NamedTuple):
    """The kernel's first argument."""

    digests: npt.NDArray[np.uint64]
    """Of the rows, in rising order [n]."""
    actions: npt.NDArray[np.int64]


def entries(arrays: Mapping[str, npt.NDArray[Any]], game: Game) -> Entries:
    """Return the table of a policy's arrays."""
    rows = np.ascontiguousarray(arrays["rows"], game.observation_base)
    digests = np.array([digest_of(row) for row in rows], np.uint64)
    order = digests.argsort()
    return Entries(digests[order], arrays["actions"].astype(np.int64)[order])


@kernel
def act(by: Entries, shown: npt.NDArray[Any], mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Return the action, in the form of a bot's kernel that reads the flat vector; -1 where none is legal."""
    digest, low, high = digest_of(shown), 0, by.digests.shape[0]
    while low < high:
        middle = (low + high) // 2
        if by.digests[middle] < digest:
            low = middle + 1
        else:
            high = middle
    if low < by.digests.shape[0] and by.digests[low] == digest:
        action = by.actions[low]
        if 0 <= action < mask.shape[0] and mask[action]:
            return int(action)
    for action in range(mask.shape[0]):
        if mask[action]:
            return int(action)
    return -1
