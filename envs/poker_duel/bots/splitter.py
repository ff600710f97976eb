"""The splitter: fifteen cards into three hands by what their classes are worth in each slot.

A split is worth what its three hands' values are together, by a polynomial. The best is sought among forms of hands,
in all orders; where cards lie in the slots already, among all splits that agree with them. Ties go by the order in
which splits are tried, so a split follows from the cards and the values alone. Sets of cards are those of `card_sets`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.compile.kernel import kernel
from ...core.rules import rng
from ...core.rules.cards import count_bits
from ..card_sets import is_five
from ..state import SLOTS, Options
from .grading import GRADE, MISERE_GRADE, Grading, class_of
from .splits import FORMS, Split, any_form, greedy_split

NARROW = 12
"""Forms before this one are complete hands, worth trying for the first hand of a split."""
SPREAD = 0.2
"""The strong bot takes each round for worth up to this share more than it is, by an amount drawn from its cards: hard
to foresee."""
NO_HAND = -1.0
"""The points, and the chance, of a set that is no hand of five."""
OUTCOMES = 1 << SLOTS
"""Outcomes of a game, but for ties: bit i is set where round i + 1 is won."""

Worth = tuple[float, float, float, float, float, float, float, float]
"""What three slots' points, or chances to win their rounds, are worth together: the coefficients of a polynomial:
number i stands before the product of those that have their bit in i."""


@kernel
def worth_of(worth: Worth, first: float, second: float, third: float) -> float:
    """What these points of the three slots are worth."""
    without = worth[0] + worth[1] * first + second * (worth[2] + worth[3] * first)
    return float(without + third * (worth[4] + worth[5] * first + second * (worth[6] + worth[7] * first)))


SUM = (0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0)
"""Points, added up."""


class Search(NamedTuple):
    """What splits are weighed by. Arrays are handed on one by one in inner loops: each costs time at every call."""

    values: tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
    """The value of each class of hand, in each slot."""
    weights: tuple[float, float, float]
    """By which the values of each slot are multiplied."""
    worth: Worth
    grading: Grading


class Pool(NamedTuple):
    """The best splits so far, best first."""

    worth: npt.NDArray[np.float64]
    """[n], minus infinity where there is none yet."""
    splits: npt.NDArray[np.int64]
    """The sets of cards of slots 1, 2, 3 [n, 3]."""


@kernel
def offer(pool: Pool, worth: float, split: Split) -> None:
    """Keep a split if it is better than the last of the pool, and not there yet."""
    place = len(pool.worth) - 1
    if worth <= pool.worth[place]:
        return
    for number in range(place):
        if pool.splits[number, 0] == split[0] and pool.splits[number, 1] == split[1]:
            return
    while place > 0 and worth > pool.worth[place - 1]:
        pool.worth[place] = pool.worth[place - 1]
        pool.splits[place] = pool.splits[place - 1]
        place -= 1
    pool.worth[place] = worth
    pool.splits[place, 0], pool.splits[place, 1], pool.splits[place, 2] = split


@kernel
def empty_pool(count: int) -> Pool:
    """A pool of so many splits."""
    return Pool(np.full(count, -np.inf), np.zeros((count, SLOTS), np.int64))


@kernel
def split_of(pool: Pool, number: int) -> Split:
    """A split of the pool."""
    return pool.splits[number, 0], pool.splits[number, 1], pool.splits[number, 2]


@kernel
def offer_orders(search: Search, pool: Pool, hands: Split, classes: tuple[int, int, int]) -> None:
    """Offer three hands to the pool in all six orders."""
    low, middle, high = search.values
    (a, b, c), (of_a, of_b, of_c), worth = hands, classes, search.worth
    w1, w2, w3 = search.weights
    a1, a2, a3 = w1 * float(low[of_a]), w2 * float(middle[of_a]), w3 * float(high[of_a])
    b1, b2, b3 = w1 * float(low[of_b]), w2 * float(middle[of_b]), w3 * float(high[of_b])
    c1, c2, c3 = w1 * float(low[of_c]), w2 * float(middle[of_c]), w3 * float(high[of_c])
    ab, ac = worth_of(worth, a1, b2, c3), worth_of(worth, a1, c2, b3)
    ba, bc = worth_of(worth, b1, a2, c3), worth_of(worth, b1, c2, a3)
    ca, cb = worth_of(worth, c1, a2, b3), worth_of(worth, c1, b2, a3)
    if max(ab, ac, ba, bc, ca, cb) > pool.worth[len(pool.worth) - 1]:
        offer(pool, ab, (a, b, c))
        offer(pool, ac, (a, c, b))
        offer(pool, ba, (b, a, c))
        offer(pool, bc, (b, c, a))
        offer(pool, ca, (c, a, b))
        offer(pool, cb, (c, b, a))


@kernel
def offer_forms(search: Search, pool: Pool, cards: int, forms: int, enough: int) -> None:
    """Offer the splits whose first two hands are of one of so many forms each; for the first hand, those from `enough`
    only where there is no split yet."""
    for form in range(forms):
        if form >= enough and pool.worth[0] > -np.inf:
            break
        first = any_form(cards, form, search.grading.ace_low_straight)
        if not is_five(first):
            continue
        class_first = class_of(search.grading, first)
        for other in range(forms):
            second = any_form(cards & ~first, other, search.grading.ace_low_straight)
            if is_five(second):
                third = cards & ~first & ~second
                classes = (class_first, class_of(search.grading, second), class_of(search.grading, third))
                offer_orders(search, pool, (first, second, third), classes)


# By tables of chances -------------------------------------------------------------------------------------------------


@kernel
def round_weights(options: Options, spread: float, cards: int) -> tuple[float, float, float]:
    """What the three rounds are taken for: their points, each up to `spread` heavier, by an amount drawn from the
    fifteen cards."""
    stream = np.uint64(cards)
    stream, first = rng.below(stream, 1024)
    stream, second = rng.below(stream, 1024)
    stream, third = rng.below(stream, 1024)
    return (
        options.round_points[0] * (1 + spread * first / 1024),
        options.round_points[1] * (1 + spread * second / 1024),
        options.round_points[2] * (1 + spread * third / 1024),
    )


@kernel
def search_by(options: Options, chances: npt.NDArray[Any], spread: float, cards: int, misere: bool) -> Search:
    """How the split is sought that wins the most points by `chances` [3 or more rounds, grades], which are misère
    grades with `misere`; rounds are weighed by `round_weights`."""
    weights = round_weights(options, spread, cards)
    grading = Grading(MISERE_GRADE if misere else GRADE, 0, options.ace_low_straight)
    return Search((chances[0], chances[1], chances[2]), weights, SUM, grading)


@kernel
def split_by(options: Options, search: Search, cards: int) -> Split:
    """The split that wins the most points by the tables of `search_by`: of a dozen or two good ones in all orders, or
    where the lower hand wins, the low `greedy_split` in the best order."""
    pool = empty_pool(1)
    if search.grading.rule == MISERE_GRADE:
        low, middle, high = greedy_split(options, cards, True)
        classes = (class_of(search.grading, high), class_of(search.grading, middle), class_of(search.grading, low))
        offer_orders(search, pool, (high, middle, low), classes)
    else:
        offer_forms(search, pool, cards, FORMS, NARROW)
    return split_of(pool, 0)


# Around cards that lie in the slots -----------------------------------------------------------------------------------


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
def all_subsets(cards: int) -> npt.NDArray[np.int64]:
    """Every subset of a set of cards, by the bits of its index: bit i for the card that is offered as number i."""
    order = in_order(cards)
    subsets = np.zeros(1 << len(order), np.int64)
    for index in range(len(order)):
        for number in range(1 << index):
            subsets[(1 << index) | number] = subsets[number] | order[index]
    return subsets


@kernel
def values_of(search: Search, subsets: npt.NDArray[np.int64], kept: int, slot: int) -> npt.NDArray[np.float64]:
    """The value of a slot that holds `kept` when each of `subsets` is added to it; NO_HAND where that makes none."""
    found = np.full(len(subsets), NO_HAND)
    for number in range(len(subsets)):
        hand = kept | subsets[number]
        if is_five(hand):
            found[number] = search.weights[slot] * float(search.values[slot][class_of(search.grading, hand)])
    return found


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
def split_around(search: Search, placed: Split, rest: int) -> Split:
    """Of all splits that agree with what lies in the slots, the one worth most."""
    subsets = all_subsets(rest)
    firsts, seconds = values_of(search, subsets, placed[0], 0), values_of(search, subsets, placed[1], 1)
    thirds = values_of(search, subsets, placed[2], 2)
    return best_around(placed, subsets, firsts, seconds, thirds, search.worth)
