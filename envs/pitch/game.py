"""Pitch: partners bid how many of the points High, Low, Jack and Game they will win; the first card pitched makes
trump.

The partnership bidding version to 21; alone from three to seven players, and with a joker. The rules are README.md; the
§ marks below are its paragraphs.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import tricks
from ..core.base import GameType
from ..core.kernel import kernel
from ..core.options import OptionError, option
from ..core.parts import CHANCE, OVER, Kernels
from ..core.record import field
from ..core.tricks import NO_TRUMP
from . import VERSION, observation, text
from .hands import (
    ANY_CARD,
    BID,
    BIDDING,
    GAME_POINT,
    HAND,
    HIGH,
    JACK,
    JOKER,
    JOKER_POINT,
    LEAST_BID,
    LOW,
    NAME,
    NAMING,
    NOBODY,
    NUM_ACTIONS,
    NUM_POINTS,
    PACKET,
    PASS,
    PLAY,
    PLAYING,
    SPADES,
    AllPass,
    GameEnd,
    GameTie,
    Joker,
    JokerPitch,
    LowRule,
    Mode,
    Teams,
    after,
    chance_to_win,
    change_of,
    game_side,
    high_card,
    holder,
    jack_of,
    joker_strength,
    leading_side,
    left_possible,
    low_card,
    match_winner,
    may_bid,
    may_pass,
    num_sides,
    pack_size,
    pips,
    playable,
    side_of,
    top_bid,
)
from .observation import Observation

RANDOM_DEALER = -1
WORST_SWING = 2.0  # a hand's change of score, for and against, is at most twice all its points (§3)


class Options(NamedTuple):
    """§2: what a table may agree on."""

    target: Annotated[int, option("points that win a game", low=1, high=100)] = 21
    low: Annotated[LowRule, option("Low is for whoever captures it, or for whoever was dealt it")] = LowRule.CAPTURED
    game_tie: Annotated[GameTie, option("who has Game where the most pips are equal")] = GameTie.NONE
    must_trump_when_void: Annotated[bool, option("who cannot follow a plain suit must trump if he can")] = False
    dealer_can_take: Annotated[bool, option("the dealer may take the highest bid for as much")] = True
    smudge_takeable: Annotated[bool, option("even if it is a smudge")] = False
    all_pass: Annotated[
        AllPass, option("where all others pass the dealer must bid; or he may pass and deals again")
    ] = AllPass.DEALER_FORCED_2
    smudge_wins_game: Annotated[bool, option("a smudge that is made wins the game at once")] = False
    joker: Annotated[Joker, option("no joker; the lowest trump; or a trump between jack and ten")] = Joker.NONE
    joker_pitch: Annotated[JokerPitch, option("trump after a pitched joker: spades, or what the pitcher names")] = (
        JokerPitch.SPADES
    )
    game_end: Annotated[
        GameEnd, option("only a bidder who made his bid wins; or whoever is at the target, the bidder first")
    ] = GameEnd.BIDDER_MUST_MAKE
    mode: Annotated[Mode, option("a game, or one hand")] = Mode.MATCH
    teams: Annotated[Teams, option("two partnerships, or everybody alone")] = Teams.PARTNERS
    num_players: Annotated[int, option("seats at the table; other than 4 only alone", low=3, high=7)] = 4
    max_hands: Annotated[int, option("hands after which the higher score wins", low=1, high=120)] = 64
    first_dealer: Annotated[
        int, option("who deals the first hand", low=-1, high=6, words={"random": RANDOM_DEALER})
    ] = RANDOM_DEALER


def check(options: Options) -> None:
    """Raises OptionError for partners who are not four, and a dealer who has no seat."""
    if options.teams == Teams.PARTNERS and options.num_players != 4:
        raise OptionError(
            f'pitch option num_players is {options.num_players}; partners are 4: set teams="solo" for another number.'
        )
    if options.first_dealer >= options.num_players:
        raise OptionError(
            f"pitch option first_dealer is {options.first_dealer}; with {options.num_players} players it takes "
            f'0..{options.num_players - 1} or "random".'
        )


def _per_seat(options: Options) -> tuple[int]:
    return (options.num_players,)


def _per_side(options: Options) -> tuple[int]:
    return (num_sides(options),)


class State:
    """Everything at the table. Cards in nobody's hand and not played are those that nobody was dealt."""

    seat: int = field("i1", doc="who acts")
    phase: int = field("i1", doc="0 bidding, 1 playing, 2 naming trump")
    dealer: int = field("i1", doc="who dealt this hand")
    hand_index: int = field("i1", doc="hands finished before this one")
    high_bid: int = field("i1", doc="the highest bid so far, 0 for none")
    pitcher: int = field("i1", doc="who made it, -1 for nobody")
    trump: int = field("i1", doc="the trump suit: 0..3, 4 before the pitch")
    leader: int = field("i1", doc="who led, or is to lead, this trick")
    in_trick: int = field("i1", doc="cards in this trick")
    best: int = field("i1", doc="which of them wins so far, in order of play")
    finished: int = field("i1", doc="tricks of this hand that are finished")
    reward: npt.NDArray[np.float32] = field("f4", _per_seat, "what each seat gained by the latest action")
    score: npt.NDArray[np.int16] = field("i2", _per_side, "each side's score")
    bid: npt.NDArray[np.int8] = field("i1", _per_seat, "each seat's bid: 0 none yet, 1 pass, 2 to 5")
    trick: npt.NDArray[np.int8] = field("i1", _per_seat, "the cards of this trick in order of play")
    hand: npt.NDArray[np.int64] = field("i8", _per_seat, "each seat's cards, as a set")
    played: npt.NDArray[np.int64] = field("i8", _per_seat, "the cards that each seat has played in this hand, as a set")
    may_hold: npt.NDArray[np.int64] = field(
        "i8", _per_seat, "what each seat's plays leave possible in its hand, as a set"
    )
    captured: npt.NDArray[np.int64] = field("i8", _per_side, "the cards that each side has captured, as a set")
    pips: npt.NDArray[np.int8] = field("i1", _per_side, "what they count for Game")
    point: npt.NDArray[np.int8] = field(
        "i1",
        NUM_POINTS,
        "1 + the side that has High, Low, Jack, Game, Joker by the latest trick; 0 nobody; kept until the next",
    )


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """§1.1: a game begins; with a random first dealer the start_outcome is the cut for it."""
    state.dealer = start_outcome if options.first_dealer == RANDOM_DEALER else options.first_dealer
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """§1.1: six cards each, three at a time, from the dealer's left."""
    clear_hand(state)
    seat = int(state.dealer)
    for index in range(HAND * options.num_players):
        if index % PACKET == 0:
            seat = after(options, seat)
        state.hand[seat] |= 1 << int(deck[index])
    state.seat = after(options, int(state.dealer))


@kernel
def clear_hand(state: State) -> None:
    """Take up all cards and bids of the last hand."""
    state.phase = BIDDING
    state.high_bid = 0
    state.pitcher = NOBODY
    state.trump = NO_TRUMP
    state.leader = 0
    state.in_trick = 0
    state.best = 0
    state.finished = 0
    state.bid[:] = 0
    state.trick[:] = 0
    state.hand[:] = 0
    state.played[:] = 0
    state.captured[:] = 0
    state.pips[:] = 0
    state.may_hold[:] = ANY_CARD


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """§1.2, §1.3: bids, cards, or the name of a suit."""
    seat = int(state.seat)
    if state.phase == BIDDING:
        highest, deals = int(state.high_bid), seat == state.dealer
        mask[PASS] = int(may_pass(options, highest, deals))
        for value in range(LEAST_BID, top_bid(options) + 1):
            mask[BID + value - LEAST_BID] = int(may_bid(options, highest, value, deals))
        return
    if state.phase == NAMING:
        mask[NAME:NUM_ACTIONS] = 1
        return
    hand, trump = int(state.hand[seat]), int(state.trump)
    if state.in_trick > 0:
        hand = playable(hand, tricks.suit(int(state.trick[0]), trump), trump, options.must_trump_when_void)
    while hand != 0:
        mask[PLAY + tricks.lowest_card(hand)] = 1
        hand &= hand - 1


@kernel
def step(options: Options, state: State, action: int) -> None:
    """§1.2, §1.3: a bid, a card, or the name of a suit."""
    seat = int(state.seat)
    if action < PLAY:
        bid(options, state, seat, action)
    elif action < NAME:
        play(options, state, seat, action - PLAY)
    else:
        state.trump = action - NAME
        state.phase = PLAYING
        state.seat = after(options, seat)


@kernel
def bid(options: Options, state: State, seat: int, action: int) -> None:
    """§1.2: a bid or a pass; whoever could only pass is not asked."""
    if action == PASS:
        state.bid[seat] = 1
    else:
        state.high_bid = action - BID + LEAST_BID
        state.bid[seat] = state.high_bid
        state.pitcher = seat
    while seat != state.dealer:
        seat = after(options, seat)
        if may_bid(options, int(state.high_bid), top_bid(options), seat == state.dealer):
            state.seat = seat
            return
    if state.pitcher == NOBODY:
        next_hand(options, state)
        return
    state.phase = PLAYING
    state.leader = state.pitcher
    state.seat = state.pitcher


@kernel
def play(options: Options, state: State, seat: int, card: int) -> None:
    """§1.3: a card to the trick; the first of the hand makes trump."""
    count = int(state.in_trick)
    state.trick[count] = card
    state.in_trick = count + 1
    state.hand[seat] &= ~(1 << card)
    state.played[seat] |= 1 << card
    if count == 0:
        state.best = 0
        if state.trump == NO_TRUMP:
            pitch(options, state, card)
            if state.phase == NAMING:
                return
    else:
        trump, led = int(state.trump), tricks.suit(int(state.trick[0]), int(state.trump))
        state.may_hold[seat] &= left_possible(card, led, trump, options.must_trump_when_void)
        if tricks.beats(card, int(state.trick[state.best]), trump, joker_strength(options)):
            state.best = count
    state.seat = after(options, seat)
    if count + 1 == options.num_players:
        finish_trick(options, state)


@kernel
def pitch(options: Options, state: State, card: int) -> None:
    """§1.3, §2: the first card's suit is trump; after a joker it is spades, or the pitcher names it."""
    if card != JOKER:
        state.trump = card // 13
    elif options.joker_pitch == JokerPitch.SPADES:
        state.trump = SPADES
    else:
        state.phase = NAMING


@kernel
def finish_trick(options: Options, state: State) -> None:
    """§1.3: whoever played the best card captures the trick and leads the next."""
    winner, cards = int(state.leader) + int(state.best), 0
    if winner >= options.num_players:
        winner -= options.num_players
    for index in range(options.num_players):
        cards |= 1 << int(state.trick[index])
        state.trick[index] = 0
    side = side_of(options, winner)
    state.captured[side] |= cards
    state.pips[side] += pips(cards)
    state.leader = winner
    state.seat = winner
    state.in_trick = 0
    state.best = 0
    state.finished += 1
    award_points(options, state)
    if state.finished == HAND:
        score_hand(options, state)


@kernel
def award_points(options: Options, state: State) -> None:
    """§1.4: who has High, Low, Jack, Game and, with it, Joker, of the cards captured so far; with the last trick these
    are all in play."""
    trump, captured = int(state.trump), 0
    for side in range(state.captured.shape[0]):
        captured |= int(state.captured[side])
    state.point[HIGH] = 1 + holder(state.captured, high_card(options, captured, trump))
    low = low_card(captured, trump)
    if low < 0:
        state.point[LOW] = 0
    elif options.low == LowRule.DEALT:
        state.point[LOW] = 1 + side_of(options, holder(state.played, low))
    else:
        state.point[LOW] = 1 + holder(state.captured, low)
    state.point[JACK] = 1 + holder(state.captured, jack_of(trump))
    state.point[GAME_POINT] = 1 + game_side(options, state.pips, side_of(options, int(state.pitcher)))
    state.point[JOKER_POINT] = 1 + holder(state.captured, JOKER)


@kernel
def points_won(state: State, side: int) -> int:
    """§1.4: how many of the latest hand's points a side has won."""
    won = 0
    for index in range(NUM_POINTS):
        won += int(state.point[index] == side + 1)
    return won


@kernel
def score_hand(options: Options, state: State) -> None:
    """§1.5, §1.6: scores, and whether anybody has won the game."""
    bidder, highest = side_of(options, int(state.pitcher)), int(state.high_bid)
    made = points_won(state, bidder) >= highest
    total = 0
    for side in range(state.score.shape[0]):
        change = change_in(state, side, bidder, highest)
        state.score[side] = int(state.score[side]) + change
        total += change
    if options.mode == Mode.HAND:
        for seat in range(options.num_players):
            side = side_of(options, seat)
            own = change_in(state, side, bidder, highest)
            others = (total - own) / (state.score.shape[0] - 1)
            state.reward[seat] = (own - others) / (WORST_SWING * top_bid(options))
        state.seat = OVER
        state.hand_index += 1
        return
    winner = match_winner(options, state.score, bidder, highest, made)
    if winner >= 0:
        finish_match(options, state, winner)
        state.hand_index += 1
    else:
        state.dealer = after(options, int(state.dealer))
        next_hand(options, state)


@kernel
def change_in(state: State, side: int, bidder: int, highest: int) -> int:
    """§1.5: what the hand does to a side's score; those who did not bid always score what they won."""
    won = points_won(state, side)
    return change_of(highest, won) if side == bidder else won


@kernel
def next_hand(options: Options, state: State) -> None:
    """§1.6: the next hand, or the end where there have been enough."""
    state.hand_index += 1
    if state.hand_index < options.max_hands:
        state.seat = CHANCE
    elif options.mode == Mode.HAND:
        state.seat = OVER
    else:
        finish_match(options, state, leading_side(state.score))


@kernel
def finish_match(options: Options, state: State, winner: int) -> None:
    """§3: 1 for the winners, as much against the others; nothing for a draw."""
    state.seat = OVER
    if winner >= 0:
        loss = 1.0 if options.teams == Teams.PARTNERS else 1.0 / (options.num_players - 1)
        for seat in range(options.num_players):
            state.reward[seat] = 1.0 if side_of(options, seat) == winner else -loss


@kernel
def leaf_value(options: Options, state: State, seat: int) -> float:
    """§5: what a seat may still hope to gain before a deal, by the scores; a hand that all have passed out costs
    nothing."""
    if options.mode == Mode.HAND:
        return 0.0
    chance = chance_to_win(options, state.score, side_of(options, seat))
    return chance - (1.0 - chance) / float(state.score.shape[0] - 1)


def info(options: Options, state: Any, seat: int) -> dict[str, Any]:
    """§1.6: the score of a seat's side."""
    return {"score": int(state.score[side_of(options, seat)]), "hands": int(state.hand_index)}


GAME = GameType(
    name="pitch",
    version=VERSION,
    title="Pitch",
    kernels=Kernels(start, deal, legal, step, observation.observe, observation.determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=NUM_ACTIONS,
    action_str=text.action_str,
    table_str=text.table_str,
    piles=text.piles,
    deck_size=pack_size,
    cards_needed=lambda options: HAND * options.num_players,
    reward_range=lambda options: (-1.0, 1.0),
    zero_sum=lambda options: True,
    sides=lambda options: tuple(side_of(options, seat) for seat in range(options.num_players)),
    num_start_outcomes=lambda options: options.num_players if options.first_dealer == RANDOM_DEALER else 1,
    check=check,
    card_name=text.card_name,
    card_number=text.card_number,
    info=info,
    leaf_value=leaf_value,
)
