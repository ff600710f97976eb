"""The hands of Pitch: what may be bid and played, which points there are, and who wins the game.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..core import tricks
from ..core.cards import LITTLE_JOKER, count_bits
from ..core.kernel import kernel

if TYPE_CHECKING:
    from .game import Options

HAND = 6  # cards dealt to each player, and tricks of a hand (§1.1)
PACKET = 3  # cards that a player gets at a time (§1.1)
LEAST_BID = 2  # (§1.2)
JOKER = LITTLE_JOKER  # the one joker, where it is played with (§2)
SPADES = 3  # trump after a pitched joker (§2)

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
FAR = 8.0  # points that even a side at the target lacks: it has yet to bid and make it (§5)
ANY_CARD = (1 << (JOKER + 1)) - 1
"""All cards, as a set."""

_RANK = 1 | 1 << 13 | 1 << 26 | 1 << 39
_TENS, _JACKS, _QUEENS, _KINGS, _ACES = _RANK << 8, _RANK << 9, _RANK << 10, _RANK << 11, _RANK << 12
_JACK_RANK = 9


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


class Mode(IntEnum):
    """§2: a game to the target, or a single hand."""

    MATCH = 0
    HAND = 1


class Teams(IntEnum):
    """§2: two partnerships, or everybody for himself."""

    PARTNERS = 0
    SOLO = 1


def num_sides(options: Options) -> int:
    """How many score sheets there are: two partnerships, or one for each player."""
    return 2 if options.teams == Teams.PARTNERS else options.num_players


def pack_size(options: Options) -> int:
    """52 cards, or 53 with the joker."""
    return 52 + int(options.joker != Joker.NONE)


@kernel
def side_of(options: Options, seat: int) -> int:
    """§1.1: the side of a seat: partners sit across from each other."""
    return seat % 2 if options.teams == Teams.PARTNERS else seat


@kernel
def after(options: Options, seat: int) -> int:
    """The seat to the left of another."""
    return seat + 1 if seat + 1 < options.num_players else 0


@kernel
def top_bid(options: Options) -> int:
    """§1.2: all the points that there are: the smudge."""
    return 4 if options.joker == Joker.NONE else 5


@kernel
def joker_strength(options: Options) -> int:
    """§2: where the joker stands among the trumps, as `tricks.strength` wants it."""
    return tricks.JOKER_BELOW_JACK if options.joker == Joker.BELOW_JACK else tricks.JOKER_LOW


@kernel
def may_bid(options: Options, highest: int, value: int, is_dealer: bool) -> bool:
    """§1.2: a bid is higher than the highest so far (0 for none); the dealer may take it for as much, unless it is a
    smudge."""
    if value > highest:
        return value <= top_bid(options)
    takes = is_dealer and options.dealer_can_take and value == highest
    return takes and (value < top_bid(options) or options.smudge_takeable)


@kernel
def may_pass(options: Options, highest: int, is_dealer: bool) -> bool:
    """§1.2: anybody may pass, but for the dealer when nobody has bid."""
    return highest > 0 or not is_dealer or options.all_pass == AllPass.REDEAL


@kernel
def playable(hand: int, led: int, trump: int, must_trump: bool) -> int:
    """§1.3: the cards of a hand (a set) that may be played to a trick in which the suit `led` was led."""
    trumps = hand & tricks.suit_set(trump, trump)
    if led == trump:
        return trumps if trumps != 0 else hand
    held = hand & tricks.suit_set(led, trump)
    if held != 0:
        return held | trumps
    return trumps if must_trump and trumps != 0 else hand


@kernel
def left_possible(card: int, led: int, trump: int, must_trump: bool) -> int:
    """§4: what whoever played `card` to a trick of that suit may still hold, as a set of all cards not ruled out by
    it."""
    followed, trumps = tricks.suit_set(led, trump), tricks.suit_set(trump, trump)
    if ((followed | trumps) >> card) & 1:
        return ANY_CARD
    possible = ANY_CARD & ~followed
    return possible & ~trumps if must_trump else possible


@kernel
def pips(cards: int) -> int:
    """§1.4: what the cards of a set count for Game: a ten 10, A 4, K 3, Q 2, J 1."""
    courts = (
        4 * count_bits(cards & _ACES)
        + 3 * count_bits(cards & _KINGS)
        + 2 * count_bits(cards & _QUEENS)
        + count_bits(cards & _JACKS)
    )
    return 10 * count_bits(cards & _TENS) + courts


@kernel
def high_card(options: Options, cards: int, trump: int) -> int:
    """§1.4: the highest trump of a set, or -1."""
    trumps = cards & tricks.suit_set(trump, trump)
    plain = trumps & ~(1 << JOKER)
    if plain == 0:
        return JOKER if trumps != 0 else NOBODY
    best = tricks.highest_card(plain)
    return best if plain == trumps or tricks.beats(best, JOKER, trump, joker_strength(options)) else JOKER


@kernel
def low_card(cards: int, trump: int) -> int:
    """§1.4: the lowest trump of a set, or -1; the joker never counts as Low."""
    trumps = cards & tricks.suit_set(trump, trump) & ~(1 << JOKER)
    return tricks.lowest_card(trumps) if trumps != 0 else NOBODY


@kernel
def jack_of(trump: int) -> int:
    """The jack of a suit."""
    return 13 * trump + _JACK_RANK


@kernel
def holder(sets: npt.NDArray[np.int64], card: int) -> int:
    """Which of the sets has a card, or -1."""
    for index in range(sets.shape[0]):
        if (int(sets[index]) >> card) & 1:
            return index
    return NOBODY


@kernel
def game_side(options: Options, pips: npt.NDArray[np.int8], bidder: int) -> int:
    """§1.4: the side with the most pips, or -1; where several have the most, as agreed."""
    best, count, others, other = -1, 0, 0, NOBODY
    for side in range(pips.shape[0]):
        if pips[side] > best:
            best, count, others = int(pips[side]), 0, 0
        if pips[side] == best:
            count += 1
            if side != bidder:
                others, other = others + 1, side
    if count == 1:
        return other if others == 1 else bidder
    if options.game_tie == GameTie.BIDDER:
        return bidder if others < count else NOBODY
    return other if options.game_tie == GameTie.NON_BIDDER and others == 1 else NOBODY


@kernel
def change_of(bid: int, won: int) -> int:
    """§1.5: what a hand does to the bidding side's score: all it won, or the loss of its bid."""
    return won if won >= bid else -bid


@kernel
def match_winner(options: Options, score: npt.NDArray[np.int16], bidder: int, bid: int, made: bool) -> int:
    """§1.6: the side that has won the game after a hand, or -1; `made` tells whether the bidding side made its bid."""
    if made and (score[bidder] >= options.target or (options.smudge_wins_game and bid == top_bid(options))):
        return bidder
    if options.game_end == GameEnd.FIRST_PAST:
        for index in range(score.shape[0]):
            side = int((bidder + index) % score.shape[0])
            if score[side] >= options.target:
                return side
    return NOBODY


@kernel
def leading_side(score: npt.NDArray[np.int16]) -> int:
    """§1.6: the side with the higher total when the game is cut short, or -1 where the highest is shared."""
    best, shared = 0, False
    for side in range(1, score.shape[0]):
        if score[side] > score[best]:
            best, shared = side, False
        elif score[side] == score[best]:
            shared = True
    return NOBODY if shared else best


@kernel
def chance_to_win(options: Options, score: npt.NDArray[np.int16], side: int) -> float:
    """§5: the chance of a side to win the game before a deal, by the scores alone: as the inverse of the fourth power
    of what it lacks."""
    total, mine = 0.0, 0.0
    for index in range(score.shape[0]):
        weight = (FAR + max(0, options.target - int(score[index]))) ** -4.0
        total += weight
        if index == side:
            mine = weight
    return mine / total
