"""What a seat of Killer Back Alley Bridge Substitute sees, and what it may imagine of the rest.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.bit_rows import spread
from ..core.compile.kernel import kernel
from ..core.rules import cards, trick_hand, tricks
from ..core.rules.record import field
from ..core.rules.trick_hand import (
    LEAST_SCORE,
    SCORE_UNIT,
    left_of,
    mark_voids,
    marked_cards,
    marked_place,
    offset_of,
    per_seat,
)
from .rules import hook
from .schedule import size_of_hand
from .scorecard import dealer_of_line
from .scoring import BOARD_BONUS, MADE_POINTS, bid_value, hand_points, score_bounds
from .state import (
    BOARD,
    NO_BID,
    NO_CARD,
    PACK,
    PACK_SIZE,
    RAINBOW,
    SUITS,
    History,
    Options,
    State,
    largest_hand,
    num_hands,
    pack_size,
)

WIDE_TABLE = 10  # players above which an observation lists cards instead of having a number for each (§2)
UNKNOWN_TRUMP = 15  # the highest trump that a seat of which nothing is known may hold: the big joker (§2)


def _lines_shape(options: Options) -> tuple[int]:
    return (num_hands(options) if options.scorecard_in_observation else 0,)


def _entries_shape(options: Options) -> tuple[int, int]:
    return (*_lines_shape(options), options.num_players)


def _card_high(options: Options) -> int:
    return 1 if options.num_players <= WIDE_TABLE else PACK_SIZE


def named_suits(options: Options) -> tuple[int, ...]:
    """None by the rules; all where the pack lacks some, and where an observation tells cards by their numbers, which no
    change of places renames."""
    by_number = options.num_players > WIDE_TABLE or options.scorecard_in_observation
    return (0, 1, 2, 3) if by_number or options.suits < SUITS else ()


class Observation:
    """§2: what one seat may know, for tables of any size. Seats are relative: 0 is me, 1 sits at my left."""

    hand: npt.NDArray[np.int8] = field("i1", PACK_SIZE, "my cards", suits=0)
    turned: npt.NDArray[np.int8] = field("i1", PACK_SIZE, "the card turned up", suits=0)
    trump: npt.NDArray[np.int8] = field("i1", 5, "trump suit: C, D, H, S, none", suits=0)
    hand_size: int = field("i1", doc="cards dealt to each seat in this hand", high=largest_hand)
    hand_index: int = field("i1", doc="hands finished before this one", high=lambda o: num_hands(o) - 1)
    playing: int = field("i1", doc="1 once all bids are made")
    hook: int = field(
        "i1",
        doc="1 + the value that the bids so far would bar the dealer from, 0 for none",
        high=lambda o: largest_hand(o) + 1,
    )
    turn: npt.NDArray[np.int8] = field("i1", per_seat, "who is to act")
    dealer: npt.NDArray[np.int8] = field("i1", per_seat, "who dealt")
    leader: npt.NDArray[np.int8] = field("i1", per_seat, "who led, or is to lead, this trick")
    winning: npt.NDArray[np.int8] = field("i1", per_seat, "who wins the trick so far")
    bid_set: npt.NDArray[np.int8] = field("i1", per_seat, "has bid")
    bid_value: npt.NDArray[np.int8] = field("i1", per_seat, "tricks bid", high=largest_hand)
    bid_board: npt.NDArray[np.int8] = field("i1", per_seat, "has bid BOARD")
    bid_rainbow: npt.NDArray[np.int8] = field(
        "i1", per_seat, "has bid RAINBOW: a quarter of that hand was of each suit"
    )
    won: npt.NDArray[np.int8] = field("i1", per_seat, "tricks won", high=largest_hand)
    score_128s: npt.NDArray[np.int8] = field(
        "i1",
        per_seat,
        "points in 128s, rounded down (a lone player's stop at -16384)",
        low=lambda o: max(LEAST_SCORE, score_bounds(o)[0]) // SCORE_UNIT,
        high=lambda o: max(0, score_bounds(o)[1]) // SCORE_UNIT,
    )
    score_rest: npt.NDArray[np.int8] = field("i1", per_seat, "points beyond those 128s", high=SCORE_UNIT - 1)
    made: npt.NDArray[np.int8] = field("i1", per_seat, "bids made good", high=lambda o: num_hands(o))
    trick: npt.NDArray[np.int8] = field(
        "i1",
        lambda o: (o.num_players, PACK_SIZE if o.num_players <= WIDE_TABLE else 1),
        "each seat's card in this trick; above 10 players as 1 + its number",
        high=_card_high,
        suits=1,
    )
    played: npt.NDArray[np.int8] = field(
        "i1",
        lambda o: (o.num_players, PACK_SIZE if o.num_players <= WIDE_TABLE else largest_hand(o)),
        "each seat's cards of this hand so far; above 10 players as a list of 1 + its number",
        high=_card_high,
        suits=1,
    )
    void: npt.NDArray[np.int8] = field(
        "i1",
        lambda o: (o.num_players, 5),
        "suits (C, D, H, S, jokers without trump) that the seat has shown to lack",
        suits=1,
    )
    top_trump: npt.NDArray[np.int8] = field(
        "i1",
        per_seat,
        "1 + rank of the highest trump that the seat's plays leave possible; 14, 15 the jokers",
        high=15,
    )
    scorecard_dealer: npt.NDArray[np.int8] = field(
        "i1", _lines_shape, "1 + who dealt each finished hand, 0 before its end", high=lambda o: o.num_players
    )
    scorecard_turned: npt.NDArray[np.int8] = field(
        "i1", _lines_shape, "1 + the card turned up in each finished hand, 55 for none", high=NO_CARD + 1
    )
    scorecard_bid: npt.NDArray[np.int8] = field(
        "i1", _entries_shape, "1 + each finished hand's bids, as actions", high=RAINBOW + 1
    )
    scorecard_won: npt.NDArray[np.int8] = field(
        "i1", _entries_shape, "tricks won in each finished hand", high=largest_hand
    )
    scorecard_128s: npt.NDArray[np.int8] = field(
        "i1",
        _entries_shape,
        "points of each finished hand in 128s, rounded down",
        low=lambda o: (-(largest_hand(o) ** 2) - BOARD_BONUS) // SCORE_UNIT,
        high=lambda o: (MADE_POINTS + largest_hand(o) ** 2 + BOARD_BONUS) // SCORE_UNIT,
    )
    scorecard_rest: npt.NDArray[np.int8] = field(
        "i1", _entries_shape, "points of each finished hand beyond those 128s", high=SCORE_UNIT - 1
    )


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """§2: what `seat` may know now."""
    spread(int(state.hand[seat]), out.hand, 0, PACK_SIZE)
    if state.turned < NO_CARD:
        out.turned[state.turned] = 1
    out.trump[state.trump] = 1
    out.hand_size = state.hand_size
    out.hand_index = state.hand_index
    out.playing = state.playing
    if state.playing == 0:
        out.hook = max(0, hook(options, state) + 1)
    if state.seat >= 0:
        out.turn[offset_of(seat, int(state.seat), options.num_players)] = 1
    out.dealer[offset_of(seat, int(state.dealer), options.num_players)] = 1
    out.leader[offset_of(seat, int(state.leader), options.num_players)] = 1
    who = seat
    for offset in range(options.num_players):
        score = max(LEAST_SCORE, int(state.score[who]))
        out.score_128s[offset] = score // SCORE_UNIT
        out.score_rest[offset] = score % SCORE_UNIT
        out.made[offset] = state.made[who]
        observe_bid(state, who, offset, out)
        observe_knowledge(options, state, who, offset, out)
        who = left_of(who, options.num_players)
    observe_trick(options, state, seat, out)
    observe_played(options, state, seat, out)
    if options.scorecard_in_observation:
        observe_scorecard(options, state, seat, out)


@kernel
def observe_bid(state: State, who: int, offset: int, out: Observation) -> None:
    """§2: a seat's bid, and the tricks it has won."""
    out.won[offset] = state.won[who]
    bid = int(state.bid[who])
    if bid != NO_BID:
        out.bid_set[offset] = 1
        out.bid_value[offset] = bid_value(bid, int(state.hand_size))
        out.bid_board[offset] = int(bid == BOARD)
        out.bid_rainbow[offset] = int(bid == RAINBOW)


@kernel
def observe_knowledge(options: Options, state: State, who: int, offset: int, out: Observation) -> None:
    """§2: what all tricks of the hand have shown about a seat; nothing where only the last trick may be looked at."""
    possible = int(state.may_hold[who])
    if possible == PACK or options.history == History.LAST_TRICK:
        out.top_trump[offset] = UNKNOWN_TRUMP
        return
    trump = int(state.trump)
    mark_voids(possible, trump, out.void[offset])
    trumps = possible & tricks.suit_set(trump, trump)
    out.top_trump[offset] = (
        0 if trumps == 0 else 1 + tricks.strength(tricks.highest_card(trumps), tricks.JOKERS_HIGH) // 2
    )


@kernel
def observe_trick(options: Options, state: State, seat: int, out: Observation) -> None:
    """§2: the cards of this trick, by seat."""
    offset = offset_of(seat, int(state.leader), options.num_players)
    for index in range(int(state.in_trick)):
        card = int(state.trick[index])
        if options.num_players <= WIDE_TABLE:
            out.trick[offset, card] = 1
        else:
            out.trick[offset, 0] = card + 1
        if index == state.best:
            out.winning[offset] = 1
        offset = left_of(offset, options.num_players)


@kernel
def observe_played(options: Options, state: State, seat: int, out: Observation) -> None:
    """§2: the cards that each seat has played in this hand, or in its last finished trick."""
    who = seat
    for offset in range(options.num_players):
        shown = int(state.played[who])
        if options.history == History.LAST_TRICK:
            place = offset_of(int(state.last_leader), who, options.num_players)
            shown = 1 << int(state.last_trick[place]) if state.finished > 0 else 0
        if options.num_players <= WIDE_TABLE:
            spread(shown, out.played[offset], 0, PACK_SIZE)
        else:
            for index in range(cards.count_bits(shown)):
                out.played[offset, index] = tricks.lowest_card(shown) + 1
                shown &= shown - 1
        who = left_of(who, options.num_players)


@kernel
def observe_scorecard(options: Options, state: State, seat: int, out: Observation) -> None:
    """§1.6: every finished hand's line, whatever may be looked at of its tricks."""
    for line in range(int(state.lines)):
        size = size_of_hand(options, line)
        out.scorecard_dealer[line] = 1 + offset_of(seat, dealer_of_line(options, state, line), options.num_players)
        out.scorecard_turned[line] = 1 + state.scorecard_turned[line]
        who = seat
        for offset in range(options.num_players):
            bid, won = int(state.scorecard_bid[line, who]), int(state.scorecard_won[line, who])
            points = hand_points(options, bid, size, won)
            out.scorecard_bid[line, offset] = 1 + bid
            out.scorecard_won[line, offset] = won
            out.scorecard_128s[line, offset] = points // SCORE_UNIT
            out.scorecard_rest[line, offset] = points % SCORE_UNIT
            who = left_of(who, options.num_players)


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """§2: deal again the cards that `seat` has not seen: each hand within what its plays leave possible and, after a
    rainbow bid, with its number of cards of each suit; the rest is the leftover. The hook tells nothing of anybody's
    cards."""
    unseen = trick_hand.unseen_cards(state, seat, (1 << pack_size(options)) - 1)
    if state.turned < NO_CARD:
        unseen &= ~(1 << int(state.turned))
    places = 4 * options.num_players + 1
    room, may_hold, dealt = np.zeros(places, np.int64), np.zeros(places, np.int64), np.zeros(places, np.int64)
    left = cards.count_bits(unseen)
    for who in range(options.num_players):
        if who != seat:
            left -= hidden_hand(state, who, room[4 * who : 4 * who + 4], may_hold[4 * who : 4 * who + 4])
    room[places - 1] = left
    may_hold[places - 1] = PACK
    key = tricks.deal_unseen(key, unseen, room, may_hold, dealt)
    for who in range(options.num_players):
        if who != seat:
            state.hand[who] = dealt[4 * who] | dealt[4 * who + 1] | dealt[4 * who + 2] | dealt[4 * who + 3]


@kernel
def hidden_hand(state: State, who: int, room: npt.NDArray[np.int64], may_hold: npt.NDArray[np.int64]) -> int:
    """§2: another player's hand as four places, one for each suit of a rainbow; otherwise the first is all of it. Gives
    its size."""
    held = int(state.hand_size) - cards.count_bits(int(state.played[who]))
    possible = int(state.may_hold[who])
    if state.bid[who] != RAINBOW:
        room[0] = held
        may_hold[0] = possible
        return held
    for suit in range(4):
        suited = tricks.suit_set(suit, int(state.trump))
        room[suit] = int(state.hand_size) // 4 - cards.count_bits(int(state.played[who]) & suited)
        may_hold[suit] = possible & suited
    return held


# Reading an observation


@kernel
def card_shown(options: Options, observation: Observation, offset: int) -> int:
    """A seat's card in this trick, or -1."""
    if options.num_players > WIDE_TABLE:
        return int(observation.trick[offset, 0]) - 1
    return marked_place(observation.trick[offset])


@kernel
def played_by(options: Options, observation: Observation, offset: int) -> int:
    """The cards that a seat has played in this hand, as far as the observation tells."""
    if options.num_players <= WIDE_TABLE:
        return marked_cards(observation.played[offset])
    shown = 0
    for listed in observation.played[offset]:
        shown |= 1 << (int(listed) - 1) if listed != 0 else 0
    return shown
