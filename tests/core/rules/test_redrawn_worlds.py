"""Hands redrawn in games of tricks hold nothing that their players have shown to lack. (They are even over all such
deals: `test_tricks.py`. Bezique has a test of its own.)"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.game.game import Game
from tests.common.cases import determinizations_of, played

TRICKS: list[tuple[str, dict[str, Any]]] = [
    ("pitch", {}),
    ("pitch", {"follow": "strict", "must_trump_when_void": True, "joker": "below_jack"}),
    ("killer_bridge", {"length": "single", "hand_size": 8}),
]
GAMES = [backalley.game(name, **given) for name, given in TRICKS]


def lacking(game: Game) -> tuple[int, int]:
    """How many redrawn hands hold a card that their players have shown to lack, of how many that lack something."""
    env, random, wrong, many = AECEnv(game), np.random.default_rng(2), 0, 0
    for state in played(env, range(5), random):
        if random.random() < 0.8:
            continue
        seat, held, may_hold = int(state["seat"][0]), state["hand"][0], state["may_hold"][0]
        unseen = np.bitwise_or.reduce(np.delete(held, seat))
        for world in determinizations_of(env, seat, 4):
            others = [who for who in range(game.num_seats) if who != seat and unseen & ~may_hold[who]]
            many += len(others)
            wrong += sum(bool(world["hand"][who] & ~may_hold[who]) for who in others)
            assert [int(hand).bit_count() for hand in world["hand"]] == [int(hand).bit_count() for hand in held]
            assert world["hand"][seat] == held[seat]
    return wrong, many


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_a_redrawn_hand_holds_nothing_that_its_player_has_shown_to_lack(game: Game) -> None:
    wrong, many = lacking(game)
    assert wrong == 0
    assert many > 60


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


@pytest.mark.uncompiled
@pytest.mark.parametrize("game", GAMES[1:], ids=repr)
def test_a_redraw_that_forgets_a_void_is_found(game: Game) -> None:
    wrong, many = lacking(careless(game))
    assert wrong > many // 10
