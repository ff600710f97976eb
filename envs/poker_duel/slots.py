"""The cards of a hand in play: what a seat has placed and discarded, what its slots amount to, what the deck still has.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

from ..core.compile.kernel import kernel
from ..core.rules import pokerhands
from .state import ARRANGE, HAND, SLOT, SLOTS, Options, State, pack_size


@kernel
def placed(state: State, seat: int) -> int:
    """How many cards a seat has assigned to its slots."""
    return int(state.filled[seat, 0]) + int(state.filled[seat, 1]) + int(state.filled[seat, 2])


@kernel
def slot_cards(state: State, seat: int, slot: int) -> int:
    """The set of cards that a seat has assigned to a slot."""
    cards = 0
    for index in range(int(state.filled[seat, slot])):
        cards |= 1 << int(state.slots[seat, slot, index])
    return cards


@kernel
def sort_slot(state: State, seat: int, slot: int) -> None:
    """Put the cards of a full slot in ascending order."""
    cards = state.slots[seat, slot]
    for index in range(1, SLOT):
        card, place = int(cards[index]), index
        while place > 0 and cards[place - 1] > card:
            cards[place] = cards[place - 1]
            place -= 1
        cards[place] = card


@kernel
def discarded(state: State, seat: int) -> int:
    """How many cards a seat has discarded."""
    return int(state.exchanges[seat, 0]) + int(state.exchanges[seat, 1]) + int(state.exchanges[seat, 2])


@kernel
def stock_left(options: Options, state: State) -> int:
    """How many cards the face-down deck still has."""
    dealt = 2 * (HAND if state.sudden_death == 0 else SLOT)
    return pack_size(options) - dealt - int(state.drawn)


@kernel
def fought(state: State, slot: int) -> bool:
    """Whether a slot has had its showdown, so that both hands lie open (§1.6)."""
    return slot < int(state.round_index)


@kernel
def slot_strength(options: Options, state: State, seat: int, slot: int) -> int:
    """The strength of a full slot."""
    return pokerhands.strength(state.slots[seat, slot], options.ace_low_straight)


@kernel
def offer_cards(state: State, seat: int, hand: int) -> None:
    """§3: a seat's fifteen cards in the order they are assigned: by rank, then by suit."""
    count = 0
    for rank in range(13):
        for card in range(rank, 52, 13):
            if (hand >> card) & 1:
                state.offer[seat, count] = card
                count += 1


@kernel
def restart(options: Options, state: State) -> int:
    """`Plans.restart`: take the cards that the seat to act has assigned out of its slots again."""
    if state.phase != ARRANGE:
        return 0
    seat, hand, count = int(state.seat), 0, placed(state, int(state.seat))
    for slot in range(SLOTS):
        hand |= slot_cards(state, seat, slot)
    for index in range(count, HAND):
        hand |= 1 << int(state.offer[seat, index])
    state.slots[seat, :, :] = 0
    state.filled[seat, :] = 0
    offer_cards(state, seat, hand)
    return count
