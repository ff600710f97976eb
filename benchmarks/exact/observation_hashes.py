"""Hashes of observations, for hash tables of positions and of information sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.kernels import passing


@passing
def mixed(key: int, shown: npt.NDArray[Any]) -> int:
    """Return a hash of a number and an observation."""
    found = (key ^ (key >> 29)) * 0x2545F4914F6CDD1D
    for place in range(shown.shape[0]):
        found = (found ^ np.int64(shown[place])) * 0x100000001B3  # type: ignore[assignment]
    return (found >> 32) ^ found


@passing
def alike(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Return whether two observations are the same."""
    for place in range(one.shape[0]):  # noqa: SIM110 (compiled code knows no generators)
        if one[place] != other[place]:
            return False
    return True
