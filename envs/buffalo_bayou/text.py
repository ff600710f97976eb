"""Buffalo Bayou Backhand's actions and table in words."""

from __future__ import annotations

from functools import partial

from ..backhand_series import text as series

SEAT_NAMES = ("player",)
HANDS = ("hand",)

action_str = series.action_str
piles = partial(series.piles, HANDS)
table = partial(series.table, HANDS)
