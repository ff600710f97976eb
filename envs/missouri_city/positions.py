"""What the exact solver has to know of Missouri City Backhand: all lies open but the order of the stub."""

from __future__ import annotations

from ..backhand_series import enumeration as series
from ..core.compile.interfaces import Enumeration
from ..core.compile.kernel import kernel
from .state import Options, State


@kernel
def key(options: Options, state: State) -> int:
    """What the rest of a deal depends on."""
    return series.two_hands_key(state, bool(options.stand_pat))


ENUMERATION = Enumeration(series.deck, series.next_card, series.kind, key)
