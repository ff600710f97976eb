"""What a seat may know in Missouri City Backhand: all but the stub's order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..backhand_series import observation as series
from ..backhand_series.state import per_seat
from ..core.compile.kernel import kernel
from ..core.rules.record import field
from .state import MOST_DEALS, Options, State


class Observation(series.DealerObservation):
    """What a seat may know: all but the stub's order."""

    dealt_first: npt.NDArray[np.uint8] = field("u1", per_seat, "1 for the seat dealt first")
    games_won: npt.NDArray[np.uint8] = field("u1", per_seat, "games of this match won", high=lambda o: o.num_games)
    game: int = field("u1", doc="games finished before this one", high=lambda o: o.num_games)
    stalemates: int = field("u1", doc="deals of this game before this one, each a stalemate", high=MOST_DEALS - 1)


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """All but the stub's order."""
    series.observe(options, state, seat, out)
    series.observe_dealer(options, state, seat, out)
    out.dealt_first[0 if int(state.dealt_first) == seat else 1] = 1
    out.games_won[0] = state.games_won[seat]
    out.games_won[1] = state.games_won[1 - seat]
    out.game = state.game
    out.stalemates = state.stalemates


determinize = series.determinize
