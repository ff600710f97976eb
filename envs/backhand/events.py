"""What the seat learns in Backhand: the cards as they are dealt and drawn, by their values."""

from __future__ import annotations

from ..backhand_series import events as series
from ..core.rules.events import Events

EVENTS = Events(
    series.KINDS,
    deal=series.tell_deal,
    step=series.tell_step,
    most=lambda options: series.MOST_AT_A_PUSH,
    length=lambda options: series.INITIAL_HAND + series.ACES + series.ALL_PUSHES + series.PLAYED_OUT,
)
