"""Hash tables in arrays: keys of 64 bits, and a value beside each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.kernels import kernel
from backalley.envs.core.rules import rng

EMPTY = np.uint64(0)
"""The key of an empty place."""


@kernel
def slot_of(keys: npt.NDArray[np.uint64], key: np.uint64) -> int:
    """Return the slot of a key, or the free slot where it belongs."""
    last = np.uint64(keys.shape[0] - 1)
    slot = rng.mix(key) & last
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & last
    return np.int64(slot)  # type: ignore[return-value]


@kernel
def rehash(
    keys: npt.NDArray[np.uint64], values: npt.NDArray[Any], into: npt.NDArray[np.uint64], values_into: npt.NDArray[Any]
) -> None:
    """Copy a table to a larger, empty one."""
    for place in range(keys.shape[0]):
        if keys[place] != 0:
            slot = slot_of(into, keys[place])
            into[slot], values_into[slot] = keys[place], values[place]


def grown(keys: npt.NDArray[np.uint64], values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[Any]]:
    """Return keys and values in a table of four times the size."""
    into = np.zeros(4 * len(keys), keys.dtype), np.zeros((4 * len(values), *values.shape[1:]), values.dtype)
    rehash(keys, values, *into)
    return into
