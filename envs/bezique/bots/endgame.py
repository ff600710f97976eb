"""The last eight tricks, solved exactly: alpha-beta over a position in which both players know every card (§1.4, §4,
§5).

A position is two sets of up to eight cards, each card one bit, and who leads. What a card beats is worked out once, so
a trick is a few operations on bits. Values are points still to come, those of the player in question less the other's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.compile.kernel import kernel
from ...core.rules.cards import count_bits
from ...core.rules.trick_hand import marked_place
from ...core.rules.tricks import lowest_card
from ..observation import Observation
from ..pack import beats
from ..state import BRISQUE_POINTS, BRISQUES, HAND, NUM_TYPES, TRICK_24, Endgame, Options
from .prospects import NOTHING, trump_of

_ENTRIES = 1 << 13  # of the transposition table: 64 KiB
_ENTRY_BITS = (1 << 17) - 1  # of a position: who leads, and both hands
_WORST_VALUE = 1 << 14  # beyond any value
_ANY = (1 << HAND) - 1  # no card of the other side is barred
_SPREAD = 40503  # odd, near 2**16 divided by the golden ratio: scatters neighbouring positions over the table


class Position(NamedTuple):
    """Two hands whose cards are numbered from 0, and what they do to each other; side 0 is the player who asks."""

    types: npt.NDArray[np.int64]
    """The type of each side's card [2, 8]."""
    beaten_by: npt.NDArray[np.int64]
    """The other side's cards, as a set, that win against a card which leads [2, 8]."""
    followed_by: npt.NDArray[np.int64]
    """The other side's cards of the same suit [2, 8]."""
    trumps: npt.NDArray[np.int64]
    """Each side's trumps [2]."""
    brisques: npt.NDArray[np.int64]
    """Each side's aces and tens [2]."""
    twins: npt.NDArray[np.int64]
    """Each side's cards that are of the same type as the one before [2]."""
    table: npt.NDArray[np.int64]
    """Bounds found so far: bits 0-16 of an entry are the position, the next 15 and 15 the bounds plus _WORST_VALUE; 0
    is empty."""
    stack: npt.NDArray[np.int64]
    """The search's frames [8, _COLUMNS]."""
    classic: bool
    last: int
    """Points of the last trick."""


@kernel
def position(
    classic: bool,
    last: int,
    trump: int,
    mine: npt.NDArray[Any],
    my_size: int,
    theirs: npt.NDArray[Any],
    their_size: int,
) -> Position:
    """The position of two hands, given as types of cards in ascending order. `last` is what the last trick is worth, up
    to 1000."""
    found = Position(
        np.zeros((2, HAND), np.int64),
        np.zeros((2, HAND), np.int64),
        np.zeros((2, HAND), np.int64),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
        np.zeros(_ENTRIES, np.int64),
        np.zeros((HAND, _COLUMNS), np.int64),
        classic,
        last,
    )
    for side in range(2):
        cards, size = (theirs, their_size) if side else (mine, my_size)
        others, others_size = (mine, my_size) if side else (theirs, their_size)
        for index in range(size):
            kind, bit = int(cards[index]), 1 << index
            found.types[side, index] = kind
            found.trumps[side] |= bit * int(kind >> 3 == trump)
            found.brisques[side] |= bit * (BRISQUES >> kind & 1)
            found.twins[side] |= bit * int(index > 0 and kind == int(cards[index - 1]))
            for other in range(others_size):
                reply = int(others[other])
                found.followed_by[side, index] |= int(reply >> 3 == kind >> 3) << other
                found.beaten_by[side, index] |= int(beats(trump, 2 * kind, 2 * reply)) << other
    return found


@kernel
def choices(hand: int, twins: int) -> int:
    """The cards of a hand that differ: of two copies held only the first. §3"""
    return hand & ~(twins & hand << 1)


@kernel
def replies_to(at: Position, side: int, card: int, hand: int) -> int:
    """What the other side may play from `hand` to a card that `side` leads. §1.4"""
    following = hand & int(at.followed_by[side, card])
    beating = hand & int(at.beaten_by[side, card])
    if at.classic:
        higher = following & beating
        trumps = hand & int(at.trumps[1 - side])
        allowed = (higher if higher else following) if following else trumps
    else:
        allowed = beating if beating else following
    return choices(allowed if allowed else hand, int(at.twins[1 - side]))


# The search walks down a stack of tricks, since machine code that calls itself cannot be kept on disk. A frame of the
# stack is a row of these numbers:
(
    _SIDE,  # who leads
    _LEADING,  # the hands
    _REPLYING,
    _LEADS,  # cards still to be tried as leads
    _ANSWERS,  # cards with which they may be answered
    _ALPHA,
    _BETA,
    _LOW,  # what is known of the value beforehand
    _HIGH,
    _BEST,  # the best lead so far, and that or alpha
    _FLOOR,
    _CARD,  # the lead under trial, or -1
    _ALLOWED,  # its answers still to be tried
    _WORST,  # its best answer so far, as the leader's value
    _POINTS,  # what the leader gains by the trick under trial
    _LOST,  # whether the leader loses it, so that the other leads next
) = range(16)
_COLUMNS = 16


@kernel
def search(
    at: Position, side: int, leading: int, replying: int, leads: int, answers: int, alpha: int, beta: int
) -> int:
    """The value of a position for `side`, which leads one of `leads`, answered by one of `answers`: exact between alpha
    and beta, beyond them a bound on its own side."""
    depth = 0
    ended, value = enter(at, depth, side, leading, replying, leads, answers, alpha, beta)
    while True:
        if ended:
            if depth == 0:
                return value
            depth -= 1
            frame = at.stack[depth]
            value = int(frame[_POINTS]) + (-value if frame[_LOST] else value)
            frame[_WORST] = min(int(frame[_WORST]), value)
        frame = at.stack[depth]
        reply = next_reply(at, frame)
        if reply < 0:
            ended, value = True, leave(at, frame, depth > 0)
            continue
        ended = False
        card = int(frame[_CARD])
        left, others = int(frame[_LEADING]) & ~(1 << card), int(frame[_REPLYING]) & ~(1 << reply)
        points = score_trick(at, frame, reply, left == 0)
        if left == 0:
            frame[_WORST] = min(int(frame[_WORST]), points)
            continue
        depth += 1
        low, high = int(frame[_FLOOR]) - points, min(int(frame[_BETA]), int(frame[_WORST])) - points
        if frame[_LOST]:
            its_leads = choices(others, int(at.twins[1 - frame[_SIDE]]))
            ended, value = enter(at, depth, 1 - int(frame[_SIDE]), others, left, its_leads, _ANY, -high, -low)
        else:
            my_leads = choices(left, int(at.twins[frame[_SIDE]]))
            ended, value = enter(at, depth, int(frame[_SIDE]), left, others, my_leads, _ANY, low, high)


@kernel
def enter(
    at: Position, depth: int, side: int, leading: int, replying: int, leads: int, answers: int, alpha: int, beta: int
) -> tuple[bool, int]:
    """Begin with a position: its value, if what is left or what was found before decides it; otherwise a new frame."""
    most = at.last + BRISQUE_POINTS * (
        count_bits(leading & int(at.brisques[side])) + count_bits(replying & int(at.brisques[1 - side]))
    )
    low, high = -most, most
    entry = side << 16 | leading << 8 | replying
    found = int(at.table[place_of(entry)])
    if found & _ENTRY_BITS == entry and depth > 0:
        low, high = (found >> 17 & 0x7FFF) - _WORST_VALUE, (found >> 32) - _WORST_VALUE
    if low >= beta or low == high:
        return True, low
    if high <= alpha:
        return True, high
    frame = at.stack[depth]
    frame[_SIDE], frame[_LEADING], frame[_REPLYING], frame[_LEADS], frame[_ANSWERS] = (
        side,
        leading,
        replying,
        leads,
        answers,
    )
    frame[_ALPHA], frame[_BETA], frame[_LOW], frame[_HIGH] = alpha, beta, low, high
    frame[_BEST], frame[_FLOOR], frame[_CARD], frame[_ALLOWED], frame[_WORST] = (
        -_WORST_VALUE,
        alpha,
        -1,
        0,
        -_WORST_VALUE,
    )
    return False, 0


@kernel
def next_reply(at: Position, frame: npt.NDArray[np.int64]) -> int:
    """The next answer to try, to the lead under trial or to the next one; -1 when the position is decided."""
    side = int(frame[_SIDE])
    while frame[_ALLOWED] == 0 or frame[_WORST] <= frame[_FLOOR]:
        frame[_BEST] = max(int(frame[_BEST]), int(frame[_WORST]))
        frame[_FLOOR] = max(int(frame[_FLOOR]), int(frame[_BEST]))
        if frame[_LEADS] == 0 or frame[_BEST] >= frame[_BETA]:
            return -1
        card = promising(at, side, int(frame[_LEADS]), int(frame[_REPLYING]))
        frame[_LEADS] &= ~(1 << card)
        frame[_CARD], frame[_WORST] = card, _WORST_VALUE
        frame[_ALLOWED] = replies_to(at, side, card, int(frame[_REPLYING])) & int(frame[_ANSWERS])
    reply = lowest_card(int(frame[_ALLOWED]))
    frame[_ALLOWED] &= frame[_ALLOWED] - 1
    return reply


@kernel
def score_trick(at: Position, frame: npt.NDArray[np.int64], reply: int, last: bool) -> int:
    """Note who wins the trick under trial, and give what the leader gains by it."""
    side, card = int(frame[_SIDE]), int(frame[_CARD])
    points = BRISQUE_POINTS * ((int(at.brisques[side]) >> card & 1) + (int(at.brisques[1 - side]) >> reply & 1))
    if last:
        points += at.last
    frame[_LOST] = int(at.beaten_by[side, card]) >> reply & 1
    frame[_POINTS] = -points if frame[_LOST] else points
    return int(frame[_POINTS])


@kernel
def leave(at: Position, frame: npt.NDArray[np.int64], note: bool) -> int:
    """The value of a position that is decided, and a note of it; but the first position of a search may bar moves."""
    best = int(frame[_BEST])
    if note:
        low = max(int(frame[_LOW]), best) if best > frame[_ALPHA] else int(frame[_LOW])
        high = min(int(frame[_HIGH]), best) if best < frame[_BETA] else int(frame[_HIGH])
        entry = int(frame[_SIDE]) << 16 | int(frame[_LEADING]) << 8 | int(frame[_REPLYING])
        at.table[place_of(entry)] = entry | (low + _WORST_VALUE) << 17 | (high + _WORST_VALUE) << 32
    return best


@kernel
def place_of(entry: int) -> int:
    """Where a position stands in the table."""
    return entry * _SPREAD >> 4 & _ENTRIES - 1


@kernel
def promising(at: Position, side: int, leads: int, replying: int) -> int:
    """Which card to look at first: a brisque that cannot be beaten, then any card that cannot, then the first."""
    chosen, rank = 0, -1
    rest = leads
    while rest != 0:
        card = lowest_card(rest)
        rest &= rest - 1
        safe = int(int(at.beaten_by[side, card]) & replying == 0)
        its_rank = 2 * safe + int(safe == int(at.brisques[side]) >> card & 1)
        if its_rank > rank:
            chosen, rank = card, its_rank
    return chosen


@kernel
def best_lead(at: Position, my_size: int, their_size: int) -> tuple[int, int]:
    """The type of the best card to lead, of equals the first in order, and the value of the position."""
    mine, theirs = (1 << my_size) - 1, (1 << their_size) - 1
    leads, best, chosen = choices(mine, int(at.twins[0])), -_WORST_VALUE, 0
    while leads != 0:
        card = lowest_card(leads)
        leads &= leads - 1
        value = search(at, 0, mine, theirs, 1 << card, _ANY, best, _WORST_VALUE)
        if value > best:
            best, chosen = value, card
    return int(at.types[0, chosen]), best


@kernel
def best_reply(at: Position, my_size: int, their_size: int, led: int) -> tuple[int, int]:
    """The type of the best reply to a card of type `led`, one of side 1's, and the value of the position."""
    mine, theirs, card = (1 << my_size) - 1, (1 << their_size) - 1, 0
    while int(at.types[1, card]) != led:
        card += 1
    replies, best, chosen = replies_to(at, 1, card, mine), -_WORST_VALUE, 0
    while replies != 0:
        reply = lowest_card(replies)
        replies &= replies - 1
        value = -search(at, 1, theirs, mine, 1 << card, 1 << reply, -_WORST_VALUE, -best)
        if value > best:
            best, chosen = value, reply
    return int(at.types[0, chosen]), best


@kernel
def solve(options: Options, observation: Observation) -> tuple[int, int]:
    """The type of card that the seat to act plays best, and the points still to come for it less those for the other,
    from an observation of the last eight tricks (`observation.trick` is 24 or more, and it is the seat's turn)."""
    mine, theirs = np.zeros(HAND, np.int64), np.zeros(HAND, np.int64)
    my_size, their_size, led = 0, 0, marked_place(observation.led)
    for kind in range(NUM_TYPES):
        for _ in range(int(observation.hand[kind, 0]) + int(observation.hand[kind, 1])):
            mine[my_size] = kind
            my_size += 1
        for _ in range(int(observation.opponent_hand[kind]) + int(observation.led[kind])):
            theirs[their_size] = kind
            their_size += 1
    last = 0 if options.last_trick == TRICK_24 else options.last_trick
    at = position(options.endgame == Endgame.CLASSIC, last, trump_of(observation), mine, my_size, theirs, their_size)
    return best_lead(at, my_size, their_size) if led == NOTHING else best_reply(at, my_size, their_size, led)


@kernel
def play(options: Options, observation: Observation, mask: npt.NDArray[np.int8]) -> int:
    """The action that `solve` finds, for the seat to act in the last eight tricks."""
    kind, _ = solve(options, observation)
    return 2 * kind if mask[2 * kind] else 2 * kind + 1
