"""What the players of Poker Duel learn besides the actions that they see, and the cards yet to be drawn.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import CHANCE
from ..core.compile.kernel import kernel
from ..core.rules.events import EVERYBODY, OWN, Events, Kind, Log, tell
from ..core.rules.tricks import lowest_card
from .slots import placed, slot_cards, stock_left
from .state import ASSIGN, HAND, SLOT, SLOTS, STAND, Episode, Options, State

DEALS, DEALT, SPLITS, DRAWS, SHOWS = range(OWN, OWN + 5)
KINDS = (
    Kind("deals", "Everybody learns who deals this hand (§1.2, §1.4).", "nothing"),
    Kind("dealt", "Each player learns their own cards, in the order of their numbers (§1.3, §1.4).", "card"),
    Kind("has split", "Everybody learns that a player has placed all their cards (§1.3).", "nothing"),
    Kind("draws", "A player learns the card that they draw (§1.5).", "card"),
    Kind("shows", "A showdown shows a player's hand to the other, in the order of the cards' numbers (§1.6).", "card"),
)


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """§1.3, §1.4: each player takes up their cards. Where nobody may exchange, a hand of sudden death is shown down at
    once, and after a tie the deal has passed on already."""
    dealer = int(state.dealer)
    tell(log, EVERYBODY, DEALS, 1 - dealer if state.seat == CHANCE else dealer, 0)
    for seat in range(2):
        hand = slot_cards(state, seat, 0)
        if state.sudden_death == 0:
            hand = 0
            for index in range(HAND):
                hand |= 1 << int(state.offer[seat, index])
        tell_hand(log, seat, DEALT, seat, hand)
    if state.round_index > 0:
        tell_showdown(state, 0, log)


@kernel
def tell_step(options: Options, before: State, state: State, action: int, log: Log) -> None:
    """§1.3, §1.5, §1.6: a split is complete, a card is drawn, hands are shown down."""
    seat = int(before.seat)
    if action >= ASSIGN:
        if placed(state, seat) == HAND:
            tell(log, EVERYBODY, SPLITS, seat, 0)
    elif action != STAND:
        slot, index = int(before.round_index), 0
        while int(before.slots[seat, slot, index]) != action:
            index += 1
        tell(log, seat, DRAWS, seat, int(state.slots[seat, slot, index]))
    for slot in range(int(before.round_index), int(state.round_index)):
        tell_showdown(state, slot, log)


@kernel
def tell_showdown(state: State, slot: int, log: Log) -> None:
    """§1.6: both hands of a slot are turned up."""
    for seat in range(2):
        tell_hand(log, 1 - seat, SHOWS, seat, slot_cards(state, seat, slot))


@kernel
def tell_hand(log: Log, addressee: int, kind: int, who: int, hand: int) -> None:
    """Tell a set of cards in ascending order."""
    while hand:
        tell(log, addressee, kind, who, lowest_card(hand))
        hand &= hand - 1


@kernel
def stock(options: Options, state: State, out: npt.NDArray[np.int64]) -> int:
    """`GameType.stock`: the deck, top card first. §1.3, §1.4"""
    left = stock_left(options, state)
    for index in range(left):
        out[index] = state.stock[int(state.drawn) + index]
    return left


def most(options: Options) -> int:
    """The dealer's last card where nobody may exchange: an action that the other sees in part (2 events), the split,
    three showdowns, and the next deal. Then hands of sudden death are dealt and shown down without a decision."""
    hand = 1 + 2 * SLOT
    at_once = options.max_sudden_death * (hand + 2 * SLOT) if options.exchanges_per_round == 0 else 0
    return 2 + 1 + 2 * SLOT * SLOTS + 1 + 2 * HAND + at_once


def length(options: Options) -> int:
    """Of a game: who deals, fifteen cards, thirty placed, two splits, the exchange turns of both, the cards drawn in
    one's own, the three hands shown; of a hand of sudden death the like, with five cards and one round."""
    turns = 3 * options.exchanges_per_round
    game = 1 + HAND + 2 * HAND + 2 + SLOTS * (turns + SLOT)
    games = 0 if options.episode == Episode.SUDDEN_DEATH else options.num_games
    hands = options.max_sudden_death if options.sudden_death or games == 0 else 0
    return games * game + hands * (1 + SLOT + turns + SLOT)


def secret(options: Options, action: int) -> bool:
    """§1.3: the other player sees nothing of a split. How many cards were placed one by one would tell something of it
    where forced ones are placed without a step."""
    return options.skip_forced and action >= ASSIGN


EVENTS = Events(KINDS, deal=tell_deal, step=tell_step, secret=secret, most=most, length=length)
