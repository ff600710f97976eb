"""The cards of Bezique: which are sevens and brisques, which card wins, what may be played in the last eight tricks
(§1.1 to §1.4), and which of them a cut-down game has (§2)."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from ..core.rules.options import OptionError
from .state import COPIES, DRAWING, NUM_CARDS, RANKS, SEVEN, SUITS, TEN, Endgame, Options


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


# The pack of a cut-down game, §2


@kernel
def pack_size(options: Options) -> int:
    """`GameType.deck_size`: how many cards the pack has. §1.1, §2"""
    return (options.highest - options.lowest + 1) * options.suits * options.copies


@kernel
def card_at(options: Options, place: int) -> int:
    """The card at a place of the pack in order; where it lacks none, the place itself. §2"""
    if pack_size(options) == NUM_CARDS:  # *measured*: the divisions below cost a batch 7 % of its speed
        return place
    ranks = options.highest - options.lowest + 1
    kind = place // options.copies
    suit = kind // ranks
    if options.suits == 2:
        suit = 2 * suit + 1  # diamonds and spades, which make a bezique
    else:
        suit += SUITS - options.suits
    return (suit * RANKS + options.lowest + kind % ranks) * COPIES + place % options.copies


@kernel
def copies_of(options: Options, kind: int) -> int:
    """How many cards of a type the pack has. §2"""
    suit, rank = kind >> 3, kind & 7
    first = SUITS - options.suits
    in_suit = suit in (1, 3) if options.suits == 2 else suit >= first
    return options.copies if in_suit and options.lowest <= rank <= options.highest else 0


@kernel
def tricks(options: Options) -> int:
    """Tricks of a deal. §1.4"""
    return pack_size(options) // 2


@kernel
def drawing(options: Options) -> int:
    """Tricks before the stock is used up: all but as many as a hand has cards. §1.3"""
    return tricks(options) - options.cards_dealt


def pack(options: Options) -> list[int]:
    """`GameType.pack`: the cards of the pack in order."""
    return [card_at(options, place) for place in range(pack_size(options))]


def check(options: Options) -> None:
    """Raise OptionError where the pack and the hands leave no stock, or a longer one than the whole pack has."""
    if options.lowest > options.highest:
        raise OptionError("bezique option lowest is a higher rank than highest; choose it no higher.")
    size = pack_size(options)
    if size % 2 or not 1 <= drawing(options) <= DRAWING:
        least, most = 2 * (options.cards_dealt + 1), 2 * (options.cards_dealt + DRAWING)
        raise OptionError(
            f"bezique options lowest, highest, suits and copies leave {size} cards; with cards_dealt "
            f"{options.cards_dealt} it takes an even number of {least} to {most}. Change cards_dealt, or the pack."
        )
