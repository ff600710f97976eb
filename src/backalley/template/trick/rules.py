"""The rules of Template, in the order of play. Each cites its § of README.md."""

from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.compile.interfaces import CHANCE, OVER
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.rules import trick_hand, tricks

from .state import PACK, Options, State


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """The cut decides who deals, unless it is agreed. §1.1"""
    state.dealer = trick_hand.dealer_of(options.first_dealer, start_outcome)
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """One card at a time from the dealer's left; the next card is turned up, and its suit is trump. §1.1"""
    trick_hand.clear_hand(state, PACK)
    dealt = trick_hand.deal_hands(state, deck, options.hand_size, 1)
    state.turned = deck[dealt]
    state.trump = int(state.turned) // 13
    state.leader = trick_hand.left_of(int(state.dealer), options.num_players)
    state.seat = state.leader


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """Any card is led; who can follow suit has to. §1.2"""
    hand = int(state.hand[state.seat])
    if state.in_trick > 0:
        hand = tricks.following(hand, led_suit(state), int(state.trump))
    trick_hand.mark_cards(hand, mask)


@kernel
def step(options: Options, state: State, action: int) -> None:
    """A card goes to the trick; the last one decides it. §1.2"""
    seat = int(state.seat)
    if state.in_trick == 0:
        trick_hand.lead(state, seat, action)
    else:
        possible, suit = PACK, tricks.suit_set(led_suit(state), int(state.trump))
        if (suit >> action) & 1 == 0:
            possible &= ~suit  # who does not follow has no card of the suit
        trick_hand.follow(state, seat, action, possible, tricks.JOKERS_HIGH)
    if state.in_trick < options.num_players:
        state.seat = trick_hand.left_of(seat, options.num_players)
        return
    state.won[trick_hand.finish_trick(state)] += 1
    if state.finished == options.hand_size:
        score(options, state)


@kernel
def led_suit(state: State) -> int:
    """The suit of the card led. §1.2"""
    return tricks.suit(int(state.trick[0]), int(state.trump))


@kernel
def score(options: Options, state: State) -> None:
    """A seat gains its tricks, less an equal share of all. §1.3"""
    for seat in range(options.num_players):
        state.reward[seat] = int(state.won[seat]) - options.hand_size / options.num_players
    state.seat = OVER
