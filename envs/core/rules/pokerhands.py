"""Five-card poker hands as numbers: the larger number is the better hand, equal numbers tie.

A strength is `category << 26 | leading << 13 | others`, a positive int32. `leading` and `others` are sets of ranks (bit
0 the two, bit 12 the ace): `leading` the most frequent rank of the hand (both ranks of two pair), `others` the rest.
Two hands of one category have equally many ranks in each set, so comparing the sets as numbers compares the ranks from
the highest down. Comparing strengths is the same as comparing the tuples (category, ranks by count and rank) of
ordinary poker. Suits never decide.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from ..compile.kernel import kernel


class Category(IntEnum):
    """The name of a hand, weakest first. A royal flush is separate from other straight flushes."""

    NOTHING = 0
    PAIR = 1
    TWO_PAIR = 2
    THREE_OF_A_KIND = 3
    STRAIGHT = 4
    FLUSH = 5
    FULL_HOUSE = 6
    FOUR_OF_A_KIND = 7
    STRAIGHT_FLUSH = 8
    ROYAL_FLUSH = 9


CATEGORY_SHIFT = 26
"""`strength >> CATEGORY_SHIFT` is the Category."""
LEADING_SHIFT = 13
SUIT = (1 << 13) - 1
"""The thirteen ranks, or the cards of one suit once shifted down."""
WHEEL = 0b1_0000_0000_1111
"""The ranks A 2 3 4 5."""
FIVE_HIGH = 0b0_0000_0000_1111
"""The rank set that a wheel counts as: below 2 3 4 5 6, and like no other straight."""
ROYAL = 0b1_1111_0000_0000
"""The ranks T J Q K A."""


@kernel
def rank_counts(cards: int) -> tuple[int, int, int, int]:
    """Return the ranks that a set of cards (bit `suit * 13 + rank`) has at least once, twice, three times, four
    times."""
    clubs, diamonds, hearts, spades = cards & SUIT, (cards >> 13) & SUIT, (cards >> 26) & SUIT, (cards >> 39) & SUIT
    # One full adder for each suit after the second.
    either, both = clubs | diamonds, clubs & diamonds
    any_three, two_of_three, all_three = either | hearts, both | (either & hearts), both & hearts
    return (
        any_three | spades,
        two_of_three | (any_three & spades),
        all_three | (two_of_three & spades),
        all_three & spades,
    )


@kernel
def set_strength(cards: int, ace_low_straight: bool) -> int:
    """Return the strength of the five cards of a set. With `ace_low_straight`, A 2 3 4 5 is the lowest straight."""
    once, twice, thrice, four = rank_counts(cards)
    leading = thrice if thrice != 0 else twice
    two_ranks = twice & (twice - 1) != 0
    kind = int(twice != 0) + int(two_ranks)
    kind += (4 if two_ranks else 2) if thrice != 0 else 0
    kind += 4 if four != 0 else 0

    # With five different ranks the hand may be a straight, a flush or both.
    different = twice == 0
    flush = different and (
        cards & SUIT == once or (cards >> 13) & SUIT == once or (cards >> 26) & SUIT == once or cards >> 39 == once
    )
    wheel = ace_low_straight and once == WHEEL
    straight = different and (once == (once & -once) * 31 or wheel)
    others = FIVE_HIGH if wheel else once ^ leading
    kind += (4 if straight else 0) + (5 if flush else 0) - int(straight and flush and once != ROYAL)
    return (kind << CATEGORY_SHIFT) | (leading << LEADING_SHIFT) | others


@kernel
def strength(hand: npt.NDArray[Any], ace_low_straight: bool = True) -> int:
    """The strength of five card numbers, in any order."""
    cards = (1 << int(hand[0])) | (1 << int(hand[1])) | (1 << int(hand[2])) | (1 << int(hand[3])) | (1 << int(hand[4]))
    return set_strength(cards, ace_low_straight)


@kernel
def strengths(hands: npt.NDArray[Any], ace_low_straight: bool = True) -> npt.NDArray[np.int32]:
    """The strengths [n] of hands [n, 5]."""
    found = np.empty(len(hands), np.int32)
    for index in range(len(hands)):
        found[index] = strength(hands[index], ace_low_straight)
    return found


@kernel
def category(hand: npt.NDArray[Any], ace_low_straight: bool = True) -> int:
    """The Category of five card numbers."""
    return strength(hand, ace_low_straight) >> CATEGORY_SHIFT


@kernel
def compare(first: npt.NDArray[Any], second: npt.NDArray[Any], ace_low_straight: bool = True) -> int:
    """Return 1 where the first hand is better, -1 where the second is, 0 where they tie."""
    difference = strength(first, ace_low_straight) - strength(second, ace_low_straight)
    return int(difference > 0) - int(difference < 0)
