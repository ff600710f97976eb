"""The rules of Template, in the order of play. Each cites its § of README.md."""

from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.compile.interfaces import CHANCE, OVER
from backalley.envs.core.compile.kernel import kernel

from .state import FOLD, STAY, Options, State


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """A game wants its pack. §1.1"""
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """A card to each seat. §1.1"""
    for seat in range(2):
        state.card[seat] = deck[seat]
    state.seat = 0


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """Both, always. §1.2"""
    mask[FOLD] = mask[STAY] = 1


@kernel
def step(options: Options, state: State, action: int) -> None:
    """A fold ends the game; when both have stayed, the higher card wins. §1.2"""
    seat = int(state.seat)
    if action == STAY and seat == 0:
        state.seat = 1
        return
    higher = 1.0 if int(state.card[seat]) > int(state.card[1 - seat]) else -1.0
    state.reward[seat] = higher if action == STAY else -options.fold_costs
    state.reward[1 - seat] = -state.reward[seat]
    state.seat = OVER
