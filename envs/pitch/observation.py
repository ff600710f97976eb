"""What a seat of Pitch sees, and what it may imagine of the rest. The § marks are README.md's paragraphs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.bit_rows import spread
from ..core.compile.kernel import kernel
from ..core.rules import cards, trick_hand, tricks
from ..core.rules.record import field
from ..core.rules.trick_hand import SCORE_UNIT, left_of, mark_voids, offset_of, per_seat
from .points import MOST_PIPS, top_bid
from .state import (
    ANY_CARD,
    BIDDING,
    HAND,
    NOBODY,
    NUM_CARDS,
    NUM_POINTS,
    Options,
    State,
    num_sides,
    pack_size,
    per_side,
    side_of,
)


def _most_points(options: Options) -> int:
    """What a game's hands can bring to a side, or cost it."""
    return options.max_hands * top_bid(options)


class Observation:
    """§4: what one seat may know. Seats are relative: 0 is me, 1 sits at my left. So are sides: 0 is mine, and alone
    everyone is a side."""

    hand: npt.NDArray[np.int8] = field("i1", NUM_CARDS, "my cards", suits=0)
    played: npt.NDArray[np.int8] = field(
        "i1", lambda o: (o.num_players, NUM_CARDS), "the cards that each seat has played in this hand", suits=1
    )
    trick: npt.NDArray[np.int8] = field(
        "i1", lambda o: (o.num_players, NUM_CARDS), "each seat's card in this trick", suits=1
    )
    trump: npt.NDArray[np.int8] = field("i1", 5, "trump suit: C, D, H, S, not yet known", suits=0)
    phase: npt.NDArray[np.int8] = field("i1", 3, "bidding, playing, naming trump: one of them is 1")
    turn: npt.NDArray[np.int8] = field("i1", per_seat, "who is to act")
    dealer: npt.NDArray[np.int8] = field("i1", per_seat, "who dealt")
    leader: npt.NDArray[np.int8] = field("i1", per_seat, "who led, or is to lead, this trick")
    winning: npt.NDArray[np.int8] = field("i1", per_seat, "who wins the trick so far")
    pitcher: npt.NDArray[np.int8] = field("i1", per_seat, "who has made the highest bid so far")
    bids: npt.NDArray[np.int8] = field(
        "i1", lambda o: (o.num_players, 6), "each seat's bid: none yet, pass, 2, 3, 4, 5"
    )
    high_bid: int = field("i1", doc="the highest bid so far, 0 for none", high=5)
    void: npt.NDArray[np.int8] = field(
        "i1", lambda o: (o.num_players, 4), "suits that the seat has shown to lack", suits=1
    )
    pips: npt.NDArray[np.int8] = field("i1", per_side, "pips captured", high=MOST_PIPS)
    points: npt.NDArray[np.int8] = field(
        "i1", lambda o: (NUM_POINTS, num_sides(o)), "who has High, Low, Jack, Game, Joker by the cards captured so far"
    )
    score_128s: npt.NDArray[np.int8] = field(
        "i1",
        per_side,
        "scores in 128s, rounded down",
        low=lambda o: -_most_points(o) // SCORE_UNIT,
        high=lambda o: _most_points(o) // SCORE_UNIT,
    )
    score_rest: npt.NDArray[np.int8] = field("i1", per_side, "points beyond those 128s", high=SCORE_UNIT - 1)
    tricks: int = field("i1", doc="tricks of this hand that are finished", high=HAND)
    hand_index: int = field("i1", doc="hands finished before this one", high=lambda o: o.max_hands)


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """§4: what `seat` may know now."""
    seats = options.num_players
    spread(int(state.hand[seat]), out.hand, 0, NUM_CARDS)
    out.trump[state.trump] = 1
    out.phase[state.phase] = 1
    out.high_bid = state.high_bid
    out.tricks = state.finished
    out.hand_index = state.hand_index
    if state.seat >= 0:
        out.turn[offset_of(seat, int(state.seat), seats)] = 1
    out.dealer[offset_of(seat, int(state.dealer), seats)] = 1
    if state.pitcher != NOBODY:
        out.pitcher[offset_of(seat, int(state.pitcher), seats)] = 1
    observe_seats(options, state, seat, out)
    if state.phase != BIDDING:
        observe_trick(options, state, offset_of(seat, int(state.leader), seats), out)
    observe_sides(options, state, seat, out)


@kernel
def observe_seats(options: Options, state: State, seat: int, out: Observation) -> None:
    """§4: what each seat has bid and played, and the suits that it has shown to lack."""
    who, trump = seat, int(state.trump)
    for offset in range(options.num_players):
        out.bids[offset, state.bid[who]] = 1
        spread(int(state.played[who]), out.played[offset], 0, NUM_CARDS)
        possible = int(state.may_hold[who])
        if possible != ANY_CARD:
            mark_voids(possible, trump, out.void[offset])
        who = left_of(who, options.num_players)


@kernel
def observe_trick(options: Options, state: State, leader: int, out: Observation) -> None:
    """§4: the trick, its leader so many places to my left."""
    out.leader[leader] = 1
    offset = leader
    for index in range(state.in_trick):
        out.trick[offset, state.trick[index]] = 1
        if index == state.best:
            out.winning[offset] = 1
        offset = left_of(offset, options.num_players)


@kernel
def observe_sides(options: Options, state: State, seat: int, out: Observation) -> None:
    """§4: scores, pips, and the points as they stand."""
    sides, mine = state.score.shape[0], side_of(options, seat)
    for side in range(sides):
        offset = offset_of(mine, side, sides)
        out.score_128s[offset] = int(state.score[side]) // SCORE_UNIT
        out.score_rest[offset] = int(state.score[side]) % SCORE_UNIT
        out.pips[offset] = state.pips[side]
    if state.finished > 0:
        for point in range(NUM_POINTS):
            side = int(state.point[point]) - 1
            if side >= 0:
                out.points[point, offset_of(mine, side, sides)] = 1


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """§4: deal again the cards that `seat` has not seen: each hand within what its plays leave possible; the rest stays
    out of play.

    No bid promises anything, so bids tell nothing of the cards.
    """
    players = options.num_players
    unseen = trick_hand.unseen_cards(state, seat, (1 << pack_size(options)) - 1)
    room, may_hold, dealt = (
        np.zeros(players + 1, np.int64),
        np.zeros(players + 1, np.int64),
        np.zeros(players + 1, np.int64),
    )
    left = cards.count_bits(unseen)
    for who in range(players):
        if who != seat:
            room[who] = options.hand_size - cards.count_bits(int(state.played[who]))
            may_hold[who] = state.may_hold[who]
            left -= int(room[who])
    room[players] = left
    may_hold[players] = unseen
    key = tricks.deal_unseen(key, unseen, room, may_hold, dealt)
    for who in range(players):
        if who != seat:
            state.hand[who] = dealt[who]
