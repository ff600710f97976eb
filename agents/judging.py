"""What a search takes every legal action of a table to be worth, in one call:

    for one in backalley.judge(env, "search:96"):
        print(one.name, one.value, one.error, one.worlds)

Asking consumes no randomness of the table and alters nothing there.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.aec import AECEnv
from backalley.envs.core.doors import whole
from backalley.envs.core.vector import BatchEnv

from .advice import Judged, judged_by
from .base import View
from .gymnasium_env import GymnasiumEnv, GymnasiumVectorEnv
from .registry import agent as agent_of


def judge(table: Any, agent: Any = "search", *, row: int = 0, key: int | None = None) -> list[Judged]:
    """Every legal action of one table, as a search judges it for the seat that is to act: what it would play first,
    then from the best to the worst.

    `table` is an environment (AEC, Gymnasium, or a batch of tables, of which it is the one numbered `row`), or table
    `row` of a View. `agent` is a search, by name or as an object, which saves making it anew at each call. What is
    drawn, is drawn by `key`; without one by what the seat is shown, so that the same position gets the same answer, or
    in a View by its own key. Raises TypeError or ValueError in a sentence for an agent that judges nothing, such as a
    bot, and for what is no table, no row or no key; RuntimeError where nobody is to act.

    >>> from backalley.envs.registry import make
    >>> env = make("missouri_city")
    >>> env.reset(seed=7)
    >>> [env.game.action_str(one.action) for one in judge(env, "search:24")]
    ['hit', 'backhand']
    """
    view = view_at(table, row, key)
    player = agent_of(agent, view.game)
    try:
        return judged_by(player, view)
    finally:
        if player is not agent:
            player.close()


def view_at(table: Any, row: int = 0, key: int | None = None) -> View:
    """The view of one table, as `judge` takes it. Raises as that does."""
    number = whole(key)
    if key is not None and number is None:
        raise TypeError(f"key is {key!r}; it takes a whole number, or None.")
    if isinstance(table, View):
        view = table.only(_row(row, len(table)))
    else:
        view = _view_of_env(getattr(table, "unwrapped", table), row)
    if number is not None:
        view.key = np.array([number % 2**64], np.uint64)
    return view


def _view_of_env(env: Any, row: int) -> View:
    if isinstance(env, (GymnasiumEnv, GymnasiumVectorEnv)):
        env = env.tables
    if not isinstance(env, (AECEnv, BatchEnv)):
        raise TypeError(
            f"{type(env).__name__} is no table: give an environment of backalley.make, make_vec or Gymnasium, or a "
            "View."
        )
    tables = env.num_envs if isinstance(env, BatchEnv) else 1
    rows = np.array([_row(row, tables)])
    seats = env.engine.batch.seat[rows].astype(np.int64)
    if seats[0] < 0 or (isinstance(env, AECEnv) and not env.agents):
        raise RuntimeError("Nobody is to act at this table: the game is over or was never begun; call reset().")
    # A batch hands its observations out, and a caller may have written into them.
    shown = env.observe(seats, rows) if isinstance(env, BatchEnv) else env.engine.observe(rows, seats)
    view = View(env.engine, rows, key_of(shown, env.engine.batch.decisions[rows]))
    view.observation = shown
    return view


def _row(row: Any, tables: int) -> int:
    number = whole(row)
    if number is None:
        raise TypeError(f"row is {row!r}; it takes a whole number.")
    if not 0 <= number < tables:
        raise ValueError(f"Table {number} was asked for; there are {tables}, rows 0..{tables - 1}.")
    return number


def key_of(shown: npt.NDArray[Any], decisions: npt.NDArray[np.int32]) -> npt.NDArray[np.uint64]:
    """A key [1] that follows from what a seat is shown [1, O] and the number of decisions made [1]: from nothing else,
    so that it tells nothing of what is hidden."""
    digest = hashlib.blake2b(shown.tobytes() + decisions.tobytes(), digest_size=8).digest()
    return np.array([int.from_bytes(digest, "little")], np.uint64)
