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
        played = state.seat == CHANCE and not state.stalemates  # a game that is over counts as played
        number = max(min(int(state.game) + 1 - played, options.num_games), 1)
        score = ", ".join(f"{name} {won}" for name, won in zip(SEAT_NAMES, state.games_won, strict=True))
        lines.append(f"game {number} of {options.num_games}; won: {score}")
    if state.stalemates and state.seat == CHANCE:
        lines.append("a stalemate: the game is dealt again")
    elif state.stalemates:
        lines.append(f"deal {state.stalemates + 1} of this game, the others were stalemates")
    shown, acting = series.table(SEAT_NAMES, options, state, seat), int(state.seat)
    stands = options.stand_pat and acting >= 0 and state.advantage[acting] > 0
    more = ", or keep what you have (stand)" if stands else ""
    return shown._replace(words=tuple(lines), headline=shown.headline + more)
