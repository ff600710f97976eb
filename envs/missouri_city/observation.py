"""What a seat may know in Missouri City Backhand: all but the stub's order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..backhand_series import observation as series
from ..backhand_series.state import per_seat
from ..core.kernel import kernel
from ..core.record import field
from .state import Options, State


class Observation(series.DealerObservation):
    """What a seat may know: all but the stub's order."""

    dealt_first: npt.NDArray[np.uint8] = field("u1", per_seat, "1 for the seat dealt first")


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """All but the stub's order."""
    series.observe(options, state, seat, out)
    series.observe_dealer(options, state, seat, out)
    out.dealt_first[0 if int(state.dealt_first) == seat else 1] = 1


determinize = series.determinize
