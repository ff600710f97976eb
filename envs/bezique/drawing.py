"""Cards on their way: from the stock into a hand, kept in ascending order, and from the hand to the table; what each
seat knows of the other's, and of the stock (§1.3, §4)."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from .state import NONE, STOCK, Options, State, TurnUp


@kernel
def take(state: State, seat: int, card: int) -> None:
    """Put a card into a hand."""
    place = int(state.held[seat])
    while place > 0 and int(state.hand[seat, place - 1]) > card:
        state.hand[seat, place] = state.hand[seat, place - 1]
        place -= 1
    state.hand[seat, place] = card
    state.held[seat] = int(state.held[seat]) + 1


@kernel
def drop(state: State, seat: int, card: int) -> None:
    """Take a card out of a hand."""
    last = int(state.held[seat]) - 1
    place = 0
    while int(state.hand[seat, place]) != card:
        place += 1
    while place < last:
        state.hand[seat, place] = state.hand[seat, place + 1]
        place += 1
    state.hand[seat, last] = NONE
    state.held[seat] = last


@kernel
def reveal(state: State, seat: int, card: int) -> bool:
    """A card leaves the closed hand before all eyes: if the other seat knew of one like it there, this is taken to be
    the one. Gives whether it is one of which the other seat did not know. §4"""
    kind = card >> 1
    if int(state.scored[card]):
        return False
    if int(state.known[seat, kind]) == 0:
        return True
    state.known[seat, kind] = int(state.known[seat, kind]) - 1
    return False


@kernel
def take_openly(state: State, seat: int, card: int) -> None:
    """Take a card that both see. One that has scored, a seven come back, lies face up again. §1.5"""
    take(state, seat, card)
    if int(state.scored[card]) == 0:
        state.known[seat, card >> 1] = int(state.known[seat, card >> 1]) + 1


@kernel
def held_types(state: State, seat: int) -> int:
    """The types of the cards of a seat, as a set."""
    found = 0
    for index in range(int(state.held[seat])):
        found |= 1 << (int(state.hand[seat, index]) >> 1)
    return found


@kernel
def draw_stock(state: State, seat: int, openly: bool) -> None:
    """A seat draws the top card of the stock after a trick."""
    top = STOCK - int(state.stock_left)
    card = int(state.stock[top])
    state.stock[top] = NONE
    state.stock_left = int(state.stock_left) - 1
    if openly:
        take_openly(state, seat, card)
    else:
        take(state, seat, card)
        state.drew_unseen[seat] = int(state.drew_unseen[seat]) | 1 << (int(state.trick) - 1)


@kernel
def draw_turn_up(state: State, seat: int) -> None:
    """A seat draws the turn-up, or the seven that lies there."""
    take_openly(state, seat, int(state.turn_up))
    state.turn_up = NONE


@kernel
def top_shown(options: Options, state: State) -> int:
    """The top card of the stock where both see it, or NONE. Under `taken_first` it lies below the turn-up until trick 1
    is drawn. §1.3"""
    covered = options.turn_up == TurnUp.TAKEN_FIRST and int(state.turn_up) != NONE
    if not options.stock_top_open or covered or int(state.stock_left) == 0:
        return NONE
    return int(state.stock[STOCK - int(state.stock_left)])


@kernel
def in_last_eight(state: State) -> bool:
    """Whether the stock is used up and drawn: from now on everybody knows every card. §1.4"""
    return int(state.stock_left) == 0 and int(state.turn_up) == NONE and not int(state.declaring)
