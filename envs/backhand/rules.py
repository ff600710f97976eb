"""The rules of Backhand, README.md §1: one hand by the rules of the series, won by what ended it alone."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ..backhand_series import rules as series
from ..backhand_series.state import Method, Verdict
from ..backhand_series.stub import open_deck
from ..core.compile.kernel import kernel
from .state import Options, State

start = series.start_one_seat


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """Two cards and the Ace Rule. §1.2"""
    open_deck(state, deck)
    series.new_hand(options, state, 0, True)
    state.seat = 0


legal = series.legal


@kernel
def step(options: Options, state: State, action: int) -> None:
    """One action. A hand that came off is won: nothing is compared. §1.4, §1.6"""
    series.play(options, state, 0, action)
    if int(state.method[0]) != Method.NONE:
        state.verdict[0] = Verdict.WIN if int(state.success[0]) else Verdict.LOSS
    series.finish_one_seat(state)
