"""The rules of Pitch, in the order of play. The § marks are README.md's paragraphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.compile.bit_rows import spread
from ..core.compile.interfaces import CHANCE, OVER
from ..core.compile.kernel import kernel
from ..core.rules import trick_hand, tricks
from ..core.rules.trick_hand import left_of
from ..core.rules.tricks import NO_TRUMP
from .points import (
    chance_to_win,
    change_of,
    game_side,
    high_card,
    holder,
    is_asked,
    jack_of,
    joker_strength,
    leading_side,
    low_card,
    match_winner,
    may_bid,
    may_pass,
    pips,
    top_bid,
    wins_by_auction,
)
from .state import (
    ANY_CARD,
    BID,
    BIDDING,
    GAME_POINT,
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
    NUM_CARDS,
    NUM_POINTS,
    PACKET,
    PASS,
    PLAY,
    PLAYING,
    SPADES,
    SUITS,
    Follow,
    Joker,
    JokerPitch,
    LowRule,
    Mode,
    Options,
    State,
    Teams,
    side_of,
)

WORST_SWING = 2.0  # a hand's change of score, for and against, is at most twice all its points (§3)


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """§1.1: a game begins; with a random first dealer the start_outcome is the cut for it."""
    state.dealer = trick_hand.dealer_of(options.first_dealer, start_outcome)
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """§1.1: six cards each, three at a time, from the dealer's left; other numbers in a cut-down game one at a time."""
    clear_hand(state)
    packet = PACKET if options.hand_size % PACKET == 0 else 1
    trick_hand.deal_hands(state, deck, options.hand_size, packet)
    state.seat = left_of(int(state.dealer), options.num_players)


@kernel
def clear_hand(state: State) -> None:
    """Take up all cards and bids of the last hand."""
    trick_hand.clear_hand(state, ANY_CARD)
    state.phase = BIDDING
    state.high_bid = 0
    state.pitcher = NOBODY
    state.bid[:] = 0
    state.captured[:] = 0
    state.pips[:] = 0


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
        hand = playable(options, hand, tricks.suit(int(state.trick[0]), trump), trump)
    spread(hand, mask, PLAY, NUM_CARDS)


@kernel
def playable(options: Options, hand: int, led: int, trump: int) -> int:
    """§1.3: the cards of a hand (a set) that may be played to a trick in which the suit `led` was led."""
    trumps = hand & tricks.suit_set(trump, trump)
    if led == trump:
        return trumps if trumps != 0 else hand
    held = hand & tricks.suit_set(led, trump)
    if held != 0:
        return held if options.follow == Follow.STRICT else held | trumps
    return trumps if options.must_trump_when_void and trumps != 0 else hand


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
        state.seat = left_of(seat, options.num_players)


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
        seat = left_of(seat, options.num_players)
        if is_asked(options, int(state.high_bid), seat == state.dealer):
            state.seat = seat
            return
    if state.pitcher == NOBODY:
        next_hand(options, state)
        return
    side = side_of(options, int(state.pitcher))
    if wins_by_auction(options, int(state.score[side])):
        finish_match(options, state, side)
        return
    state.phase = PLAYING
    state.leader = state.pitcher
    state.seat = state.pitcher


@kernel
def play(options: Options, state: State, seat: int, card: int) -> None:
    """§1.3: a card to the trick; the first of the hand makes trump."""
    if state.in_trick == 0:
        trick_hand.lead(state, seat, card)
        if state.trump == NO_TRUMP:
            pitch(options, state, card)
            if state.phase == NAMING:
                return
    else:
        trump, led = int(state.trump), tricks.suit(int(state.trick[0]), int(state.trump))
        possible = left_possible(options, card, led, trump)
        trick_hand.follow(state, seat, card, possible, joker_strength(options))
    if state.in_trick == options.num_players:
        finish_trick(options, state)
    else:
        state.seat = left_of(seat, options.num_players)


@kernel
def pitch(options: Options, state: State, card: int) -> None:
    """§1.3, §2: the first card's suit is trump; after a joker it is spades, or the pitcher names it."""
    if card != JOKER:
        state.trump = card // 13
    elif options.joker_pitch == JokerPitch.SPADES:
        state.trump = SPADES
    else:
        state.phase = NAMING


def named_suits(options: Options) -> tuple[int, ...]:
    """§2: spades, where a pitched joker makes them trump; all in a pack that has not all of them."""
    if options.suits < SUITS:
        return (0, 1, 2, 3)
    return (SPADES,) if options.joker != Joker.NONE and options.joker_pitch == JokerPitch.SPADES else ()


@kernel
def left_possible(options: Options, card: int, led: int, trump: int) -> int:
    """§4: what whoever played `card` to a trick of that suit may still hold, as a set of all cards not ruled out by
    it."""
    followed, trumps = tricks.suit_set(led, trump), tricks.suit_set(trump, trump)
    trumped = (trumps >> card) & 1 != 0
    if (followed >> card) & 1 or (trumped and options.follow == Follow.OR_TRUMP):
        return ANY_CARD
    possible = ANY_CARD & ~followed
    return possible if trumped or not options.must_trump_when_void else possible & ~trumps


@kernel
def finish_trick(options: Options, state: State) -> None:
    """§1.3: whoever played the best card captures the trick and leads the next."""
    cards = 0
    for index in range(options.num_players):
        cards |= 1 << int(state.trick[index])
    side = side_of(options, trick_hand.finish_trick(state))
    state.captured[side] |= cards
    state.pips[side] += pips(cards)
    award_points(options, state)
    if state.finished == options.hand_size:
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
        next_hand(options, state)
        if state.seat == CHANCE:
            state.dealer = left_of(int(state.dealer), options.num_players)


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


def info(options: Options, state: State, seat: int) -> dict[str, Any]:
    """§1.6: the score of a seat's side."""
    return {"score": int(state.score[side_of(options, seat)]), "hands": int(state.hand_index)}
