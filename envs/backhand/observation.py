"""What the seat may know in Backhand: all but the stub's order."""

from __future__ import annotations

from ..backhand_series import observation as series


class Observation(series.HandObservation):
    """What the seat may know: all but the stub's order."""


observe = series.observe
determinize = series.determinize
