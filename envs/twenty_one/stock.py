"""The cards of Twenty-One on their way: from the stock to the hands, to the discards, and back (§1.4, §2)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from .state import EIGHT, EVERYBODY, WAIT, Options, State, pack_size


@kernel
def clear_round(state: State) -> None:
    """Nothing has happened yet in this round; the hands are taken care of elsewhere."""
    state.own[:] = 0
    state.status[:] = WAIT
    state.trades[:] = 0
    state.after_seven[:] = 0
    state.dealt = 0
    state.largest = 0
    state.breaker = state.banker


@kernel
def clear_table(options: Options, state: State) -> None:
    """Take up all cards: the stock is whole, and nobody knows where one of them lies."""
    state.cards[:] = 0
    state.count[:] = 0
    state.discards[:] = 0
    state.discarded = 0
    state.known[:] = 0
    if state.shuffles > 0:  # rarely
        state.origin[:] = 0
        state.cleared[:] = 0
        state.shuffles = 0
    state.silent = 0
    state.drawn = 0
    state.stock_size = pack_size(options)
    clear_round(state)


@kernel
def gather(options: Options, state: State) -> None:
    """Take up all cards before a pack is shuffled; until then their order does not matter."""
    clear_table(options, state)
    for index in range(pack_size(options)):
        state.stock[index] = index


@kernel
def lay_pack(options: Options, state: State, deck: npt.NDArray[np.int64]) -> None:
    """Take up all cards and lay the shuffled pack ready."""
    clear_table(options, state)
    for index in range(pack_size(options)):
        state.stock[index] = deck[index]


@kernel
def stack_eight(options: Options, state: State) -> None:
    """§1.9: in a shuffled pack the card that the banker will be dealt and the eight of its suit change places. From
    eight packs comes each that is left, so that those are equally likely again."""
    place = options.num_players - 1
    card = int(state.stock[place])
    eight = (card & ~7) | EIGHT
    for index in range(pack_size(options)):
        if int(state.stock[index]) == eight:
            state.stock[index] = card
    state.stock[place] = eight


@kernel
def restock(options: Options, state: State, deck: npt.NDArray[np.int64]) -> None:
    """§1.4: the discards become the stock. Who knew a card to be among them knows that nobody holds it from an earlier
    time."""
    state.shuffles = int(state.shuffles) + 1
    gathered = 0
    for index in range(int(state.discarded)):
        card = int(state.discards[index])
        state.discards[index] = 0
        gathered |= 1 << card
        for seat in range(options.num_players):
            if sees(state, seat, card):
                state.cleared[seat, card] = state.shuffles
        state.known[card] = 0
        state.origin[card] = state.shuffles
    # Only hands and discards can hold a hidden card of the banker's; what is known of those shuffled is lost.
    state.silent = int(state.silent) & ~gathered
    size = 0
    for index in range(pack_size(options)):
        card = int(deck[index])
        if (gathered >> card) & 1:
            state.stock[size] = card
            size += 1
    state.discarded = 0
    state.drawn = 0
    state.stock_size = size
    assert size > 0  # more points are in the pack than live hands can hold (§1.10)


@kernel
def give(options: Options, state: State, seat: int) -> None:
    """The top card of the stock goes to a seat; the banker's are open but for the first. §2"""
    top = int(state.drawn)
    card = int(state.stock[top])
    place = int(state.count[seat])
    state.stock[top] = 0
    state.drawn = top + 1
    state.cards[seat, place] = card
    state.count[seat] = place + 1
    face_up = seat == int(state.banker) and (place > 0 or options.banker_card_open)
    state.known[card] = EVERYBODY if face_up else 1 << seat


@kernel
def discard_hand(state: State, seat: int, shown: bool) -> None:
    """A hand goes to the discards, before everybody's eyes or as it lies."""
    place = int(state.discarded)
    for index in range(int(state.count[seat])):
        card = int(state.cards[seat, index])
        state.discards[place + index] = card
        state.cards[seat, index] = 0
        if shown:
            state.known[card] = EVERYBODY
    state.discarded = place + int(state.count[seat])
    state.count[seat] = 0


@kernel
def show_hand(state: State, seat: int) -> None:
    """§2: a hand is turned up."""
    for index in range(int(state.count[seat])):
        state.known[int(state.cards[seat, index])] = EVERYBODY


@kernel
def sees(state: State, seat: int, card: int) -> bool:
    """Whether a seat knows where a card lies. §2"""
    return (int(state.known[card]) >> seat) & 1 == 1
