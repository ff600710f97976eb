"""What the seats of Pitch learn besides the actions, all of which are open. The § marks are README.md's paragraphs."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from ..core.rules import trick_events
from ..core.rules.events import Events, Log
from .state import AllPass, Joker, JokerPitch, Mode, Options, State


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """§1.1: who deals, and six cards each."""
    trick_events.tell_hands(state, log)


def most(options: Options) -> int:
    """An action, and the dealer and all hands of the next deal."""
    return 2 + options.hand_size * options.num_players


def length(options: Options) -> int:
    """§3: a hand shows a seat its dealer and k cards, N bids, k N cards and the naming of a suit. §2: a single hand
    is dealt again only where the dealer may pass."""
    once = options.mode == Mode.HAND and options.all_pass != AllPass.REDEAL
    size, names = options.hand_size, int(options.joker != Joker.NONE and options.joker_pitch == JokerPitch.NAME)
    return (1 if once else options.max_hands) * (1 + size + options.num_players * (1 + size) + names)


EVENTS = Events(kinds=trick_events.kinds("§1.1"), deal=tell_deal, most=most, length=length)
"""Hands alone are hidden: what is bid, named and played is open, and tricks, points and scores follow from it."""
