"""The table of Bezique: cards, points, actions, what players may agree on, and the state (§ of README.md).

A type of card is `suit * 8 + rank`; suits C, D, H, S are 0..3, ranks 7 8 9 J Q K T A are 0..7 in rising strength. A
card is `type * 2 + copy`, 0..63. Sets of types are the set bits of one int64, 32 of them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.rules.options import option
from ..core.rules.record import field

# Cards (§1.1)
NUM_CARDS, NUM_TYPES = 64, 32
SUITS, RANKS, COPIES = 4, 8, 2
SEVEN, JACK, QUEEN, KING, TEN, ACE = 0, 3, 4, 5, 6, 7
NONE = -1
"""Where a field holds no card."""
ALL_TYPES = (1 << NUM_TYPES) - 1
BRISQUES = 0xC0C0C0C0
"""The aces and tens, as a set of types (§1.4)."""
NUM_BRISQUES = 16

# The deal, its tricks and matches
HAND = 8  # cards dealt to each (§1.2)
PACKETS = (3, 2, 3)  # §1.2
STOCK = NUM_CARDS - 2 * HAND - 1  # without the turn-up (§1.2)
DRAWING = 24  # tricks before the stock is used up (§1.3)
TRICKS = 32  # tricks of a deal (§1.4)
MOST_DEALS = 20  # deals of a match (§1.7)
IN_PILE = 1  # `State.won` is this plus the seat
SEVEN_LAST = 64  # added in `State.sevens` where another declaration came first

# Actions (§3), 81 of them:
#    0-63   play that card (type * 2 + copy)
#   64      declare the seven of trumps, or exchange one in the trick just won
#   65-68   declare a marriage in C, D, H, S
#   69, 70  declare a bezique, a double bezique
#   71-74   declare four J, Q, K, A
#   75-78   declare a sequence in C, D, H, S
#   79      declare nothing
#   80      exchange a seven of trumps in the trick just won, where 64 declares one from the hand
DECLARE_SEVEN, MARRIAGE, BEZIQUE, DOUBLE_BEZIQUE, FOUR, SEQUENCE, NO_DECLARATION = 64, 65, 69, 70, 71, 75, 79
EXCHANGE_SEVEN = 80
NUM_ACTIONS = EXCHANGE_SEVEN + 1

# Kinds of declaration, as bits of `State.scored`, and as columns of an observation in this order (§1.5)
IN_SEVEN, IN_MARRIAGE, IN_SEQUENCE, IN_BEZIQUE, IN_DOUBLE, IN_FOUR = 1, 2, 4, 8, 16, 32
NUM_KINDS = 6

# Points
SEVEN_POINTS = 10  # §1.5, as all points of declarations
MARRIAGE_POINTS, ROYAL_MARRIAGE_POINTS = 20, 40
BEZIQUE_POINTS, DOUBLE_BEZIQUE_POINTS = 40, 500
FOUR_RANKS = (JACK, QUEEN, KING, ACE)
FOUR_POINTS = (40, 60, 80, 100)  # of these ranks
ROYAL_SEQUENCE_POINTS = 250
BRISQUE_POINTS = 10  # §1.4
TRICK_24 = -1  # `last_trick`: ten points for trick 24 instead (§2)
TRICK_24_POINTS = 10  # §2
POINTS_PER_REWARD = 1000.0  # §3


class Rank(IntEnum):
    """The ranks in rising order. §1.1"""

    SEVEN = SEVEN
    EIGHT = 1
    NINE = 2
    JACK = JACK
    QUEEN = QUEEN
    KING = KING
    TEN = TEN
    ACE = ACE


class TurnUp(IntEnum):
    """§1.3: who gets the turn-up, the loser of trick 24 or the winner of trick 1."""

    KEPT_FOR_LAST = 0
    TAKEN_FIRST = 1


class Endgame(IntEnum):
    """§1.4: what the second player may play in the last eight tricks."""

    SOURCE = 0
    CLASSIC = 1


class Quartet(IntEnum):
    """§1.5: what four of a kind are."""

    ONE_OF_EACH_SUIT = 0
    ANY = 1


class Reuse(IntEnum):
    """§1.6: how often a card may be declared."""

    CLASS = 0
    FREE = 1
    ONCE = 2


class SevenRule(IntEnum):
    """§1.5: whether the seven of trumps is declared from the hand, exchanged from the trick just won, or either."""

    HAND = 0
    TRICK = 1
    BOTH = 2


class Mode(IntEnum):
    """§1.7: one deal for the difference of points, or deals up to a target."""

    DEAL = 0
    MATCH = 1


class FirstDealer(IntEnum):
    """§1.2: who deals first."""

    SEAT_0 = 0
    SEAT_1 = 1
    RANDOM = 2


class Reward(IntEnum):
    """§3: the result at the end, or points as they are made."""

    RESULT = 0
    POINTS = 1


class Options(NamedTuple):
    """§2: what a table may agree on."""

    stock_top_open: Annotated[bool, option("the top card of the stock lies face up")] = True
    turn_up: Annotated[TurnUp, option("the turn-up is drawn last, or by the winner of trick 1")] = TurnUp.KEPT_FOR_LAST
    seven_rule: Annotated[
        SevenRule,
        option(
            "the seven of trumps is declared from the hand, with an exchange; or from the trick just won; or it is "
            "declared from the hand and exchanged from the trick"
        ),
    ] = SevenRule.HAND
    seven_is_declaration: Annotated[
        bool, option("the seven counts as the trick's one declaration; otherwise it may be a second")
    ] = True
    quartet: Annotated[Quartet, option("four of a kind: one of each suit, or any four")] = Quartet.ONE_OF_EACH_SUIT
    plain_sequence: Annotated[
        int, option("points of a sequence that is not trumps; 0: it cannot be declared", low=0, high=1000)
    ] = 100
    reuse: Annotated[Reuse, option("how often a card may be declared: once in each kind, freely, once in all")] = (
        Reuse.CLASS
    )
    declare_at_trick_24: Annotated[bool, option("the winner of trick 24 may still declare")] = True
    endgame: Annotated[
        Endgame, option("the duty of the second player in the last eight tricks: to win first, or to follow suit first")
    ] = Endgame.SOURCE
    last_trick: Annotated[
        int, option("points of trick 32, or ten for trick 24", low=-1, high=1000, words={"trick_24": TRICK_24})
    ] = 10
    melds_face_up: Annotated[
        bool, option("declared cards lie face up; otherwise they are named and laid face down")
    ] = True
    mode: Annotated[Mode, option("one deal, or a match up to `target`")] = Mode.DEAL
    target: Annotated[int, option("points that end a match", low=1, high=10000)] = 1000
    cards_dealt: Annotated[
        int,
        option(
            "cards dealt to each player, and tricks without a stock; fewer are for cut-down games", low=1, high=HAND
        ),
    ] = HAND
    first_dealer: Annotated[FirstDealer, option("who deals first (0 and 1 are taken too)")] = FirstDealer.RANDOM
    reward: Annotated[Reward, option("the result of the deal or match at its end, or points as they are made")] = (
        Reward.RESULT
    )
    lowest: Annotated[Rank, option("lowest rank of the pack; above sevens for cut-down games")] = Rank.SEVEN
    highest: Annotated[Rank, option("highest rank of the pack; below aces for cut-down games")] = Rank.ACE
    suits: Annotated[
        int, option("suits of the pack; fewer, spades first, then diamonds, are for cut-down games", low=1, high=SUITS)
    ] = SUITS
    copies: Annotated[int, option("copies of each card; one is for cut-down games", low=1, high=COPIES)] = COPIES


class State:
    """Everything at the table. Cards of finished deals are gone: each deal is a fresh shuffle."""

    seat: int = field("i1", doc="who acts")
    reward: npt.NDArray[np.float32] = field("f4", 2, "what each seat gained by the latest action")
    dealer: int = field("i1", doc="who dealt")
    deal_number: int = field("i1", doc="deals begun, this one included")
    total: npt.NDArray[np.int32] = field("i4", 2, "points of each seat in earlier deals of the match")
    score: npt.NDArray[np.int32] = field("i4", 2, "points of each seat in this deal; brisques come at its end")
    brisques: npt.NDArray[np.int8] = field("i1", 2, "aces and tens in each seat's pile")
    trump: int = field("i1", doc="suit of trumps")
    trick: int = field("i1", doc="tricks finished")
    leader: int = field("i1", doc="who leads, or won the trick just finished")
    declaring: int = field("i1", doc="1 while the winner of a trick may declare")
    made: int = field("i1", doc="declared after this trick: 1 the seven of trumps, 2 another declaration, 3 both")
    led: int = field("i1", doc="the card led; -1: none")
    taken: npt.NDArray[np.int8] = field("i1", 2, "while the winner may declare, the trick they won; else -1")
    turn_up: int = field("i1", doc="the turn-up, or the seven that lies there for it; -1: drawn")
    stock: npt.NDArray[np.int8] = field("i1", STOCK, "the stock, top first, those left at the end; before them -1")
    stock_left: int = field("i1", doc="cards of the stock, without the turn-up")
    hand: npt.NDArray[np.int8] = field(
        "i1", (2, HAND), "each seat's cards in ascending order, those on the table too; then -1"
    )
    held: npt.NDArray[np.int8] = field("i1", 2, "how many cards each seat holds")
    asked: npt.NDArray[np.int8] = field(
        "i1",
        DRAWING,
        "what both know of each trick's winner by whether they were asked: bit 0 is 1 if they held a declaration "
        "before drawing, beside those of `made` (bits 1 and 2), bit 3 is the winner; -1: nothing",
    )
    scored: npt.NDArray[np.int8] = field(
        "i1",
        NUM_CARDS,
        "kinds in which a card has scored: 1 seven, 2 marriage, 4 sequence, 8 bezique, 16 double, 32 four",
    )
    won: npt.NDArray[np.int8] = field("i1", NUM_CARDS, "1 + the seat in whose pile a card lies; 0: none's")
    known: npt.NDArray[np.int8] = field(
        "i1", (2, NUM_TYPES), "cards of each type that the other seat knows to be in this seat's closed hand"
    )
    declared: npt.NDArray[np.int16] = field(
        "i2",
        DRAWING,
        "until trick 24, what was declared after each trick, the seven apart: the pattern of its cards, and above 10 "
        "bits its action less 64; 0: nothing",
    )
    sevens: npt.NDArray[np.int8] = field(
        "i1",
        2,
        "until trick 24, after which trick each seven of trumps was declared or exchanged, 64 more if another "
        "declaration came first; 0: not yet",
    )
    first_turn_up: int = field("i1", doc="the type of the card turned up by the deal")
    drawn: npt.NDArray[np.int8] = field("i1", DRAWING, "the type that each trick's winner drew openly from the stock")
    played: npt.NDArray[np.int8] = field("i1", (TRICKS, 2), "the card led to each trick, and the reply; -1: not yet")
