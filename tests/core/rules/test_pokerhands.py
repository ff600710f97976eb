"""Every five-card hand of a 52-card pack, counted, ranked and paired off.

The counts of hands and of ranks are the standard tables'; how many ordered pairs of disjoint hands tie was first
counted for Poker Duel.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.envs.core.compile.kernel import COMPILED, kernel
from backalley.envs.core.rules.pokerhands import CATEGORY_SHIFT, Category, category, compare, strength, strengths

pytestmark = pytest.mark.skipif(not COMPILED, reason="2,598,960 hands line by line take minutes")

TABLE = {  # hands, different ranks, ordered pairs of disjoint hands that tie
    Category.ROYAL_FLUSH: (4, 1, 12),
    Category.STRAIGHT_FLUSH: (36, 9, 108),
    Category.FOUR_OF_A_KIND: (624, 156, 0),
    Category.FULL_HOUSE: (3_744, 156, 0),
    Category.FLUSH: (5_108, 1_277, 15_324),
    Category.STRAIGHT: (10_200, 10, 2_469_000),
    Category.THREE_OF_A_KIND: (54_912, 858, 0),
    Category.TWO_PAIR: (123_552, 858, 370_656),
    Category.PAIR: (1_098_240, 2_860, 29_652_480),
    Category.NOTHING: (1_302_540, 1_277, 315_291_300),
}


@pytest.fixture(scope="module")
def hands() -> npt.NDArray[np.uint8]:
    count = math.comb(52, 5)
    flat = np.fromiter(itertools.chain.from_iterable(itertools.combinations(range(52), 5)), np.uint8, 5 * count)
    return flat.reshape(count, 5)


@pytest.fixture(scope="module")
def all_strengths(hands: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
    return strengths(hands)


@kernel
def tied_disjoint_pairs(cards: npt.NDArray[np.int64], values: npt.NDArray[Any], found: npt.NDArray[np.int64]) -> None:
    """Of hands sorted by strength, as sets of cards, count by category the ordered pairs that tie and share no card."""
    start = 0
    while start < len(cards):
        end = start
        while end < len(cards) and values[end] == values[start]:
            end += 1
        pairs = 0
        for first in range(start, end):
            mine = cards[first]
            for second in range(first + 1, end):
                pairs += (mine & cards[second]) == 0
        found[values[start] >> CATEGORY_SHIFT] += 2 * pairs
        start = end


def test_hands_and_ranks_of_each_category(all_strengths: npt.NDArray[np.int32]) -> None:
    for kind, (hands_of_kind, ranks, _) in TABLE.items():
        of_kind = all_strengths[all_strengths >> CATEGORY_SHIFT == kind]
        assert (len(of_kind), len(np.unique(of_kind))) == (hands_of_kind, ranks), kind.name
    assert len(np.unique(all_strengths)) == 7_462


def test_tied_pairs_of_disjoint_hands(hands: npt.NDArray[np.uint8], all_strengths: npt.NDArray[np.int32]) -> None:
    order = np.argsort(all_strengths, kind="stable")
    cards = np.left_shift(np.int64(1), hands.astype(np.int64)).sum(axis=1)
    found = np.zeros(len(Category), np.int64)
    tied_disjoint_pairs(cards[order], all_strengths[order], found)
    assert {kind: int(found[kind]) for kind in TABLE} == {kind: tied for kind, (_, _, tied) in TABLE.items()}
    pairs = math.comb(52, 5) * math.comb(47, 5)
    assert (pairs, int(found.sum())) == (3_986_646_103_440, 347_798_880)
    chance = int(found.sum()) / pairs
    assert chance == pytest.approx(0.0000872410, abs=5e-11)
    assert (1 - chance) / 2 == pytest.approx(0.49995638, abs=5e-9)


def test_order_agrees_with_the_textbook_tuple(
    hands: npt.NDArray[np.uint8], all_strengths: npt.NDArray[np.int32]
) -> None:
    """Against the plain rule, written without a bit trick: category, then ranks by how often they stand and how high
    they are."""

    def textbook(hand: list[int]) -> tuple[int, list[int]]:
        ranks = [card % 13 for card in hand]
        sorted_ranks = sorted(ranks, key=lambda rank: (ranks.count(rank), rank), reverse=True)
        counts = sorted((ranks.count(rank) for rank in set(ranks)), reverse=True)
        flush = len({card // 13 for card in hand}) == 1
        low_ace = sorted(ranks) == [0, 1, 2, 3, 12]
        straight = counts == [1] * 5 and (max(ranks) - min(ranks) == 4 or low_ace)
        if straight:
            sorted_ranks = [3 if low_ace else max(ranks)]
            return (9 if sorted_ranks == [12] else 8) if flush else 4, sorted_ranks
        kinds = {(4, 1): 7, (3, 2): 6, (3, 1, 1): 3, (2, 2, 1): 2, (2, 1, 1, 1): 1, (1, 1, 1, 1, 1): 5 if flush else 0}
        return kinds[tuple(counts)], sorted_ranks

    chosen = np.random.default_rng(1).choice(len(hands), 20_000, replace=False)
    rare = np.flatnonzero(all_strengths >> CATEGORY_SHIFT >= Category.FOUR_OF_A_KIND)
    sample = np.concatenate([chosen, rare])
    plain = [textbook(hand) for hand in hands[sample].tolist()]
    order = sorted(range(len(sample)), key=plain.__getitem__)
    for low, high in itertools.pairwise(order):
        by_number = int(np.sign(int(all_strengths[sample[high]]) - int(all_strengths[sample[low]])))
        assert by_number == (0 if plain[low] == plain[high] else 1)
    assert [value[0] for value in plain] == (all_strengths[sample] >> CATEGORY_SHIFT).tolist()


def test_without_a_low_ace_the_wheel_is_no_straight(
    hands: npt.NDArray[np.uint8], all_strengths: npt.NDArray[np.int32]
) -> None:
    without = strengths(hands, False)
    changed = np.flatnonzero(without != all_strengths)
    assert len(changed) == 4**5
    assert {tuple(sorted(hand % 13)) for hand in hands[changed]} == {(0, 1, 2, 3, 12)}
    assert sorted(np.unique(without[changed] >> CATEGORY_SHIFT)) == [Category.NOTHING, Category.FLUSH]


def test_single_hands_are_as_in_the_batch(hands: npt.NDArray[np.uint8], all_strengths: npt.NDArray[np.int32]) -> None:
    rng = np.random.default_rng(2)
    for number in rng.choice(len(hands), 200):
        hand = rng.permutation(hands[number])
        assert strength(hand) == all_strengths[number]
        assert category(hand) == all_strengths[number] >> CATEGORY_SHIFT
        other = rng.choice(len(hands))
        assert compare(hand, hands[other]) == np.sign(int(all_strengths[number]) - int(all_strengths[other]))
