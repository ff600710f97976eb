"""What a seat at Bezique knows, and the determinizations that are drawn from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backalley.envs.bezique.state import NONE, STOCK
from backalley.envs.core.compile.interfaces import OVER
from backalley.testing.play import random_action
from tests.common.cases import observed
from tests.games.bezique import redrawn, table


def exchange_copies(state: Any, kind: int) -> None:
    """Give the two copies of a type each other's number, wherever they lie."""
    first, second = 2 * kind, 2 * kind + 1
    for name in ("scored", "won"):
        state[name][0, [first, second]] = state[name][0, [second, first]]
    for name in ("led", "turn_up", "taken", "stock", "hand"):
        old = state[name].copy()
        state[name][old == first], state[name][old == second] = second, first
    for seat in range(2):
        held = int(state["held"][0, seat])
        state["hand"][0, seat, :held] = np.sort(state["hand"][0, seat, :held])


@pytest.mark.parametrize("given", [{}, {"reuse": "free"}, {"seven_rule": "both"}])
def test_copies_of_cards_elsewhere_cannot_be_told_apart(given: dict[str, Any]) -> None:
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
                # Two that both lie in front of the other player can be told apart by where they lie.
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
    places, but for what is concluded from who was asked (test_bezique_asked.py), which is left out here."""
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
        kinds = [
            int(card) >> 1
            for card in determinization["hand"][1, : determinization["held"][1]]
            if not determinization["scored"][card]
        ]
        assert len(kinds) == closed
        counts += np.bincount(kinds, minlength=32)
    pool = hidden - known
    share = (closed - known.sum()) / pool.sum()
    expected = known + pool * share
    spread = np.sqrt(np.maximum(pool * share * (1 - share), 1e-12) / number)
    assert (np.abs(counts / number - expected)[pool > 0] < 4.5 * spread[pool > 0] * np.sqrt(2)).all()
    assert np.array_equal(counts[pool == 0] / number, known[pool == 0])


def test_in_the_last_eight_tricks_nothing_is_hidden() -> None:
    env = table()
    random = np.random.default_rng(1)
    for seed in range(5):
        env.reset(seed=seed)
        while env.engine.batch.seat[0] != OVER:
            state = env.engine.batch.state.copy()
            if int(state["trick"][0]) >= 24 and not state["declaring"][0]:
                for seat in range(2):
                    determinization = redrawn(env, state, seat, [int(random.integers(2**63))])
                    for owner in range(2):
                        assert np.array_equal(determinization["hand"][0, owner] >> 1, state["hand"][0, owner] >> 1)
                    shown = observed(env, seat)
                    held = state["hand"][0, 1 - seat, : state["held"][0, 1 - seat]] >> 1
                    assert np.array_equal(shown["opponent_hand"], np.bincount(held, minlength=32))
            env.step(random_action(env, random))


def closed_types(state: Any, seat: int) -> Any:
    """How many cards of each type a seat holds that do not lie in front of it."""
    held = [int(card) >> 1 for card in state["hand"][seat, : state["held"][seat]] if not state["scored"][card]]
    return np.bincount(held, minlength=32)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"turn_up": "taken_first", "melds_face_up": False},
        {"seven_rule": "trick", "stock_top_open": False},
        {"seven_rule": "both"},
    ],
)
def test_what_lies_open_stays_in_every_world(given: dict[str, Any]) -> None:
    """Cards laid down, drawn openly, turned up, on top of the stock; and before trick 24 the whole of the other's
    hand."""
    env = table(**given)
    random = np.random.default_rng(12)
    known_cards = laid_cards = ends = 0
    for seed in range(5):
        env.reset(seed=seed)
        while env.engine.batch.seat[0] != OVER:
            env.step(random_action(env, random))
            if env.engine.batch.seat[0] == OVER or random.random() < 0.6:
                continue
            state, seat = env.engine.batch.state.copy(), int(random.integers(2))
            true, other = state[0], 1 - seat
            known = true["known"][other].astype(int)
            assert (known <= closed_types(true, other)).all(), "known to be where it is not"
            known_cards += int(known.sum())
            laid = [int(card) for card in true["hand"][other, : true["held"][other]] if true["scored"][card]]
            laid_cards += len(laid)
            for determinization in redrawn(env, state, seat, random.integers(2**63, size=3)):
                assert (known <= closed_types(determinization, other)).all()
                now = [
                    int(card)
                    for card in determinization["hand"][other, : determinization["held"][other]]
                    if determinization["scored"][card]
                ]
                kinds = sorted((card >> 1, int(true["scored"][card])) for card in laid)
                assert sorted((card >> 1, int(determinization["scored"][card])) for card in now) == kinds
                assert determinization["turn_up"] >> 1 == true["turn_up"] >> 1
                assert np.array_equal(determinization["hand"][seat], true["hand"][seat])
                if env.game.options.stock_top_open and true["stock_left"] == 1:
                    assert np.array_equal(determinization["hand"] >> 1, true["hand"] >> 1)
                    ends += 1
    assert known_cards > 50 or not env.game.options.stock_top_open
    assert laid_cards > 20
    assert ends > 3 or not env.game.options.stock_top_open or env.game.options.turn_up


def test_melds_laid_face_down_are_known_but_not_shown() -> None:
    """The other's declared cards appear among those they are known to hold, and nowhere else."""
    open_env, closed_env = table(), table(melds_face_up=False)
    random = np.random.default_rng(9)
    laid = 0
    for seed in range(4):
        open_env.reset(seed=seed)
        closed_env.reset(seed=seed)
        while open_env.engine.batch.seat[0] != OVER:
            for seat in range(2):
                views = [observed(env, seat) for env in (open_env, closed_env)]
                assert not views[1]["opponent_laid"].any()
                assert not views[1]["opponent_scored"].any()
                laid += int(views[0]["opponent_laid"].sum())
                assert np.array_equal(
                    views[1]["opponent_hand"], views[0]["opponent_hand"] + views[0]["opponent_laid"].sum(axis=1)
                )
            action = random_action(open_env, random)
            open_env.step(action)
            closed_env.step(action)
    assert laid > 20
