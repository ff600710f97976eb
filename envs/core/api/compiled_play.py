"""Playing tables in compiled code: what matches, searches and learners build their own templates from.

A template takes `options`, `batch`, `deck`, `start_outcomes` and `limit`, which `BatchEnv.for_kernels` returns, and
plays with `begin`, `deal_out`, `apply`, `report` and `show`; `specialise` (`game/kernels.py`) binds it to a game's
kernels, by `table_names`. Below are those of a tree search: they show given states, and stop where a leaf has a value.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..engine.batch_kernels import (
    Batch,
    Deck,
    all_legal,
    apply,
    begin,
    deal_out,
    hand_out,
    report,
    show,
    shuffle_deck,
    step_table,
)
from ..engine.batch_play import RANDOM_BOT, bot_of, random_act, random_chances, random_legal
from ..engine.engine import constants_of, kernel_names, table_names
from ..game.game import GameType
from ..game.kernels import CHANCE, OVER, passing, specialise, template, unbound

__all__ = [
    "RANDOM_BOT", "Batch", "Deck", "all_legal", "apply", "begin", "bot_of", "constants_of", "deal_out", "hand_out",
    "kernel_names", "no_leaf_value", "random_act", "random_chances", "random_legal", "report", "search_kernels", "show",
    "shuffle_deck", "step_table", "table_names",
]  # fmt: skip

LEAF_VALUE = unbound
"""`GameType.leaf_value` in the templates below."""


@passing
def no_leaf_value(options: Any, state: Any, seat: int) -> float:
    """For games whose episodes are played to the end."""
    return math.nan


@template
def show_rows(options: Any, batch: Batch, over: npt.NDArray[np.bool_], rows: npt.NDArray[np.int64]) -> None:
    """Write mask and observation of the states that were written to `rows`; no action where the episode is
    `over[k]`."""
    for k in range(rows.shape[0]):
        show(options, batch, rows[k])
        if over[k]:
            batch.seat[rows[k]] = OVER
            batch.mask[rows[k], :] = 0
        hand_out(batch, rows[k])


@template
def at_leaf(options: Any, batch: Batch, row: int) -> bool:
    """Return whether the episode has a leaf value here; if so, each seat's is added to what it gained."""
    state = batch.state[row]
    if state.seat != CHANCE or math.isnan(LEAF_VALUE(options, state, 0)):
        return False
    for seat in range(batch.reward.shape[1]):
        state.reward[seat] += LEAF_VALUE(options, state, seat)
    return True


@template
def step_to_leaf(
    options: Any,
    batch: Batch,
    deck: Deck,
    limit: int,
    rows: npt.NDArray[np.int64],
    actions: npt.NDArray[np.int64],
) -> None:
    """Do `step_rows` with legal actions, without new episodes, and truncate an episode where it has a leaf value."""
    for k in range(rows.shape[0]):
        row = rows[k]
        apply(options, batch, row, actions[k])
        leaf = at_leaf(options, batch, row)
        if not leaf:
            deal_out(options, batch, deck, row)
        ended = report(batch, limit, row)
        show(options, batch, row)
        if leaf:
            batch.truncated[row] = True
        if leaf or ended:
            batch.seat[row] = OVER
            batch.mask[row, :] = 0
        hand_out(batch, row)


@functools.cache
def search_kernels(game: GameType, options: Any = None) -> dict[str, Callable[..., Any]]:
    """Return these templates for one game."""
    names = {**table_names(game, options), "LEAF_VALUE": game.leaf_value or no_leaf_value}
    return specialise([show_rows, at_leaf, step_to_leaf], names)
