"""What the seat learns in Buffalo Bayou Backhand, by values: the show cards, and the hand's, dealt and drawn."""

from __future__ import annotations

from ..backhand_series import events as series
from ..backhand_series.state import SHOW_CARDS
from ..core.rules.events import Events

EVENTS = Events(
    series.DEALER_KINDS,
    deal=series.tell_deal_with_dealer,
    step=series.tell_step,
    most=lambda options: SHOW_CARDS + series.INITIAL_HAND + 1,
    length=lambda options: SHOW_CARDS + series.INITIAL_HAND + series.ACES + series.ALL_PUSHES + series.PLAYED_OUT,
)
