"""The pack of Twenty-One and what a hand is worth (§1.1, §1.2, §1.5).

A card is `suit * 8 + rank`; suits C, D, H, S are 0..3, ranks 7 8 9 T J Q K A are 0..7. A hand is an array of cards of
which the first `count` are held.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..core.kernel import kernel

if TYPE_CHECKING:
    from .game import Options

Cards = npt.NDArray[np.uint8]

RANKS = "789TJQKA"
SUITS = "CDHS"
NUM_CARDS = 32
SEVEN, EIGHT, JACK, KING, ACE = 0, 1, 4, 6, 7
CHANTAL = 2 * 8 + SEVEN  # the seven of hearts (§1.2)
KING_OF_HEARTS = 2 * 8 + KING
POINTS = np.array([7, 8, 9, 10, 1, 1, 1, 11], np.int64)
"""Of each rank (§1.2)."""
CHANTAL_EXTRA = (10, 9, 6)
"""What Chantal can count beyond the 1 that is taken for it at first: 11, 10, 7 (§1.2)."""
TARGET = 21
BUST = -1
"""In the place of a total: every total of the hand is above 21."""
MOST_CARDS = 15
"""Twelve figures, Chantal and an eight are 21; the card after them goes beyond (§3)."""
FIGURES_TRADED = 5  # the first five cards (§1.5)
FIFTEEN = 15


class FifteenTest(IntEnum):
    """§1.5: which totals of a hand with Chantal make it a fifteen: any of them, or the best alone."""

    ANY_VALUATION = 0
    BEST_ONLY = 1


def card_name(card: int) -> str:
    """`QS`, `TD`."""
    return RANKS[card & 7] + SUITS[card >> 3]


def card_number(name: str) -> int:
    """The number of a card's name, in either case. Raises ValueError in a sentence when there is no such card."""
    text = name.strip().upper()
    if len(text) != 2 or text[0] not in RANKS or text[1] not in SUITS:
        raise ValueError(
            f"There is no card {name!r}; a card is a rank of {RANKS} and a suit of {SUITS}, such as QS or TD."
        )
    return SUITS.index(text[1]) * 8 + RANKS.index(text[0])


@kernel
def holds_chantal(options: Options, hand: Cards, count: int) -> bool:
    """Whether the hand has a card that counts as its owner likes. §1.2"""
    held = 0
    for index in range(count):
        held += int(int(hand[index]) == CHANTAL)
    return held > 0 and options.chantal


@kernel
def low_total(options: Options, hand: Cards, count: int) -> int:
    """The least possible total: Chantal counts 1. §1.2"""
    total = 0
    for index in range(count):
        card = int(hand[index])
        total += 1 if card == CHANTAL and options.chantal else int(POINTS[card & 7])
    return total


@kernel
def best_total(options: Options, hand: Cards, count: int) -> int:
    """The greatest possible total that is 21 or less, or BUST. §1.2"""
    total = low_total(options, hand, count)
    if total > TARGET:
        return BUST
    if holds_chantal(options, hand, count):
        for extra in CHANTAL_EXTRA:
            if total + extra <= TARGET:
                return total + extra
    return total


@kernel
def can_count(options: Options, hand: Cards, count: int, total: int) -> bool:
    """Whether `total` is one of the hand's possible totals. §1.2"""
    extra = total - low_total(options, hand, count)
    return extra == 0 or (extra in CHANTAL_EXTRA and holds_chantal(options, hand, count))


@kernel
def is_royal(options: Options, hand: Cards, count: int) -> bool:
    """Royal Black Jack: exactly two cards, both aces; with `chantal_is_ace` Chantal passes for one. §1.2"""
    if count != 2:
        return False
    first, second = int(hand[0]), int(hand[1])
    first_ace = first & 7 == ACE or (options.chantal_is_ace and first == CHANTAL)
    second_ace = second & 7 == ACE or (options.chantal_is_ace and second == CHANTAL)
    return first_ace and second_ace


@kernel
def is_fifteen(options: Options, hand: Cards, count: int) -> bool:
    """Whether the hand counts as a fifteen. §1.5"""
    if options.fifteen_test == FifteenTest.BEST_ONLY:
        return best_total(options, hand, count) == FIFTEEN
    return can_count(options, hand, count, FIFTEEN)


@kernel
def is_five_figures(hand: Cards, count: int) -> bool:
    """Exactly five cards, all of them figures. §1.5"""
    figures = 0
    for index in range(count):
        figures += int(JACK <= int(hand[index]) & 7 <= KING)
    return count == FIGURES_TRADED and figures == FIGURES_TRADED


@kernel
def first_card_trades(options: Options, card: int, after_seven: bool) -> bool:
    """Whether a lone first card may be traded: any seven, or an eight that replaced a traded seven. §1.5"""
    rank = card & 7
    return (rank == SEVEN and options.trade_seven) or (
        rank == EIGHT and after_seven and options.trade_eight_after_seven
    )


@kernel
def hand_trades(options: Options, hand: Cards, count: int, fifteen_allowed: bool) -> bool:
    """Whether a hand of several cards may be traded: five figures, or a fifteen. §1.5"""
    if options.trade_five_figures and is_five_figures(hand, count):
        return True
    return count >= 2 and fifteen_allowed and options.trade_fifteen and is_fifteen(options, hand, count)


def totals(options: Any, hand: Any, count: int) -> list[int]:
    """All possible totals, rising. §1.2"""
    low = int(low_total(options, hand, count))
    extra = sorted(CHANTAL_EXTRA) if holds_chantal(options, hand, count) else []
    return [low, *(low + more for more in extra)]
