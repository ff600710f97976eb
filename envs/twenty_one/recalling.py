"""Twenty-One's `GameType.recall`: earlier states of a round, with the cards that a redrawn world has.

All that is done with cards is seen by everybody, only not which they are. So a card of an earlier state is what the
world has in the place to which it has come since, and its being known, silent or of some shuffle goes with it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.kernel import kernel
from .bets import opening
from .observation import DISCARDS, STOCK, card_at, put
from .state import MOST_CARDS, NUM_CARDS, STAND, Options, State
from .valuation import must_stop_at_21


@kernel
def list_places(options: Options, state: State, places: npt.NDArray[np.int64]) -> int:
    """Fill `places` with those where a card lies, numbered as in `observation.py`; gives how many there are."""
    size = 0
    for owner in range(options.num_players):
        for index in range(int(state.count[owner])):
            places[size] = owner * MOST_CARDS + index
            size += 1
    for index in range(int(state.discarded)):
        places[size] = DISCARDS + index
        size += 1
    for index in range(int(state.drawn), int(state.stock_size)):
        places[size] = STOCK + index
        size += 1
    return size


@kernel
def recall(options: Options, past: State, now: State, world: State, seat: int) -> None:
    """Turn every card of `past` into the one that the world has where it lies now; what `seat` sees stays the same."""
    places = np.empty(NUM_CARDS, np.int64)
    becomes = np.arange(NUM_CARDS)
    for index in range(list_places(options, now, places)):
        becomes[card_at(now, places[index])] = card_at(world, places[index])
    for index in range(list_places(options, past, places)):
        put(past, places[index], becomes[card_at(past, places[index])])
    known, origin, silent = past.known.copy(), past.origin.copy(), int(past.silent)
    past.silent = 0
    for card in range(NUM_CARDS):
        past.known[becomes[card]] = known[card]
        past.origin[becomes[card]] = origin[card]
        past.silent = int(past.silent) | (((silent >> card) & 1) << int(becomes[card]))
    for other in range(options.num_players):
        if other != seat:
            for card in range(NUM_CARDS):  # as `determinize` leaves it
                past.cleared[other, card] = past.cleared[seat, card]


@kernel
def shows(options: Options, state: State, action: int) -> bool:
    """Whether a decision is told from what the rules do by themselves. A chosen stand is not, where 21 is stood on
    without being asked: that nobody was would tell the total."""
    seat = int(state.seat)
    return action != STAND or opening(state, seat) or not must_stop_at_21(options, state, seat)
