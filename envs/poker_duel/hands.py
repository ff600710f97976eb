"""What the other files of Poker Duel share: its sizes, and what a seat's cards amount to.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import pokerhands
from ..core.kernel import kernel

if TYPE_CHECKING:
    from .game import Options, State

HAND = 15  # cards dealt to each player (§1.3)
SLOT = 5  # cards in a poker hand, and in a sudden-death hand (§1.4)
SLOTS = 3  # hands of a split, and rounds of a game (§1.3)
STOCK = 52 - 2 * HAND  # face-down deck of a game (§1.3)
SUDDEN_STOCK = 52 - 2 * SLOT  # face-down deck of a sudden-death hand (§1.4)
ARRANGE, EXCHANGE = 0, 1  # phases of a game (§1.3)
PACK = (1 << 52) - 1  # the whole pack as a set of cards (§1.1)


@kernel
def placed(state: State, seat: int) -> int:
    """How many cards a seat has assigned to its slots."""
    return int(state.filled[seat, 0]) + int(state.filled[seat, 1]) + int(state.filled[seat, 2])


@kernel
def discarded(state: State, seat: int) -> int:
    """How many cards a seat has discarded."""
    return int(state.exchanges[seat, 0]) + int(state.exchanges[seat, 1]) + int(state.exchanges[seat, 2])


@kernel
def stock_left(state: State) -> int:
    """How many cards the face-down deck still has."""
    return (STOCK if state.sudden_death == 0 else SUDDEN_STOCK) - int(state.drawn)


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
