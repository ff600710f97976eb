"""What a seat of Template may know, and determinizations redrawn from it."""

import numpy as np
import numpy.typing as npt

from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.rules import cards, trick_hand, tricks
from backalley.envs.core.rules.record import field
from backalley.envs.core.rules.trick_hand import per_seat

from .state import PACK, PACK_SIZE, Options, State


def voids_shape(options: Options) -> tuple[int, int]:
    """Four suits of each seat."""
    return options.num_players, 4


class Observation:
    """What a seat may know. Seats are turned: 0 is the observer, 1 the seat to its left."""

    hand: npt.NDArray[np.uint8] = field("u1", PACK_SIZE, "1 for each card that I hold")
    played: npt.NDArray[np.uint8] = field("u1", PACK_SIZE, "1 for each card that has been played")
    turned: npt.NDArray[np.uint8] = field("u1", PACK_SIZE, "1 for the card turned up; its suit is trump")
    trick: npt.NDArray[np.uint8] = field("u1", per_seat, "each seat's card in this trick: number + 1; 0 none", high=52)
    led: npt.NDArray[np.uint8] = field("u1", per_seat, "1 for who led, or is to lead, this trick")
    voids: npt.NDArray[np.uint8] = field("u1", voids_shape, "1 for each suit that a seat has shown not to hold")
    won: npt.NDArray[np.uint8] = field("u1", per_seat, "tricks that each seat has won", high=8)


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """One's own cards, and all that has been played."""
    seats = options.num_players
    trick_hand.mark_cards(int(state.hand[seat]), out.hand)
    out.turned[int(state.turned)] = 1
    for who in range(seats):
        offset = trick_hand.offset_of(seat, who, seats)
        trick_hand.mark_cards(int(state.played[who]), out.played)
        trick_hand.mark_voids(int(state.may_hold[who]), int(state.trump), out.voids[offset])
        out.won[offset] = state.won[who]
        out.led[offset] = who == state.leader
        place = trick_hand.offset_of(int(state.leader), who, seats)
        if place < state.in_trick:
            out.trick[offset] = int(state.trick[place]) + 1


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """The cards that a seat has not seen are dealt again: to each hand as many as it holds, none of a suit its seat
    has shown not to hold; the rest is the stock."""
    seats = options.num_players
    unseen = trick_hand.unseen_cards(state, seat, PACK) & ~(1 << int(state.turned))
    room, may_hold, dealt = np.zeros(seats + 1, np.int64), np.zeros(seats + 1, np.int64), np.zeros(seats + 1, np.int64)
    stock = cards.count_bits(unseen)
    for who in range(seats):
        if who != seat:
            room[who] = cards.count_bits(int(state.hand[who]))
            may_hold[who] = state.may_hold[who]
            stock -= int(room[who])
    room[seats] = stock
    may_hold[seats] = PACK
    tricks.deal_unseen(key, unseen, room, may_hold, dealt)
    for who in range(seats):
        if who != seat:
            state.hand[who] = dealt[who]
