"""Bezique's bots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backalley.envs.bezique.state import BEZIQUE, DOUBLE_BEZIQUE, EXCHANGE_SEVEN, IN_BEZIQUE, MARRIAGE, SEQUENCE
from backalley.envs.bezique.text import card_number
from tests.games.bezique import GAME, holding

JUNK = [card for card in range(64) if (card >> 1) & 7 in (1, 2)]  # eights and nines make no declaration


def shown_to(state: Any, seat: int, options: Any) -> tuple[Any, Any]:
    """Observation and mask of a state."""
    seen, mask = np.zeros(1, GAME.observation_dtype)[0], np.zeros(GAME.num_actions, np.int8)
    GAME.kernels.observe(options, state, seat, seen)
    GAME.kernels.legal(options, state, mask)
    return seen, mask


def test_search_plays_out_with_the_strongest_fast_bot() -> None:
    assert GAME.rollout_bot.name == "planner"


def test_bots_know_what_bars_what() -> None:
    """One bezique before the double, not two; a marriage before its sequence, and at the end the most points at once
    (§1.6)."""
    game = GAME.bind()
    pair = [card_number(name) for name in ("JDa", "JDb", "QSa", "QSb")]
    run = [card_number(name) for name in ("AHa", "THa", "KHa", "QHa", "JHa")]
    for cards, trick, scored, wanted in (
        (pair, 5, [], BEZIQUE),
        (pair, 5, [pair[0], pair[2]], DOUBLE_BEZIQUE),
        (pair, 22, [], DOUBLE_BEZIQUE),
        (run, 5, [], MARRIAGE + 2),
        (run, 22, [], SEQUENCE + 2),
    ):
        state = holding([*cards, *JUNK[: 7 - len(cards)]], trump=2)
        state.declaring, state.trick, state.turn_up = 1, trick, card_number("AHb")
        state.scored[scored] = IN_BEZIQUE
        for bot in GAME.bots.values():
            most = {BEZIQUE: DOUBLE_BEZIQUE, MARRIAGE + 2: SEQUENCE + 2}.get(wanted, wanted)
            chosen = most if bot.name == "early" else wanted  # which never waits
            assert bot.act(game.options, *shown_to(state, 0, game.options), np.uint64(0)) == chosen


@pytest.mark.parametrize(
    ("turn_up", "hand", "wanted"),
    [
        ("THb", ["7Ha"], EXCHANGE_SEVEN),  # ten points, and a brisque
        ("9Hb", ["7Ha"], EXCHANGE_SEVEN),  # the one in the hand can wait
        ("THb", ["QCa", "KCa"], EXCHANGE_SEVEN),  # as much as a marriage, which can wait
        ("9Hb", ["QCa", "KCa"], MARRIAGE),
        ("THb", ["QHa", "KHa"], MARRIAGE + 2),
    ],
)
def test_bots_exchange_a_seven_before_what_can_wait(turn_up: str, hand: list[str], wanted: int) -> None:
    game = GAME.bind(seven_rule="both")
    cards = [card_number(name) for name in hand]
    state = holding([*cards, *JUNK[: 7 - len(cards)]], trump=2)
    state.declaring, state.trick, state.turn_up = 1, 5, card_number(turn_up)
    state.taken[:] = card_number("7Hb"), card_number("9Sb")
    for bot in GAME.bots.values():
        assert bot.act(game.options, *shown_to(state, 0, game.options), np.uint64(0)) == wanted


def test_early_takes_a_trick_to_declare() -> None:
    """With a marriage in hand it takes a worthless trick; without, it throws its least card."""
    early = GAME.bots["early"]
    for court, wanted in (("KCa", "9Sb"), ("KDa", "7Da")):
        cards = [card_number(name) for name in ("QCa", court, "9Sb", "7Da", "8Da", "8Db", "9Da", "9Db")]
        state = holding(cards, trump=2)
        state.trick, state.turn_up, state.led = 5, card_number("9Hb"), card_number("8Sb")
        state.leader, state.stock_left = 1, 30
        assert early.act(GAME.options, *shown_to(state, 0, GAME.options), np.uint64(0)) == card_number(wanted)
