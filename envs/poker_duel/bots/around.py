"""Splits around cards that already lie in the slots, for a bot that finds there others than those of its own plan: a
search, another player or chance has begun the split.

Every completion is weighed, and of equal ones the first in the order of cards is taken; so the plan is the same at each
of the decisions that are left. Sets of cards are those of `card_sets`.
"""

from __future__ import annotations

import numpy as np

from ...core.compile.kernel import kernel
from ...core.rules import rng
from ...core.rules.cards import count_bits
from ...core.rules.pokerhands import set_strength
from ..slots import fought, slot_cards
from ..state import SLOT, SLOTS, Options, State
from ..tables import CHANCES, MISERE_CHANCES
from .splits import Split, greedy_split
from .splitter import SPREAD, agrees, in_order, search_by, split_around, split_by

SIMPLE = 50
"""Of a hundred determinizations that are imagined, those in which the opponent splits as `greedy` does; in the others
as `strong`."""


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
def ordered_around(options: Options, placed: Split, rest: int, high: int, middle: int) -> Split:
    """The greedy split, or with misère the misère split, with its best hand in slot `high` (0..2) and its second best
    in slot `middle`; where other cards lie in the slots, the best in that order that can be had around them."""
    cards = placed[0] | placed[1] | placed[2] | rest
    third, second, first = greedy_split(options, cards, options.misere)
    split = (
        first if high == 0 else second if middle == 0 else third,
        first if high == 1 else second if middle == 1 else third,
        first if high == 2 else second if middle == 2 else third,
    )
    return split if agrees(split, placed) else greedy_around(options, placed, rest, high, middle)


@kernel
def chances_around(options: Options, placed: Split, rest: int, low: bool) -> Split:
    """The split of the strong player, or with `low` of the misère player; where other cards lie in the slots, the best
    by its table around them."""
    cards = placed[0] | placed[1] | placed[2] | rest
    chances = (MISERE_CHANCES if low else CHANCES)[min(2, options.exchanges_per_round)]
    search = search_by(options, chances, SPREAD, cards, low)
    split = split_by(options, search, cards)
    return split if agrees(split, placed) else split_around(search, placed, rest)


@kernel
def imagine(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """`GameType.imagine`: put the opponent's closed cards to the slots that a bot would put them to, around those that
    lie open; which bot, the key decides.

    `determinize` deals closed cards to slots at random, whereas who splits fifteen cards puts the best of them where
    they score most. Searches that reckon with random hands take the third slot for a weak one.
    """
    other = 1 - seat
    if state.sudden_death > 0 or state.filled[other, SLOTS - 1] < SLOT:
        return
    sets, rest = np.zeros(SLOTS, np.int64), 0
    for slot in range(SLOTS):
        if fought(state, slot):
            sets[slot] = slot_cards(state, other, slot)
        else:
            rest |= slot_cards(state, other, slot)
    placed = (int(sets[0]), int(sets[1]), int(sets[2]))
    _, drawn = rng.below(key, 100)
    if drawn < SIMPLE and not options.misere:
        split = ordered_around(options, placed, rest, SLOTS - 1, SLOTS - 2)
    else:
        split = chances_around(options, placed, rest, options.misere)
    for slot in range(SLOTS):
        if not fought(state, slot):
            for index, card in enumerate(in_order(split[slot])):
                state.slots[other, slot, index] = count_bits(card - 1)
