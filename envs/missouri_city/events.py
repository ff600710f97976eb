"""What the seats learn in Missouri City Backhand, by values: the show cards, the cards of both hands as they are dealt
and drawn, and whose replaced aces were a play."""

from __future__ import annotations

from ..backhand_series import events as series
from ..backhand_series.state import SHOW_CARDS
from ..core.compile.kernel import kernel
from ..core.rules.events import EVERYBODY, NOBODY, Events, Kind, Log, tell
from .state import MOST_DEALS, Options, Stalemate, State

PLAYED_ACES = series.SHOWS + 1
KINDS = (
    *series.DEALER_KINDS,
    Kind("replaces an ace", "The first play of the seat dealt second, where that was dealt an ace, §3.1.", "nothing"),
)

DEALT = SHOW_CARDS + 2 * series.INITIAL_HAND + 2  # aces replaced, and whose play that was
# Both hands draw on one pack, so together they are pushed no more often than one alone.
DEAL = DEALT - 1 + series.ACES + series.ALL_PUSHES + 2 * series.PLAYED_OUT


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """The show cards and both hands, in the order of dealing. How many of the aces replaced were whose is seen only by
    who decides first. §3.1"""
    first = int(state.dealt_first)
    second = 1 - first
    series.tell_show_cards(state, log)
    series.tell_hand(state, first, log)
    series.tell_hand(state, second, log)
    aces = int(state.replaced_aces[first]) + int(state.replaced_aces[second])
    series.tell_replaced(aces, NOBODY, log)
    if int(state.replaced_aces[second]) > 0:
        tell(log, EVERYBODY, PLAYED_ACES, second, 0)


def length(options: Options) -> int:
    """Each game may take so many deals, §3.6."""
    deals = MOST_DEALS if options.stalemate == Stalemate.REPLAY else 1
    return DEAL * deals * options.num_games


EVENTS = Events(
    KINDS,
    deal=tell_deal,
    step=series.tell_step,
    most=lambda options: 2 + DEALT,  # the last card of a deal, and the next deal
    length=length,
)
