"""The pack of Bezique, two packs of 32 cards as one of 64: numbers, names, how it is dealt, which card wins, what may
be played (§1.1 to §1.4).

A type of card is `suit * 8 + rank`; suits C, D, H, S are 0..3, ranks 7 8 9 J Q K T A are 0..7 in rising strength. A
card is `type * 2 + copy`, 0..63. Sets of types are the set bits of one int64, 32 of them.
"""

from __future__ import annotations

from enum import IntEnum

from ..core.kernel import kernel

RANKS = "789JQKTA"
SUITS = "CDHS"
COPIES = "ab"
NUM_CARDS, NUM_TYPES = 64, 32
SEVEN, JACK, QUEEN, KING, TEN, ACE = 0, 3, 4, 5, 6, 7
NONE = -1
"""Where a field holds no card."""
ALL_TYPES = (1 << NUM_TYPES) - 1
BRISQUES = 0xC0C0C0C0
"""The aces and tens, as a set of types (§1.4)."""
NUM_BRISQUES = 16

HAND = 8  # cards dealt to each (§1.2)
PACKETS = (3, 2, 3)  # §1.2
STOCK = NUM_CARDS - 2 * HAND - 1  # without the turn-up (§1.2)
DRAWING = 24  # tricks before the stock is used up (§1.3)
TRICKS = 32  # tricks of a deal (§1.4)
BRISQUE_POINTS = 10  # §1.4
TRICK_24 = -1  # `last_trick`: ten points for trick 24 instead (§2)
TRICK_24_POINTS = 10  # §2
MOST_DEALS = 20  # deals of a match (§1.7)


class TurnUp(IntEnum):
    """§1.3: who gets the turn-up, the loser of trick 24 or the winner of trick 1."""

    KEPT_FOR_LAST = 0
    TAKEN_FIRST = 1


class Endgame(IntEnum):
    """§1.4: what the second player may play in the last eight tricks."""

    SOURCE = 0
    CLASSIC = 1


def type_name(kind: int) -> str:
    """`QS`: a card as it is seen at the table, where its two copies cannot be told apart."""
    return RANKS[kind & 7] + SUITS[kind >> 3]


def card_name(card: int) -> str:
    """`QSa`, `QSb`: a card with its copy."""
    return type_name(card >> 1) + COPIES[card & 1]


NUMBERS = {card_name(card).lower(): card for card in range(NUM_CARDS)}


def card_number(name: str) -> int:
    """The number of a card's name, in either case. Raises ValueError in a sentence when there is no such card."""
    try:
        return NUMBERS[name.strip().lower()]
    except KeyError:
        raise ValueError(
            f"There is no card {name!r}; a card is a rank of {RANKS}, a "
            f"suit of {SUITS} and its copy, a or b, such as QSa or 7Cb."
        ) from None


@kernel
def is_seven(card: int) -> bool:
    """Whether a card is a seven."""
    return (card >> 1) & 7 == SEVEN


@kernel
def is_brisque(card: int) -> bool:
    """Whether a card is an ace or a ten. §1.4"""
    return (card >> 1) & 7 >= TEN


@kernel
def beats(trump: int, led: int, reply: int) -> bool:
    """Whether the second card wins: a higher card of the suit led, or a trump on a plain suit. Of two alike the first
    wins. §1.3"""
    if led >> 4 == reply >> 4:
        return reply >> 1 > led >> 1
    return reply >> 4 == trump


@kernel
def replies(rule: int, trump: int, led: int, held: int) -> int:
    """What may be played to a card of type `led` in the last eight tricks, of the types `held`. §1.4"""
    suit = led >> 3
    following = held & 0xFF << (8 * suit)
    higher = following & ~((1 << (led + 1)) - 1)
    trumps = held & 0xFF << (8 * trump)
    if suit == trump:
        trumps = 0  # only a higher trump beats a trump
    if rule == Endgame.SOURCE:
        if higher | trumps:
            return higher | trumps
        return following if following else held
    if following:
        return higher if higher else following
    return trumps if trumps else held
