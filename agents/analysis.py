"""Analyse a table: the value that a search finds for every legal action, in one call:

    for one in backalley.analyse(env, "search:96"):
        print(one.name, one.value, one.error, one.determinizations)

An analysis uses no randomness of the table and changes nothing there.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall, InvalidType, InvalidValue
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.arguments import whole

from .base.agent import View
from .gymnasium.gymnasium_env import GymnasiumEnv, GymnasiumVectorEnv
from .people.advice import AnalysedAction, analysis_by
from .registry import agent as agent_of


def analyse(table: Any, agent: Any = "search", *, row: int = 0, key: int | None = None) -> list[AnalysedAction]:
    """Return every legal action of one table with its value for the seat to act: the search's choice first, then from
    best to worst.

    `table` is an environment (AEC, Gymnasium, or a batch, with the table number `row`), or table `row` of a View.
    `agent` is a search, by name or as an object, which saves making it again at each call. Its random draws follow from
    `key`; without one from what the seat is shown, so that the same position gets the same answer, or in a View from
    its own key. Raises TypeError or ValueError for an agent that computes no values, such as a bot, and for an invalid
    table, row or key; RuntimeError where nobody is to act.

    >>> from backalley.envs.core.api.registry import make
    >>> env = make("missouri_city")
    >>> env.reset(seed=7)
    >>> [env.game.action_str(one.action) for one in analyse(env, "search:24")]
    ['hit', 'backhand']
    """
    view = view_at(table, row, key)
    player = agent_of(agent, view.game)
    try:
        return analysis_by(player, view)
    finally:
        if player is not agent:
            player.close()


def view_at(table: Any, row: int = 0, key: int | None = None) -> View:
    """Return the view of one table, with the arguments of `analyse`. Raises as that does."""
    number = whole(key)
    if key is not None and number is None:
        raise InvalidType(f"key is {key!r}; it takes a whole number, or None.")
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
        raise InvalidType(
            f"{type(env).__name__} is no table: give an environment of backalley.make, make_vec or Gymnasium, or a "
            "View."
        )
    tables = env.num_envs if isinstance(env, BatchEnv) else 1
    rows = np.array([_row(row, tables)])
    seats = env.arrays.seat[rows].astype(np.int64)
    if seats[0] < 0 or (isinstance(env, AECEnv) and not env.agents):
        raise InvalidCall("Nobody is to act at this table: the game is over or was never begun; call reset().")
    # A batch hands its observations out, and a caller may have written into them.
    shown = env.observe(seats, rows) if isinstance(env, BatchEnv) else env.arrays.flat[rows]
    view = View(env, rows, key_of(shown, env.arrays.own_decisions[rows, seats]))
    view.observation = shown
    return view


def _row(row: Any, tables: int) -> int:
    number = whole(row)
    if number is None:
        raise InvalidType(f"row is {row!r}; it takes a whole number.")
    if not 0 <= number < tables:
        raise InvalidValue(f"Table {number} was asked for; there are {tables}, rows 0..{tables - 1}.")
    return number


def key_of(shown: npt.NDArray[Any], decisions: npt.NDArray[np.int32]) -> npt.NDArray[np.uint64]:
    """Return a key [1] that depends only on what a seat is shown [1, O] and the number of decisions that it made itself
    [1], so it reveals nothing hidden."""
    digest = hashlib.blake2b(shown.tobytes() + decisions.tobytes(), digest_size=8).digest()
    return np.array([int.from_bytes(digest, "little")], np.uint64)
