"""Splits around cards that already lie in the slots, for a bot that finds there others than those of its own plan: a
search, another player or chance has begun the split.

Every completion is weighed, and of equal ones the first in the order of cards is taken; so the plan is the same at each
of the decisions that are left. Sets of cards are those of `card_sets`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.compile.kernel import kernel
from ...core.rules.cards import count_bits
from ...core.rules.pokerhands import set_strength
from ..card_sets import is_five
from ..state import SLOT, SLOTS, Options
from ..tables import CHANCES, MISERE_CHANCES
from .grading import grade, misere_grade
from .splits import SPREAD, Split, greedy_split, low_split, misere_split, round_weights, strong_split

NO_HAND = -1.0
"""The points, and the chance, of a set that is no hand of five."""


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
    added = np.zeros(1 << SLOTS)
    added[1], added[2], added[4] = 1.0, 1.0, 1.0
    return best_around(placed, subsets, points_1, points_2, points_3, added)


Worth = npt.NDArray[np.float64]
"""What three slots' points, or chances to win their rounds, are worth together: the coefficients of a polynomial [8]:
number i stands before the product of those that have their bit in i."""


@kernel
def worth_of(worth: Worth, first: float, second: float, third: float) -> float:
    """What these points of the three slots are worth."""
    without = worth[0] + worth[1] * first + second * (worth[2] + worth[3] * first)
    return float(without + third * (worth[4] + worth[5] * first + second * (worth[6] + worth[7] * first)))


@kernel
def best_around(
    placed: Split,
    subsets: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.float64],
    seconds: npt.NDArray[np.float64],
    thirds: npt.NDArray[np.float64],
    worth: Worth,
) -> Split:
    """Of all splits that add three of `subsets` to what is `placed`, the one worth most, of equals the first in the
    order of cards; `worth` rises with each slot's points, which are below 0 where a subset makes no hand."""
    most_seconds, most_thirds = most_within(seconds), most_within(thirds)
    best, one, two = -np.inf, 0, 0
    for number in range(len(subsets)):
        others = len(subsets) - 1 - number
        first, second, third = firsts[number], most_seconds[others], most_thirds[others]
        if min(first, second, third) < 0 or worth_of(worth, first, second, third) <= best:
            continue
        part = 0
        while True:
            second, third = seconds[part], thirds[others - part]
            if second >= 0 and third >= 0:
                found = worth_of(worth, first, second, third)
                if found > best:
                    best, one, two = found, number, part
            if part == others:
                break
            part = (part - others) & others
    three = len(subsets) - 1 - one - two
    return placed[0] | subsets[one], placed[1] | subsets[two], placed[2] | subsets[three]


@kernel
def ordered_around(options: Options, placed: Split, rest: int, high: int, middle: int) -> Split:
    """The greedy split, or with misère the misère split, with its best hand in slot `high` (0..2) and its second best
    in slot `middle`; where other cards lie in the slots, the best in that order that can be had around them."""
    cards = placed[0] | placed[1] | placed[2] | rest
    third, second, first = misere_split(options, cards) if options.misere else greedy_split(options, cards)
    split = (
        first if high == 0 else second if middle == 0 else third,
        first if high == 1 else second if middle == 1 else third,
        first if high == 2 else second if middle == 2 else third,
    )
    return split if agrees(split, placed) else greedy_around(options, placed, rest, high, middle)


@kernel
def low_around(options: Options, placed: Split, rest: int) -> Split:
    """The split of the misère player; where other cards lie in the slots, the best by its table around them."""
    chances = MISERE_CHANCES[min(2, options.exchanges_per_round)]
    split = low_split(options, chances, SPREAD, placed[0] | placed[1] | placed[2] | rest)
    return split if agrees(split, placed) else richest_around(options, chances, SPREAD, placed, rest, True)


@kernel
def strong_around(options: Options, placed: Split, rest: int) -> Split:
    """The split of the strong player; where other cards lie in the slots, the best by its table around them."""
    chances = CHANCES[min(2, options.exchanges_per_round)]
    split = strong_split(options, chances, SPREAD, placed[0] | placed[1] | placed[2] | rest)
    return split if agrees(split, placed) else richest_around(options, chances, SPREAD, placed, rest, False)
