"""What a table of Pitch agrees on, how its actions are numbered, and all that lies on it.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules import trick_hand
from ..core.rules.cards import LITTLE_JOKER
from ..core.rules.options import OptionError, option
from ..core.rules.record import field
from ..core.rules.trick_hand import RANDOM_DEALER, TrickHand, per_seat

MOST_PLAYERS = 7  # alone (§2)
HAND = 6  # cards dealt to each player, and tricks of a hand, but in cut-down games (§1.1, §2)
PACKET = 3  # cards that a player gets at a time (§1.1)
SUITS = 4  # suits of the pack, but in cut-down games (§2)
LEAST_BID = 2  # (§1.2)
JOKER = LITTLE_JOKER  # the one joker, where it is played with (§2)
SPADES = 3  # trump after a pitched joker (§2)
NUM_CARDS = JOKER + 1  # with the joker
ANY_CARD = (1 << NUM_CARDS) - 1  # all of them as a set

# Actions (§3), 62 of them:
#    0      pass
#    1-4    bid 2, 3, 4, 5 (5 only with the joker)
#    5-56   play that card (5 + suit * 13 + rank)
#   57      play the joker
#   58-61   name trump: C, D, H, S
PASS = 0
BID = 1
PLAY = 5
NAME = 58
NUM_ACTIONS = 62

BIDDING, PLAYING, NAMING = 0, 1, 2  # phases of a hand
HIGH, LOW, JACK, GAME_POINT, JOKER_POINT = 0, 1, 2, 3, 4  # the points of a hand (§1.4)
NUM_POINTS = 5
NOBODY = -1


class LowRule(IntEnum):
    """§1.4: whose the point for Low is."""

    CAPTURED = 0
    DEALT = 1


class GameTie(IntEnum):
    """§1.4: who has the point for Game where the most pips are equal."""

    NONE = 0
    NON_BIDDER = 1
    BIDDER = 2


class AllPass(IntEnum):
    """§1.2: what the dealer does when all others have passed."""

    DEALER_FORCED_2 = 0
    REDEAL = 1
    DEALER_EXACTLY_2 = 2


class Follow(IntEnum):
    """§1.3: whether a trump may be played to a plain suit by who could follow it."""

    OR_TRUMP = 0
    STRICT = 1


class Joker(IntEnum):
    """§2: whether there is a joker, and its rank among the trumps."""

    NONE = 0
    LOW_TRUMP = 1
    BELOW_JACK = 2


class JokerPitch(IntEnum):
    """§2: what is trump when the joker is pitched."""

    SPADES = 0
    NAME = 1


class GameEnd(IntEnum):
    """§1.6: who wins by reaching the target."""

    BIDDER_MUST_MAKE = 0
    FIRST_PAST = 1
    BIDDER_MUST_WIN = 2
    NEXT_AUCTION = 3


class Mode(IntEnum):
    """§2: a game to the target, or a single hand."""

    MATCH = 0
    HAND = 1


class Teams(IntEnum):
    """§2: two partnerships, or everybody alone."""

    PARTNERS = 0
    SOLO = 1


class Options(NamedTuple):
    """§2: what a table may agree on."""

    target: Annotated[int, option("points that win a game", low=1, high=trick_hand.MOST_SCORE)] = 21
    low: Annotated[LowRule, option("Low is for whoever captures it, or for whoever was dealt it")] = LowRule.CAPTURED
    game_tie: Annotated[GameTie, option("who has Game where the most pips are equal")] = GameTie.NONE
    follow: Annotated[Follow, option("to a plain suit follow or trump; or trump only who has none of the suit")] = (
        Follow.OR_TRUMP
    )
    must_trump_when_void: Annotated[bool, option("who cannot follow a plain suit must trump if they can")] = False
    dealer_can_take: Annotated[bool, option("the dealer may take a bid below a smudge for as much")] = True
    smudge_takeable: Annotated[bool, option("the dealer may take a smudge for as much")] = False
    all_pass: Annotated[
        AllPass, option("where all others pass the dealer must bid; or may pass and deals again; or must bid just two")
    ] = AllPass.DEALER_FORCED_2
    smudge_wins_game: Annotated[bool, option("a smudge that is made wins the game at once")] = False
    joker: Annotated[Joker, option("no joker; the lowest trump; or a trump between jack and ten")] = Joker.NONE
    joker_pitch: Annotated[JokerPitch, option("trump after a pitched joker: spades, or what the pitcher names")] = (
        JokerPitch.SPADES
    )
    game_end: Annotated[
        GameEnd,
        option(
            "only a bidder whose bid is made wins; or whoever is at the target; or the bidder who is, made or not; or "
            "who is there wins with the next auction that they win"
        ),
    ] = GameEnd.BIDDER_MUST_MAKE
    mode: Annotated[Mode, option("a game, or one hand")] = Mode.MATCH
    teams: Annotated[Teams, option("two partnerships, or everybody alone")] = Teams.PARTNERS
    num_players: Annotated[
        int, option("seats at the table; other than 4 only alone; 2 are for cut-down games", low=2, high=MOST_PLAYERS)
    ] = 4
    max_hands: Annotated[int, option("hands after which the higher score wins", low=1, high=120)] = 64
    first_dealer: Annotated[int, trick_hand.first_dealer(most_players=MOST_PLAYERS)] = RANDOM_DEALER
    hand_size: Annotated[int, option("cards dealt to each player; fewer are for cut-down games", low=1, high=HAND)] = (
        HAND
    )
    suits: Annotated[int, option("suits in the pack, clubs first; fewer are for cut-down games", low=1, high=SUITS)] = (
        SUITS
    )


def check(options: Options) -> None:
    """Raises OptionError for partners who are not four, a dealer who has no seat, and a pack that is too small."""
    if options.teams == Teams.PARTNERS and options.num_players != 4:
        raise OptionError(
            f'pitch option num_players is {options.num_players}; partners are 4: set teams="solo" for another number.'
        )
    trick_hand.check_first_dealer("pitch", options)
    if options.suits < SUITS and options.joker != Joker.NONE:
        raise OptionError(f'pitch option suits is {options.suits}; a pack with a joker has {SUITS}: set joker="none".')
    if options.num_players * options.hand_size > 13 * options.suits:
        raise OptionError(
            f"pitch option suits is {options.suits}; {options.num_players} players with {options.hand_size} cards each "
            "need more than that, and a suit has 13."
        )


@kernel
def pack_size(options: Options) -> int:
    """52 cards, or 53 with the joker; fewer where the pack has fewer suits."""
    return 13 * options.suits + int(options.joker != Joker.NONE)


def num_sides(options: Options) -> int:
    """How many score sheets there are: two partnerships, or one for each player."""
    return 2 if options.teams == Teams.PARTNERS else options.num_players


@kernel
def side_of(options: Options, seat: int) -> int:
    """§1.1: the side of a seat: partners sit across from each other."""
    return seat % 2 if options.teams == Teams.PARTNERS else seat


def per_side(options: Options) -> tuple[int]:
    """The shape of a field that each side has one number of."""
    return (num_sides(options),)


class State(TrickHand):
    """Everything at the table. Cards in nobody's hand and not played are those that nobody was dealt."""

    phase: int = field("i1", doc="0 bidding, 1 playing, 2 naming trump")
    high_bid: int = field("i1", doc="the highest bid so far, 0 for none")
    pitcher: int = field("i1", doc="who made it, -1 for nobody")
    bid: npt.NDArray[np.int8] = field("i1", per_seat, "each seat's bid: 0 none yet, 1 pass, 2 to 5")
    score: npt.NDArray[np.int16] = field("i2", per_side, "each side's score")
    captured: npt.NDArray[np.int64] = field("i8", per_side, "the cards that each side has captured, as a set")
    pips: npt.NDArray[np.int8] = field("i1", per_side, "what they count for Game")
    point: npt.NDArray[np.int8] = field(
        "i1",
        NUM_POINTS,
        "1 + the side that has High, Low, Jack, Game, Joker by the latest trick; 0 nobody; kept until the next",
    )
