"""The rules of Killer Back Alley Bridge Substitute, in the order of play. The § marks are README.md's paragraphs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.compile.bit_rows import spread
from ..core.compile.interfaces import CHANCE, OVER
from ..core.compile.kernel import kernel
from ..core.rules import cards, trick_hand, tricks
from ..core.rules.cards import BIG_JOKER, LITTLE_JOKER
from ..core.rules.trick_hand import left_of
from ..core.rules.tricks import NO_TRUMP
from .schedule import size_of_hand
from .scorecard import scorecard, write_line
from .scoring import bid_value, hand_points, paid, sips_of, total_score, winners
from .state import (
    BOARD,
    NO_BID,
    NO_CARD,
    PACK,
    PACK_SIZE,
    PLAY,
    RAINBOW,
    Options,
    State,
    num_hands,
    pack_size,
    pays_points,
)


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """§1.2: a game begins; with a random first dealer the start_outcome is the cut for it."""
    state.dealer = trick_hand.dealer_of(options.first_dealer, start_outcome)
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """§1.3: one card at a time from the dealer's left, then a card is turned up for trump if there is one."""
    clear_hand(state)
    state.hand_size = size_of_hand(options, int(state.hand_index))
    dealt = trick_hand.deal_hands(state, deck, int(state.hand_size), 1)
    state.turned = deck[dealt] if dealt < pack_size(options) else NO_CARD
    state.trump = int(state.turned) // 13 if state.turned < LITTLE_JOKER else NO_TRUMP
    state.leader = left_of(int(state.dealer), options.num_players)
    state.seat = state.leader


@kernel
def clear_hand(state: State) -> None:
    """Take up all cards and bids of the last hand."""
    trick_hand.clear_hand(state, PACK)
    state.playing = 0
    state.last_leader = 0
    state.bid[:] = NO_BID
    state.won[:] = 0
    state.last_trick[:] = 0


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """§1.3: bids, or cards."""
    seat = int(state.seat)
    if state.playing == 0:
        legal_bids(options, state, seat, mask)
        return
    hand = int(state.hand[seat])
    if state.in_trick > 0:
        hand = playable(hand, int(state.trick[0]), int(state.trump))
    spread(hand, mask, PLAY, PACK_SIZE)


@kernel
def legal_bids(options: Options, state: State, seat: int, mask: npt.NDArray[np.int8]) -> None:
    """§1.3: any number up to the size of the hand, BOARD, and RAINBOW with the cards for it; the dealer not what the
    hook forbids."""
    size = int(state.hand_size)
    barred = hook(options, state) if seat == state.dealer else -1
    mask[: size + 1] = 1
    mask[BOARD] = int(options.allow_board)
    mask[RAINBOW] = int(options.allow_rainbow and is_rainbow(int(state.hand[seat]), size, int(state.trump)))
    if 0 <= barred <= size:
        mask[barred] = 0
        if barred == size:
            mask[BOARD] = 0
        if barred == size // 4:
            mask[RAINBOW] = 0


@kernel
def hook(options: Options, state: State) -> int:
    """§1.3: the value that would make the bids made so far come to the number of tricks; negative where they are past
    it."""
    value = int(state.hand_size)
    for seat in range(options.num_players):
        if state.bid[seat] != NO_BID:
            value -= bid_value(int(state.bid[seat]), int(state.hand_size))
    return value


@kernel
def is_rainbow(hand: int, size: int, trump: int) -> bool:
    """§1.3: whether a hand (a set) has a quarter of its cards in each of the four suits."""
    if size % 4 != 0:
        return False
    quarters = 0
    for suit in range(4):
        quarters += int(4 * cards.count_bits(hand & tricks.suit_set(suit, trump)) == size)
    return quarters == 4


@kernel
def playable(hand: int, lead: int, trump: int) -> int:
    """§1.3: the cards of a hand (a set) that may be played to a trick: under the big joker the highest trump, else what
    follows suit."""
    if lead == BIG_JOKER:
        trumps = hand & tricks.suit_set(trump, trump)
        return hand if trumps == 0 else 1 << tricks.highest_card(trumps)
    return tricks.following(hand, tricks.suit(lead, trump), trump)


@kernel
def step(options: Options, state: State, action: int) -> None:
    """§1.3: a bid, or a card."""
    seat = int(state.seat)
    if action < PLAY:
        state.bid[seat] = action
        state.seat = left_of(seat, options.num_players)
        if seat == state.dealer:
            state.playing = 1
        return
    play(state, seat, action - PLAY)
    if state.in_trick < options.num_players:
        state.seat = left_of(seat, options.num_players)
        return
    finish_trick(options, state)
    if state.finished == state.hand_size:
        finish_hand(options, state)


@kernel
def play(state: State, seat: int, card: int) -> None:
    """§1.3: a card goes from a hand to the trick, and may win it so far."""
    if state.in_trick == 0:
        trick_hand.lead(state, seat, card)
    else:
        possible = left_possible(card, int(state.trick[0]), int(state.trump))
        trick_hand.follow(state, seat, card, possible, tricks.JOKERS_HIGH)


@kernel
def left_possible(card: int, lead: int, trump: int) -> int:
    """§2: the cards that a player may still hold after playing `card` to `lead`, as a set: whoever does not follow has
    none of the suit; whoever gives a trump to the big joker has none above it."""
    led = tricks.suit(lead, trump)
    if tricks.suit(card, trump) != led:
        return PACK & ~tricks.suit_set(led, trump)
    if lead == BIG_JOKER:
        below = (1 << card) - 1
        return PACK & ~(tricks.suit_set(trump, trump) & ~below)
    return PACK


@kernel
def finish_trick(options: Options, state: State) -> None:
    """§1.3: whoever played the best card has won the trick, and leads the next."""
    for index in range(options.num_players):
        state.last_trick[index] = state.trick[index]
    state.last_leader = state.leader
    state.won[trick_hand.finish_trick(state)] += 1


@kernel
def finish_hand(options: Options, state: State) -> None:
    """§1.3, §1.5: points, sips, a line of the scorecard, and the next hand or the end."""
    total, size = 0, int(state.hand_size)
    for seat in range(options.num_players):
        bid, won = int(state.bid[seat]), int(state.won[seat])
        gained = hand_points(options, bid, size, won)
        total += gained
        state.score[seat] += gained
        state.made[seat] += int(bid_value(bid, size) == won)
        state.sips[seat] += sips_of(options, bid, size, won)
    write_line(state)
    if options.per_hand_rewards:
        for seat in range(options.num_players):
            gained = hand_points(options, int(state.bid[seat]), size, int(state.won[seat]))
            state.reward[seat] = paid(options, gained, total)
    if int(state.hand_index) + 1 < num_hands(options):
        state.hand_index += 1
        state.dealer = left_of(int(state.dealer), options.num_players)
        state.seat = CHANCE
    else:
        finish_game(options, state)


@kernel
def finish_game(options: Options, state: State) -> None:
    """§1.5, §3: the game is over."""
    state.seat = OVER
    if not pays_points(options):
        chosen = winners(options, state)
        count = cards.count_bits(chosen)
        for seat in range(options.num_players):
            state.reward[seat] = ((chosen >> seat) & 1) / count - 1.0 / options.num_players
    elif not options.per_hand_rewards:
        total = total_score(options, state)
        for seat in range(options.num_players):
            state.reward[seat] = paid(options, int(state.score[seat]), total)


@kernel
def leaf_value(options: Options, state: State, seat: int) -> float:
    """Between two hands: what the points gained so far will pay (§3). A win does not follow from them: NaN, the game
    goes on."""
    if not pays_points(options):
        return math.nan
    if options.per_hand_rewards:
        return 0.0
    return paid(options, int(state.score[seat]), total_score(options, state))


def info(options: Options, state: State, seat: int) -> dict[str, Any]:
    """§1.5: a seat's points, whether it has won and, in the drinking game, its sips."""
    known: dict[str, Any] = {"points": int(state.score[seat]), "winner": bool(winners(options, state) >> seat & 1)}
    if options.drinking:
        known["sips"] = int(state.sips[seat])
    return known


def open_info(options: Options, state: State) -> dict[str, Any]:
    """§1.6: the scorecard, for everybody at any time."""
    return {"scorecard": scorecard(options, state)}
