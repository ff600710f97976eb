"""Tricks: suits, winners, and deals of unseen cards against an enumeration of all that agree with what is known."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from backalley.envs.core import cards, rng, tricks


def card_set(names: str) -> int:
    return sum(1 << cards.card_number(name) for name in names.split())


def deals(unseen: int, room: list[int], may_hold: list[int]) -> set[tuple[int, ...]]:
    """Every deal that agrees, one set of cards per place, by plain search."""
    if not room:
        return {()} if unseen == 0 else set()
    numbers = [card for card in range(54) if unseen & may_hold[0] & (1 << card)]
    found = set()
    for chosen in itertools.combinations(numbers, room[0]):
        hand = sum(1 << card for card in chosen)
        found |= {(hand, *rest) for rest in deals(unseen & ~hand, room[1:], may_hold[1:])}
    return found


def sampled(unseen: int, room: list[int], may_hold: list[int], number: int, seed: int) -> Counter[tuple[int, ...]]:
    dealt = np.zeros(len(room), np.int64)
    counts: Counter[tuple[int, ...]] = Counter()
    with np.errstate(over="ignore"):
        for k in range(number):
            tricks.deal_unseen(
                np.uint64(rng.fork(np.uint64(seed), k)), unseen, np.array(room), np.array(may_hold), dealt
            )
            counts[tuple(dealt.tolist())] += 1
    return counts


ALL = (1 << 54) - 1
CLUBS, DIAMONDS, HEARTS, SPADES = (tricks.suit_set(suit, tricks.NO_TRUMP) for suit in range(4))
EIGHT = card_set("2C 3C 2D 3D 2H 3H 2S 3S")
CASES = {
    "nothing known": (EIGHT, [2, 2, 0, 4], [ALL] * 4),
    "one void": (EIGHT, [3, 3, 2], [ALL & ~CLUBS, ALL, ALL]),
    "voids in turn": (EIGHT, [2, 2, 2, 2], [CLUBS | DIAMONDS, DIAMONDS | HEARTS, HEARTS | SPADES, SPADES | CLUBS]),
    "only the two cycles": (
        card_set("2C 2D 2H 2S"),
        [1, 1, 1, 1],
        [CLUBS | DIAMONDS, DIAMONDS | HEARTS, HEARTS | SPADES, SPADES | CLUBS],
    ),
    "a number of each suit": (
        card_set("2C 3C 4C 5D 3D 2H 3H 2S LJ"),
        [1, 1, 1, 3, 3],
        [CLUBS, DIAMONDS, HEARTS, ALL, ALL & ~SPADES],
    ),
    "cards below others": (
        card_set("2S 3S 4S 5S 6S 7S 8S 9H TH"),
        [3, 3, 3],
        [card_set("2S 3S 4S TH 9H"), card_set("2S 3S 4S 5S 6S 7S"), ALL],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_unseen_cards_are_dealt_evenly_over_all_deals_that_agree(name: str) -> None:
    unseen, room, may_hold = CASES[name]
    every = deals(unseen, room, may_hold)
    number = 12 * len(every) if len(every) > 500 else 40 * len(every)
    counts = sampled(unseen, room, may_hold, number, 3)
    assert set(counts) <= every
    mean = number / len(every)
    squares = sum((counts[deal] - mean) ** 2 / mean for deal in every)
    freedom = len(every) - 1
    assert abs(squares - freedom) < 4.5 * (2 * freedom) ** 0.5 + 3, (
        f"chi-squared {squares:.0f} with {freedom} degrees of freedom"
    )


def test_the_stirred_deal_is_even_where_whole_deals_hardly_ever_agree() -> None:
    """Ten cards of which each place may hold few: one whole deal in thousands agrees, so nearly all come from the
    chain."""
    unseen = card_set("2C 3C 4C 2D 3D 4D 2H 3H 4H 2S 3S 4S")
    room, may_hold = [3, 3, 3, 3], [ALL & ~CLUBS, CLUBS | DIAMONDS, HEARTS | CLUBS, ALL & ~HEARTS]
    every = deals(unseen, room, may_hold)
    total = 12 * 11 * 10 * 9 * 8 * 7 * 6 * 5 * 4 * 3 * 2 // 6**4
    assert len(every) / total < 0.003
    number = 20 * len(every)
    counts = sampled(unseen, room, may_hold, number, 8)
    assert set(counts) <= every
    squares = sum((counts[deal] - 20) ** 2 / 20 for deal in every)
    freedom = len(every) - 1
    assert abs(squares - freedom) < 4.5 * (2 * freedom) ** 0.5


def test_a_deal_is_found_where_only_one_exists() -> None:
    """A chain of places in which every card but one has to move to let the last one in."""
    names = cards.NAMES[:30]
    unseen = card_set(" ".join(names))
    may_hold = [card_set(" ".join(names[: index + 1])) for index in range(30)]
    for seed in range(20):
        counts = sampled(unseen, [1] * 30, may_hold, 1, seed)
        assert list(counts) == [tuple(1 << index for index in range(30))]


def test_the_deal_depends_on_its_arguments_alone() -> None:
    unseen, room, may_hold = CASES["voids in turn"]
    assert sampled(unseen, room, may_hold, 5, 1) == sampled(unseen, room, may_hold, 5, 1)
    assert sampled(unseen, room, may_hold, 5, 1) != sampled(unseen, room, may_hold, 5, 2)


def test_suits_and_sets_agree() -> None:
    for trump in range(5):
        sets = [tricks.suit_set(suit, trump) for suit in range(5)]
        for card in range(54):
            assert [suit for suit in range(5) if sets[suit] >> card & 1] == [tricks.suit(card, trump)]
    assert tricks.suit_set(4, 2) == 0


def test_lowest_and_highest_cards_of_every_pair() -> None:
    for low, high in itertools.combinations_with_replacement(range(54), 2):
        both = (1 << low) | (1 << high)
        assert (tricks.lowest_card(both), tricks.highest_card(both)) == (low, high)


def test_jokers_stand_where_the_game_puts_them() -> None:
    def order(joker: int, names: str) -> list[str]:
        return sorted(names.split(), key=lambda name: tricks.strength(cards.card_number(name), joker))

    assert order(tricks.JOKERS_HIGH, "BJ LJ AS 2S") == ["2S", "AS", "LJ", "BJ"]
    assert order(tricks.JOKER_LOW, "LJ 2S 3S") == ["LJ", "2S", "3S"]
    assert order(tricks.JOKER_BELOW_JACK, "LJ TS JS") == ["TS", "LJ", "JS"]
