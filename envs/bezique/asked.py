"""What a seat concludes from whether the other was asked to declare, after every trick of the deal (§4).

The state keeps what both see: after which tricks the winner was asked, which of their cards the other seat knew then,
when each other card was shown, and when cards were drawn unseen. The cards of which the seat does not know, those shown
since among them, have come into the hand in an order that it does not know either: it is drawn with the hand, and both
are drawn again where they contradict a trick.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules import rng
from ..core.rules.cards import count_bits
from .declarations import eligible, may_declare
from .groups import BEZIQUE_TYPES, FOUR_TYPES, pairs_of, quartets_of, runs_of, seen_by_both
from .pack import drawing
from .state import (
    ALL_TYPES,
    DRAWING,
    FOUR_RANKS,
    HAND,
    IN_BEZIQUE,
    IN_DOUBLE,
    IN_FOUR,
    IN_MARRIAGE,
    IN_SEQUENCE,
    IN_SEVEN,
    NONE,
    NUM_CARDS,
    NUM_TYPES,
    Options,
    Quartet,
    Reuse,
    SevenRule,
    State,
)

_TYPE_BITS = 5
_TYPE = NUM_TYPES - 1
_CARD_BITS, _CARD = 6, NUM_CARDS - 1
_KINDS = (IN_MARRIAGE, IN_SEQUENCE, IN_FOUR, IN_BEZIQUE, IN_DOUBLE)
_ROW = 3 + 2 * len(_KINDS)
_SLOTS = HAND + DRAWING
MOST_TRIES = 1 << 20
"""Hands drawn until one agrees; few are needed. The bound is for states put together by hand in which no hand agrees:
the last one drawn is then taken."""


# What the state keeps


@kernel
def forget(state: State) -> None:
    """Nothing has been seen yet, or all is known."""
    state.asked[:] = NONE
    state.open_then[:] = NONE
    state.shown[:] = NONE
    state.num_shown[:] = 0
    state.drew_unseen[:] = 0


@kernel
def note_shown(state: State, seat: int, kind: int) -> None:
    """A card of which the other seat did not know leaves the closed hand, in a trick or after it."""
    trick = int(state.trick) + int(not state.declaring)
    state.shown[seat, int(state.num_shown[seat])] = kind | trick << _TYPE_BITS
    state.num_shown[seat] = int(state.num_shown[seat]) + 1


@kernel
def note_asked(options: Options, state: State, found: int) -> None:
    """After a trick its winner is asked or not, who may declare `found`; and the cards they hold of which the other
    seat knows. Nothing is concluded from a question that a seven in the trick explains."""
    winner, place = int(state.leader), int(state.trick) - 1
    if int(state.asked[place]) != NONE:  # asked again, after the seven
        state.asked[place] = NONE
        state.open_then[place, :] = NONE
    if found and seen_by_both(options, found):
        return
    number, cards = known_cards(state, winner)
    if options.reuse == Reuse.FREE and found and could_with(options, state, winner, number, cards):
        return
    state.asked[place] = int(found != 0) | int(state.made) << 1 | winner << 3
    for index in range(number):
        card = cards >> (_CARD_BITS * index) & _CARD
        now = card >> 1 | int(state.scored[card]) << _TYPE_BITS
        before = int(state.open_then[place, index - 1]) if index else NONE
        if before > now and before & _TYPE == card >> 1:  # two copies, in an order that tells nothing
            state.open_then[place, index - 1] = now
            now = before
        state.open_then[place, index] = now


@kernel
def known_cards(state: State, seat: int) -> tuple[int, int]:
    """How many cards a seat holds of which the other knows: those laid down, and those known to be in the closed hand;
    and these in one number, ascending, the first in the lowest bits."""
    number, cards, previous, left = 0, 0, NONE, 0
    for index in range(int(state.held[seat])):
        card = int(state.hand[seat, index])
        if card >> 1 != previous:
            previous, left = card >> 1, int(state.known[seat, card >> 1])
        laid = int(int(state.scored[card]) != 0)
        known = laid | int(left > 0)
        cards |= (card & -known) << (_CARD_BITS * number)
        number += known
        left -= known & ~laid
    return number, cards


@kernel
def could_with(options: Options, state: State, seat: int, number: int, cards: int) -> bool:
    """Whether the winner of the trick could declare something if the cards known were all that they hold. Under
    `reuse: free` only now is it known which sets have been declared; else `open_sets` finds out when asked."""
    hand, held = 0, int(state.held[seat])  # kept in one number: a copy of the hand takes longer than all the rest
    for index in range(HAND):
        hand |= (int(state.hand[seat, index]) + 1) << (7 * index)
        state.hand[seat, index] = cards >> (_CARD_BITS * index) & _CARD if index < number else NONE
    state.held[seat] = number
    could = may_declare(options, state) != 0
    for index in range(HAND):
        state.hand[seat, index] = (hand >> (7 * index) & 127) - 1
    state.held[seat] = held
    return could


# Redrawing


@kernel
def slots_of(options: Options, state: State, seat: int, out: npt.NDArray[np.int64]) -> int:
    """When each card came into a hand of which the other seat did not know then: 0 for those dealt, and the number of
    the trick after which it was drawn, ascending. Gives their number."""
    number = int(options.cards_dealt)
    out[:number] = 0
    for place in range(drawing(options)):
        if int(state.drew_unseen[seat]) >> place & 1:
            out[number] = place + 1
            number += 1
    return number


@kernel
def open_sets(options: Options, state: State, seat: int, out: npt.NDArray[np.int64]) -> int:
    """For each trick that a seat won and that tells something of its hand, a row: the trick, whether they could declare
    something, what they had declared already; then for each kind of declaration the types of which the seat held one
    card, and those of which it held two, of those known and fit for it. A question that the cards known explain tells
    nothing. Gives the number of rows."""
    rows, seven = 0, 8 * int(state.trump)
    for place in range(min(int(state.trick), drawing(options))):
        asked = int(state.asked[place])
        if asked == NONE or asked >> 3 != seat:
            continue
        row = out[rows]
        row[:] = 0
        row[0], row[1], row[2] = place + 1, asked & 1, asked >> 1 & 3
        fresh_seven = 0
        for index in range(HAND):
            card = int(state.open_then[place, index])
            if card == NONE:
                break
            bit, scored = 1 << (card & _TYPE), card >> _TYPE_BITS
            fresh_seven |= bit & int(scored & IN_SEVEN == 0) << seven
            for number in range(len(_KINDS)):
                if eligible(options.reuse, scored, _KINDS[number]):
                    row[4 + 2 * number] |= row[3 + 2 * number] & bit
                    row[3 + 2 * number] |= bit
        explains = options.reuse != Reuse.FREE and could_declare(options, seven >> 3, row, fresh_seven, 0, ALL_TYPES)
        rows += int(asked & 1 == 0 or not explains)
    return rows


@kernel
def placed(
    state: State,
    seat: int,
    key: np.uint64,
    slots: npt.NDArray[np.int64],
    number: int,
    since: npt.NDArray[np.int64],
    left: npt.NDArray[np.int64],
) -> np.uint64:
    """Draw evenly, when each card shown came into the hand, before it was shown: into `since`; what is `left` are those
    of the cards that nobody has seen. Gives the key advanced."""
    for slot in range(number):
        left[slot] = slots[slot]
    free = number
    for index in range(int(state.num_shown[seat])):
        shown = int(state.shown[seat, index]) >> _TYPE_BITS
        fit = free
        while fit > 0 and int(left[fit - 1]) >= shown:
            fit -= 1
        key, chosen = rng.below(key, fit)
        since[index] = left[chosen]
        free -= 1
        for place in range(chosen, free):
            left[place] = left[place + 1]
    return key


@kernel
def agrees(
    options: Options,
    state: State,
    seat: int,
    row: npt.NDArray[np.int64],
    since: npt.NDArray[np.int64],
    left: npt.NDArray[np.int64],
    pool: npt.NDArray[np.int64],
    count: int,
) -> bool:
    """Whether a seat could declare or not after a trick (`open_sets`), as was seen, if the cards of its hand came when
    `since` and `left` say; the first `count` of the pool are those that nobody has seen. §1.5, §1.6"""
    trick, once, twice = int(row[0]), 0, 0
    for index in range(int(state.num_shown[seat])):
        shown = int(state.shown[seat, index])
        if int(since[index]) < trick < shown >> _TYPE_BITS:
            twice |= once & 1 << (shown & _TYPE)
            once |= 1 << (shown & _TYPE)
    for index in range(count):
        if int(left[index]) < trick:
            twice |= once & 1 << int(pool[index])
            once |= 1 << int(pool[index])
    return bool(could_declare(options, int(state.trump), row, once, twice, once) == (int(row[1]) == 1))


@kernel
def could_declare(options: Options, trump: int, row: npt.NDArray[Any], once: int, twice: int, among: int) -> bool:
    """Whether with more cards of the types `once`, two each of the types `twice`, a seat could declare something that
    takes a card of the types `among`; none of these more has scored, so none is barred. §1.5, §1.6"""
    made = int(row[2])
    if made & 1 == 0 and options.seven_rule != SevenRule.TRICK and once >> (8 * trump) & 1:
        return True
    if made & 2:
        return False
    if pairs_of(int(row[3]) | once) & (among | among >> 1):
        return True
    runs = runs_of(int(row[5]) | once) & (among | among >> 1 | among >> 2 | among >> 3 | among >> 4)
    if options.plain_sequence == 0:
        runs &= 0xFF << (8 * trump)
    if runs:
        return True
    if options.quartet == Quartet.ANY:
        singles, doubles = int(row[7]) | once, int(row[8]) | twice | int(row[7]) & once
        for index in range(len(FOUR_RANKS)):
            rank = FOUR_TYPES << FOUR_RANKS[index]
            if among & rank and count_bits(singles & rank) + count_bits(doubles & rank) >= 4:
                return True
    elif quartets_of(int(row[7]) | once) & (among | among >> 8 | among >> 16 | among >> 24):
        return True
    fresh, both = (int(row[9]) | once) & BEZIQUE_TYPES, int(row[12]) | twice | int(row[11]) & once
    if among & BEZIQUE_TYPES == 0 or fresh == 0:
        return False
    return fresh == BEZIQUE_TYPES or both & BEZIQUE_TYPES == BEZIQUE_TYPES


@kernel
def draw_hand(
    options: Options, state: State, seat: int, key: np.uint64, pool: npt.NDArray[np.int64], size: int, count: int
) -> np.uint64:
    """Draw the first `count` of the `size` cards of the pool for a seat's hand, evenly with all orders in which its
    cards may have come, so that they agree with every trick. Gives the key advanced."""
    slots, since, left = np.empty(_SLOTS, np.int64), np.empty(_SLOTS, np.int64), np.empty(_SLOTS, np.int64)
    rows = np.empty((DRAWING, _ROW), np.int64)
    number = slots_of(options, state, seat, slots)
    tricks = open_sets(options, state, seat, rows) if 0 < count < size else 0
    if number != count + int(state.num_shown[seat]):  # a state put together by hand
        tricks = 0
    for _ in range(MOST_TRIES):
        key = rng.draw(key, pool, size, count)
        if tricks == 0:
            return key
        key = placed(state, seat, key, slots, number, since, left)
        checked = tricks
        while checked > 0 and agrees(options, state, seat, rows[checked - 1], since, left, pool, count):
            checked -= 1
        if checked == 0:
            return key
    return key
