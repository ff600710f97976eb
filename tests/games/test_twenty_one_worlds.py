"""What a seat of Twenty-One cannot see, and the determinizations redrawn from what it knows (§2)."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.kernel import COMPILED, kernel
from backalley.envs.core.game.catalogue import game
from backalley.envs.twenty_one import observation
from backalley.envs.twenty_one.bank import ends_bank
from backalley.envs.twenty_one.state import (
    BACK_PASS,
    BET_MIN,
    BUST,
    CHANTAL,
    DEAL,
    ENDED_BY_KING,
    HIT,
    POINTS,
    STAND,
    TRADE,
)
from backalley.envs.twenty_one.text import card_number
from backalley.envs.twenty_one.valuation import best_total, low_total
from tests.common.cases import determinizations_of, label, own_shape

GAME = game("twenty_one")
MANY = 20_000 if COMPILED else 200


def chi_squared(found: Counter[Any], expected: float, kinds: int) -> float:
    return sum((count - expected) ** 2 / expected for count in found.values()) + (kinds - len(found)) * expected


def opened(decks: list[list[str]], actions: list[int], **options: Any) -> AECEnv:
    env = AECEnv(GAME.bind({"num_players": 2, **options}))
    env.reset(options={"decks": decks})
    for action in actions:
        env.step(action)
    return env


@pytest.mark.slow
def test_a_silent_banker_has_any_card_that_ends_no_bank() -> None:
    env = opened([["TS", "9C"]], [BACK_PASS])
    drawn = determinizations_of(env, 1, MANY, 1)
    found = Counter(drawn["cards"][:, 0, 0].tolist())
    assert set(found) == {card for card in range(32) if not ends_bank(card)} - {card_number("TS")}
    # 26 kinds: with 25 degrees of freedom 67 is passed once in 100,000 fair runs
    assert chi_squared(found, MANY / 26, 26) < 67


def test_in_a_final_round_the_eight_is_known_and_all_else_is_any_card() -> None:
    env = opened([["TS", "8C"]], [], episode="final_round")
    drawn = determinizations_of(env, 1, MANY, 1)
    assert (drawn["cards"][:, 0, 0] == card_number("8C")).all()
    found = Counter(drawn["stock"][:, 2].tolist())
    assert set(found) <= set(range(32)) - {card_number("8C"), card_number("TS")}
    # with 29 degrees of freedom 73 is passed once in 100,000 fair runs
    assert chi_squared(found, MANY / 30, 30) < 73
    assert set(determinizations_of(env, 0, max(MANY, 2000), 1)["cards"][:, 1, 0].tolist()) == set(range(32)) - {
        card_number("8C")
    }


def test_before_back_passing_the_banker_has_any_card() -> None:
    env = opened([["TS", "9C"]], [DEAL])
    assert len(set(determinizations_of(env, 1, max(MANY, 2000), 1)["cards"][:, 0, 0].tolist())) == 31


def test_closed_hands_are_any_that_the_course_of_the_round_allows() -> None:
    """A punter who took a third card and stood: no royal and no 21 in two cards, not bust in three. All such hands
    equally often."""
    env = opened([["8S", "9C", "JC", "QC"]], [DEAL, BET_MIN, HIT, STAND])
    options, mine = env.game.options, card_number("9C")
    allowed = set()
    for hand in itertools.permutations([card for card in range(32) if card != mine], 3):
        cards = np.array(hand, np.uint8)
        if best_total(options, cards, 2) not in (21, BUST) and low_total(options, cards, 3) <= 21:
            allowed.add(hand)
    drawn = determinizations_of(env, 0, MANY, 2)
    found = Counter(map(tuple, drawn["cards"][:, 1, :3].tolist()))
    assert set(found) <= allowed
    assert (drawn["cards"][:, 0, 0] == mine).all()
    by_value = Counter(sorted_points(hand) for hand in allowed)
    seen = Counter(sorted_points(hand) for hand in found.elements())
    kinds = [kind for kind, count in by_value.items() if count * MANY / len(allowed) >= 20]
    squares = sum(
        (seen[kind] - by_value[kind] * MANY / len(allowed)) ** 2 / (by_value[kind] * MANY / len(allowed))
        for kind in kinds
    )
    assert squares < len(kinds) + 5 * math.sqrt(2 * len(kinds)) + 10


def sorted_points(hand: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(-1 if card == CHANTAL else int(POINTS[card & 7]) for card in hand))


def test_cards_seen_in_the_discards_before_a_shuffle_lie_in_no_older_hand() -> None:
    env = AECEnv(GAME.bind({"num_players": 2}))
    env.reset(options={"decks": [["7C", "9C", "7D", "7S"], ["7D", "7S", "7C"]]})
    env.engine.batch.state[0]["stock_size"] = 4  # the rest of the pack is out of play
    for action in (DEAL, TRADE, TRADE, TRADE):
        env.step(action)
    state = env.engine.batch.state[0]
    assert (state["shuffles"], state["stock_size"]) == (1, 3)
    assert set(determinizations_of(env, 1, 200, 3)["cards"][:, 0, 0].tolist()) == {card_number("9C")}
    orders = Counter(map(tuple, determinizations_of(env, 1, 200, 3)["stock"][:, 1:3].tolist()))
    assert len(orders) == 2


def test_who_stood_before_the_king_of_hearts_may_hold_21() -> None:
    """The bank is offered to a seat whose closed hand stood by itself: nobody has seen whether on 21."""
    env = opened([["TS", "9C", "AS", "KH"]], [BACK_PASS, BET_MIN, HIT], back_pass_trigger="any_card", episode="session")
    assert env.engine.batch.state[0]["result"] == ENDED_BY_KING
    drawn = determinizations_of(env, 0, 500, 4)
    best = {int(best_total(env.game.options, hand, 2)) for hand in drawn["cards"][:, 1, :2].copy()}
    assert 21 in best
    assert len(best) > 5


@kernel
def self_contradictions(options: Any, states: Any, found: npt.NDArray[np.int64]) -> None:
    """For each true position [n] and each seat, how far it is from what `determinize` holds that the seat knows."""
    for row in range(states.shape[0]):
        state = states[row]
        for seat in range(options.num_players):
            hidden = observation.hidden_places(options, state, seat)
            found[row] += observation.contradictions(options, state, seat, hidden)
            for index in range(len(hidden.places)):
                card = observation.card_at(state, hidden.places[index])
                found[row] += int(int(state.cleared[seat, card]) > hidden.origins[index])


POSITIONS: list[dict[str, Any]] = [
    {"num_players": 4},
    {
        "num_players": 2,
        "auto_stand_21": False,
        "decline_opening_bet": True,
        "chantal_is_ace": True,
        "royal_after_trade": False,
    },
    {
        "num_players": 2,
        "episode": "session",
        "reshuffle": "when_empty",
        "back_pass_trigger": "any_card",
        "force_back_pass_round": 2,
        "pass_bank": "chosen",
        "deposit": "chosen",
    },
    {"num_players": 2, "episode": "final_round", "auto_stand_21": False, "back_pass_trigger": "any_card"},
    {"num_players": 8, "episode": "session", "reshuffle": "when_empty", "back_pass_trigger": "first_card_after_trades"},
]


@pytest.mark.parametrize(
    "options",
    [pytest.param(given, id=label(given), marks=[pytest.mark.slow] * own_shape(GAME, given)) for given in POSITIONS],
)
def test_a_true_position_never_contradicts_what_seats_are_held_to_know(options: dict[str, Any]) -> None:
    """Over random play; a position that did would be mended in vain."""
    game = GAME.bind(options)
    tables = BatchEnv(game, 1000 if COMPILED else 5, seed=9)
    random, found = np.random.default_rng(9), np.zeros(tables.num_envs, np.int64)
    turn = tables.reset()
    for _ in range(120):
        turn = tables.step((turn.action_mask * random.random(turn.action_mask.shape)).argmax(1))
        self_contradictions(tables.engine.options, tables.engine.batch.state, found)
        assert not found.any(), game.table_str(tables.engine.batch.state[found.argmax()], None)


def test_a_seat_does_not_see_others_cards_in_text() -> None:
    env = opened([["TS", "9C", "8D"]], [DEAL, BET_MIN])
    mine, other, all_cards = (env.game.table_str(env.engine.batch.state[0], seat) for seat in (1, 0, None))
    assert "TS 8D  = 18" in mine
    assert "9C" not in mine
    assert "-- --" in other
    assert "9C  = 9" in other
    assert "TS 8D" in all_cards
    (stock,) = (line for line in all_cards.splitlines() if line.startswith("  stock"))
    assert len(stock.split()) > 10
    assert "--" not in stock
