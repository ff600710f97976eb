"""The hands of Killer Back Alley Bridge Substitute: how large they are, what may be bid and played, and what a bid
scores.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from ..core import cards, tricks
from ..core.cards import BIG_JOKER
from ..core.kernel import kernel

if TYPE_CHECKING:
    from .game import Options, State

PACK_SIZE = 54  # 52 cards and two jokers (§1.1)
PACK = (1 << PACK_SIZE) - 1  # all of them as a set
NO_CARD = 54  # where no card was turned up (§1.3)
MADE_POINTS = 10  # for any bid made, beside f(bid) (§1.4)
BOARD_BONUS = 25  # won or lost with BOARD (§1.4)
RAINBOW_BONUS = 20  # won with RAINBOW, never lost (§1.4)

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

RANDOM_DEALER = -1
LARGEST_HAND = 0


class Variant(IntEnum):
    """§1.5: who wins, and whether sips are counted."""

    STANDARD = 0
    ULTIMATE = 1
    DRINKING = 2


class SipRule(IntEnum):
    """§1.5: what a missed bid costs in the drinking game."""

    ONE_PER_MISS = 0
    DIFFERENCE = 1


class Scoring(IntEnum):
    """§1.4: what f is."""

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


@kernel
def largest_hand(options: Options) -> int:
    """§1.2: how many cards each player gets at most."""
    return PACK_SIZE // options.num_players


@kernel
def num_hands(options: Options) -> int:
    """§1.2: hands of a game."""
    if options.length == Length.SINGLE:
        return 1
    return 2 * largest_hand(options) if options.length == Length.FULL else largest_hand(options)


@kernel
def size_of_hand(options: Options, index: int) -> int:
    """§1.2: cards each in hand `index`, counted from 0."""
    largest = largest_hand(options)
    if options.length == Length.SINGLE:
        return options.hand_size if options.hand_size != LARGEST_HAND else largest
    if options.length == Length.UP:
        return index + 1
    return largest - index if index < largest else index - largest + 1


@kernel
def left_over(options: Options, index: int) -> int:
    """§1.2: cards that hand `index` leaves undealt, the one to be turned up among them."""
    return PACK_SIZE - options.num_players * size_of_hand(options, index)


def hand_sizes(options: Options) -> list[int]:
    """§1.2: the sizes of a game's hands."""
    return [size_of_hand(options, index) for index in range(num_hands(options))]


@kernel
def after(options: Options, seat: int) -> int:
    """The seat to the left of another."""
    return seat + 1 if seat + 1 < options.num_players else 0


@kernel
def bid_value(bid: int, size: int) -> int:
    """§1.3: how many tricks a bid (an action) stands for in a hand of that size."""
    if bid == BOARD:
        return size
    return size // 4 if bid == RAINBOW else bid


@kernel
def hook(options: Options, state: State) -> int:
    """§1.3: the value that would make the bids made so far come to the number of tricks; negative where they are past
    it."""
    value = int(state.hand_size)
    for seat in range(options.num_players):
        if state.bid[seat] != NO_BID:
            value -= bid_value(int(state.bid[seat]), int(state.hand_size))
    return value


@kernel
def is_rainbow(hand: int, size: int, trump: int) -> bool:
    """§1.3: whether a hand (a set) has a quarter of its cards in each of the four suits."""
    if size % 4 != 0:
        return False
    quarters = 0
    for suit in range(4):
        quarters += int(4 * cards.count_bits(hand & tricks.suit_set(suit, trump)) == size)
    return quarters == 4


@kernel
def playable(hand: int, lead: int, trump: int) -> int:
    """§1.3: the cards of a hand (a set) that may be played to a trick: under the big joker the highest trump, else what
    follows suit."""
    if lead == BIG_JOKER:
        trumps = hand & tricks.suit_set(trump, trump)
        return hand if trumps == 0 else 1 << tricks.highest_card(trumps)
    return tricks.following(hand, tricks.suit(lead, trump), trump)


@kernel
def left_possible(card: int, lead: int, trump: int) -> int:
    """§2: the cards that a player may still hold after playing `card` to `lead`, as a set: whoever does not follow has
    none of the suit; whoever gives a trump to the big joker has none above it."""
    led = tricks.suit(lead, trump)
    if tricks.suit(card, trump) != led:
        return PACK & ~tricks.suit_set(led, trump)
    if lead == BIG_JOKER:
        below = (1 << card) - 1
        return PACK & ~(tricks.suit_set(trump, trump) & ~below)
    return PACK


@kernel
def hand_points(options: Options, bid: int, size: int, won: int) -> int:
    """§1.4: what a bid (an action) scores in a hand of `size` tricks of which `won` were won."""
    value = bid_value(bid, size)
    if value == won:
        made = value * value if options.scoring == Scoring.SQUARED else value
        bonus = BOARD_BONUS if bid == BOARD else RAINBOW_BONUS if bid == RAINBOW else 0
        return MADE_POINTS + made + bonus
    missed_by = abs(value - won)
    squared = options.scoring == Scoring.SQUARED or options.linear_penalty == LinearPenalty.SQUARED
    penalty = missed_by * missed_by if squared else missed_by
    return -penalty - BOARD_BONUS if bid == BOARD else -penalty


def score_bounds(options: Options) -> tuple[int, int]:
    """§3: the least and the greatest points of one seat in a whole game."""
    low, high = 0, 0
    for size in hand_sizes(options):
        bids = [
            size,
            *([BOARD] if options.allow_board else []),
            *([RAINBOW] if options.allow_rainbow and size % 4 == 0 else []),
        ]
        if options.num_players == 1:
            # He wins every trick and may not bid them all (§4).
            values = [hand_points(options, bid, size, size) for bid in (0, size - 1)]
        else:
            values = [hand_points(options, bid, size, won) for bid in bids for won in (0, bid_value(bid, size), size)]
            values.append(hand_points(options, 0, size, size))
        low, high = low + min(values), high + max(values)
    return low, high
