"""Poker Duel's sizes, actions, options and state. The § marks are README.md's paragraphs."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules.options import OptionError, option
from ..core.rules.record import field

HAND = 15  # cards dealt to each player (§1.3)
SLOT = 5  # cards in a poker hand, and in a sudden-death hand (§1.4)
SLOTS = 3  # hands of a split, and rounds of a game (§1.3)
SUITS, RANKS = 4, 13  # of the pack, but in cut-down games (§1.1, §2)
MOST_STOCK = SUITS * RANKS - 2 * SLOT  # face-down deck of a sudden-death hand (§1.4)
ARRANGE, EXCHANGE = 0, 1  # phases of a game (§1.3)
PACK = (1 << SUITS * RANKS) - 1  # the whole pack as a set of cards (§1.1)
MOST_POINTS = 127  # of a match, so that twice as many fit an observation's byte

# Actions (§3), 56 of them:
#    0-51   discard that card (suit * 13 + rank)
#   52      stand
#   53-55   assign the next card to slot 1, 2, 3
STAND = 52
ASSIGN = 53
NUM_ACTIONS = ASSIGN + SLOTS


class Episode(IntEnum):
    """§1.2, §1.4: what is played: a match, or its sudden death alone."""

    MATCH = 0
    SUDDEN_DEATH = 1


class FirstDealer(IntEnum):
    """§1.2: who deals the first game, or the first hand of sudden death alone."""

    SEAT_0 = 0
    SEAT_1 = 1
    RANDOM = 2


class ExchangeOrder(IntEnum):
    """§1.5: turns alternate, or the non-dealer takes all of theirs first."""

    ALTERNATE = 0
    BOTH_AT_ONCE = 1


class TiePoints(IntEnum):
    """§1.6: what two equal hands score."""

    NONE = 0
    SPLIT = 1


class Reward(IntEnum):
    """§3: what a player is paid for."""

    MATCH = 0
    POINTS = 1
    PER_ROUND = 2


class Options(NamedTuple):
    """§2: what a table may agree on."""

    num_games: Annotated[int, option("games in a match", low=1, high=50)] = 2
    first_dealer: Annotated[FirstDealer, option("who deals the first game (0 and 1 are taken too)")] = (
        FirstDealer.RANDOM
    )
    round_points: Annotated[tuple[int, int, int], option("what the three rounds are worth", low=0, high=40)] = (1, 2, 3)
    exchanges_per_round: Annotated[int, option("exchange turns of each player in a round", low=0, high=11)] = 2
    exchange_order: Annotated[ExchangeOrder, option("turn by turn, or all of the non-dealer's first")] = (
        ExchangeOrder.ALTERNATE
    )
    stand_is_final: Annotated[bool, option("standing gives up the round's other turns; otherwise only this one")] = True
    discards_public: Annotated[bool, option("discards are laid face up")] = False
    tie_points: Annotated[TiePoints, option("what equal hands score: nothing, or half each")] = TiePoints.NONE
    nothing_scores: Annotated[bool, option("a round scores even if neither hand has a pair or better")] = True
    misere: Annotated[bool, option("the lower hand wins")] = False
    ace_low_straight: Annotated[bool, option("A 2 3 4 5 is a straight, the lowest")] = True
    sudden_death: Annotated[bool, option("a level match is decided by single hands; otherwise it is drawn")] = True
    max_sudden_death: Annotated[int, option("tied sudden-death hands that make a draw", low=1, high=100)] = 5
    skip_forced: Annotated[bool, option("cards with only one slot left to go to are placed without a step")] = False
    reward: Annotated[Reward, option("the match won, points of the match, or points as they are scored")] = Reward.MATCH
    episode: Annotated[Episode, option("a match, or the hands of a sudden death alone, as a drill")] = Episode.MATCH
    suits: Annotated[int, option("suits in the pack, clubs first; fewer are for cut-down games", low=1, high=SUITS)] = (
        SUITS
    )


def check(options: Options) -> None:
    """Raises OptionError where no round scores, where a match could have more points than an observation holds, or
    where nothing would be decided."""
    if sum(options.round_points) == 0:
        raise OptionError(
            f"poker_duel option round_points is {options.round_points}; at least one round must be worth something."
        )
    most = options.num_games * sum(options.round_points)
    if most > MOST_POINTS:
        raise OptionError(
            f"poker_duel options num_games {options.num_games} and "
            f"round_points {options.round_points} make {most} points; "
            f"a match may have at most {MOST_POINTS}: lower one of them."
        )
    if options.episode == Episode.SUDDEN_DEATH and options.exchanges_per_round == 0:
        raise OptionError(
            "poker_duel option exchanges_per_round is 0, so that nobody would decide anything in an episode of sudden "
            "death; it takes at least 1 there."
        )

    if options.episode == Episode.MATCH and RANKS * options.suits < 2 * HAND:
        raise OptionError(
            f"poker_duel option suits is {options.suits}; two hands of {HAND} take at least "
            f'{-(-2 * HAND // RANKS)}: raise suits, or set episode="sudden_death".'
        )


@kernel
def pack_size(options: Options) -> int:
    """How many cards the pack has (§1.1)."""
    return RANKS * options.suits


def named_suits(options: Options) -> Collection[int]:
    """The suits that cannot change places: none, but all where the pack lacks some (§2)."""
    return range(SUITS) if options.suits < SUITS else ()


class State:
    """Everything at the table. Cards of finished games are gone: each game is dealt from a fresh shuffle."""

    seat: int = field("i1", doc="who acts")
    reward: npt.NDArray[np.float32] = field("f4", 2, "what each seat gained by the latest action")
    points: npt.NDArray[np.float32] = field("f4", 2, "points of each seat in this match (halves are possible)")
    dealer: int = field("i1", doc="who dealt this hand")
    game: int = field("i1", doc="games finished before this one; in a match's sudden death, all of them")
    sudden_death: int = field("i1", doc="number of the sudden-death hand, 0 before")
    phase: int = field("i1", doc="0 arrange, 1 exchange")
    round_index: int = field("i1", doc="showdowns of this game so far: the slot being fought")
    slots: npt.NDArray[np.int8] = field("i1", (2, SLOTS, SLOT), "each seat's cards, slot by slot")
    filled: npt.NDArray[np.int8] = field("i1", (2, SLOTS), "how many cards each slot holds")
    offer: npt.NDArray[np.int8] = field(
        "i1", (2, HAND), "the cards dealt in the order they are assigned; those assigned are wiped"
    )
    stock: npt.NDArray[np.int8] = field("i1", MOST_STOCK, "the face-down deck, top first; those drawn are wiped")
    drawn: int = field("i1", doc="cards drawn from the deck")
    turns_left: npt.NDArray[np.int8] = field("i1", 2, "exchange turns each seat has left in this round")
    stood: npt.NDArray[np.int8] = field("i1", (2, SLOTS), "1 where a seat's latest turn in that round was to stand")
    exchanges: npt.NDArray[np.int8] = field("i1", (2, SLOTS), "how many cards each seat exchanged in each round")
    discards: npt.NDArray[np.int8] = field(
        "i1", lambda o: (2, max(1, SLOTS * o.exchanges_per_round)), "each seat's, oldest first"
    )
