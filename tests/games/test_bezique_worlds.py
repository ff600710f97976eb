"""Bezique: determinizations, even over all that agrees with what a seat was shown (§4), and the solver of the last
eight tricks, against a search that knows the rules alone."""

from __future__ import annotations

import itertools
from collections import Counter
from math import factorial
from typing import Any

import numpy as np
import pytest

from backalley.agents.base.agent import view_of
from backalley.agents.base.rule_based import BotAgent
from backalley.agents.search.racing import RacingAgent
from backalley.envs.bezique import declarations
from backalley.envs.bezique.bots import endgame
from backalley.envs.bezique.events import DEALT, DRAWS, STOCK_SHOWS, TURNS_UP
from backalley.envs.bezique.state import NONE, STOCK
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.testing.play import random_action
from tests.games.test_bezique import GAME, table

CLASSIC = {"endgame": "classic"}


def redrawn(env: AECEnv, state: Any, seat: int, keys: Any) -> Any:
    states = np.repeat(state, len(keys))
    env.engine.determinize(states, np.full(len(keys), seat), np.asarray(keys, np.uint64))
    return states


def closed_types(state: Any, seat: int) -> list[int]:
    """The types of a seat's cards that do not lie open, ascending."""
    return [int(card) >> 1 for card in state["hand"][seat, : state["held"][seat]] if not state["scored"][card]]


def exchange_copies(state: Any, kind: int) -> None:
    """Give the two copies of a type each other's number, wherever they lie."""
    first, second = 2 * kind, 2 * kind + 1
    for name in ("scored", "won"):
        state[name][0, [first, second]] = state[name][0, [second, first]]
    for name in ("led", "turn_up", "taken", "stock", "hand", "played"):
        old = state[name].copy()
        state[name][old == first], state[name][old == second] = second, first
    for seat in range(2):
        held = int(state["held"][0, seat])
        state["hand"][0, seat, :held] = np.sort(state["hand"][0, seat, :held])
    if kind == 8 * int(state["trump"][0]):
        state["sevens"] = state["sevens"][:, ::-1].copy()
    for number in np.flatnonzero(state["declared"][0]):
        action, pattern = declarations.declared(state[0], number)
        pattern = declarations.with_copies_exchanged(action, pattern, 1 << kind)
        state["declared"][0, number] = declarations.entry(action, pattern)


@pytest.mark.parametrize("given", [{}, {"reuse": "free"}, {"seven_rule": "both"}])
def test_copies_of_cards_elsewhere_cannot_be_distinguished(given: dict[str, Any]) -> None:
    """Whatever numbers they have, a seat sees the same, and the same determinizations are drawn for it."""
    env = table(**given)
    random = np.random.default_rng(6)
    exchanged = 0
    for seed in range(6):
        env.reset(seed=seed)
        while env.engine.batch.seat[0] != OVER:
            env.step(random_action(env, random))
            state = env.engine.batch.state.copy()
            if state["seat"][0] == OVER or random.random() < 0.7:
                continue
            seat = int(random.integers(2))
            mine = {int(card) >> 1 for card in state["hand"][0, seat, : state["held"][0, seat]]}
            laid = [
                int(card) >> 1
                for card in state["hand"][0, 1 - seat, : state["held"][0, 1 - seat]]
                if state["scored"][0, card]
            ]
            twin = state.copy()
            for kind in range(32):
                # Two that both lie in front of the other player can be distinguished by where they lie.
                if kind not in mine and laid.count(kind) < 2 and not (env.game.options.reuse and kind in laid):
                    exchange_copies(twin, kind)
                    exchanged += 1
            views = [env.engine.observe(np.zeros(1, np.int64), np.array([seat]), each) for each in (state, twin)]
            assert np.array_equal(*views)
            if not env.game.options.reuse:
                assert redrawn(env, state, seat, [7]).tobytes() == redrawn(env, twin, seat, [7]).tobytes()
    assert exchanged > 200


def test_redrawn_hands_are_drawn_evenly() -> None:
    """Known cards stay; each other card is as often in the other's hand as its closed places are among all hidden
    places, but for what is concluded from who was asked, which is left out here."""
    env = table()
    random = np.random.default_rng(4)
    env.reset(seed=11)
    while int(env.engine.batch.state[0].trick) < 9:
        env.step(random_action(env, random))
    state = env.engine.batch.state.copy()
    state["asked"] = NONE
    seat, number = 0, 20_000
    known = state["known"][0, 1].astype(int)
    assert known.sum() > 0
    determinizations = redrawn(env, state, seat, random.integers(2**63, size=number))
    before = state["hand"][0, 1, : state["held"][0, 1]]
    laid = [int(card) for card in before if state["scored"][0, card]]
    closed = len(before) - len(laid)
    counts = np.zeros(32)
    hidden = np.zeros(32, int)
    below = state["stock"][0, STOCK - state["stock_left"][0] + 1 :].tolist()
    for card in [*before.tolist(), *below]:
        hidden[card >> 1] += card not in laid
    for determinization in determinizations:
        kinds = closed_types(determinization, 1)
        assert len(kinds) == closed
        counts += np.bincount(kinds, minlength=32)
    pool = hidden - known
    share = (closed - known.sum()) / pool.sum()
    expected = known + pool * share
    spread = np.sqrt(np.maximum(pool * share * (1 - share), 1e-12) / number)
    assert (np.abs(counts / number - expected)[pool > 0] < 4.5 * spread[pool > 0] * np.sqrt(2)).all()
    assert np.array_equal(counts[pool == 0] / number, known[pool == 0])


CUT: dict[str, Any] = {"cards_dealt": 3, "lowest": "nine", "suits": 2, "copies": 1}
"""Twelve cards, each once: an action names its card, and every pack is as likely as any other."""


def same_information(env: AECEnv, deck: list[int], actions: list[int], seat: int, information: str) -> bool:
    """Whether with that pack the same actions are legal, and tell a seat the same."""
    env.reset(options={"decks": [deck], "start_outcome": 0})
    batch = env.engine.batch
    for action in actions:
        if not batch.mask[0, action]:
            return False
        env.step(action)
    return batch.seat[0] != OVER and env.position().information_state_string(seat) == information


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"stock_top_open": False},
        {"reuse": "once", "turn_up": "taken_first"},
        {"seven_is_declaration": False, "lowest": "seven", "highest": "king"},
        {"seven_rule": "both", "reuse": "free", "lowest": "seven", "highest": "king"},
    ],
)
def test_worlds_are_even_over_all_packs_that_tell_the_seat_the_same(given: dict[str, Any]) -> None:
    """By the rules themselves: every order of the cards that a seat cannot place is dealt, and everything played again.
    Each redrawn world is as frequent as the packs are that lead there."""
    env, random, checked = AECEnv(GAME.bind(CUT | given), events=True), np.random.default_rng(5), 0
    size, number = env.game.deck_size, 4000
    for _ in range(4000):
        deck = random.permutation(size).tolist()
        env.reset(options={"decks": [deck], "start_outcome": 0})
        batch, actions = env.engine.batch, list[int]()
        for _ in range(int(random.integers(3, 8))):
            if batch.seat[0] != OVER:
                actions.append(random_action(env, random))
                env.step(actions[-1])
        seat, state = int(batch.seat[0]), batch.state.copy()
        if seat == OVER or not any(asked != NONE and asked >> 3 != seat for asked in state["asked"][0].tolist()):
            continue
        hidden = places_unseen(env, deck, seat)
        if not 3 <= len(hidden) <= 6:
            continue
        information = env.position().information_state_string(seat)
        worlds = redrawn(env, state, seat, np.arange(number))
        counts = Counter(shape(world, 1 - seat, env.game.options) for world in worlds)
        weights: Counter[Any] = Counter()
        for order in itertools.permutations(hidden):
            other = list(deck)
            for place, card in zip(hidden, order, strict=True):
                other[place] = deck[card]
            if same_information(env, other, actions, seat, information):
                weights[shape(batch.state[0], 1 - seat, env.game.options)] += 1
        assert not set(counts) - set(weights), "a world that no pack leads to"
        if weights.total() == factorial(len(hidden)) or len(weights) < 2:
            continue  # nothing was concluded
        expected = np.array(list(weights.values())) * number / weights.total()
        found = np.array([counts[key] for key in weights])
        square, freedom = ((found - expected) ** 2 / expected).sum(), len(weights) - 1
        spread = np.sqrt(2 * freedom + (1 / expected).sum())  # small cells have longer tails
        assert abs(square - freedom) < 5 * spread, f"{square:.0f} for {freedom} degrees of freedom"
        checked += 1
        if checked == 5:
            return
    raise AssertionError(f"only {checked} positions came up")


def places_unseen(env: AECEnv, deck: list[int], seat: int) -> list[int]:
    """The places of a pack whose cards a seat was not shown as they were dealt, turned up or drawn."""
    shown = {
        number
        for kind, _, number in env.events(f"player_{seat}").tolist()
        if kind in (DEALT, TURNS_UP, STOCK_SHOWS, DRAWS)
    }
    return [place for place, card in enumerate(deck) if env.game.pack[card] not in shown]


def shape(world: Any, winner: int, options: Any) -> tuple[Any, ...]:
    """The other's closed cards, and the stock that nobody sees."""
    first = STOCK - int(world["stock_left"]) + int(options.stock_top_open)
    return tuple(closed_types(world, winner)), tuple((world["stock"][first:] >> 1).tolist())


def brute(env: AECEnv, state: Any) -> int:
    """The value of a position of the last eight tricks for the seat to act, by the rules alone: points to come, less
    the other's."""
    options, seat = env.game.options, int(state["seat"][0])
    mask = np.zeros(GAME.num_actions, np.int8)
    GAME.kernels.legal(options, state[0], mask)
    best = -(10**6)
    for action in np.flatnonzero(mask):
        after = state.copy()
        for name in ("reward", "brisques", "score"):
            after[name] = 0
        GAME.kernels.step(options, after[0], int(action))
        over = int(after["seat"][0]) == OVER
        # At the end the score has what the latest brisques and the last trick gave; before it, brisques are only
        # counted.
        won = after["score"][0] if over else 10 * after["brisques"][0].astype(int)
        gain = int(won[seat]) - int(won[1 - seat])
        if not over:
            rest = brute(env, after)
            gain += rest if int(after["seat"][0]) == seat else -rest
        best = max(best, gain)
    return best


def observed(env: AECEnv) -> Any:
    return env.engine.batch.observation[0]


@pytest.mark.parametrize(
    "given", [{}, CLASSIC, {"last_trick": 70}, {**CLASSIC, "last_trick": "trick_24"}, {"seven_rule": "both"}]
)
def test_the_solver_agrees_with_the_rules_played_out(given: dict[str, Any]) -> None:
    """From four cards on, at every turn of random play, against a search that knows only legal() and step()."""
    env = table(**given)
    random = np.random.default_rng(8)
    checked = 0
    for seed in range(12):
        env.reset(seed=seed)
        while env.engine.batch.seat[0] != OVER:
            if int(env.engine.batch.state[0].trick) >= 28:
                kind, value = endgame.solve(env.game.options, observed(env))
                state = env.engine.batch.state.copy()
                assert value == brute(env, state)
                action = endgame.play(env.game.options, observed(env), env.engine.batch.mask[0])
                assert action >> 1 == kind
                assert env.engine.batch.mask[0, action]
                checked += 1
            env.step(random_action(env, random))
    assert checked >= 90


def test_playing_by_the_solver_wins_what_it_promises() -> None:
    env = table()
    random = np.random.default_rng(2)
    for seed in range(10):
        env.reset(seed=seed)
        state = env.engine.batch.state[0]
        while int(state.trick) < 24 or int(state.declaring):
            env.step(random_action(env, random))
        seat = int(state.seat)
        _, promised = endgame.solve(env.game.options, observed(env))
        before = (
            state.score[seat] - state.score[1 - seat] + 10 * (int(state.brisques[seat]) - int(state.brisques[1 - seat]))
        )
        while env.engine.batch.seat[0] != OVER:
            env.step(endgame.play(env.game.options, observed(env), env.engine.batch.mask[0]))
        assert int(state.score[seat] - state.score[1 - seat] - before) == promised


def test_a_search_leaves_the_last_eight_tricks_to_the_solver() -> None:
    """Rollouts by rule of thumb mislead it there. *Measured* with 24 determinizations against `strong`: they cost it
    2.4 ± 0.9 points a hand."""
    tables = BatchEnv(GAME, 2, seed=4)
    step, dice = tables.reset(), np.random.default_rng(4)
    while tables.engine.batch.state[0]["trick"] < 24:
        step = tables.step(np.array([int(dice.choice(np.flatnonzero(mask))) for mask in step.action_mask]))
    rows = np.flatnonzero(tables.engine.batch.state["trick"] >= 24)
    view = view_of(tables, rows, np.zeros(2, np.uint64))
    for player in (None, BotAgent(GAME, "greedy")):
        search = RacingAgent(GAME, 12, num_threads=1, player=player)
        assert (search.act(view) == BotAgent(GAME).act(view)).all()
        assert search.rollouts == 0
