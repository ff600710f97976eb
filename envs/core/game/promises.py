"""What holds at the tables of every game: one pack, and returns within their bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import BrokenPromise

from .game import Game

_ROUNDING = 1e-4
"""Rewards are single floats, and a return is the sum of many."""


def whole_pack(game: Game, state: Any) -> bool:
    """Return whether the piles hold every card of the pack once, or with replacement as many cards as are drawn."""
    lying = sorted(card for pile in game.piles(state).values() for card in pile)
    if game.with_replacement:
        return len(lying) == game.cards_drawn and set(lying) <= set(game.pack)
    return lying == sorted(game.pack)


def hold_returns(game: Game, returns: npt.NDArray[np.float64], where: str) -> None:
    """Raise BrokenPromise unless returns [n, N] are within their bounds and, where the game says so, sum to 0."""
    low, high = game.reward_range
    if ((returns < low - _ROUNDING) | (returns > high + _ROUNDING)).any():
        raise BrokenPromise(
            f"{where}: returns from {returns.min():g} to {returns.max():g} leave the bounds {low:g} to {high:g}."
        )
    if game.zero_sum and (np.abs(returns.sum(1)) > _ROUNDING).any():
        raise BrokenPromise(f"{where}: returns sum to {np.abs(returns.sum(1)).max():g} instead of 0.")
