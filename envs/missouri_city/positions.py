"""What the exact solver has to know of Missouri City Backhand: all lies open but the order of the stub."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..backhand_series import enumeration as series
from ..backhand_series.stub import stub_size
from ..core.compile.interfaces import Enumeration
from ..core.compile.kernel import kernel
from .state import Options, State


@kernel
def deck(state: State) -> npt.NDArray[np.int8]:
    """The pack in the order of dealing, which may lack cards. §3.7"""
    return state.deck[: int(state.next_card) + stub_size(state)]


@kernel
def key(options: Options, state: State) -> int:
    """What the rest of a deal depends on."""
    return series.two_hands_key(state, bool(options.stand_pat))


ENUMERATION = Enumeration(deck, series.next_card, series.kind, key)
