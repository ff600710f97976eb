"""Counting information sets: games of which the number is known, and those that are too large."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable

import pytest

import backalley
from backalley.benchmarks.exact import walk
from backalley.benchmarks.exact.deals import deals_of, next_deal
from backalley.benchmarks.exact.walk import DEALS, TooLarge, Walk, count_information_sets
from backalley.examples.kuhn import GAME as KUHN
from backalley.examples.leduc import GAME as LEDUC
from backalley.examples.liars_dice import GAME as DICE
from tests.common.high_card import GAME as HIGH_CARD


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
def test_a_game_that_is_too_large_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooLarge, match="kuhn has more than 11 information sets"):
        count_information_sets(KUHN.bind(), most=11)
    monkeypatch.setattr(walk, "MOST_DEALS", 100)
    with pytest.raises(TooLarge, match=r"3 of 6 cards are drawn, in some 10\^2 ways that differ, and 100 are too many"):
        count_information_sets(dataclasses.replace(LEDUC, card_kind=None).bind())
    with pytest.raises(RuntimeError, match="declares no events"):
        count_information_sets(HIGH_CARD.bind())


@pytest.mark.uncompiled
def test_cards_that_nobody_gets_are_dealt_in_one_order() -> None:
    """Kuhn's deal takes three of six cards; the others have no place in the state."""
    through = Walk(dataclasses.replace(KUHN, deck_size=lambda options: 6).bind(), keep=True)
    assert through.space.found[DEALS] == 6 * 5 * 4
    assert through.deals.before[0].tolist() == [-1, -1, -1, -1, 3, 4]


@pytest.mark.uncompiled
@pytest.mark.parametrize("replaced", [False, True])
def test_the_deals_of_kinds_and_of_interchangeable_places_share_all_of_chance(replaced: bool) -> None:
    """Seven cards of three kinds at five places, of which the first, third and fourth are interchangeable."""
    alike = {0: 0, 1: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2}
    game = dataclasses.replace(
        KUHN,
        deck_size=lambda options: 7,
        cards_needed=lambda options: 5,
        card_kind=alike.__getitem__,
        with_replacement=lambda options: replaced,
    )
    deals = deals_of(game.bind(), 1)
    deals.before[0], deals.rank[0] = [-1, -1, 0, 2, -1], [1, 1, 2, 3, 1]
    deals.kind[0, 0] = -1
    found: dict[tuple[int, ...], float] = {}
    while next_deal(deals, 0, bool(found)):
        found[sorted_places(alike[card] for card in deals.dealt[0].tolist())] = deals.part[0, -1]
    wanted: dict[tuple[int, ...], float] = {}
    orders = list(itertools.product(alike, repeat=5) if replaced else itertools.permutations(alike, 5))
    for order in orders:
        kinds = sorted_places(alike[card] for card in order)
        wanted[kinds] = wanted.get(kinds, 0.0) + 1 / len(orders)
    assert found == pytest.approx(wanted, abs=1e-12)


def sorted_places(kinds: Iterable[int]) -> tuple[int, ...]:
    """The kinds at five places, those at the first, third and fourth in order."""
    one, two, three, four, five = kinds
    return (two, five, *sorted((one, three, four)))


@pytest.mark.slow
def test_hands_of_poker_duel_are_dealt_in_one_order() -> None:
    """Two hands of five of thirteen cards, and a stub of three in order. The dealer knows a hand and one of two
    answers, the non-dealer a hand."""
    found = count_information_sets(backalley.game("poker_duel", preset="tiny"))
    assert found.deals == math.comb(13, 5) * math.comb(8, 5) * 6
    assert found.information_sets == found.choices == 3 * math.comb(13, 5)
