"""What a seat may know: all but the stub's order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules import rng
from ..core.rules.marks import marks, my_turn, one_marked
from ..core.rules.record import field
from .dealer import dealer_total
from .rules import hand_type
from .state import (
    BACKHAND,
    HAND_SIZE,
    LIMIT,
    MAX_DRAWS,
    MAX_PUSHES,
    MAX_TOTAL,
    PACK,
    PLAY_FROM,
    PUSH,
    PUSH_FROM,
    SHOW_CARDS,
    STAND,
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


# ----------------------------------------------------------------------------------------------------------------------
# Whether the numbers of an observation agree with each other


@kernel
def consistent(options: HandOptions, observation: HandObservation, mask: npt.NDArray[np.int8]) -> bool:
    """`GameType.consistent` without a dealer hand."""
    if mask[STAND] or not hands_agree(observation, mask):
        return False
    return cards_add_up(observation, np.zeros(TEN + 1, np.int64))


@kernel
def consistent_with_dealer(options: DealerOptions, observation: DealerObservation, mask: npt.NDArray[np.int8]) -> bool:
    """The same with a dealer hand; whether a hand may stand is left to the game."""
    shown = np.zeros(TEN + 1, np.int64)
    for place in range(SHOW_CARDS):
        if observation.show[place] == 0:
            return False
        shown[int(np.int64(observation.show[place]))] += 1
    for relative in range(len(observation.total)):
        if not dealer_agrees(options, observation, relative):
            return False
    return hands_agree(observation, mask) and cards_add_up(observation, shown)


@kernel
def hands_agree(observation: HandObservation, mask: npt.NDArray[np.int8]) -> bool:
    """Whether it is my turn, every hand's numbers follow from its cards, and the mask allows no more than my hand does.
    §1.3"""
    if not my_turn(observation.to_act):
        return False
    for relative in range(len(observation.total)):
        if not hand_agrees(observation, relative):
            return False
    push_hand = observation.draws[0] == 0 and int(np.int64(observation.initial_value[0])) >= PUSH_FROM
    if mask[BACKHAND] and (push_hand or int(np.int64(observation.total[0])) < PLAY_FROM):
        return False
    return marks(observation.method[0]) == 0 and not (mask[PUSH] and not push_hand)


@kernel
def hand_agrees(observation: HandObservation, relative: int) -> bool:
    """Whether a hand's totals, type and end follow from its cards. §1.3, §1.4, §1.5"""
    draws, total, last = int(np.int64(observation.draws[relative])), 0, 0
    for place in range(HAND_SIZE):
        card = int(np.int64(observation.hand[relative, place]))
        if (card > 0) != (place < 2 + draws):
            return False
        total += card
        last = card if card > 0 else last
    initial = int(np.int64(observation.hand[relative, 0])) + int(np.int64(observation.hand[relative, 1]))
    before = total - last if draws > 0 else 0
    kind = observation.hand_type[relative]
    return (
        int(np.int64(observation.total[relative])) == total
        and int(np.int64(observation.initial_value[relative])) == initial
        and int(np.int64(observation.player_total[relative])) == before
        and before <= LIMIT
        and one_marked(kind)
        and bool(kind[hand_type(initial)] == 1)
        and end_agrees(observation, relative, draws, initial, before, total)
    )


@kernel
def end_agrees(observation: HandObservation, relative: int, draws: int, initial: int, before: int, total: int) -> bool:
    """Whether a hand goes on, or has ended as its totals have it. §1.4, §1.6"""
    ends, verdict, success = observation.method[relative], observation.verdict[relative], observation.success[relative]
    if marks(ends) == 0:
        return draws < MAX_DRAWS and total <= LIMIT and success == 0 and marks(verdict) == 0
    won = verdict[Verdict.WIN - 1] == 1
    if not one_marked(ends) or not one_marked(verdict) or draws == 0 or (won and success == 0):
        return False
    within = total <= LIMIT
    if ends[Method.BUST - 1]:
        return not within and success == 0
    if ends[Method.FIVE_CARDS - 1]:
        return within and success == 1 and draws == MAX_DRAWS
    if ends[Method.PUSH - 1]:
        return draws == 1 and initial >= PUSH_FROM and (success == 1) == within
    if ends[Method.BACKHAND - 1]:
        return before >= PLAY_FROM and (success == 1) != within
    return within and success == 1


@kernel
def dealer_agrees(options: DealerOptions, observation: DealerObservation, relative: int) -> bool:
    """Whether a hand's dealer total is that of its last draw, and it is ahead where its player total is greater.
    §2.3"""
    draws = int(np.int64(observation.draws[relative]))
    if draws == 0:
        return bool(observation.dealer_total[relative] == 0 and observation.ahead[relative] == 0)
    drawn = int(np.int64(observation.hand[relative, min(1 + draws, HAND_SIZE - 1)]))
    total = dealer_total(int(np.int64(observation.show[draws - 1])), drawn, options.dealer_total_cap)
    ahead = int(np.int64(observation.player_total[relative])) > total
    return int(np.int64(observation.dealer_total[relative])) == total and (observation.ahead[relative] == 1) == ahead


@kernel
def cards_add_up(observation: HandObservation, seen: npt.NDArray[np.int64]) -> bool:
    """Whether hands, stub and the cards `seen` elsewhere, by their values [11], are of one pack, and a card is left to
    draw. §1.1"""
    for relative in range(len(observation.total)):
        for place in range(HAND_SIZE):
            seen[int(np.int64(observation.hand[relative, place]))] += 1
    stub = int(np.int64(observation.tens_left))
    if seen[TEN] + stub > 16:
        return False
    for number in range(1, TEN):
        left = int(np.int64(observation.left[number - 1]))
        if seen[number] + left > 4:
            return False
        stub += left
    return stub == int(np.int64(observation.stub)) and stub > 0
