"""What a seat may know: all but the stub's order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules import rng
from ..core.rules.record import field
from .state import (
    HAND_SIZE,
    LIMIT,
    MAX_DRAWS,
    MAX_PUSHES,
    MAX_TOTAL,
    PACK,
    SHOW_CARDS,
    TEN,
    DealerOptions,
    DealerState,
    HandOptions,
    HandState,
    HandType,
    Method,
    Verdict,
    per_seat,
)
from .stub import stub_size, value


class HandObservation:
    """What a seat may know of hands and stub; index 0 of a per-seat field is the seat itself, 1 its opponent."""

    to_act: npt.NDArray[np.uint8] = field("u1", per_seat, "1 for the seat whose turn it is")
    hand: npt.NDArray[np.uint8] = field(
        "u1", lambda o: (o.seats, HAND_SIZE), "values of its cards as received; 0 none", high=TEN
    )
    total: npt.NDArray[np.uint8] = field("u1", per_seat, "total hand value", high=MAX_TOTAL)
    player_total: npt.NDArray[np.uint8] = field("u1", per_seat, "player total; 0 before the first draw", high=LIMIT)
    draws: npt.NDArray[np.uint8] = field("u1", per_seat, "cards drawn since the initial hand", high=MAX_DRAWS)
    initial_value: npt.NDArray[np.uint8] = field("u1", per_seat, "value of the initial hand", high=2 * TEN)
    hand_type: npt.NDArray[np.uint8] = field(
        "u1", lambda o: (o.seats, len(HandType)), "type of the initial hand: low, play, push"
    )
    pushes: npt.NDArray[np.uint8] = field("u1", per_seat, "push hands thrown away", high=MAX_PUSHES)
    method: npt.NDArray[np.uint8] = field(
        "u1",
        lambda o: (o.seats, len(Method) - 1),
        "what ended the hand: bust, five cards, push, backhand, stand; zeros while it goes on",
    )
    success: npt.NDArray[np.uint8] = field("u1", per_seat, "1 when what ended the hand came off")
    verdict: npt.NDArray[np.uint8] = field(
        "u1", lambda o: (o.seats, len(Verdict) - 1), "its end: win, tie, loss; zeros while it goes on"
    )
    left: npt.NDArray[np.uint8] = field("u1", TEN - 1, "cards left in the stub of value 1, 2, ... 9", high=4)
    tens_left: int = field("u1", doc="cards left in the stub of value 10", high=16)
    stub: int = field("u1", doc="cards left in the stub", high=PACK - 2)


class DealerHandObservation:
    """What a dealer hand adds to an observation; mixed in first for the same reason as `DealerHand`."""

    show: npt.NDArray[np.uint8] = field(
        "u1", SHOW_CARDS, "values of the show cards in the order of their use", high=TEN
    )
    next_show: npt.NDArray[np.uint8] = field(
        "u1", per_seat, "the show card that the hand's next draw is paired with; 0 none", high=TEN
    )
    dealer_total: npt.NDArray[np.uint8] = field(
        "u1",
        per_seat,
        "dealer total against the hand; 0 before the first draw",
        high=lambda o: LIMIT if o.dealer_total_cap else LIMIT + 1,
    )
    ahead: npt.NDArray[np.uint8] = field("u1", per_seat, "1 when the player total is greater than the dealer total")


class DealerObservation(HandObservation, DealerHandObservation):
    """What a seat may know where there is a dealer hand."""


@kernel
def observe(options: HandOptions, state: HandState, seat: int, out: HandObservation) -> None:
    """Hands and stub as `seat` may know them: all of them but the stub's order."""
    seats = len(state.total)
    for relative in range(seats):
        player = (seat + relative) % seats
        draws = int(state.draws[player])
        out.to_act[relative] = int(state.seat) == player
        out.total[relative] = state.total[player]
        out.player_total[relative] = state.player_total[player]
        out.draws[relative] = draws
        out.initial_value[relative] = state.initial_value[player]
        out.pushes[relative] = state.pushes[player]
        out.success[relative] = state.success[player]
        if int(state.initial_value[player]) > 0:
            out.hand_type[relative, int(state.hand_type[player])] = 1
            # As many turns for every hand, so that the processor need not guess how many (*measured*: a step of
            # Missouri City takes 0.85 times as long).
            for place in range(HAND_SIZE):
                out.hand[relative, place] = value(int(state.cards[player, place])) if place < 2 + draws else 0
        if int(state.method[player]) > 0:
            out.method[relative, int(state.method[player]) - 1] = 1
        if int(state.verdict[player]) > 0:
            out.verdict[relative, int(state.verdict[player]) - 1] = 1
    for number in range(TEN - 1):
        out.left[number] = state.left[number]
    out.tens_left = state.left[TEN - 1]
    out.stub = stub_size(state)


@kernel
def observe_dealer(options: DealerOptions, state: DealerState, seat: int, out: DealerObservation) -> None:
    """Show cards and dealer totals as `seat` may know them."""
    if int(state.next_card) == 0:
        return
    seats = len(state.total)
    for place in range(SHOW_CARDS):
        out.show[place] = value(int(state.show[place]))
    for relative in range(seats):
        player = (seat + relative) % seats
        draws = int(state.draws[player])
        out.dealer_total[relative] = state.dealer_total[player]
        out.ahead[relative] = int(state.advantage[player]) > 0
        if int(state.method[player]) == Method.NONE and draws < MAX_DRAWS:
            out.next_show[relative] = value(int(state.show[draws]))


@kernel
def determinize(options: HandOptions, state: HandState, seat: int, key: np.uint64) -> None:
    """Redraw the order of the stub, the same for every seat: all else is public."""
    first, size, left = int(state.next_card), stub_size(state), 0
    for place in range(first, first + size):
        left |= 1 << int(state.deck[place])
    place = first
    for card in range(PACK):
        if (left >> card) & 1:
            state.deck[place] = card
            place += 1
    rng.shuffle(key, state.deck[first:], size)
