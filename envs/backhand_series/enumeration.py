"""What the exact solver has to know of the Backhand series: all lies open but the order of the stub, and suits never
matter."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.kernel import kernel
from ..core.parts import Enumeration
from .rules import is_push_hand
from .state import SHOW_CARDS, TEN, DealerState, HandOptions, HandState
from .stub import value


@kernel
def deck(state: HandState) -> npt.NDArray[np.int8]:
    """The pack in the order of dealing."""
    return state.deck


@kernel
def next_card(state: HandState) -> int:
    """How many cards have been dealt."""
    return int(state.next_card)


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


ENUMERATION = Enumeration(deck, next_card, kind, key)
WITH_DEALER = Enumeration(deck, next_card, kind, dealer_key)
