"""Every game keeps the house's promises, under every option: DESIGN's list, over whatever games are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backalley.benchmarks.endurance import whole_pack
from backalley.envs.core import rng
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import Game
from backalley.envs.core.engine import IllegalAction
from backalley.envs.core.kernel import COMPILED
from backalley.envs.core.parts import OVER
from tests.cases import CASES, random_action

MANY = 60 if COMPILED else 12
"""Positions checked of a test's first episode, about: line by line in Python a check takes a hundred times as long."""


def check_position(env: AECEnv, random: np.random.Generator) -> None:
    """All that must hold at a decision."""
    game, batch = env.game, env.engine.batch
    seat = int(batch.seat[0])
    assert 0 <= seat < env.engine.num_seats
    assert batch.mask[0].any(), "a seat is to act and has no legal action"
    assert set(np.unique(batch.mask[0])) <= {0, 1}
    assert whole_pack(game, batch.state[0]), "a card is missing or stands in two places"
    low, high = game.observation_bounds
    seats = np.arange(env.engine.num_seats)
    shown = env.engine.observe(np.zeros_like(seats), seats)
    outside = np.flatnonzero(((shown < low) | (shown > high)).any(axis=0))
    assert not len(outside), f"observation numbers {outside} leave their bounds"
    for viewer in seats:
        check_hidden(env, int(viewer), shown[viewer], random)
    illegal = np.flatnonzero(batch.mask[0] == 0)
    before = batch.raw.tobytes() + batch.mask.tobytes() + batch.stream.tobytes()
    for action in [*random.choice(illegal, min(2, len(illegal)), replace=False).tolist(), -1, game.num_actions]:
        with pytest.raises(IllegalAction, match=r"legal: |no action"):
            env.step(int(action))
    assert batch.raw.tobytes() + batch.mask.tobytes() + batch.stream.tobytes() == before, (
        "a refused action changed the table"
    )


def check_hidden(env: AECEnv, viewer: int, shown: np.ndarray[Any, Any], random: np.random.Generator) -> None:
    """Redrawing what a seat cannot see changes nothing that it sees, and depends on nothing that it cannot see."""
    game, batch = env.game, env.engine.batch
    seat, key = np.array([viewer]), np.array([random.integers(2**63)], np.uint64)
    world = batch.state.copy()
    env.engine.determinize(world, seat, key)
    other = world.copy()
    env.engine.determinize(other, seat, key + np.uint64(1))
    again = other.copy()
    env.engine.determinize(again, seat, key)
    differing = [name for name in world.dtype.names or () if not np.array_equal(world[name], again[name])]
    assert not differing, f"for seat {viewer} determinize lets {differing} depend on what the seat cannot see"
    assert world["seat"][0] == batch.state["seat"][0]
    assert np.array_equal(env.engine.observe(np.zeros(1, np.int64), seat, world)[0], shown), (
        f"seat {viewer} sees something hidden"
    )
    assert game.table_str(world[0], viewer) == game.table_str(batch.state[0], viewer), "the drawn table leaks"
    assert whole_pack(game, world[0]), f"determinize for seat {viewer} loses cards"
    if viewer == int(batch.seat[0]):
        mask = np.zeros(game.num_actions, np.int8)
        game.kernels.legal(game.options, world[0], mask)
        assert np.array_equal(mask, batch.mask[0]), "the legal actions show something hidden"


def play(env: AECEnv, random: np.random.Generator, checks: int) -> np.ndarray[Any, Any]:
    """One episode of random play; about `checks` of its first positions are checked, and later ones ever more rarely.
    Gives the returns."""
    returns = np.zeros(env.engine.num_seats)
    while env.engine.batch.seat[0] != OVER:
        if random.random() * (checks + int(env.engine.batch.decisions[0])) < checks:
            check_position(env, random)
        env.step(random_action(env, random))
        returns += env.engine.batch.reward[0]
    return returns


@pytest.mark.parametrize("game", CASES)
def test_what_a_table_shows_is_consistent(game: Game) -> None:
    """Whoever plays: bots do what chance rarely does, and what they do is a table's as well."""
    if game.type.consistent is None:
        return
    env, random = AECEnv(game), np.random.default_rng(13)
    bots = [bot.act for bot in game.bots.values() if bot.fast]
    for episode in range(8 if COMPILED else 2):
        env.reset(seed=episode)
        batch, skill = env.engine.batch, random.random()
        while batch.seat[0] != OVER and batch.decisions[0] < 400:
            shown, mask = batch.observation[0], batch.mask[0]
            assert game.type.consistent(game.options, shown, mask), f"refused: {shown}"
            action = random_action(env, random)
            if bots and random.random() < skill:
                key = np.uint64(random.integers(2**63))
                action = int(bots[episode % len(bots)](game.options, shown, mask, key))
            env.step(action)


def check_returns(game: Game, returns: np.ndarray[Any, Any]) -> None:
    low, high = game.reward_range
    assert (returns >= low - 1e-6).all(), f"returns {returns} go below {low}"
    assert (returns <= high + 1e-6).all(), f"returns {returns} go above {high}"
    if game.zero_sum:
        assert abs(returns.sum()) < 1e-5, f"returns {returns} do not sum to 0"


@pytest.mark.parametrize("game", CASES)
def test_random_play_keeps_every_promise(game: Game) -> None:
    env = AECEnv(game)
    random = np.random.default_rng(7)
    for episode in range(4):
        env.reset(seed=episode)
        returns = play(env, random, MANY if episode == 0 else 2)
        check_returns(game, returns)
        assert all(env.terminations.values()) or all(env.truncations.values())


@pytest.mark.parametrize("game", CASES)
def test_determinized_worlds_can_be_played_on(game: Game) -> None:
    """A redrawn world is a position of the game: play goes on in it under the rules, to the end."""
    env = AECEnv(game)
    random = np.random.default_rng(11)
    for episode in range(3):
        env.reset(seed=episode)
        for _ in range(int(random.integers(1, 60))):
            if env.engine.batch.seat[0] == OVER:
                break
            env.step(random_action(env, random))
        if env.engine.batch.seat[0] == OVER:
            continue
        viewer = int(random.integers(env.engine.num_seats))
        env.engine.determinize(
            env.engine.batch.state, np.array([viewer]), np.array([random.integers(2**63)], np.uint64)
        )
        env.engine.show_one()
        play(env, random, 4)


@pytest.mark.parametrize("game", CASES)
def test_redrawn_worlds_are_spread_evenly(game: Game) -> None:
    """Over many keys, what determinize redraws does vary, from the first decision on where the seat does not know
    nearly everything."""
    env = AECEnv(game)
    env.reset(seed=1)
    batch, random = env.engine.batch, np.random.default_rng(1)
    while batch.seat[0] != OVER and (COMPILED or batch.decisions[0] < 100):
        worlds = set()
        with np.errstate(over="ignore"):
            for number in range(20):
                states = batch.state.copy()
                env.engine.determinize(states, np.array([0]), np.array([rng.fork(np.uint64(5), number)]))
                worlds.add(states.tobytes())
        if len(worlds) > 15:
            return
        assert len(worlds) > 1 or worlds == {batch.raw.tobytes()}, "determinize draws the same world again and again"
        env.step(random_action(env, random))
    env.reset(seed=1)
    places = [pile for pile in game.piles(batch.state[0]).values() if len(pile)]
    # A lone player may hold all that the state keeps; of two who hold the whole pack each knows the other's hand.
    assert env.engine.num_seats == 1 or len(places) <= 2, "determinize redraws nothing"


@pytest.mark.parametrize("game", CASES)
def test_a_deal_uses_no_card_that_chance_has_not_drawn(game: Game) -> None:
    """Cards below those that `cards_needed` names may lie in any order."""
    drawn = game.cards_drawn
    if drawn == game.deck_size or game.with_replacement:
        return
    env, deck = AECEnv(game), np.random.default_rng(0).permutation(game.deck_size)
    dealt = []
    for order in (1, -1):
        env.engine.start_one(0)
        env.engine.deal_one(np.concatenate([deck[:drawn], deck[drawn:][::order]]))
        dealt.append(env.engine.batch.raw.tobytes())
    assert dealt[0] == dealt[1]
