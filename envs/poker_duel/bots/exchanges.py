"""Exchanges: the card of a hand to throw, as the bots would. Sets of cards are those of `card_sets`."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ...core.compile.kernel import kernel
from ...core.rules.cards import count_bits
from ...core.rules.pokerhands import CATEGORY_SHIFT, SUIT, Category, rank_counts, set_strength
from ..card_sets import highest, of_rank, several
from .grading import MISERE_GRADE, Grading, class_of

NINE = 1 << 7
"""The rank of the nines, as a set."""


@kernel
def simple_discard(cards: int, ace_low_straight: bool) -> int:
    """The set of the card to throw from a hand, or none: the lowest loose card, or the odd one of four to a flush."""
    once, twice, _, _ = rank_counts(cards)
    category = set_strength(cards, ace_low_straight) >> CATEGORY_SHIFT
    loose = once & ~twice
    if category >= Category.STRAIGHT or loose == 0:
        return 0
    if category <= Category.PAIR:
        for suit in range(4):
            odd = cards & ~(SUIT << (13 * suit))
            if odd != 0 and not several(odd):
                return odd
    return of_rank(cards, loose & -loose, 1)


@kernel
def misere_discard(cards: int, ace_low_straight: bool) -> int:
    """The set of the card to throw where the lower hand wins: one of a pair or better, or a card above the nine."""
    once, twice, _, _ = rank_counts(cards)
    if twice != 0:
        return of_rank(cards, highest(twice), 1)
    made = set_strength(cards, ace_low_straight) >> CATEGORY_SHIFT != Category.NOTHING
    top = highest(once)
    return of_rank(cards, top, 1) if made or top > NINE else 0


@kernel
def best_discard(
    cards: int, unseen: int, now: npt.NDArray[Any], after: npt.NDArray[Any], stands: Grading, exchanged: Grading
) -> int:
    """The set of the card to throw, or none: what wins most often over all cards that may be drawn.

    `now` are the chances of a hand that stands by its class of `stands`, `after` those of one that has exchanged by its
    class of `exchanged`. A full house or better stands, where the higher hand wins.
    """
    low_ace = stands.ace_low_straight
    if stands.rule != MISERE_GRADE and set_strength(cards, low_ace) >> CATEGORY_SHIFT >= Category.FULL_HOUSE:
        return 0
    best, chosen = float(now[class_of(stands, cards)]), 0
    count = count_bits(unseen)
    hand = cards
    while hand != 0:
        card = hand & -hand
        hand &= hand - 1
        total = 0.0
        rest = unseen
        while rest != 0:
            total += float(after[class_of(exchanged, (cards & ~card) | (rest & -rest))])
            rest &= rest - 1
        if total > best * count:
            best, chosen = total / count, card
    return chosen
