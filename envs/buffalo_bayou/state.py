"""What can be agreed before a game of Buffalo Bayou Backhand, and its table. Its numbers and actions are the whole
series'."""

from __future__ import annotations

from typing import NamedTuple

from ..backhand_series import state as series


class Options(NamedTuple):
    """What can be agreed before a game."""

    ace_rule: series.AceRuleOption = series.AceRule.ONCE
    ace_rule_on_replacement: series.ReplacementOption = True
    dealer_total_cap: series.DealerCapOption = True

    @property
    def seats(self) -> int:
        """Hands on the table, the dealer's not counted."""
        return 1


class State(series.DealerState):
    """Everything on the table."""
