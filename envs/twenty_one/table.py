"""The table of Twenty-One: choices of its options, phases, statuses, and questions that rules and sight both ask of a
state."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from ..core.kernel import kernel
from .hands import EIGHT, KING_OF_HEARTS

if TYPE_CHECKING:
    from .game import Options, State


class Banker(IntEnum):
    """§1.3: who holds the first bank."""

    SEAT_0 = 0
    SEAT_1 = 1
    SEAT_2 = 2
    SEAT_3 = 3
    SEAT_4 = 4
    SEAT_5 = 5
    SEAT_6 = 6
    SEAT_7 = 7
    RANDOM = 8


class EightChain(IntEnum):
    """§1.5: an eight after a seven is traded once, or the eight that replaces it again, and so on."""

    ONCE = 0
    REPEAT = 1


class BackPassTrigger(IntEnum):
    """§1.4: which cards of the banker end a bank in Back Passing: the one dealt, every new first card, or any card."""

    DEALT_CARD = 0
    FIRST_CARD_AFTER_TRADES = 1
    ANY_CARD = 2


class Reshuffle(IntEnum):
    """§1.4: all cards are shuffled for every round, or the discards once the stock is used up."""

    EVERY_ROUND = 0
    WHEN_EMPTY = 1


class Breaker(IntEnum):
    """§1.8: who has broken the pot: the punter paid last, or the one with the largest pay-out of the round."""

    LAST_WINNER = 0
    LARGEST_WINNER = 1


class Episode(IntEnum):
    """§1.9: an episode is one bank, a number of rounds, or an evening of several banks."""

    SINGLE_BANK = 0
    FIXED_ROUNDS = 1
    SESSION = 2


class Reward(IntEnum):
    """§3: what seats have gained is told at the end of the episode, or after every round."""

    EPISODE = 0
    PER_ROUND = 1


# Phases (§1.4). Decisions fall in the first four; in the others the rules run on by themselves, or wait for chance.
DECLARE, PUNTERS, BANKER, NEW_BANKER, SHUFFLE, DEALING, NEW_ROUND, SETTLE = range(8)
DECISION_PHASES = 4

# Status of a seat in the round (§1.5)
WAIT, ACT, STOOD, BUSTED, ROYAL, OUT = range(6)
NUM_STATUSES = 6

# How a bank ended (§1.8); 0 while the first is played
ENDED_BY_KING, CASHED, BROKEN, CAPPED = 1, 2, 3, 4

EVERYBODY = 255
"""In `state.known`: the card lies open."""
LARGEST_MONEY = 2**53
"""No amount of money passes this (§1.1)."""


@kernel
def credit(options: Options) -> int:
    """How far a purse may go below 0: not at all, or without a bankroll as far as keeps all money within LARGEST_MONEY.
    §1.1"""
    return 0 if options.bankroll > 0 else LARGEST_MONEY // options.num_players


@kernel
def limit(options: Options, state: State, seat: int) -> int:
    """The most a seat can bet now. §1.5"""
    return min(int(state.pot), int(state.purse[seat]) + credit(options))


@kernel
def round_cap(options: Options) -> int:
    """The round after which a bank ends. §1.8, §1.9"""
    return min(options.rounds, options.max_rounds) if options.episode == Episode.FIXED_ROUNDS else options.max_rounds


@kernel
def opening(state: State, seat: int) -> bool:
    """Whether a punter has not bet yet in this round. §1.5"""
    return seat != int(state.banker) and int(state.own[seat]) == 0


@kernel
def must_stop_at_21(options: Options, state: State, seat: int) -> bool:
    """Whether a seat's turn ends with 21: the banker's always, a punter's unless agreed otherwise. §1.5, §1.6"""
    return seat == int(state.banker) or options.auto_stand_21


@kernel
def royal_counts(options: Options, state: State, seat: int) -> bool:
    """Whether two aces would be royal for a seat. §1.5"""
    return options.royal_after_trade or int(state.trades[seat]) == 0


@kernel
def ends_bank(card: int) -> bool:
    """Whether a card that counts in Back Passing is one that ends the bank, at once or after the round: KH or an eight.
    §1.4"""
    return card == KING_OF_HEARTS or card & 7 == EIGHT


@kernel
def sees(state: State, seat: int, card: int) -> bool:
    """Whether a seat knows where a card lies. §2"""
    return (int(state.known[card]) >> seat) & 1 == 1
