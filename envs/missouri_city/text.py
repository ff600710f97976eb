"""Missouri City Backhand's actions and table in words."""

from __future__ import annotations

from functools import partial

from ..backhand_series import text as series

SEAT_NAMES = ("green", "red")

action_str = series.action_str
piles = partial(series.piles, SEAT_NAMES)
table_str = partial(series.table_str, SEAT_NAMES)
