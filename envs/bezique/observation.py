"""What a seat sees, and redrawing what it does not: the other's closed hand and the order of the stock (§4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules import rng
from ..core.rules.record import field
from .asked import draw_hand
from .declarations import declared, entry, with_copies_exchanged
from .groups import can_exchange, most_points
from .pack import copies_of, in_last_eight, take, top_shown
from .state import (
    DRAWING,
    IN_PILE,
    MOST_DEALS,
    NONE,
    NUM_CARDS,
    NUM_KINDS,
    NUM_TYPES,
    RANKS,
    STOCK,
    TRICKS,
    Options,
    State,
)

# Where a seat sees a card, in the order by which copies are numbered again; at last, that a redrawn determinization has
# placed it, or that the pack lacks it
_MINE, _LED, _TAKEN, _PILES, _TURN_UP, _TOP, _LAID, _HIDDEN, _DRAWN, _ABSENT = 0, 1, 2, 4, 200, 201, 202, 203, 204, 205
_PILE = NUM_CARDS + 1  # places of a pile


@kernel
def most_hundreds(options: Options) -> int:
    """Up to how many hundreds an observation counts the points of earlier deals: as far as one deal can carry beyond
    the target. Totals get higher only where both have reached it on the same points."""
    return int(min((options.target + most_points(options)) // 100, 255))


class Observation:
    """What a seat may know now. A type of card is suit * 8 + rank; copies are not distinguished but in the seat's own
    hand, where of two the first is the one with the lower number."""

    hand: npt.NDArray[np.uint8] = field(
        "u1", (NUM_TYPES, 2), "first and second copy of a card that I hold, in the hand or laid down", suits=0
    )
    scored: npt.NDArray[np.uint8] = field(
        "u1",
        (NUM_TYPES, 2, NUM_KINDS),
        "if it has scored in: seven, marriage, sequence, bezique, double, four; if so, it is laid down",
        suits=0,
    )
    opponent_hand: npt.NDArray[np.uint8] = field(
        "u1",
        NUM_TYPES,
        "how many I know to be in the opponent's closed hand: in the last eight tricks all",
        high=2,
        suits=0,
    )
    opponent_laid: npt.NDArray[np.uint8] = field(
        "u1", (NUM_TYPES, 2), "first and second copy of a card that the opponent has laid down", suits=0
    )
    opponent_scored: npt.NDArray[np.uint8] = field(
        "u1", (NUM_TYPES, 2, NUM_KINDS), "kinds in which that copy has scored", suits=0
    )
    gone: npt.NDArray[np.uint8] = field("u1", NUM_TYPES, "how many lie in the piles", high=2, suits=0)
    turn_up: npt.NDArray[np.uint8] = field("u1", NUM_TYPES, "the turn-up, or the seven that lies there for it", suits=0)
    top: npt.NDArray[np.uint8] = field("u1", NUM_TYPES, "the open top card of the stock", suits=0)
    led: npt.NDArray[np.uint8] = field("u1", NUM_TYPES, "the card led to this trick", suits=0)
    trump: npt.NDArray[np.uint8] = field("u1", 4, "suit of trumps", suits=0)
    stock: int = field("u1", doc="cards of the stock, without the turn-up", high=STOCK)
    trick: int = field("u1", doc="tricks finished", high=TRICKS)
    my_lead: int = field("u1", doc="I lead this trick, or won the one just finished")
    to_act: int = field("u1", doc="it is my turn")
    declaring: int = field("u1", doc="the winner of the trick may declare")
    dealer: int = field("u1", doc="I dealt")
    brisques: npt.NDArray[np.uint8] = field("u1", 2, "aces and tens in my pile and in the opponent's", high=16)
    score: npt.NDArray[np.uint8] = field(
        "u1", 2, "hundreds of my points in this deal, and of the opponent's", high=lambda o: most_points(o) // 100
    )
    score_rest: npt.NDArray[np.uint8] = field("u1", 2, "the points beside these hundreds", high=99)
    total: npt.NDArray[np.uint8] = field(
        "u1", 2, "the same of earlier deals of the match: hundreds", high=lambda o: most_hundreds(o)
    )
    total_rest: npt.NDArray[np.uint8] = field("u1", 2, "the points beside these hundreds", high=99)
    deal_number: int = field("u1", doc="deals begun in the match", high=MOST_DEALS)
    led_scored: int = field("u1", doc="the card led had been declared")
    can_exchange: int = field(
        "u1",
        doc="under `seven_rule: both`, a seven of trumps won in a trick could be exchanged: the card originally "
        "turned up lies there",
    )


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """What a seat may know. §4"""
    other = 1 - seat
    show_mine(state, seat, out)
    show_other(options, state, other, out)
    for kind in range(NUM_TYPES):
        out.gone[kind] = int(state.won[2 * kind] > 0) + int(state.won[2 * kind + 1] > 0)
    mark(out.turn_up, int(state.turn_up))
    mark(out.top, top_shown(options, state))
    mark(out.led, int(state.led))
    out.trump[int(state.trump)] = 1
    out.stock = state.stock_left
    out.trick = state.trick
    out.my_lead = int(state.leader) == seat
    out.to_act = int(state.seat) == seat
    out.declaring = state.declaring
    out.dealer = int(state.dealer) == seat
    out.deal_number = state.deal_number
    out.led_scored = int(state.led) != NONE and int(state.scored[int(state.led)]) != 0
    out.can_exchange = can_exchange(options, state)
    most = most_hundreds(options)
    for index in range(2):
        owner = other if index else seat
        out.brisques[index] = state.brisques[owner]
        score, total = int(state.score[owner]), int(state.total[owner])
        out.score[index], out.score_rest[index] = score // 100, score % 100
        out.total[index], out.total_rest[index] = min(total // 100, most), total % 100


@kernel
def show_mine(state: State, seat: int, out: Observation) -> None:
    """The observer's own cards, of two copies the lower first. §4"""
    previous = NONE
    for index in range(int(state.held[seat])):
        card = int(state.hand[seat, index])
        kind = card >> 1
        slot = int(kind == previous)
        out.hand[kind, slot] = 1
        if int(state.scored[card]):
            show_kinds(out.scored[kind, slot], int(state.scored[card]))
        previous = kind


@kernel
def show_other(options: Options, state: State, other: int, out: Observation) -> None:
    """The other's cards: those that lie face up, those known to be in its hand, in the last eight tricks all. §4"""
    for kind in range(NUM_TYPES):
        out.opponent_hand[kind] = state.known[other, kind]
    everything = int(in_last_eight(state))
    face_up = int(options.melds_face_up)
    previous = NONE
    for index in range(int(state.held[other])):
        card = int(state.hand[other, index])
        kind, scored = card >> 1, int(state.scored[card])
        laid = int(scored != 0)
        out.opponent_hand[kind] += everything | (laid & ~face_up & 1)
        if laid & face_up:
            slot = int(kind == previous)
            out.opponent_laid[kind, slot] = 1
            show_kinds(out.opponent_scored[kind, slot], scored)
            previous = kind


@kernel
def show_kinds(out: npt.NDArray[np.uint8], scored: int) -> None:
    """Write the bits of `scored` as numbers."""
    for column in range(NUM_KINDS):
        out[column] = scored >> column & 1


@kernel
def mark(out: npt.NDArray[np.uint8], card: int) -> None:
    """A 1 at the type of a card, if there is one."""
    out[card >> 1 & NUM_TYPES - 1] = int(card != NONE)


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """A determinization drawn evenly from all that agree with what `seat` knows: its own cards, every card played, laid
    down, turned up or drawn openly, after which tricks the other was asked to declare, and in the last eight tricks
    therefore everything. §4

    Nobody can tell the copies of a card apart, so those that are not the seat's own are numbered again, by where they
    lie, in a pile by when they were played.
    """
    other = 1 - seat
    top_open = top_shown(options, state) != NONE
    places = np.empty(NUM_CARDS, np.int64)
    _see(options, state, seat, top_open, places)
    kinds = 0
    for kind in range(NUM_TYPES):
        first, second = int(places[2 * kind]), int(places[2 * kind + 1])
        if first != _MINE and second != _MINE and first > second:
            kinds |= 1 << kind
            places[2 * kind], places[2 * kind + 1] = second, first
    if kinds:
        _swap_copies(state, kinds)
    pool = np.empty(NUM_CARDS, np.int64)
    size = _unplaced(state, other, places, pool)
    first_hidden = STOCK - int(state.stock_left) + int(top_open)
    count = size - (STOCK - first_hidden)
    key = draw_hand(options, state, other, key, pool, size, count)
    _refill_hand(state, other, places, pool, count)
    key = rng.shuffle(key, pool[count:], size - count)
    for index in range(count, size):
        state.stock[first_hidden + index - count] = _next_copy(places, int(pool[index]))


@kernel
def _see(options: Options, state: State, seat: int, top_open: bool, places: npt.NDArray[np.int64]) -> None:
    """Where the seat sees each card."""
    for card in range(NUM_CARDS):
        pile = int(state.won[card])
        in_pack = card & 1 < copies_of(options, card >> 1)
        places[card] = _PILES + (pile - IN_PILE) * _PILE if pile else _HIDDEN if in_pack else _ABSENT
    for place in range(2 * min(int(state.trick), TRICKS)):
        card = int(state.played[place >> 1, place & 1])
        if int(state.won[card]):
            places[card] = _PILES + (int(state.won[card]) - IN_PILE) * _PILE + 1 + place
    for index in range(2):
        if int(state.taken[index]) != NONE:
            places[int(state.taken[index])] = _TAKEN + index
    if int(state.led) != NONE:
        places[int(state.led)] = _LED
    if int(state.turn_up) != NONE:
        places[int(state.turn_up)] = _TURN_UP
    if top_open:
        places[int(state.stock[STOCK - int(state.stock_left)])] = _TOP
    for index in range(int(state.held[seat])):
        places[int(state.hand[seat, index])] = _MINE
    for index in range(int(state.held[1 - seat])):
        card = int(state.hand[1 - seat, index])
        if int(state.scored[card]):
            places[card] = _LAID


@kernel
def _swap_copies(state: State, kinds: int) -> None:
    """The two copies of each of a set of types change their numbers, wherever they lie and lay."""
    for kind in range(NUM_TYPES):
        if kinds >> kind & 1:
            _swap_entries(state.scored, kind)
            _swap_entries(state.won, kind)
    if kinds >> (RANKS * int(state.trump)) & 1:
        _swap_entries(state.sevens, 0)
    for seat in range(2):
        _swap_cards(state.hand[seat], kinds)
    for place in range(2 * TRICKS):
        state.played[place >> 1, place & 1] = _swapped(int(state.played[place >> 1, place & 1]), kinds)
    _swap_cards(state.taken, kinds)
    _swap_cards(state.stock, kinds)
    state.led = _swapped(int(state.led), kinds)
    state.turn_up = _swapped(int(state.turn_up), kinds)
    for number in range(DRAWING):
        action, pattern = declared(state, number)
        if pattern:
            state.declared[number] = entry(action, with_copies_exchanged(action, pattern, kinds))


@kernel
def _swap_entries(array: npt.NDArray[Any], kind: int) -> None:
    """What an array by cards says of the two copies of a type."""
    kept = int(array[2 * kind])
    array[2 * kind] = array[2 * kind + 1]
    array[2 * kind + 1] = kept


@kernel
def _swap_cards(cards: npt.NDArray[Any], kinds: int) -> None:
    """The copies of a set of types in a list of cards."""
    for index in range(cards.shape[0]):
        cards[index] = _swapped(int(cards[index]), kinds)


@kernel
def _swapped(card: int, kinds: int) -> int:
    """A card's number after the copies of a set of types have changed theirs."""
    return card ^ (kinds >> (card >> 1) & 1) if card != NONE else card


@kernel
def _unplaced(state: State, other: int, places: npt.NDArray[np.int64], pool: npt.NDArray[np.int64]) -> int:
    """The types, ascending, of the cards that the seat cannot place; gives their number."""
    size = 0
    for kind in range(NUM_TYPES):
        hidden = int(places[2 * kind] == _HIDDEN) + int(places[2 * kind + 1] == _HIDDEN)
        for _ in range(hidden - int(state.known[other, kind])):
            pool[size] = kind
            size += 1
    return size


@kernel
def _next_copy(places: npt.NDArray[np.int64], kind: int) -> int:
    """The lowest copy of a type that lies nowhere yet."""
    card = 2 * kind if places[2 * kind] == _HIDDEN else 2 * kind + 1
    places[card] = _DRAWN
    return card


@kernel
def _refill_hand(
    state: State, other: int, places: npt.NDArray[np.int64], pool: npt.NDArray[np.int64], count: int
) -> None:
    """The other's hand: what lies face up, what is known to be in it, and the first `count` of the pool."""
    state.hand[other, :] = NONE
    state.held[other] = 0
    for card in range(NUM_CARDS):
        if places[card] == _LAID:
            take(state, other, card)
    for kind in range(NUM_TYPES):
        for _ in range(int(state.known[other, kind])):
            take(state, other, _next_copy(places, kind))
    for index in range(count):
        take(state, other, _next_copy(places, int(pool[index])))
