"""What the deal of a trick game shows: everybody who deals, and each seat its own cards.

A game's own kinds of events begin with `DEALS` and `DEALT`; further ones go on from `NEXT`.
"""

from __future__ import annotations

from ..compile.kernel import passing
from .events import EVERYBODY, OWN, Kind, Log, tell
from .trick_hand import TrickHand
from .tricks import lowest_card

DEALS, DEALT, NEXT = OWN, OWN + 1, OWN + 2


def kinds(paragraph: str) -> tuple[Kind, Kind]:
    """Return the two kinds; `paragraph` is where the game's page has the deal, as `§1.1`."""
    return (
        Kind("deals", f"Everybody sees who deals the hand that begins. {paragraph}", "nothing"),
        Kind("dealt", f"A seat sees a card of its own hand; all of them come in ascending order. {paragraph}", "card"),
    )


@passing
def tell_hands(state: TrickHand, log: Log) -> None:
    """Tell everybody who deals, and each seat its hand."""
    tell(log, EVERYBODY, DEALS, int(state.dealer), 0)
    for seat in range(state.hand.shape[0]):
        held = int(state.hand[seat])
        while held != 0:
            tell(log, seat, DEALT, seat, lowest_card(held))
            held &= held - 1
