"""A coup of baccarat: what cards count, who draws, what bets are worth, and how a state's cards are read.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from ..core import cards
from ..core.kernel import kernel

if TYPE_CHECKING:
    from .game import Options, State

VALUES = (2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 1)  # §1.1: by rank, 2 to ace
COUP = 6  # cards that a coup can use (§1.3)
NATURAL = 8  # a two-card total from here on ends the drawing (§1.3)
STOOD = 10  # beside the values 0-9 of a third card: the Player stood

# §1.3: when the Banker draws, a row for each of his totals 0-7: bit v for the value v of the Player's third card, bit
# 10 where he stood.
ALWAYS = (1 << 11) - 1
DRAWS = (ALWAYS, ALWAYS, ALWAYS, ALWAYS & ~(1 << 8), 1 << STOOD | 0b1111_1100, 1 << STOOD | 0b1111_0000, 0b1100_0000, 0)
LAST_ROW_OF_ALWAYS = 2  # the Banker draws to 0-2 whatever the Player did

BETTING, PLAYER_TURN, BANKER_TURN, SHOWN = 0, 1, 2, 3  # phases of a coup

# Actions (§3), 15 of them:
#    0      no bet
#    1-12   1 + 3 * level + side: the stake of that level on PLAYER (0), BANK (1) or TIE (2)
#   13      stand
#   14      draw
NO_BET = 0
STAND, DRAW = 13, 14
NUM_ACTIONS = 15
PLAYER, BANK, TIE = 0, 1, 2  # sides of a bet, and who wins


class Mode(IntEnum):
    """§2.1: what is decided at the table."""

    TABLE = 0
    PUNTO_BANCO = 1
    CHEMIN = 2


class BankerRule(IntEnum):
    """§6.1: what the rows of the Banker's table speak of."""

    THIRD_CARD = 0
    TABLE_ONLY = 1
    TOTAL = 2


class BankerPolicy(IntEnum):
    """§2.1: whether the Banker is bound to his table; he is, except in chemin de fer."""

    BY_MODE = 0
    TABLE = 1
    FREE = 2


class Reshuffle(IntEnum):
    """§2.2: how often the packs are mixed."""

    EVERY_COUP = 0
    SHOE = 1


class Bank(IntEnum):
    """§1.2: who pays and collects."""

    HOUSE = 0
    ROTATING = 1


class FirstBanker(IntEnum):
    """§1.2: which seat has the rotating bank first. Without purses nobody is richer, and seat 0 counts as the
    richest."""

    RIGHT = 0
    RICHEST = 1


class BankerSees(IntEnum):
    """§2.1: what the Banker of chemin de fer knows of his own hand."""

    COMPOSITION = 0
    TOTAL = 1


def pack_size(options: Options) -> int:
    """How many cards are mixed; with `decks` inf, the one pack that every card is drawn from."""
    return 52 * max(1, options.decks)


def shoe_size(options: Options) -> int:
    """How many cards a state keeps: the whole shoe, or what one coup can use."""
    return pack_size(options) if options.reshuffle == Reshuffle.SHOE else COUP


def most_coups(options: Options) -> int:
    """The greatest number of coups in an episode: a coup takes four cards at least."""
    return options.num_coups or -(-(pack_size(options) - max(options.cut_card, COUP - 1)) // 4)


def num_seats(options: Options) -> int:
    """Two hands in chemin de fer, else the bettors."""
    return 2 if options.mode == Mode.CHEMIN else options.num_bettors


def card_name(card: int) -> str:
    """`9C` in the first pack, `9C.2` in the second."""
    pack, face = divmod(card, 52)
    return cards.card_name(face) + (f".{pack + 1}" if pack else "")


def card_number(name: str) -> int:
    """The number of a card's name. Raises ValueError in a sentence."""
    face, dot, pack = name.strip().partition(".")
    if dot and not (pack.isdigit() and int(pack) > 0):
        raise ValueError(f"There is no card {name!r}; after the dot stands the number of its pack, such as 9C.2.")
    return cards.card_number(face) + 52 * (int(pack) - 1 if dot else 0)


@kernel
def value(card: int) -> int:
    """§1.1: what a card counts."""
    return VALUES[card % 13]


@kernel
def place_value(state: State, place: int) -> int:
    """The value of the coup's card at a place, 0-5 in the order of dealing."""
    return value(int(state.shoe[int(state.first) + place]))


@kernel
def two_cards(state: State, hand: int) -> int:
    """§1.1: the total of a hand's first two cards; hand 0 is the Player's, 1 the Banker's."""
    return (place_value(state, hand) + place_value(state, hand + 2)) % 10


@kernel
def total(state: State, hand: int) -> int:
    """§1.1: the total of a hand with its third card, if it has one."""
    points = two_cards(state, hand)
    if hand == PLAYER:
        return (points + place_value(state, 4)) % 10 if state.player_drew else points
    return (points + place_value(state, 4 + int(state.player_drew))) % 10 if state.banker_drew else points


@kernel
def banker_draws(rule: int, points: int, third: int, player_total: int) -> bool:
    """§1.3, §6.1: whether the Banker draws to `points` (0-7); `third` is the value of the Player's third card, or 10
    where he stood."""
    if rule == BankerRule.TOTAL:
        third = player_total
    elif rule == BankerRule.TABLE_ONLY and third == STOOD:
        return points <= LAST_ROW_OF_ALWAYS
    return bool((DRAWS[points] >> third) & 1)


@kernel
def banker_is_free(options: Options) -> bool:
    """§2.1: whether the Banker chooses."""
    return options.mode == Mode.CHEMIN and options.banker_policy != BankerPolicy.TABLE


@kernel
def stake_of(options: Options, bet: int) -> int:
    """The units of a bet."""
    return 0 if bet == NO_BET else options.stakes[(bet - 1) // 3]


@kernel
def side_of(bet: int) -> int:
    """PLAYER, BANK or TIE, of an action that is a bet."""
    return (bet - 1) % 3


@kernel
def top_stake(options: Options) -> int:
    """The largest stake of the table."""
    most = 0
    for level in range(4):
        most = max(most, options.stakes[level])
    return most


@kernel
def net(options: Options, bet: int, winner: int) -> float:
    """§1.4: what a bet gains, in units; on a tie PLAYER and BANK come back."""
    stake = float(stake_of(options, bet))
    if bet == NO_BET:
        return 0.0
    side = side_of(bet)
    if side == winner:
        return stake * (
            1.0 if side == PLAYER else 1.0 - options.commission if side == BANK else float(options.tie_pays)
        )
    return 0.0 if winner == TIE else -stake
