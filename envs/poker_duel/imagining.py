"""Poker Duel's `GameType.imagine`: an opponent's closed hands as a sensible player would have made them.

`determinize` deals closed cards to slots at random, whereas who splits fifteen cards puts the best of them where they
score most. Searches that reckon with random hands take the third slot for a weak one.
"""

from __future__ import annotations

import numpy as np

from ..core import rng
from ..core.kernel import kernel
from .around import agrees, greedy_around, in_order, richest_around
from .chances import CHANCES
from .misere_chances import MISERE_CHANCES
from .slots import fought
from .splits import SPREAD, Split, greedy_split, low_split, strong_split
from .state import SLOT, SLOTS, Options, State

SIMPLE = 50
"""Of a hundred worlds, those in which the opponent splits as `greedy` does; in the others as `strong`."""


@kernel
def sensible_split(options: Options, placed: Split, rest: int, simple: bool) -> Split:
    """The split that agrees with what lies open, as one of the bots would make it."""
    cards = placed[0] | placed[1] | placed[2] | rest
    exchanges = min(2, options.exchanges_per_round)
    if options.misere:
        table = MISERE_CHANCES[exchanges]
        split = low_split(options, table, SPREAD, cards)
        return split if agrees(split, placed) else richest_around(options, table, SPREAD, placed, rest, True)
    if simple:
        split = greedy_split(options, cards)
        return split if agrees(split, placed) else greedy_around(options, placed, rest, SLOTS - 1, SLOTS - 2)
    split = strong_split(options, CHANCES[exchanges], SPREAD, cards)
    return split if agrees(split, placed) else richest_around(options, CHANCES[exchanges], SPREAD, placed, rest, False)


@kernel
def imagine(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """Put the opponent's closed cards to the slots that a bot would put them to, around those that lie open; which bot,
    the key decides."""
    other = 1 - seat
    if state.sudden_death > 0 or state.filled[other, SLOTS - 1] < SLOT:
        return
    sets, rest = np.zeros(SLOTS, np.int64), 0
    for slot in range(SLOTS):
        for index in range(SLOT):
            card = 1 << int(state.slots[other, slot, index])
            if fought(state, slot):
                sets[slot] |= card
            else:
                rest |= card
    _, drawn = rng.below(key, 100)
    split = sensible_split(options, (int(sets[0]), int(sets[1]), int(sets[2])), rest, drawn < SIMPLE)
    for slot in range(SLOTS):
        if not fought(state, slot):
            for index, card in enumerate(in_order(split[slot])):
                state.slots[other, slot, index] = number_of(card)


@kernel
def number_of(card: int) -> int:
    """The number of the card of a set of one."""
    number = 0
    while card > 1:
        card >>= 1
        number += 1
    return number
