"""One hand by the rules of the series: the Ace Rule, what is legal, what an action does. A game puts these together;
with a dealer hand it adds those of `stub.py`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import CHANCE, OVER
from ..core.compile.kernel import kernel
from .state import (
    ACE,
    BACKHAND,
    HIT,
    LIMIT,
    MAX_DRAWS,
    PLAY_FROM,
    PUSH,
    PUSH_FROM,
    STAND,
    AceRule,
    HandOptions,
    HandState,
    HandType,
    Method,
    Verdict,
)
from .stub import take, value


@kernel
def start_one_seat(options: HandOptions, state: HandState, start_outcome: int) -> None:
    """An episode of a one-seat game wants its pack."""
    state.seat = CHANCE


@kernel
def new_hand(options: HandOptions, state: HandState, seat: int, ace_rule_holds: bool) -> None:
    """Two cards, then the Ace Rule for the first and for the second; the hand's type follows. §1.2, §1.3"""
    first = take(state)
    second = take(state)
    state.replaced_aces[seat] = 0
    if ace_rule_holds and options.ace_rule != AceRule.OFF:
        first = replaced(options, state, seat, first)
        second = replaced(options, state, seat, second)
    state.cards[seat, 0] = first
    state.cards[seat, 1] = second
    initial = value(first) + value(second)
    state.initial_value[seat] = initial
    state.total[seat] = initial
    state.hand_type[seat] = hand_type(initial)


@kernel
def replaced(options: HandOptions, state: HandState, seat: int, card: int) -> int:
    """The card that stays in an initial hand in the place of `card`. §1.2"""
    while value(card) == ACE:
        card = take(state)
        state.replaced_aces[seat] += 1
        if options.ace_rule == AceRule.ONCE:
            break
    return card


@kernel
def hand_type(initial: int) -> int:
    """The HandType of an initial hand's value. §1.3"""
    if initial >= PUSH_FROM:
        return HandType.PUSH
    if initial >= PLAY_FROM:
        return HandType.PLAY
    return HandType.LOW


@kernel
def is_push_hand(state: HandState, seat: int) -> bool:
    """Whether the hand is an initial hand of 17 or more that has not been hit. §1.3"""
    return int(state.draws[seat]) == 0 and int(state.hand_type[seat]) == HandType.PUSH


@kernel
def legal(options: HandOptions, state: HandState, mask: npt.NDArray[np.int8]) -> None:
    """What the seat to act may do. §1.3"""
    seat = int(state.seat)
    mask[HIT] = 1
    if is_push_hand(state, seat):
        mask[PUSH] = 1
    elif int(state.total[seat]) >= PLAY_FROM:
        mask[BACKHAND] = 1


@kernel
def play(options: HandOptions, state: HandState, seat: int, action: int) -> None:
    """An action up to its effect on the hand; whether it beat a dealer is for `against_dealer`. §1.4"""
    if action == PUSH:
        state.pushes[seat] += 1
        new_hand(options, state, seat, options.ace_rule_on_replacement)
    elif action == STAND:
        end(state, seat, Method.STAND, True)
    else:
        plays_the_push = is_push_hand(state, seat)
        draw(state, seat)
        passed = int(state.total[seat]) > LIMIT
        if action == BACKHAND:
            end(state, seat, Method.BACKHAND, passed)
        elif plays_the_push:
            end(state, seat, Method.PUSH, not passed)
        elif passed:
            end(state, seat, Method.BUST, False)
        elif int(state.draws[seat]) == MAX_DRAWS:
            end(state, seat, Method.FIVE_CARDS, True)


@kernel
def draw(state: HandState, seat: int) -> None:
    """One more card to the hand; the player total lags one card behind the total. §1.5"""
    card = take(state)
    draws = int(state.draws[seat])
    state.cards[seat, 2 + draws] = card
    state.draws[seat] = draws + 1
    before = int(state.total[seat])
    state.player_total[seat] = before
    state.total[seat] = before + value(card)


@kernel
def end(state: HandState, seat: int, method: int, success: bool) -> None:
    """The hand is over. §1.4"""
    state.method[seat] = method
    state.success[seat] = success


@kernel
def finish_one_seat(state: HandState) -> None:
    """Where the only hand has its verdict, the game is over: win 1, tie 0, loss -1. §1.6"""
    verdict = int(state.verdict[0])
    if verdict != Verdict.NONE:
        state.reward[0] = Verdict.TIE - verdict
        state.seat = OVER
