"""What a seat concludes from whether the other was asked to declare, after every trick of the deal (§4).

The state keeps what both see: after which tricks the winner was asked, what was played, declared and drawn openly.
Redrawing goes through it again: which of the winner's cards the other seat knew then, when each other card was shown,
and when cards were drawn unseen. The cards of which the seat does not know, those shown since among them, have come
into the hand in an order that it does not know either: it is drawn with the hand, and both are drawn again where they
contradict a trick.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules import rng
from ..core.rules.cards import count_bits
from ..core.rules.tricks import lowest_card
from .declarations import declared, eligible, may_declare
from .groups import BEZIQUE_TYPES, FOUR_TYPES, kind_of, member, members, pairs_of, quartets_of, runs_of, seen_by_both
from .pack import beats, drawing, is_seven
from .state import (
    ALL_TYPES,
    COPIES,
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
    RANKS,
    SEVEN,
    SEVEN_LAST,
    Options,
    Quartet,
    Reuse,
    SevenRule,
    State,
    TurnUp,
)

_TYPE_BITS = 5
_TYPE = NUM_TYPES - 1
_CARD_BITS, _CARD = 6, NUM_CARDS - 1
_KINDS = (IN_MARRIAGE, IN_SEQUENCE, IN_FOUR, IN_BEZIQUE, IN_DOUBLE)
_ROW = 3 + 2 * len(_KINDS)
_SLOTS = HAND + DRAWING
_ONE, _TWO, _LAID, _SHOWN, _SCORED = 0, 1, 2, 4, 5
_MOST = 8 * DRAWING
"""Room for cards shown, of any record: one in a trick, up to five after it and a seven."""
MOST_TRIES = 1 << 20
"""Hands drawn until one agrees; few are needed. The bound is for states put together by hand in which no hand agrees:
the last one drawn is then taken."""


# What the state keeps


@kernel
def note_asked(options: Options, state: State, found: int) -> None:
    """After a trick its winner is asked or not, who may declare `found`. Nothing is concluded from a question that a
    seven in the trick explains, or under `reuse: free` the cards known."""
    code = int(found != 0) | int(state.made) << 1 | int(state.leader) << 3
    if found and (seen_by_both(options, found) or (options.reuse == Reuse.FREE and could_with_known(options, state))):
        code = NONE
    state.asked[int(state.trick) - 1] = code


@kernel
def could_with_known(options: Options, state: State) -> bool:
    """Whether the winner of the trick could declare something if they held only the cards that the other seat knows.
    Under `reuse: free` it hangs on which sets have been declared by now; else `add_row` finds out when a hand is
    redrawn."""
    seat = int(state.leader)
    held, hand, number, previous, left = int(state.held[seat]), 0, 0, NONE, 0
    for index in range(held):
        card = int(state.hand[seat, index])
        hand |= card << (_CARD_BITS * index)  # kept in one number: a copy of the hand takes longer than all the rest
        if card >> 1 != previous:
            previous, left = card >> 1, int(state.known[seat, card >> 1])
        closed = int(int(state.scored[card]) == 0)
        if not closed or left > 0:
            state.hand[seat, number] = card
            number += 1
        left -= closed
    state.held[seat] = number
    could = may_declare(options, state) != 0
    for index in range(held):
        state.hand[seat, index] = hand >> (_CARD_BITS * index) & _CARD
    state.held[seat] = held
    return could


# Redrawing


@kernel
def recall(
    options: Options,
    state: State,
    seat: int,
    rows: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int64],
    shown: npt.NDArray[np.int64],
) -> tuple[int, int, int]:
    """Go through the tricks again for what the other seat has seen of a seat's hand. Gives the numbers of

    rows: one for each trick that the seat won and that tells something (`add_row`);
    slots: when each card came into the hand of which the other did not know then, 0 for those dealt and the number of
        the trick after which it was drawn, ascending;
    shown: those of these cards that have been shown: type, and above 5 bits in or after which trick."""
    seen = np.zeros(_SCORED + NUM_CARDS, np.int64)
    tricks, number, leader, turn_up = 0, int(options.cards_dealt), 1 - int(state.dealer), 2 * int(state.first_turn_up)
    sevens = (int(state.sevens[0]), int(state.sevens[1]))
    slots[:number] = 0
    for place in range(min(int(state.trick), drawing(options))):
        trick = place + 1
        led, reply = int(state.played[place, 0]), int(state.played[place, 1])
        show(seen, shown, led if leader == seat else reply, 0, trick)
        leader = 1 - leader if beats(int(state.trump), led, reply) else leader
        wins = leader == seat
        if trick in sevens:
            turn_up = show_sevens(options, state, seen, shown, trick, wins, turn_up)
        if wins and int(state.declared[place]):
            show_declared(state, seen, shown, trick)
        if trick | SEVEN_LAST in sevens:
            turn_up = show_sevens(options, state, seen, shown, trick | SEVEN_LAST, wins, turn_up)
        asked = int(state.asked[place])
        if wins and asked != NONE:
            tricks += add_row(options, int(state.trump), trick, asked, seen, rows[tricks])
        if trick == int(state.trick) and int(state.declaring):
            return tricks, number, int(seen[_SHOWN])
        first = trick == 1 and options.turn_up == TurnUp.TAKEN_FIRST
        if wins and (first or options.stock_top_open):
            card = turn_up if first else COPIES * int(state.drawn[place])
            learn(seen, card, IN_SEVEN * int(card >> 1 != state.first_turn_up) if first else 0)
        else:
            slots[number] = trick
            number += 1
        turn_up = NONE if first else turn_up
    if int(state.led) != NONE and leader == seat:
        show(seen, shown, int(state.led), 0, int(state.trick) + 1)
    return tricks, number, int(seen[_SHOWN])


# What the other knows of a seat's cards is in `seen`: as sets of types, those of which it knows one in the closed hand,
# and two, those whose first copy lies open, and whose second copy does; how many cards were shown; and from _SCORED on
# the kinds in which each card that lies open has scored.


@kernel
def learn(seen: npt.NDArray[np.int64], card: int, scored: int) -> None:
    """The other seat sees a card come into the hand, or one come back that has scored."""
    bit = 1 << (card >> 1 & _TYPE)
    if scored:
        seen[_LAID + (card & 1)] |= bit
        seen[_SCORED + (card & _CARD)] = scored
    else:
        seen[_TWO] |= seen[_ONE] & bit
        seen[_ONE] |= bit


@kernel
def show(seen: npt.NDArray[np.int64], shown: npt.NDArray[np.int64], card: int, kind: int, trick: int) -> None:
    """A seat plays a card, or lays it down in a declaration of a kind, else 0: one that lies open, else one like one
    that the other knows, else one of which the other did not know (`pack.reveal`)."""
    laid, bit, scored = _LAID + (card & 1), 1 << (card >> 1 & _TYPE), 0
    if seen[laid] & bit:
        scored = int(seen[_SCORED + (card & _CARD)])
        seen[laid] ^= bit
    else:
        shown[seen[_SHOWN]] = card >> 1 | trick << _TYPE_BITS
        seen[_SHOWN] += int(seen[_ONE] & bit == 0)
        seen[_ONE] &= seen[_TWO] | ~bit
        seen[_TWO] &= ~bit
    if kind:
        learn(seen, card, scored | kind)


@kernel
def show_declared(
    state: State,
    seen: npt.NDArray[np.int64],
    shown: npt.NDArray[np.int64],
    trick: int,
) -> None:
    """The winner lays down what was declared after a trick, the seven apart."""
    action, pattern = declared(state, trick - 1)
    for place in range(2 * members(action)):
        if pattern >> place & 1:
            show(seen, shown, 2 * member(action, place >> 1) + (place & 1), kind_of(action), trick)


@kernel
def show_sevens(
    options: Options,
    state: State,
    seen: npt.NDArray[np.int64],
    shown: npt.NDArray[np.int64],
    when: int,
    wins: bool,
    turn_up: int,
) -> int:
    """The sevens of trumps that the winner declared or exchanged then (`State.sevens`). Gives what is turned up
    now."""
    trick = when & ~SEVEN_LAST
    for copy in range(COPIES):
        if int(state.sevens[copy]) != when:
            continue
        seven = (int(state.trump) * RANKS + SEVEN) * COPIES + copy
        from_hand = seven not in (int(state.played[trick - 1, 0]), int(state.played[trick - 1, 1]))
        exchanged = turn_up != NONE and not is_seven(turn_up)
        exchanged = exchanged and not (from_hand and options.seven_rule == SevenRule.BOTH)
        if from_hand and wins:
            show(seen, shown, seven, 0 if exchanged else IN_SEVEN, trick)
            if exchanged:
                learn(seen, turn_up, 0)
        if exchanged:
            turn_up = seven
    return turn_up


@kernel
def add_row(
    options: Options, trump: int, trick: int, asked: int, seen: npt.NDArray[np.int64], row: npt.NDArray[np.int64]
) -> int:
    """Into a row: a trick that the seat won, whether they could declare something, what they had declared already; then
    for each kind of declaration the types of which the seat held one card, and those of which it held two, of those
    known and fit for it. Gives 1 if that tells something of the hand: a question that the cards known explain does
    not."""
    row[0], row[1], row[2] = trick, asked & 1, asked >> 1 & 3
    for number in range(len(_KINDS)):
        row[3 + 2 * number], row[4 + 2 * number] = seen[_ONE], seen[_TWO]
    seven = 1 << (RANKS * trump)
    fresh_seven = int(seen[_ONE]) & seven
    for copy in range(COPIES):
        laid = int(seen[_LAID + copy])
        while laid:
            kind, bit = lowest_card(laid), laid & -laid
            laid ^= bit
            scored = int(seen[_SCORED + COPIES * kind + copy])
            fresh_seven |= seven & bit & -int(scored & IN_SEVEN == 0)
            for number in range(len(_KINDS)):
                if eligible(options.reuse, scored, _KINDS[number]):
                    row[4 + 2 * number] |= row[3 + 2 * number] & bit
                    row[3 + 2 * number] |= bit
    if asked & 1 == 0 or options.reuse == Reuse.FREE:
        return 1
    return int(not could_declare(options, trump, row, fresh_seven, 0, ALL_TYPES))


@kernel
def placed(
    key: np.uint64,
    slots: npt.NDArray[np.int64],
    shown: npt.NDArray[np.int64],
    since: npt.NDArray[np.int64],
    left: npt.NDArray[np.int64],
) -> np.uint64:
    """Draw evenly, when each card shown came into the hand, before it was shown: into `since`; what is `left` are those
    of the cards that nobody has seen. Gives the key advanced."""
    free = slots.shape[0]
    for slot in range(free):
        left[slot] = slots[slot]
    for index in range(shown.shape[0]):
        before = int(shown[index]) >> _TYPE_BITS
        fit = free
        while fit > 0 and int(left[fit - 1]) >= before:
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
    trump: int,
    row: npt.NDArray[np.int64],
    shown: npt.NDArray[np.int64],
    since: npt.NDArray[np.int64],
    left: npt.NDArray[np.int64],
    hand: npt.NDArray[np.int64],
) -> bool:
    """Whether a seat could declare or not after a trick (`add_row`), as was seen, if the cards of its hand came when
    `since` and `left` say; the types in `hand` are those that nobody has seen. §1.5, §1.6"""
    trick, once, twice = int(row[0]), 0, 0
    for index in range(shown.shape[0]):
        kind, until = int(shown[index]) & _TYPE, int(shown[index]) >> _TYPE_BITS
        if int(since[index]) < trick < until:
            twice |= once & 1 << kind
            once |= 1 << kind
    for index in range(hand.shape[0]):
        if int(left[index]) < trick:
            twice |= once & 1 << int(hand[index])
            once |= 1 << int(hand[index])
    return bool(could_declare(options, trump, row, once, twice, once) == (int(row[1]) == 1))


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
    if not 0 < count < size:
        return rng.draw(key, pool, size, count)
    rows, slots = np.empty((DRAWING, _ROW), np.int64), np.empty(_SLOTS, np.int64)
    shown = np.empty(_MOST, np.int64)
    tricks, number, num_shown = recall(options, state, seat, rows, slots, shown)
    key = rng.draw(key, pool, size, count)
    if tricks == 0 or number != count + num_shown:  # the latter: a state put together by hand
        return key
    since, left = np.empty(_SLOTS, np.int64), np.empty(_SLOTS, np.int64)
    for _ in range(MOST_TRIES):
        key = placed(key, slots[:number], shown[:num_shown], since, left)
        checked, trump = tricks, int(state.trump)
        while checked > 0 and agrees(options, trump, rows[checked - 1], shown[:num_shown], since, left, pool[:count]):
            checked -= 1
        if checked == 0:
            return key
        key = rng.draw(key, pool, size, count)
    return key
