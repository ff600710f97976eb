"""What the seat may know in Buffalo Bayou Backhand: all but the stub's order."""

from __future__ import annotations

from ..backhand_series import observation as series
from ..core.compile.kernel import kernel
from .state import Options, State


class Observation(series.DealerObservation):
    """What the seat may know: all but the stub's order."""


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """All but the stub's order."""
    series.observe(options, state, seat, out)
    series.observe_dealer(options, state, seat, out)


determinize = series.determinize
