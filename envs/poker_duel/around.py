"""Splits around cards that already lie in the slots, for a bot that finds there others than those of its own plan: a
search, another player or chance has begun the split.

Every completion is weighed, and of equal ones the first in the order of cards is taken; so the plan is the same at each
of the decisions that are left. Sets of cards are those of `card_sets`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.cards import count_bits
from ..core.kernel import kernel
from ..core.pokerhands import set_strength
from .card_sets import is_five
from .grading import grade, misere_grade
from .splits import Split, round_weights
from .state import SLOT, SLOTS, Options

NO_HAND = -1e6
"""The points of a set that is no hand of five."""


@kernel
def agrees(split: Split, placed: Split) -> bool:
    """Whether all cards that lie in the slots lie there by this split."""
    return (placed[0] & ~split[0]) | (placed[1] & ~split[1]) | (placed[2] & ~split[2]) == 0


@kernel
def in_order(cards: int) -> npt.NDArray[np.int64]:
    """The sets of one card each of a set, in the order they are offered: by rank, then by suit."""
    found = np.empty(count_bits(cards), np.int64)
    count = 0
    for rank in range(13):
        for suit in range(4):
            card = 1 << (13 * suit + rank)
            if cards & card != 0:
                found[count] = card
                count += 1
    return found


@kernel
def strongest_around(kept: int, rest: int, low: bool, ace_low_straight: bool) -> int:
    """The strongest five cards, or with `low` the weakest, that hold all of `kept` and else cards of `rest`."""
    cards = in_order(rest)
    wanted = SLOT - count_bits(kept)
    chosen = np.arange(wanted)
    best, strongest = kept, 0
    found = False
    while True:
        hand = kept
        for index in chosen:
            hand |= cards[index]
        strength = set_strength(hand, ace_low_straight)
        if low:
            strength = -strength
        if not found or strength > strongest:
            best, strongest, found = hand, strength, True
        place = wanted - 1
        while place >= 0 and chosen[place] == len(cards) - wanted + place:
            place -= 1
        if place < 0:
            return best
        chosen[place] += 1
        for later in range(place + 1, wanted):
            chosen[later] = chosen[later - 1] + 1


@kernel
def greedy_around(options: Options, placed: Split, rest: int, high: int, middle: int) -> Split:
    """The best hand that can be had in slot `high` (0..2), of what is left the best in slot `middle`; where the lower
    hand wins, the lowest."""
    best = strongest_around(placed[high], rest, options.misere, options.ace_low_straight)
    rest &= ~best
    second = strongest_around(placed[middle], rest, options.misere, options.ace_low_straight)
    last = placed[SLOTS - high - middle] | (rest & ~second)
    return (
        best if high == 0 else second if middle == 0 else last,
        best if high == 1 else second if middle == 1 else last,
        best if high == 2 else second if middle == 2 else last,
    )


@kernel
def all_subsets(cards: int) -> npt.NDArray[np.int64]:
    """Every subset of a set of cards, by the bits of its index: bit i for the card that is offered as number i."""
    order = in_order(cards)
    subsets = np.zeros(1 << len(order), np.int64)
    for index in range(len(order)):
        for number in range(1 << index):
            subsets[(1 << index) | number] = subsets[number] | order[index]
    return subsets


@kernel
def points_of(
    subsets: npt.NDArray[np.int64],
    kept: int,
    weight: float,
    chances: npt.NDArray[Any],
    misere: bool,
    ace_low_straight: bool,
) -> npt.NDArray[np.float64]:
    """What a slot that holds `kept` brings when each of `subsets` is added to it, by its chances [grades]."""
    points = np.full(len(subsets), NO_HAND)
    for number in range(len(subsets)):
        hand = kept | subsets[number]
        if is_five(hand):
            found = misere_grade(hand, ace_low_straight) if misere else grade(hand, ace_low_straight)
            points[number] = weight * chances[found]
    return points


@kernel
def most_within(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The most that any subset of each subset brings."""
    most = points.copy()
    bit = 1
    while bit < len(most):
        for block in range(0, len(most), 2 * bit):
            for number in range(block, block + bit):
                most[number + bit] = max(most[number + bit], most[number])
        bit *= 2
    return most


@kernel
def richest_around(
    options: Options, chances: npt.NDArray[Any], spread: float, placed: Split, rest: int, misere: bool
) -> Split:
    """Of all splits that agree with what lies in the slots, the one that wins the most points by `chances` [3 or more
    rounds, grades], which are misère grades with `misere`; rounds are weighed by `round_weights`."""
    weights = round_weights(options, spread, placed[0] | placed[1] | placed[2] | rest)
    low_ace = options.ace_low_straight
    subsets = all_subsets(rest)
    points_1 = points_of(subsets, placed[0], weights[0], chances[0], misere, low_ace)
    points_2 = points_of(subsets, placed[1], weights[1], chances[1], misere, low_ace)
    points_3 = points_of(subsets, placed[2], weights[2], chances[2], misere, low_ace)
    most_2, most_3 = most_within(points_2), most_within(points_3)
    best, first, second = -1.0, 0, 0
    for number in range(len(subsets)):
        others = len(subsets) - 1 - number
        if points_1[number] + most_2[others] + most_3[others] <= best:
            continue
        part = 0
        while True:
            points = points_1[number] + points_2[part] + points_3[others - part]
            if points > best:
                best, first, second = points, number, part
            if part == others:
                break
            part = (part - others) & others
    third = len(subsets) - 1 - first - second
    return placed[0] | subsets[first], placed[1] | subsets[second], placed[2] | subsets[third]
