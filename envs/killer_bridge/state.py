"""What a table of Killer Back Alley Bridge Substitute agrees on, how its actions are numbered, and all that lies on it.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel, uncompiled
from ..core.rules import trick_hand
from ..core.rules.options import OptionError, option
from ..core.rules.record import field
from ..core.rules.trick_hand import RANDOM_DEALER, TrickHand, per_seat

PACK_SIZE = 54  # 52 cards and two jokers (§1.1)
PACK = (1 << PACK_SIZE) - 1  # all of them as a set
SUITS = 4  # suits of the pack, but in cut-down games (§1.5)
NO_CARD = 54  # where no card was turned up (§1.3)

# Actions (§3), 111 of them for every number of players:
#    0-54    bid that many tricks
#   55       BOARD
#   56       RAINBOW
#   57-110   play that card (57 + suit * 13 + rank; 109 and 110 are the little and the big joker)
BOARD = 55
RAINBOW = 56
PLAY = 57
NUM_ACTIONS = PLAY + PACK_SIZE
NO_BID = NUM_ACTIONS  # in `State.bid`, before the bid

LARGEST_HAND = 0  # `hand_size` where the pack decides
MOST_SIPS = 10_000  # for one trick or miss: a whole game's fit in four bytes
SipTable = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]  # as many as four players can miss by
ONE_SIP = (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)  # whatever a bid is missed by


class SipRule(IntEnum):
    """§1.5: what decides how many sips a missed bid costs in the drinking game."""

    ONE_PER_MISS = 0
    DIFFERENCE = 1


class Scoring(IntEnum):
    """§1.4: what f is; squared is the game that is, perhaps, called Cutthroat."""

    SQUARED = 0
    LINEAR = 1


class LinearPenalty(IntEnum):
    """§1.4: what f is for a missed bid in the linear game."""

    LINEAR = 0
    SQUARED = 1


class Length(IntEnum):
    """§1.2: which hands are played."""

    FULL = 0
    DOWN = 1
    UP = 2
    SINGLE = 3


class History(IntEnum):
    """§2: which of the hand's tricks an observation shows."""

    FULL = 0
    LAST_TRICK = 1


class Reward(IntEnum):
    """§3: what a player is paid for; AUTO is POINTS, but WIN in the ultimate game."""

    AUTO = 0
    POINTS = 1
    WIN = 2


class Options(NamedTuple):
    """§1.5: what a table may agree on."""

    num_players: Annotated[int, option("seats at the table", low=1, high=PACK_SIZE)] = 4
    ultimate: Annotated[bool, option("the Ultimate game: exactly 37 points win")] = False
    drinking: Annotated[bool, option("the Drinking game: sips are counted")] = False
    scoring: Annotated[Scoring, option("f(x) is x², as in Cutthroat, or x")] = Scoring.SQUARED
    linear_penalty: Annotated[LinearPenalty, option("f(x) of a missed bid in the linear game")] = LinearPenalty.LINEAR
    length: Annotated[Length, option("hands of all sizes down and up again, down only, up only, or one hand")] = (
        Length.FULL
    )
    hand_size: Annotated[
        int, option("cards of a single hand", low=0, high=PACK_SIZE, words={"largest": LARGEST_HAND})
    ] = LARGEST_HAND
    first_dealer: Annotated[int, trick_hand.first_dealer(most_players=PACK_SIZE)] = RANDOM_DEALER
    allow_board: Annotated[bool, option("BOARD may be bid")] = True
    allow_rainbow: Annotated[bool, option("RAINBOW may be bid")] = True
    shared_win: Annotated[
        bool, option("equal totals share the win; otherwise the number of bids made decides first")
    ] = True
    sip_rule: Annotated[SipRule, option("sips for a bid missed in the drinking game: one, or one per trick")] = (
        SipRule.ONE_PER_MISS
    )
    sips_per_miss: Annotated[
        SipTable,
        option(
            "what `sip_rule` gives is so many times as much: one number, or one each for bids missed by 1, 2, 3 and so "
            "on, the last going on",
            low=1,
            high=MOST_SIPS,
            last_goes_on=True,
        ),
    ] = ONE_SIP
    history: Annotated[History, option("observations show the whole hand's tricks, or the last finished one")] = (
        History.FULL
    )
    scorecard_in_observation: Annotated[bool, option("observations hold the whole scorecard")] = False
    reward: Annotated[
        Reward, option("points above the table's mean, or the win; `auto` is points, in `ultimate` the win")
    ] = Reward.AUTO
    per_hand_rewards: Annotated[bool, option("points are paid hand by hand; otherwise when the game ends")] = False
    suits: Annotated[
        int, option("suits in the pack, clubs first; fewer, without jokers, are for cut-down games", low=1, high=SUITS)
    ] = SUITS


@kernel
def pack_size(options: Options) -> int:
    """§1.1: 52 cards and two jokers; §1.5: with fewer suits no jokers."""
    return PACK_SIZE if options.suits == SUITS else 13 * options.suits


@kernel
def largest_hand(options: Options) -> int:
    """§1.2: how many cards each player gets at most."""
    return pack_size(options) // options.num_players


@kernel
def num_hands(options: Options) -> int:
    """§1.2: hands of a game."""
    if options.length == Length.SINGLE:
        return 1
    return 2 * largest_hand(options) if options.length == Length.FULL else largest_hand(options)


def line_each(options: Options) -> tuple[int]:
    """The shape of a field that each line of a full game's scorecard has one number of. Shorter games have the same
    room: so they are played by the same machine code."""
    return (2 * uncompiled(largest_hand)(options),)


def entry_each(options: Options) -> tuple[int, int]:
    """The shape of a field that each seat has one number of in each of these lines."""
    return (*line_each(options), options.num_players)


@kernel
def pays_points(options: Options) -> bool:
    """§3: whether points are paid, or the win."""
    return options.reward == Reward.POINTS or (options.reward == Reward.AUTO and not options.ultimate)


def check(options: Options) -> None:
    """Raises OptionError for a dealer who has no seat, a hand that the pack cannot give, and options that have nothing
    to act on."""
    trick_hand.check_first_dealer("killer_bridge", options)
    cards = uncompiled(pack_size)(options)
    if options.num_players > cards:
        raise OptionError(f"killer_bridge option num_players is {options.num_players}; the pack has {cards} cards.")
    largest = cards // options.num_players
    if options.hand_size > largest:
        raise OptionError(
            f"killer_bridge option hand_size is {options.hand_size}; "
            f"{options.num_players} players get at most {largest} cards each."
        )
    if options.hand_size != LARGEST_HAND and options.length != Length.SINGLE:
        raise OptionError(f"killer_bridge option hand_size is {options.hand_size}; it needs length='single'.")
    if options.per_hand_rewards and not uncompiled(pays_points)(options):
        raise OptionError("killer_bridge option per_hand_rewards pays points hand by hand; it needs reward='points'.")


class State(TrickHand):
    """Everything at the table. Cards in nobody's hand, not played and not turned up are the unseen leftover."""

    playing: int = field("i1", doc="0 while bids are made, 1 while cards are played")
    hand_size: int = field("i1", doc="cards dealt to each seat in this hand")
    turned: int = field("i1", doc="the card turned up, 54 for none")
    last_leader: int = field("i1", doc="who led the last finished trick")
    score: npt.NDArray[np.int32] = field("i4", per_seat, "points of each seat")
    sips: npt.NDArray[np.int32] = field("i4", per_seat, "sips of each seat in the drinking game")
    made: npt.NDArray[np.int8] = field("i1", per_seat, "how many bids each seat has made good")
    bid: npt.NDArray[np.int8] = field("i1", per_seat, "each seat's bid as its action, 111 before it")
    won: npt.NDArray[np.int8] = field("i1", per_seat, "tricks of this hand that each seat has won")
    last_trick: npt.NDArray[np.int8] = field("i1", per_seat, "the cards of the last finished trick of this hand")
    lines: int = field("i1", doc="lines of the scorecard: hands finished and scored")
    scorecard_turned: npt.NDArray[np.int8] = field("i1", line_each, "each finished hand's card turned up, 54 for none")
    scorecard_bid: npt.NDArray[np.int8] = field("i1", entry_each, "each finished hand's bids, as actions")
    scorecard_won: npt.NDArray[np.int8] = field("i1", entry_each, "tricks won in each finished hand")
