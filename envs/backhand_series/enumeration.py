"""What the exact solver has to know of the Backhand series: all lies open but the order of the stub, and suits never
matter."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import Enumeration
from ..core.compile.kernel import kernel
from .rules import is_push_hand
from .state import ACE, LIMIT, MAX_DRAWS, SHOW_CARDS, TEN, DealerState, HandOptions, HandState, Method, Verdict
from .stub import stub_size, value


@kernel
def deck(state: HandState) -> npt.NDArray[np.int8]:
    """The pack in the order of dealing."""
    return state.deck


@kernel
def next_card(state: HandState) -> int:
    """How many cards have been dealt."""
    return int(state.next_card)


@kernel
def stock(options: HandOptions, state: HandState, out: npt.NDArray[np.int64]) -> int:
    """`GameType.stock`: the stub."""
    first, size = int(state.next_card), stub_size(state)
    for place in range(size):
        out[place] = state.deck[first + place]
    return size


@kernel
def kind(card: int) -> int:
    """Cards of one value are alike."""
    return value(card) - 1


@kernel
def key(options: HandOptions, state: HandState) -> int:
    """What the rest of a single hand depends on: the stub's cards by value, the total, the draws made, and whether it
    may be pushed.

    The player total of the next draw is the present total.
    """
    packed = 0
    for number in range(TEN):
        packed = packed * 17 + int(state.left[number])
    packed = packed * 32 + int(state.total[0])
    return (packed * 4 + int(state.draws[0])) * 2 + int(is_push_hand(state, 0))


@kernel
def dealer_key(options: HandOptions, state: DealerState) -> int:
    """The same against a dealer: the show cards still to be used, too."""
    packed = key(options, state)
    for place in range(SHOW_CARDS):
        packed = packed * 11 + (value(int(state.show[place])) if place >= int(state.draws[0]) else 0)
    return packed


@kernel
def hand_code(state: DealerState, seat: int, may_stand: bool) -> int:
    """What the rest of a deal depends on in one of two hands, below 8,192. Where it goes on: its total, the draws made
    and, if it may stand with what it has, its player total. Where it was won: by what, and with which totals; all hands
    that were not won are alike."""
    total, player_total = int(state.total[seat]), int(state.player_total[seat])
    if int(state.method[seat]) == Method.NONE:
        held = player_total + 1 if may_stand and int(state.advantage[seat]) > 0 else 0
        return 1 + (total * MAX_DRAWS + int(state.draws[seat])) * (LIMIT + 2) + held
    if int(state.verdict[seat]) != Verdict.WIN:
        return 0
    return 2048 + (int(state.method[seat]) * 32 + player_total) * 32 + total


@kernel
def two_hands_key(state: DealerState, may_stand: bool) -> int:
    """What the rest of a deal of two hands depends on: the stub's cards by value, both hands, who acts, and the show
    cards that a hand may still use."""
    packed = int(state.seat)
    used = SHOW_CARDS
    for seat in range(2):
        packed = packed * 8192 + hand_code(state, seat, may_stand)
        if int(state.method[seat]) == Method.NONE:
            used = min(used, int(state.draws[seat]))
    for place in range(SHOW_CARDS):
        packed = packed * 11 + (value(int(state.show[place])) if place >= used else 0)
    for number in range(ACE, TEN):
        packed = packed * 5 + int(state.left[number - 1])
    return packed * 17 + int(state.left[TEN - 1])


ENUMERATION = Enumeration(deck, next_card, kind, key)
WITH_DEALER = Enumeration(deck, next_card, kind, dealer_key)
