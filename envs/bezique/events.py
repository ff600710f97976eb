"""What the seats of Bezique learn besides the actions, and the order of the stock (§ of README.md).

Seats know the copies of their own cards. Of other cards the type is shown, by its first copy.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules.events import EVERYBODY, NOBODY, OWN, Events, Kind, Log, all_but, tell
from ..core.rules.tricks import lowest_card
from .pack import in_last_eight, top_shown
from .state import (
    COPIES,
    DECLARE_SEVEN,
    DRAWING,
    EXCHANGE_SEVEN,
    HAND,
    MOST_DEALS,
    NONE,
    STOCK,
    TRICKS,
    Mode,
    Options,
    State,
)

DEALS, DEALT, TURNS_UP, STOCK_SHOWS, DRAWS, LAYS, DECLARES_AGAIN, PLAYS_LAID = range(OWN, OWN + 8)
LARGEST_GROUP = 5  # cards of a declaration (§1.5)
RANKS = "789JQKTA"
SUITS = "CDHS"
_TYPES = tuple(rank + suit for suit in SUITS for rank in RANKS for _ in range(COPIES))
"""The names of cards whose copy is not shown."""


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """Who deals, the seats' own cards, the turn-up and the open top card. §1.2, §1.3"""
    tell(log, EVERYBODY, DEALS, int(state.dealer), 0)
    for seat in range(2):
        for index in range(int(state.held[seat])):
            tell(log, seat, DEALT, seat, int(state.hand[seat, index]))
    tell(log, EVERYBODY, TURNS_UP, int(state.dealer), int(state.turn_up) & ~1)
    tell_top(options, state, log)


@kernel
def tell_top(options: Options, state: State, log: Log) -> None:
    """The top card of the stock, where it lies face up. §1.3"""
    top = top_shown(options, state)
    if top != NONE:
        tell(log, EVERYBODY, STOCK_SHOWS, NOBODY, top & ~1)


@kernel
def tell_step(options: Options, before: State, state: State, action: int, log: Log) -> None:
    """What an action shows besides itself: which cards it takes from the table or lays there, and what is drawn."""
    actor = int(before.seat)
    if action < DECLARE_SEVEN:
        if int(before.scored[action]):
            number = laid_number(options, before, actor, action)
            tell(log, all_but(actor), PLAYS_LAID, actor, number)
    else:
        tell_declared(options, before, state, actor, log)
    drew = int(state.stock_left) != int(before.stock_left)
    if drew or action in (DECLARE_SEVEN, EXCHANGE_SEVEN):
        for seat in range(2):
            tell_drawn(before, state, seat, log)
    if drew:
        tell_top(options, state, log)


@kernel
def tell_declared(options: Options, before: State, state: State, actor: int, log: Log) -> None:
    """The cards of a declaration, to the other seat: those laid down now, and those that lay there already. After the
    last draw they go back into a hand that is known by then. §1.5, §1.4"""
    if in_last_eight(state):
        return
    for index in range(int(state.held[actor])):
        card = int(state.hand[actor, index])
        if int(state.scored[card]) != int(before.scored[card]):
            kind = LAYS if int(before.scored[card]) == 0 else DECLARES_AGAIN
            tell(log, all_but(actor), kind, actor, laid_number(options, state, actor, card))


@kernel
def laid_number(options: Options, state: State, seat: int, card: int) -> int:
    """A card that a seat has laid down, as the other sees it: the second copy where it is the second of two that lie
    face up and have scored in different kinds, else the first. §4"""
    first = card & ~1
    scored = int(state.scored[first])
    if first == card or not options.melds_face_up or scored == 0 or scored == int(state.scored[card]):
        return first
    for index in range(int(state.held[seat])):
        if int(state.hand[seat, index]) == first:
            return card
    return first


@kernel
def tell_drawn(before: State, state: State, seat: int, log: Log) -> None:
    """A seat's new cards, to itself, in the order of their numbers. §1.3, §1.5"""
    new = held_by(state, seat) & ~held_by(before, seat)
    while new:
        tell(log, seat, DRAWS, seat, lowest_card(new))
        new &= new - 1


@kernel
def held_by(state: State, seat: int) -> int:
    """The set of cards in a hand."""
    found = 0
    for index in range(int(state.held[seat])):
        found |= 1 << int(state.hand[seat, index])
    return found


@kernel
def stock(options: Options, state: State, out: npt.NDArray[Any]) -> int:
    """The cards of the stock, the top first; the turn-up, drawn last, is open. §1.2"""
    left = int(state.stock_left)
    for index in range(left):
        out[index] = state.stock[STOCK - left + index]
    return left


def most(options: Options) -> int:
    """A card is shown in two ways, and may be played from the table; or a declaration takes up to five cards. Then
    three cards are drawn, with an exchange (§1.5), and the next lies open; or a new deal begins."""
    return 2 + max(1, LARGEST_GROUP) + max(3 + 1, 3 + 2 * HAND)


def length(options: Options) -> int:
    """A deal shows a seat who deals, eight cards, the turn-up and the top; 64 cards played, of which 24 of the other's
    may lie on the table; 24 declarations, and as many of the seven if it counts apart, with the cards of each; then the
    24 cards that it draws and 23 that the stock shows, and two turn-ups exchanged. §1.2 to §1.5"""
    sevens = 0 if options.seven_is_declaration else DRAWING
    shown = 3 + HAND + 2 * TRICKS + DRAWING + DRAWING * (1 + LARGEST_GROUP) + 2 * sevens + 2 * DRAWING + 1
    return shown * (1 if options.mode == Mode.DEAL else MOST_DEALS)


EVENTS = Events(
    kinds=(
        Kind("deals", "Everybody sees who deals. §1.2", "nothing"),
        Kind("dealt", "A seat sees a card of its own hand, with its copy; they come in ascending order. §1.2", "card"),
        Kind("turns up", "Everybody sees the type of the turn-up. §1.2", "card", _TYPES),
        Kind("stock shows", "Everybody sees the type of the open top card of the stock. §1.3", "card", _TYPES),
        Kind("draws", "A seat sees a card that it has drawn or exchanged, with its copy. §1.3, §1.5", "card"),
        Kind(
            "lays down", "The other seat sees a card of a declaration that was in the closed hand. §1.5", "card", _TYPES
        ),
        Kind(
            "declares again", "The other seat sees a card of a declaration that lay there already. §1.6", "card", _TYPES
        ),
        Kind(
            "plays from the table",
            "The other seat sees that the card just played had been laid down. §1.5",
            "card",
            _TYPES,
        ),
    ),
    deal=tell_deal,
    step=tell_step,
    most=most,
    length=length,
)
"""Points, and in the last eight tricks the other's hand, follow from these by the rules."""
