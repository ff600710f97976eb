"""The rules of Buffalo Bayou Backhand, README.md §2: one hand by the rules of the series, against the dealer hand."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ..backhand_series import rules as series
from ..backhand_series import stub
from ..backhand_series.state import PUSH
from ..backhand_series.stub import open_deck
from ..core.compile.kernel import kernel
from .state import Options, State

start = series.start_one_seat


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """The show cards, then two cards and the Ace Rule. §2.1"""
    open_deck(state, deck)
    stub.deal_show_cards(state)
    series.new_hand(options, state, 0, True)
    state.seat = 0


legal = series.legal


@kernel
def step(options: Options, state: State, action: int) -> None:
    """One action; every draw makes a dealer total. §2.2, §2.4"""
    series.play(options, state, 0, action)
    if action != PUSH:
        stub.against_dealer(options, state, 0)
    series.finish_one_seat(state)
