"""A redrawn world agrees with all that its seat was shown: some history that the seat cannot tell from its own leads to
it (`testing/worlds.py`)."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.game.game import Game
from tests.common.worlds import unreached

# Bezique with each card once, so that what seats observe says all: the same rules, shorter deals (§2 of its page).
BEZIQUE: list[dict[str, Any]] = [
    {"cards_dealt": 6, "stock_top_open": False},
    {"suits": 3, "lowest": "nine", "cards_dealt": 5},
    {"cards_dealt": 6, "seven_rule": "both", "reuse": "free", "turn_up": "taken_first", "melds_face_up": False},
    {"cards_dealt": 6, "seven_is_declaration": False, "quartet": "any"},
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pitch", "killer_bridge"])
def test_a_history_leads_to_every_world(name: str) -> None:
    """Twenty-One, Poker Duel and chemin de fer are left out: the search is too slow there, or does not arrive."""
    found = list(unreached(backalley.game(name), worlds=8))
    assert len(found) == 8
    assert [one for one in found if one is not None] == []


@pytest.mark.parametrize("options", BEZIQUE, ids=str)
def test_a_history_leads_to_every_world_of_bezique(options: dict[str, Any]) -> None:
    game = backalley.game("bezique", copies=1, **options)
    found = list(unreached(game, worlds=120, steps=1500))
    assert len(found) == 120
    assert [one for one in found if one is not None] == []


def careless(game: Game) -> Game:
    """A game that forgets, as it redraws, which suits a player has shown to lack."""
    redraw = game.kernels.determinize

    @kernel
    def determinize(options: Any, state: Any, seat: int, key: np.uint64) -> None:
        kept = state.may_hold.copy()
        state.may_hold[:] = -1
        redraw(options, state, seat, key)
        state.may_hold[:] = kept

    kernels = game.type.kernels._replace(determinize=determinize)
    return dataclasses.replace(game.type, kernels=kernels).bind(game.options._asdict())


@pytest.mark.parametrize(("name", "options"), [("pitch", {}), ("killer_bridge", {"num_players": 3})])
def test_a_world_that_forgets_a_void_is_not_reached(name: str, options: dict[str, Any]) -> None:
    game = careless(backalley.game(name, **options))
    assert any(found is not None for found in unreached(game, seed=1, worlds=10, steps=300))
