"""Baccarat's cards, actions, options and state. The § marks are README.md's paragraphs."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.rules.options import OptionError, option
from ..core.rules.record import field

COUP = 6  # cards that a coup can use (§1.3)
SUITS = 4  # of a pack, but in cut-down games (§2)
NATURAL = 8  # a two-card total from here on ends the drawing (§1.3)
STOOD = 10  # beside the values 0-9 of a third card: the Player stood

BETTING, PLAYER_TURN, BANKER_TURN, SHOWN = 0, 1, 2, 3  # phases of a coup
PLAYER, BANK, TIE = 0, 1, 2  # sides of a bet, hands, and who wins

# Actions (§3), 15 of them:
#    0      no bet
#    1-12   1 + 3 * level + side: the stake of that level on PLAYER (0), BANK (1) or TIE (2)
#   13      stand
#   14      draw
NO_BET = 0
STAND, DRAW = 13, 14
NUM_ACTIONS = 15
NUM_LEVELS, NUM_SIDES = 4, 3


class Mode(IntEnum):
    """§2.1: what is decided at the table."""

    TABLE = 0
    PUNTO_BANCO = 1
    CHEMIN = 2


class HandsDeclared(IntEnum):
    """§1.5: whether both hands lie open while a choice is open; so they do at a betting table with a choice."""

    BY_MODE = 0
    OFF = 1
    ON = 2


class BankerRule(IntEnum):
    """§6.1: what the rows of the Banker's table speak of."""

    THIRD_CARD = 0
    TABLE_ONLY = 1
    TOTAL = 2


class BankerPolicy(IntEnum):
    """§2.1: whether the Banker is bound to the table; so it is, except in chemin de fer."""

    BY_MODE = 0
    TABLE = 1
    FREE = 2


class Reshuffle(IntEnum):
    """§2.2: how often the packs are mixed."""

    EVERY_COUP = 0
    SHOE = 1


class Bank(IntEnum):
    """§1.2: who has the bank."""

    HOUSE = 0
    ROTATING = 1


class FirstBanker(IntEnum):
    """§1.2: which seat has the rotating bank first."""

    RIGHT = 0
    RICHEST = 1


class Settles(IntEnum):
    """§1.4: who pays and collects where the bank rotates."""

    BANK = 0
    HOUSE = 1


class Participant(IntEnum):
    """§1.2: who handles the Player hand."""

    LARGEST_BET = 0
    PLAYER_BACKER = 1


class BankerSees(IntEnum):
    """§2.1: what the Banker of chemin de fer knows of the Banker hand, where hands are not declared."""

    COMPOSITION = 0
    TOTAL = 1


Stakes = tuple[int, int, int, int]  # as many as NUM_LEVELS
Purses = tuple[int, int, int, int, int, int, int, int]  # as many as there can be bettors


class Options(NamedTuple):
    """What can be agreed before a game."""

    mode: Annotated[Mode, option("bets and a choice on five; bets only; or the two hands against each other")] = (
        Mode.TABLE
    )
    hands_declared: Annotated[
        HandsDeclared, option("both hands lie open while a choice is; `by_mode`: on in `table`, off elsewhere")
    ] = HandsDeclared.BY_MODE
    decks: Annotated[
        int, option("packs mixed", low=0, high=12, words={"inf": 0, "home": 1, "casino6": 6, "casino8": 8})
    ] = 8
    commission: Annotated[float, option("the house's part of what BANK wins", low=0, high=1)] = 0.05
    tie_pays: Annotated[int, option("what TIE wins, to 1", low=1, high=12)] = 9
    banker_rule: Annotated[BankerRule, option("what the rows of the Banker's table speak of")] = BankerRule.THIRD_CARD
    banker_policy: Annotated[BankerPolicy, option("`by_mode`: free in `chemin`, bound to the table elsewhere")] = (
        BankerPolicy.BY_MODE
    )
    reshuffle: Annotated[Reshuffle, option("mix before every coup, or deal from a shoe")] = Reshuffle.EVERY_COUP
    cut_card: Annotated[
        int, option("a shoe with this many cards or fewer is not dealt from again", low=0, high=100)
    ] = 16
    num_coups: Annotated[int, option("coups in an episode", low=0, high=250, words={"shoe": 0})] = 1
    stakes: Annotated[Stakes, option("levels of a bet, in units", low=0, high=10_000, fill=0)] = (1, 2, 5, 10)
    num_bettors: Annotated[int, option("seats at a betting table", low=1, high=8)] = 1
    purses: Annotated[
        Purses, option("what bettors can lose: nought no limit, one number everybody's", low=0, high=1_000_000, fill=0)
    ] = (0, 0, 0, 0, 0, 0, 0, 0)
    participant: Annotated[
        Participant, option("who handles the Player hand: the largest bet, or of bets on PLAYER first")
    ] = Participant.LARGEST_BET
    banker: Annotated[Bank, option("who has the bank")] = Bank.HOUSE
    settles: Annotated[Settles, option("who pays and collects where the bank rotates")] = Settles.BANK
    first_banker: Annotated[FirstBanker, option("who has the rotating bank first")] = FirstBanker.RIGHT
    chemin_player_free: Annotated[bool, option("the Player of `chemin` chooses on every total from 0 to 7")] = False
    banker_sees: Annotated[
        BankerSees, option("what the Banker of `chemin` knows of the Banker hand, where hands are not declared")
    ] = BankerSees.COMPOSITION
    bets_public: Annotated[bool, option("bets are seen as they are placed, not only when all are")] = False
    allow_no_bet: Annotated[bool, option("a bettor may sit a coup out")] = True
    suits: Annotated[
        int, option("suits in the pack, clubs first; fewer are for cut-down games, of one pack", low=1, high=SUITS)
    ] = SUITS


def check(options: Options) -> None:
    """Raises OptionError where options contradict each other."""
    chemin, levels = options.mode == Mode.CHEMIN, [stake for stake in options.stakes if stake > 0]
    if options.banker_policy == BankerPolicy.FREE and not chemin:
        raise OptionError(
            'baccarat option banker_policy is "free"; only in mode '
            '"chemin" may the Banker choose: set mode="chemin" too.'
        )
    if options.chemin_player_free and not chemin:
        raise OptionError('baccarat option chemin_player_free is true; it needs mode="chemin".')
    if options.suits < SUITS and options.decks != 1:
        raise OptionError(
            f"baccarat option suits is {options.suits} and decks is {options.decks or 'inf'}; only one pack can have "
            f'fewer than {SUITS}: set decks="home".'
        )
    purses = [purse for purse in options.purses if purse > 0]
    if chemin and (options.num_bettors != 1 or options.banker == Bank.ROTATING or purses):
        raise OptionError(
            "baccarat options num_bettors, purses and banker have no place "
            'in mode "chemin", which has two seats: leave them out.'
        )
    if len(purses) not in (0, 1, options.num_bettors) or options.purses[: len(purses)] != tuple(purses):
        raise OptionError(
            f"baccarat option purses is {tuple(options.purses)} with num_bettors {options.num_bettors}; it takes one "
            "number of 1 or more for everybody, or one for each bettor."
        )
    if options.banker == Bank.ROTATING and options.num_bettors == 1:
        raise OptionError(
            'baccarat option banker is "rotating" and num_bettors is 1; a bank that moves needs 2 to 8 bettors.'
        )
    if options.reshuffle == Reshuffle.SHOE and options.decks == 0:
        raise OptionError(
            'baccarat options reshuffle "shoe" and decks "inf" exclude each other; a shoe takes 1 to 12 packs.'
        )
    if options.num_coups == 0 and options.reshuffle != Reshuffle.SHOE:
        raise OptionError('baccarat option num_coups is "shoe" (0); it needs reshuffle="shoe".')
    if (
        tuple(options.stakes) != (*levels, *[0] * (NUM_LEVELS - len(levels)))
        or not levels
        or len(set(levels)) < len(levels)
    ):
        raise OptionError(
            f"baccarat option stakes is {tuple(options.stakes)}; it takes one to four different numbers of 1 or more."
        )


def pack_size(options: Options) -> int:
    """How many cards are mixed; with `decks` inf, the one pack that every card is drawn from."""
    return 13 * options.suits * max(1, options.decks)


def shoe_size(options: Options) -> int:
    """How many cards a state keeps: the whole shoe, or what one coup can use."""
    return pack_size(options) if options.reshuffle == Reshuffle.SHOE else COUP


def most_coups(options: Options) -> int:
    """The greatest number of coups in an episode: a coup takes four cards at least."""
    return options.num_coups or max(1, -(-(pack_size(options) - max(options.cut_card, COUP - 1)) // 4))


def num_seats(options: Options) -> int:
    """Two hands in chemin de fer, else the bettors."""
    return 2 if options.mode == Mode.CHEMIN else options.num_bettors


class State:
    """Everything at the table. A coup's cards lie in the shoe as dealt: Player, Banker, Player, Banker, Player's third,
    Banker's."""

    seat: int = field("i1", doc="who acts")
    reward: npt.NDArray[np.float32] = field(
        "f4", lambda o: (num_seats(o),), "what each seat gained by the latest action"
    )
    units: npt.NDArray[np.float64] = field(
        "f8", lambda o: (num_seats(o),), "what each seat has won in this episode, in units"
    )
    shoe: npt.NDArray[np.uint16] = field("u2", lambda o: (shoe_size(o),), "cards in the order of dealing")
    first: int = field("u2", doc="where in the shoe the present coup begins; cards before it have been turned up")
    exposed: npt.NDArray[np.uint8] = field("u1", 10, "how many cards of each value lie before it")
    phase: int = field(
        "u1", doc="0 betting, 1 the Player hand, 2 the Banker hand, 3 cards turned up at the end of the episode"
    )
    player_drew: int = field("u1", doc="1 when the Player hand has a third card")
    banker_drew: int = field("u1", doc="1 when the Banker hand has a third card")
    bets: npt.NDArray[np.uint8] = field("u1", lambda o: (o.num_bettors,), "each bettor's action of this coup")
    participant: int = field("i1", doc="the bettor who handles the Player hand, -1 for none")
    banker: int = field("i1", doc="the seat that has the bank, -1 for the house")
    coup: int = field("u1", doc="coups finished")
    asked: int = field("u1", doc="1 once anybody has decided anything in this episode")
    last: npt.NDArray[np.uint8] = field(
        "u1", COUP, "the cards of the latest coup, as cards of one pack, where another one follows"
    )
    last_drew: npt.NDArray[np.uint8] = field(
        "u1", 2, "1 where the Player, the Banker hand of that coup had a third card"
    )
    totals: npt.NDArray[np.uint8] = field("u1", 2, "final totals of the latest coup, Player and Banker")
    winner: int = field("u1", doc="who won it: 1 Player, 2 Banker, 3 tie, 0 before the first")
