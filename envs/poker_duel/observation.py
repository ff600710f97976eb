"""What a seat of Poker Duel sees, and what it may imagine of the rest.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules import pokerhands, rng
from ..core.rules.record import field
from .slots import discarded, fought, offer_cards, placed, slot_cards, slot_strength, sort_slot, stock_left
from .state import ARRANGE, HAND, MOST_STOCK, SLOT, SLOTS, Options, State, pack_size


class Observation:
    """§4: what one seat may know now. Index 0 of a pair is me, 1 is my opponent; a row of 52 has a 1 at each card's
    number."""

    slots: npt.NDArray[np.uint8] = field("u1", (SLOTS, 52), "my cards, slot by slot", suits=1)
    unassigned: npt.NDArray[np.uint8] = field("u1", 52, "my cards not yet in a slot", suits=0)
    next_card: npt.NDArray[np.uint8] = field("u1", 52, "the one of them to be assigned next", suits=0)
    discards: npt.NDArray[np.uint8] = field(
        "u1",
        lambda o: (2 if o.discards_public else 1, 52),
        "my discards of this game; with `discards_public` a second row, my opponent's",
        suits=1,
    )
    exposed: npt.NDArray[np.uint8] = field(
        "u1", (SLOTS, 52), "my opponent's hands that have been shown down, slot by slot", suits=1
    )
    category: npt.NDArray[np.uint8] = field(
        "u1", SLOTS, "category of each of my full slots, 0 nothing to 9 royal flush", high=9
    )
    my_turn: int = field("u1", doc="1 when I am to act")
    phase: npt.NDArray[np.uint8] = field("u1", 3, "arrange, exchange, exchange in sudden death: one of them is 1")
    current_slot: npt.NDArray[np.uint8] = field("u1", SLOTS, "1 at the slot being fought; all 0 while arranging")
    turns_left: npt.NDArray[np.uint8] = field(
        "u1", 2, "exchange turns left in this round", high=lambda o: max(1, o.exchanges_per_round)
    )
    exchanges: npt.NDArray[np.uint8] = field(
        "u1", (2, SLOTS), "cards exchanged in each round", high=lambda o: max(1, o.exchanges_per_round)
    )
    stood: npt.NDArray[np.uint8] = field("u1", (2, SLOTS), "1 where the latest turn in that round was to stand")
    stock: int = field("u1", doc="cards left in the deck", high=MOST_STOCK)
    dealer: npt.NDArray[np.uint8] = field("u1", 2, "who dealt")
    points: npt.NDArray[np.uint8] = field(
        "u1", 2, "points in this match, counted in halves", high=lambda o: 2 * o.num_games * sum(o.round_points)
    )
    game: int = field("u1", doc="games finished before this one", high=lambda o: o.num_games)
    sudden_death: int = field("u1", doc="number of the sudden-death hand, 0 before", high=lambda o: o.max_sudden_death)


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """§4, §5: my own cards, what has been laid open, and the public course of the match."""
    other = 1 - seat
    observe_cards(options, state, seat, out)
    out.my_turn = int(state.seat == seat)
    if state.phase == ARRANGE:
        out.phase[0] = 1
    else:
        out.phase[1 if state.sudden_death == 0 else 2] = 1
        if state.round_index < SLOTS:
            out.current_slot[state.round_index] = 1
    for index in range(2):
        who = seat if index == 0 else other
        out.turns_left[index] = state.turns_left[who]
        out.points[index] = int(2.0 * float(state.points[who]))
        for slot in range(SLOTS):
            out.exchanges[index, slot] = state.exchanges[who, slot]
            out.stood[index, slot] = state.stood[who, slot]
    out.stock = stock_left(options, state)
    out.dealer[0 if state.dealer == seat else 1] = 1
    out.game = state.game
    out.sudden_death = state.sudden_death


@kernel
def observe_cards(options: Options, state: State, seat: int, out: Observation) -> None:
    """The rows of cards."""
    other = 1 - seat
    for slot in range(SLOTS):
        count = int(state.filled[seat, slot])
        for index in range(count):
            out.slots[slot, state.slots[seat, slot, index]] = 1
        if count == SLOT:
            out.category[slot] = slot_strength(options, state, seat, slot) >> pokerhands.CATEGORY_SHIFT
            if fought(state, slot):
                for index in range(SLOT):
                    out.exposed[slot, state.slots[other, slot, index]] = 1
    if state.phase == ARRANGE:
        first = placed(state, seat)
        if first < HAND:
            out.next_card[state.offer[seat, first]] = 1
        for index in range(first, HAND):
            out.unassigned[state.offer[seat, index]] = 1
    for index in range(discarded(state, seat)):
        out.discards[0, state.discards[seat, index]] = 1
    if options.discards_public:
        for index in range(discarded(state, other)):
            out.discards[1, state.discards[other, index]] = 1


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """§5: deal again the cards that `seat` cannot place, to the opponent's closed hands, closed discards and the deck.

    Nor does the seat know how far the opponent has come with a split, so an unfinished one is taken back to its
    beginning.
    """
    other = 1 - seat
    unseen = np.empty(52, np.int8)
    hidden = ((1 << pack_size(options)) - 1) & ~seen_cards(options, state, seat)
    count = 0
    for card in range(52):
        if (hidden >> card) & 1:
            unseen[count] = card
            count += 1
    key = rng.shuffle(key, unseen, count)
    if state.phase == ARRANGE and placed(state, other) < HAND:
        hand = 0
        for index in range(HAND):
            hand |= 1 << int(unseen[count - 1 - index])
        count -= HAND
        state.slots[other, :, :] = 0
        state.filled[other, :] = 0
        offer_cards(state, other, hand)
    else:
        count = redraw_hands(options, state, other, unseen, count)
    for index in range(stock_left(options, state)):
        count -= 1
        state.stock[int(state.drawn) + index] = unseen[count]


@kernel
def redraw_hands(options: Options, state: State, other: int, unseen: npt.NDArray[np.int8], count: int) -> int:
    """New cards, from the end of `unseen`, for closed slots and discards; gives back how many are left."""
    for slot in range(SLOTS if state.sudden_death == 0 else 1):
        if fought(state, slot):
            # The place of a card within an open hand would tell which were drawn.
            sort_slot(state, other, slot)
        else:
            for index in range(SLOT):
                count -= 1
                state.slots[other, slot, index] = unseen[count]
    if not options.discards_public:
        for index in range(discarded(state, other)):
            count -= 1
            state.discards[other, index] = unseen[count]
    return count


@kernel
def seen_cards(options: Options, state: State, seat: int) -> int:
    """§5: the set of cards whose place a seat knows."""
    other = 1 - seat
    seen = 0
    for slot in range(SLOTS):
        seen |= slot_cards(state, seat, slot)
        if fought(state, slot):
            seen |= slot_cards(state, other, slot)
    if state.phase == ARRANGE:
        for index in range(placed(state, seat), HAND):
            seen |= 1 << int(state.offer[seat, index])
    for index in range(discarded(state, seat)):
        seen |= 1 << int(state.discards[seat, index])
    if options.discards_public:
        for index in range(discarded(state, other)):
            seen |= 1 << int(state.discards[other, index])
    return seen
