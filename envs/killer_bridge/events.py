"""What the seats of Killer Back Alley Bridge Substitute learn besides the actions, all of which are open.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

from ..core.compile.kernel import kernel
from ..core.rules import trick_events
from ..core.rules.events import EVERYBODY, Events, Kind, Log, tell
from .schedule import hand_sizes
from .state import NO_CARD, Options, State

TURNS_UP = trick_events.NEXT


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """§1.3: who deals, the hands, and the card turned up."""
    trick_events.tell_hands(state, log)
    if state.turned != NO_CARD:
        tell(log, EVERYBODY, TURNS_UP, int(state.dealer), int(state.turned))


def most(options: Options) -> int:
    """An action, and the dealer, all hands and the card turned up of the next deal."""
    return 3 + options.num_players * max(hand_sizes(options))


def length(options: Options) -> int:
    """§1.3: a hand of k cards shows a seat its dealer, k cards, the card turned up, N bids and k N cards played."""
    return sum(2 + size + options.num_players * (1 + size) for size in hand_sizes(options))


EVENTS = Events(
    kinds=(
        *trick_events.kinds("§1.3"),
        Kind("turns up", "Everybody sees the card that the dealer turns up for trump, if any is left. §1.3", "card"),
    ),
    deal=tell_deal,
    most=most,
    length=length,
)
"""Hands alone are hidden: what is bid and played is open, and tricks, points and sips follow from it."""
