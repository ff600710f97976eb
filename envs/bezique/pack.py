"""The cards of Bezique: which are sevens and brisques, which card wins, what may be played in the last eight tricks
(§1.1 to §1.4)."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from .state import SEVEN, TEN, Endgame


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
