"""Counting information sets: games of which the number is known, and those that are too large."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backalley.benchmarks.exact.information_sets import TooLarge, count_information_sets, next_order
from backalley.examples.kuhn import GAME as KUHN
from backalley.examples.leduc import GAME as LEDUC
from backalley.examples.liars_dice import GAME as DICE
from tests.high_card import GAME as HIGH_CARD


@pytest.mark.uncompiled  # a small game; a game of the package is compiled
@pytest.mark.parametrize("first", [0, 1])
def test_kuhn_poker_has_twelve_information_sets(first: int) -> None:
    """Three cards, four positions in which a seat may act (two for each), and 30 ways to the end."""
    found = count_information_sets(KUHN.bind(first=first))
    assert found.measured() == {"deals": 6, "histories": 24, "ends": 30, "information_sets": 12, "choices": 12}
    assert found.records()[0]["information sets"] == "12"


@pytest.mark.uncompiled
def test_leduc_poker_has_288_information_sets_where_suits_do_not_matter() -> None:
    """In a round there are 6 positions in which a seat acts, and 5 ways to its end that go on: 3 cards times 6, and 3
    cards of each seat and of the table, which may be alike, times 5 times 6."""
    assert count_information_sets(LEDUC.bind()).information_sets == 288


def test_liars_dice_has_the_published_number_of_information_sets() -> None:
    """Six faces times the 2^12 sets of bids; 36 rolls of both dice. After the highest bid there is no choice."""
    found = count_information_sets(DICE.bind())
    assert found.measured() == {
        "deals": 36,
        "histories": 36 * 2**12,
        "ends": 36 * (2**12 - 1),
        "information_sets": 6 * 2**12,
        "choices": 6 * 2**11,
    }


@pytest.mark.uncompiled
def test_a_game_that_is_too_large_is_refused_in_a_sentence() -> None:
    with pytest.raises(TooLarge, match="kuhn has more than 11 information sets"):
        count_information_sets(KUHN.bind(), most=11)
    large = dataclasses.replace(KUHN, deck_size=lambda options: 52)
    with pytest.raises(TooLarge, match=r"draws 52 of 52 cards, in 10\^68 orders"):
        count_information_sets(large.bind())
    with pytest.raises(RuntimeError, match="declares no events"):
        count_information_sets(HIGH_CARD.bind())


def test_the_orders_of_a_pack_are_each_met_once() -> None:
    cards, found = np.arange(5), []
    found.append(tuple(cards[:2]))
    while next_order(cards, 2, 0):
        found.append(tuple(cards[:2]))
    assert len(found) == len(set(found)) == 20
    cards, met = np.zeros(2, np.int64), 1
    while next_order(cards, 2, 3):
        met += 1
    assert met == 9
