"""What the seats learn in a game of the series besides the actions: the cards by their values, and the aces replaced.

Totals, dealer totals, ends and verdicts follow from these.
"""

from __future__ import annotations

from ..core.compile.kernel import kernel
from ..core.rules.events import EVERYBODY, NOBODY, OWN, Kind, Log, tell
from .state import MAX_DRAWS, MAX_PUSHES, PUSH, SHOW_CARDS, STAND, DealerState, HandOptions, HandState
from .stub import value

DEALT, REPLACED, DRAWS, SHOWS = range(OWN, OWN + 4)
KINDS = (
    Kind("dealt", "The value of a card of an initial hand, after the Ace Rule, §1.2.", "value"),
    Kind("aces replaced", "How many aces the Ace Rule has replaced in what was just dealt, if any, §1.2."),
    Kind("draws", "The value of the card that a hit or a backhand takes, §1.4.", "value"),
)
DEALER_KINDS = (
    *KINDS,
    Kind("show card", "The value of a show card; they are shown in the order of their use, §2.1.", "value"),
)

# What is shown of a hand and of a deal, at most. A pack has four aces, so a deal tells four times of aces replaced.
ACES = 4
INITIAL_HAND = 2
PUSHED = 1 + INITIAL_HAND  # the action and the new hand, §1.4
ALL_PUSHES = MAX_PUSHES * PUSHED
PLAYED_OUT = MAX_DRAWS * 2  # actions, and the cards that they draw
MOST_AT_A_PUSH = PUSHED + 1


@kernel
def tell_hand(state: HandState, seat: int, log: Log) -> None:
    """An initial hand, as the Ace Rule has left it. §1.2"""
    for place in range(INITIAL_HAND):
        tell(log, EVERYBODY, DEALT, seat, value(int(state.cards[seat, place])))


@kernel
def tell_replaced(aces: int, who: int, log: Log) -> None:
    """Which of the cards dealt were aces is seen no more than the aces themselves: only how many are gone. §1.2"""
    if aces > 0:
        tell(log, EVERYBODY, REPLACED, who, aces)


@kernel
def tell_show_cards(state: DealerState, log: Log) -> None:
    """The show cards from left to right. §2.1"""
    for place in range(SHOW_CARDS):
        tell(log, EVERYBODY, SHOWS, NOBODY, value(int(state.show[place])))


@kernel
def tell_deal(options: HandOptions, state: HandState, log: Log) -> None:
    """One hand. §1.2"""
    tell_hand(state, 0, log)
    tell_replaced(int(state.replaced_aces[0]), 0, log)


@kernel
def tell_deal_with_dealer(options: HandOptions, state: DealerState, log: Log) -> None:
    """The show cards, then one hand. §2.1"""
    tell_show_cards(state, log)
    tell_deal(options, state, log)


@kernel
def tell_step(options: HandOptions, before: HandState, state: HandState, action: int, log: Log) -> None:
    """The card drawn, or the hand dealt after a push. §1.4"""
    seat = int(before.seat)
    if action == PUSH:
        tell_hand(state, seat, log)
        tell_replaced(int(state.replaced_aces[seat]), seat, log)
    elif action != STAND:
        tell(log, EVERYBODY, DRAWS, seat, value(int(state.cards[seat, 1 + int(state.draws[seat])])))
