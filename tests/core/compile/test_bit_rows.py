"""Rows of zeros and ones: the compiled form is the Python form, and the random player draws what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backalley.envs.core.compile.bit_rows import spread
from backalley.envs.core.compile.kernel import COMPILED, passing, uncompiled
from backalley.envs.core.compile.tiering import Interpreted
from backalley.envs.core.engine.batch_play import random_legal
from backalley.envs.core.rules import rng

WAYS = [random_legal, Interpreted(random_legal) if COMPILED else random_legal]  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1, 7, 8, 13, 32, 53, 54, 63, 64])
def test_a_set_is_spread_and_nothing_beside_it_is_touched(size: int) -> None:
    @passing
    def write(bits: int, out: Any) -> None:
        spread(bits, out, 3, size)

    draw = np.random.default_rng(size)
    for kind in (np.int8, np.uint8):
        for number in (0, -1, 1, 1 << 62, *draw.integers(-(2**63), 2**63 - 1, 40).tolist()):
            row, other = np.full(72, 7, kind), np.full(72, 7, kind)
            write(number, row)
            uncompiled(write)(number, other)
            assert row.tolist() == other.tolist()
            assert row[3 : 3 + size].tolist() == [number >> place & 1 for place in range(size)]
            assert set(row[:3].tolist()) | set(row[3 + size :].tolist()) == {7}


@pytest.mark.parametrize("way", WAYS, ids=["compiled", "python"])
@pytest.mark.parametrize("actions", [1, 2, 7, 8, 9, 16, 61, 81, 130])
def test_the_random_player_draws_the_legal_action_of_that_number(actions: int, way: Any) -> None:
    draw = np.random.default_rng(actions)
    for _ in range(60):
        mask, key = (draw.random(actions) < draw.random()).astype(np.int8), np.uint64(draw.integers(2**63))
        legal = np.flatnonzero(mask)
        with np.errstate(over="ignore"):
            wanted = int(legal[rng.below(key, len(legal))[1]]) if len(legal) else -1
        assert way(mask, key) == wanted
