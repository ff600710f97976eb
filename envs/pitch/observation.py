"""What a seat of Pitch sees, and what it may imagine of the rest. The § marks are README.md's paragraphs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules import cards, trick_hand, tricks
from ..core.rules.marks import marks, my_turn, one_marked
from ..core.rules.record import field
from ..core.rules.trick_hand import (
    SCORE_UNIT,
    left_of,
    mark_cards,
    mark_voids,
    marked_cards,
    marked_place,
    offset_of,
    per_seat,
    trick_agrees,
)
from ..core.rules.tricks import NO_TRUMP
from .auction import may_bid, may_pass, top_bid
from .points import MOST_PIPS
from .state import (
    ANY_CARD,
    BID,
    BIDDING,
    HAND,
    JOKER,
    LEAST_BID,
    NAME,
    NAMING,
    NOBODY,
    NUM_CARDS,
    NUM_POINTS,
    PASS,
    PLAY,
    PLAYING,
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
    mark_cards(int(state.hand[seat]), out.hand)
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
        mark_cards(int(state.played[who]), out.played[offset])
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


# Whether the numbers of an observation agree with each other


@kernel
def consistent(options: Options, observation: Observation, mask: npt.NDArray[np.int8]) -> bool:
    """`GameType.consistent`: every card lies in one place, hands are as large as the tricks have them, bids are one for
    each seat, and who is to act bids, plays a card that they hold, or names trump. §1.1, §1.2, §1.3"""
    tricks_done, hand = int(observation.tricks), marked_cards(observation.hand)
    if not my_turn(observation.turn) or not one_marked(observation.dealer):
        return False
    if not one_marked(observation.trump) or not one_marked(observation.phase) or tricks_done >= options.hand_size:
        return False
    naming = observation.phase[NAMING] == 1
    if cards.count_bits(hand) != options.hand_size - tricks_done - int(naming):
        return False
    return (
        bids_agree(options, observation)
        and cards_agree(options, observation, hand, tricks_done, naming)
        and mask_fits(options, observation, mask, hand)
    )


@kernel
def bids_agree(options: Options, observation: Observation) -> bool:
    """Whether every seat has one bid or none, and the pitcher's is the highest. §1.2"""
    highest, pitcher = int(observation.high_bid), marked_place(observation.pitcher)
    for offset in range(options.num_players):
        if not one_marked(observation.bids[offset]) or marked_place(observation.bids[offset]) > max(1, highest):
            return False
    if marks(observation.pitcher) == 0:
        return highest == 0 and observation.phase[BIDDING] == 1
    return marks(observation.pitcher) == 1 and highest >= LEAST_BID and bool(observation.bids[pitcher, highest] == 1)


@kernel
def cards_agree(options: Options, observation: Observation, hand: int, tricks_done: int, naming: bool) -> bool:
    """Whether the cards shown are of one pack, each in one place, each seat has played as many as there were tricks,
    and the trick is one to which I am to play, or whose trump I am to name. §1.3"""
    seats, gone = options.num_players, hand
    laid, played = np.empty(seats, np.int64), np.empty(seats, np.int64)
    for offset in range(seats):
        laid[offset], played[offset] = marked_place(observation.trick[offset]), marked_cards(observation.played[offset])
        lies = int(laid[offset] >= 0)
        if gone & int(played[offset]) or cards.count_bits(int(played[offset])) != tricks_done + lies:
            return False
        if marks(observation.trick[offset]) != lies or (lies and (int(played[offset]) >> int(laid[offset])) & 1 == 0):
            return False
        gone |= int(played[offset])
    if gone >> pack_size(options) != 0 or marks(observation.winning) > 1:
        return False
    leader, winning = marked_place(observation.leader), marked_place(observation.winning)
    no_trump = observation.trump[NO_TRUMP] == 1
    if observation.phase[BIDDING] == 1:
        return leader < 0 and winning < 0 and no_trump and gone == hand and tricks_done == 0
    if marks(observation.leader) != 1 or (naming and (leader != 0 or laid[0] != JOKER or tricks_done > 0)):
        return False
    if no_trump != (naming or (tricks_done == 0 and leader == 0)):
        return False
    return trick_agrees(leader, winning, laid, played, naming)


@kernel
def mask_fits(options: Options, observation: Observation, mask: npt.NDArray[np.int8], hand: int) -> bool:
    """Whether a mask allows no more than the phase does: bids, cards of mine, or suits. §1.2, §1.3"""
    highest, deals = int(observation.high_bid), observation.dealer[0] == 1
    for action in range(mask.shape[0]):
        if mask[action] == 0:
            continue
        if observation.phase[PLAYING] == 1:
            fits = PLAY <= action < NAME and (hand >> (action - PLAY)) & 1 != 0
        elif observation.phase[NAMING] == 1:
            fits = action >= NAME
        elif action == PASS:
            fits = may_pass(options, highest, deals)
        else:
            fits = action < PLAY and may_bid(options, highest, action - BID + LEAST_BID, deals)
        if not fits:
            return False
    return True
