"""Poker Duel's `GameType.imagine`: an opponent's closed hands as a sensible player would have made them.

`determinize` deals closed cards to slots at random, whereas who splits fifteen cards puts the best of them where they
score most. Searches that reckon with random hands take the third slot for a weak one.
"""

from __future__ import annotations

import numpy as np

from ...core.compile.kernel import kernel
from ...core.rules import rng
from ...core.rules.cards import count_bits
from ..slots import fought, slot_cards
from ..state import SLOT, SLOTS, Options, State
from .around import low_around, ordered_around, strong_around
from .splits import Split
from .splitter import in_order

SIMPLE = 50
"""Of a hundred determinizations, those in which the opponent splits as `greedy` does; in the others as `strong`."""


@kernel
def sensible_split(options: Options, placed: Split, rest: int, simple: bool) -> Split:
    """The split that agrees with what lies open, as one of the bots would make it."""
    if options.misere:
        return low_around(options, placed, rest)
    return (
        ordered_around(options, placed, rest, SLOTS - 1, SLOTS - 2) if simple else strong_around(options, placed, rest)
    )


@kernel
def imagine(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """Put the opponent's closed cards to the slots that a bot would put them to, around those that lie open; which bot,
    the key decides."""
    other = 1 - seat
    if state.sudden_death > 0 or state.filled[other, SLOTS - 1] < SLOT:
        return
    sets, rest = np.zeros(SLOTS, np.int64), 0
    for slot in range(SLOTS):
        if fought(state, slot):
            sets[slot] = slot_cards(state, other, slot)
        else:
            rest |= slot_cards(state, other, slot)
    _, drawn = rng.below(key, 100)
    split = sensible_split(options, (int(sets[0]), int(sets[1]), int(sets[2])), rest, drawn < SIMPLE)
    for slot in range(SLOTS):
        if not fought(state, slot):
            for index, card in enumerate(in_order(split[slot])):
                state.slots[other, slot, index] = count_bits(card - 1)
