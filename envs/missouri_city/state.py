"""What can be agreed before a game of Missouri City Backhand, and its table. Its other numbers and its actions are the
whole series'."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from ..backhand_series import state as series
from ..backhand_series.state import ACE, TEN
from ..core.rules.options import option
from ..core.rules.record import field

NOBODY = -1
MOST_DEALS = 100  # of one game; the hundredth stalemate is a draw, §3.6
MOST_GAMES = 50  # of a match, §3.6
SUITS = 4  # of the pack, but in cut-down games, §3.1
UNSUCCESSFUL = int(series.Method.NONE)  # the winning method of a hand that was not won, §3.3


class DealtFirst(IntEnum):
    """Which seat is dealt first, §3.1."""

    GREEN = 0
    RED = 1
    RANDOM = 2
    ALTERNATE = 3


class Stalemate(IntEnum):
    """What becomes of a game that nobody has won, §3.6."""

    REPLAY = 0
    DRAW = 1


class Options(NamedTuple):
    """What can be agreed before a game."""

    ace_rule: series.AceRuleOption = series.AceRule.ONCE
    ace_rule_on_replacement: series.ReplacementOption = True
    dealer_total_cap: series.DealerCapOption = True
    stand_pat: Annotated[
        bool, option("whether a seat whose hit left it ahead of the dealer may stand on its next turn, §3.5")
    ] = False
    dealt_first: Annotated[
        DealtFirst,
        option(
            "the seat dealt first: green (0), red (1), by lot once a match, or in turn from deal to deal, green first"
        ),
    ] = DealtFirst.RANDOM
    stalemate: Annotated[
        Stalemate, option("a game that nobody won: replayed with a new pack, 100 deals at most, or drawn, §3.6")
    ] = Stalemate.REPLAY
    num_games: Annotated[int, option("games in a match, §3.6", low=1, high=MOST_GAMES)] = 1
    lowest: Annotated[
        int, option("least value of the cards in the pack; above 1 for cut-down games, §3.7", low=ACE, high=TEN)
    ] = ACE
    highest: Annotated[
        int, option("greatest value of the cards in the pack; below 10 for cut-down games, §3.7", low=ACE, high=TEN)
    ] = TEN
    suits: Annotated[int, option("suits in the pack, clubs first; fewer are for cut-down games", low=1, high=SUITS)] = (
        SUITS
    )

    @property
    def seats(self) -> int:
        """Hands on the table, the dealer's not counted."""
        return 2


class State(series.DealerState):
    """Everything on the table."""

    dealt_first: int = field("i1", doc="the seat dealt first")
    winner: int = field("i1", doc="the seat that won the match; -1 nobody (yet)")
    game: int = field("i1", doc="games finished before this one; at the end, all of them")
    games_won: npt.NDArray[np.int8] = field("i1", series.per_seat, "games each seat has won")
    stalemates: int = field("i1", doc="deals of this game before this one, each a stalemate")
