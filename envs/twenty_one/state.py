"""The table of Twenty-One: cards, options, actions, phases, and the state (§1).

A card is `suit * 8 + rank`; suits C, D, H, S are 0..3, ranks 7 8 9 T J Q K A are 0..7. A hand is an array of cards of
which the first `count` are held. Money is whole coins.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules.options import OptionError, option
from ..core.rules.record import field

# Cards (§1.1, §1.2)

Cards = npt.NDArray[np.uint8]

RANKS = "789TJQKA"
SUITS = "CDHS"
RANKS_OF_SUIT = 8
NUM_SUITS = 4
NUM_CARDS = NUM_SUITS * RANKS_OF_SUIT
SEVEN, EIGHT, JACK, KING, ACE = 0, 1, 4, 6, 7
HEARTS = 2  # the one suit that counts (§1.2, §1.4)
CHANTAL = HEARTS * 8 + SEVEN  # the seven of hearts (§1.2)
KING_OF_HEARTS = HEARTS * 8 + KING
POINTS = np.array([7, 8, 9, 10, 1, 1, 1, 11], np.int64)
"""Of each rank (§1.2)."""
CHANTAL_EXTRA = (10, 9, 6)
"""What Chantal can count beyond the 1 that is taken for it at first: 11, 10, 7 (§1.2)."""
SUIT_POINTS = 48
"""Of the eight cards of a suit; Chantal can count 6 less (§1.2)."""
TARGET = 21
BUST = -1
"""In the place of a total: every total of the hand is above 21."""
MOST_CARDS = 15
"""Twelve figures, Chantal and an eight are 21; the card after them goes beyond (§3)."""
FIGURES_TRADED = 5  # the first five cards (§1.5)
FIFTEEN = 15

# Money (§1.1, §3)

LARGEST_MONEY = 2**53
"""No amount of money passes this (§1.1)."""
DEPOSITS = (1, 2, 5)
"""What a banker can put in where `deposit` is chosen, in times of the least (§1.3)."""
WHOLE = 1000
"""`options.bet_fractions` are so many parts of the whole: thousandths, so that shares of money are exact (§3)."""

# Choices of the options


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


class Deposit(IntEnum):
    """§1.3: a bank begins with what is agreed on, or with what its banker chooses, that being the least."""

    FIXED = 0
    CHOSEN = 1


class FifteenTest(IntEnum):
    """§1.5: which totals of a hand with Chantal make it a fifteen: any of them, or the best alone."""

    ANY_VALUATION = 0
    BEST_ONLY = 1


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


class PassBank(IntEnum):
    """§1.9: who is asked after a seat that does not want the bank: the next to the left, or whom that seat names."""

    CLOCKWISE = 0
    CHOSEN = 1


class Episode(IntEnum):
    """§1.9: an episode is one bank, a number of rounds, an evening of several banks, or the last round of a bank."""

    SINGLE_BANK = 0
    FIXED_ROUNDS = 1
    SESSION = 2
    FINAL_ROUND = 3


class Reward(IntEnum):
    """§3: what seats have gained is shown at the end of the episode, or after every round."""

    EPISODE = 0
    PER_ROUND = 1


class Options(NamedTuple):
    """§1.10: what a table may agree on."""

    num_players: Annotated[int, option("seats at the table", low=2, high=8)] = 4
    initial_deposit: Annotated[
        int, option("what a banker puts into the pot, or the least of it", low=1, high=10**6)
    ] = 20
    deposit: Annotated[
        Deposit, option("every banker puts in `initial_deposit`, or chooses it once, twice or five times")
    ] = Deposit.FIXED
    min_bet: Annotated[int, option("least opening bet, unless pot or purse hold less", low=1, high=10**6)] = 1
    bankroll: Annotated[
        int,
        option(
            "money of each player at the start; 0: purses begin at 0 and may go below",
            low=0,
            high=10**9,
            words={"none": 0},
        ),
    ] = 100
    banker: Annotated[Banker, option("who holds the first bank (a seat's number is taken too)")] = Banker.SEAT_0
    auto_stand_21: Annotated[bool, option("a punter stands on 21 without being asked")] = True
    trade_seven: Annotated[bool, option("a seven as first card may be traded")] = True
    trade_eight_after_seven: Annotated[bool, option("an eight that replaced a traded seven may be traded")] = True
    trade_five_figures: Annotated[bool, option("a hand of five figures may be traded")] = True
    trade_fifteen: Annotated[bool, option("a hand of fifteen may be traded")] = True
    fifteen_test: Annotated[
        FifteenTest, option("what makes a hand with Chantal a fifteen: any of its totals, or its best")
    ] = FifteenTest.ANY_VALUATION
    eight_chain: Annotated[EightChain, option("whether an eight that replaced a traded eight may be traded too")] = (
        EightChain.ONCE
    )
    chantal: Annotated[
        bool, option("the seven of hearts counts 1, 7, 10 or 11; otherwise it is a seven like others")
    ] = True
    chantal_is_ace: Annotated[bool, option("Chantal and an ace are a Royal Black Jack")] = False
    royal_payout: Annotated[
        int, option("what a royal wins for each coin staked, as far as the pot reaches", low=1, high=3)
    ] = 1
    royal_after_trade: Annotated[bool, option("two aces are royal after a trade too; otherwise they are 22")] = True
    back_pass_trigger: Annotated[
        BackPassTrigger, option("which of the banker's cards end the bank in Back Passing")
    ] = BackPassTrigger.DEALT_CARD
    back_pass_earliest_round: Annotated[
        int, option("first round in which Back Passing may be declared", low=1, high=1000)
    ] = 1
    banker_card_open: Annotated[bool, option("the banker's first card is dealt face up")] = False
    decline_opening_bet: Annotated[bool, option("a punter may stand instead of betting, and is out of the round")] = (
        False
    )
    reshuffle: Annotated[Reshuffle, option("all cards for every round, or the discards when the stock is used up")] = (
        Reshuffle.EVERY_ROUND
    )
    breaker: Annotated[
        Breaker, option("who of the winners has broken the pot, and is the next banker: the one paid last, or most")
    ] = Breaker.LAST_WINNER
    pass_bank: Annotated[
        PassBank, option("in a session, a bank not wanted goes to the next seat, or to one that is named")
    ] = PassBank.CLOCKWISE
    final_round_fifteen: Annotated[bool, option("the banker may trade a fifteen in the final round")] = True
    episode: Annotated[
        Episode, option("what an episode is: one bank, `rounds` rounds of it, `banks` banks, or a final round alone")
    ] = Episode.SINGLE_BANK
    rounds: Annotated[int, option('rounds of an episode "fixed_rounds"', low=1, high=1000)] = 1
    banks: Annotated[int, option('banks of an episode "session"', low=1, high=100)] = 4
    force_back_pass_round: Annotated[
        int,
        option(
            "round from which Back Passing is declared without being asked; 0: never",
            low=0,
            high=1000,
            words={"none": 0},
        ),
    ] = 10
    max_rounds: Annotated[
        int, option("rounds after which a bank ends and the pot is the banker's", low=1, high=1000)
    ] = 40
    bet_fractions: Annotated[
        tuple[int, int, int],
        option("bets a quarter, half and pot, as shares of the most one can bet", low=0.001, high=1.0, parts=WHOLE),
    ] = (250, 500, 1000)
    reward: Annotated[Reward, option("what each seat gained is shown at the end or after every round")] = Reward.EPISODE
    suits: Annotated[
        int, option("suits in the pack, clubs first; fewer are for cut-down games", low=1, high=NUM_SUITS)
    ] = NUM_SUITS


def check(options: Options) -> None:
    """Raises OptionError where options contradict each other."""
    if options.bankroll and options.bankroll < options.initial_deposit:
        raise OptionError(
            f"twenty_one options bankroll {options.bankroll} and initial_deposit "
            f"{options.initial_deposit} leave nobody able to be banker; "
            "the bankroll must be at least the deposit, or 0 for unlimited credit."
        )
    if options.banker != Banker.RANDOM and options.banker >= options.num_players:
        raise OptionError(
            f"twenty_one option banker is seat {int(options.banker)}; "
            f"with num_players {options.num_players} there are seats "
            f'0..{options.num_players - 1}, or "random".'
        )
    most = (SUIT_POINTS * options.suits - 6 * (options.suits > HEARTS) - 1) // TARGET
    if options.num_players > most:
        raise OptionError(
            f"twenty_one option suits is {options.suits}, enough for {most} players, and num_players is "
            f"{options.num_players}; hands of up to {TARGET} have to leave a card in the pack: raise suits."
        )
    if options.chantal_is_ace and not options.chantal:
        raise OptionError(
            "twenty_one option chantal_is_ace needs chantal; without it the seven of hearts is a seven like others."
        )
    if options.force_back_pass_round == 1:
        raise OptionError(
            "twenty_one option force_back_pass_round is 1; it takes 0 (never) "
            "or 2 and more, since a bank could end at its first deal, "
            "before anybody had decided anything."
        )


@kernel
def pack_size(options: Options) -> int:
    """How many cards the pack has (§1.1)."""
    return RANKS_OF_SUIT * options.suits


# Actions (§3)

STAND, HIT, BET_MIN, BET_QUARTER, BET_HALF, BET_POT, TRADE, DEAL, BACK_PASS, TAKE_BANK, DECLINE_BANK = range(11)
PASS_BANK = 11  # to seat 0, and so on to the last of MOST_SEATS
MOST_SEATS = 8
PUT_DEPOSIT = PASS_BANK + MOST_SEATS  # the first of DEPOSITS, and so on
NUM_ACTIONS = PUT_DEPOSIT + len(DEPOSITS)
MOST_DECISIONS = 4000  # of an episode, which is truncated then (§3)
MOST_TRADES = 127  # that `state.trades` counts

# Phases (§1.4). Decisions fall in the first five; in the others the rules run on by themselves, or wait for chance.
DECLARE, PUNTERS, BANKER, NEW_BANKER, DEPOSIT, SHUFFLE, DEALING, NEW_ROUND, SETTLE = range(9)
DECISION_PHASES = 5

# Status of a seat in the round (§1.5)
WAIT, ACT, STOOD, BUSTED, ROYAL, OUT = range(6)
NUM_STATUSES = 6

# How a bank ended (§1.8); 0 while the first is played
ENDED_BY_KING, CASHED, BROKEN, CAPPED = 1, 2, 3, 4

RUNNING = -3
"""`state.seat` within a step, while the rules run on by themselves."""
EVERYBODY = 255
"""In `state.known`: the card lies open."""


class State:
    """Everything at the table. Money is whole coins; what a pile does not hold is 0."""

    seat: int = field("i1", doc="who acts")
    reward: npt.NDArray[np.float32] = field(
        "f4", lambda o: (o.num_players,), "what each seat gained by the latest action"
    )
    purse: npt.NDArray[np.int64] = field(
        "i8", lambda o: (o.num_players,), "money of each seat; without a bankroll it may be negative"
    )
    own: npt.NDArray[np.int64] = field(
        "i8", lambda o: (o.num_players,), "each punter's own half of the stake, the bank's being as much"
    )
    told: npt.NDArray[np.int64] = field(
        "i8", lambda o: (o.num_players,), "purse, the banker's with the pot, when a reward was last paid"
    )
    pot: int = field("i8", doc="money in the bank")
    deposit: int = field("i8", doc="what its banker put into this bank")
    largest: int = field("i8", doc="largest pay-out of the round")
    silent: int = field("i8", doc="set of cards that the banker would have had to announce if they were KH or an eight")
    phase: int = field("i1", doc="0 declare, 1 punters, 2 banker, 3 new banker, 4 deposit")
    turn: int = field("i1", doc="whose turn it is, also while chance shuffles")
    banker: int = field("i1", doc="who holds the bank")
    next_banker: int = field("i1", doc="who was entitled to the bank after the last that ended")
    breaker: int = field("i1", doc="of the punters paid in this round, the one who would have broken the pot")
    result: int = field(
        "i1", doc="how the last bank ended: 0 none has, 1 king of hearts, 2 cashed, 3 broken, 4 last round"
    )
    bank: int = field("i1", doc="banks that have ended")
    asked: int = field("i2", doc="set of seats that have declined the next bank, or passed it on")
    back_passing: int = field("i1", doc="1 once the banker has declared Back Passing")
    final_round: int = field("i1", doc="1 once the banker has announced an eight")
    round_number: int = field("i2", doc="round of this bank, from 1")
    shuffles: int = field("i2", doc="times that discards have become the stock since all cards were shuffled")
    status: npt.NDArray[np.int8] = field(
        "i1", lambda o: (o.num_players,), "0 wait, 1 act, 2 stood, 3 bust, 4 royal, 5 out"
    )
    trades: npt.NDArray[np.int8] = field(
        "i1", lambda o: (o.num_players,), "trades of each seat in this round, 127 for more"
    )
    after_seven: npt.NDArray[np.int8] = field("i1", lambda o: (o.num_players,), "1 where a lone eight may be traded")
    count: npt.NDArray[np.int8] = field("i1", lambda o: (o.num_players,), "cards in each hand")
    cards: npt.NDArray[np.uint8] = field(
        "u1", lambda o: (o.num_players, MOST_CARDS), "each hand, in the order received"
    )
    dealt: int = field("i1", doc="seats that have been dealt a first card in this round")
    drawn: int = field("i1", doc="cards drawn from the stock")
    stock_size: int = field("i1", doc="cards the stock had when it was last shuffled")
    discarded: int = field("i1", doc="cards in the discards")
    stock: npt.NDArray[np.uint8] = field("u1", NUM_CARDS, "the stock, top first; those drawn are wiped")
    discards: npt.NDArray[np.uint8] = field("u1", NUM_CARDS, "the discards, oldest first")
    known: npt.NDArray[np.int16] = field(
        "i2", NUM_CARDS, "for each card the set of seats that know where it lies, 255 where it is open"
    )
    origin: npt.NDArray[np.int16] = field(
        "i2", NUM_CARDS, "for each card the value of `shuffles` when it was last in the stock"
    )
    cleared: npt.NDArray[np.int16] = field(
        "i2",
        lambda o: (o.num_players, NUM_CARDS),
        "`shuffles` when the seat last knew a card to be among those shuffled",
    )
