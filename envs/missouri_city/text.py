"""Missouri City Backhand's actions and table in words."""

from __future__ import annotations

from functools import partial

from ..backhand_series import text as series
from ..core.compile.interfaces import CHANCE
from ..core.rules.table import Table
from .state import Options, State

SEAT_NAMES = ("green", "red")

action_str = series.action_str
piles = partial(series.piles, SEAT_NAMES)


def table(options: Options, state: State, seat: int | None) -> Table:
    """The table by places; above it the score of a match, and how often the game has been dealt."""
    lines = []
    if options.num_games > 1:
        number = min(int(state.game) + 1, options.num_games)
        score = ", ".join(f"{name} {won}" for name, won in zip(SEAT_NAMES, state.games_won, strict=True))
        lines.append(f"game {number} of {options.num_games}; won: {score}")
    if state.stalemates and state.seat == CHANCE:
        lines.append("a stalemate: the game is dealt again")
    elif state.stalemates:
        lines.append(f"deal {state.stalemates + 1} of this game, the others were stalemates")
    return series.table(SEAT_NAMES, options, state, seat)._replace(words=tuple(lines))
