"""What can be agreed before a game of Missouri City Backhand, and its table. Its other numbers and its actions are the
whole series'."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

from ..backhand_series import state as series
from ..core.options import option
from ..core.record import field

NOBODY = -1
UNSUCCESSFUL = int(series.Method.NONE)  # the winning method of a hand that was not won, §3.3


class DealtFirst(IntEnum):
    """Which seat is dealt first, §3.1."""

    GREEN = 0
    RED = 1
    RANDOM = 2


class Options(NamedTuple):
    """What can be agreed before a game."""

    ace_rule: series.AceRuleOption = series.AceRule.ONCE
    ace_rule_on_replacement: series.ReplacementOption = True
    dealer_total_cap: series.DealerCapOption = True
    stand_pat: Annotated[
        bool, option("whether a seat whose hit left it ahead of the dealer may stand on its next turn, §3.5")
    ] = False
    dealt_first: Annotated[DealtFirst, option("the seat dealt first: green (0), red (1), or by lot in each game")] = (
        DealtFirst.RANDOM
    )

    @property
    def seats(self) -> int:
        """Hands on the table, the dealer's not counted."""
        return 2


class State(series.DealerState):
    """Everything on the table."""

    dealt_first: int = field("i1", doc="the seat dealt first")
    winner: int = field("i1", doc="the seat that won the game; -1 nobody (yet)")
