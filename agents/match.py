"""Plays tables to their end, or to the next decision that the caller has to make, with agents in the seats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.base import Agent, view_of
from backalley.envs.core.vector import Tables


def act_rows(
    tables: Tables, agents: Sequence[Agent], who: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], table_keys: npt.NDArray[np.uint64]
) -> npt.NDArray[np.int64]:
    """An action for each table of `rows`; `who[row, seat]` is the index in `agents` of the player in that seat."""
    acting = who[rows, tables.turn.seat[rows]]
    actions = np.empty(len(rows), np.int64)
    for number in np.unique(acting):
        mine = np.flatnonzero(acting == number)
        actions[mine] = agents[number].act(view_of(tables.engine, rows[mine], table_keys))
    return actions


def play_out(
    tables: Tables, agents: Sequence[Agent], who: npt.NDArray[np.int64], table_keys: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Play every table from where it stands to the end of its episode; `tables` must not reset itself.

    `who` [B, N] indexes `agents`; `table_keys` [B] seeds the agents' own randomness. Gives returns [B, N] and decisions [B].
    """
    if tables.autoreset:
        raise ValueError("play_out needs tables made with autoreset=False.")
    returns = np.zeros((tables.num_envs, tables.num_seats))
    rows = np.flatnonzero(tables.turn.seat >= 0)
    while len(rows):
        turn = tables.step(act_rows(tables, agents, who, rows, table_keys), rows)
        returns[rows] += turn.reward[rows]
        rows = rows[turn.seat[rows] >= 0]
    return returns, tables.engine.batch.decisions.astype(np.int64)


def advance(
    tables: Tables,
    agents: Sequence[Agent],
    who: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    table_keys: npt.NDArray[np.uint64],
    gained: npt.NDArray[Any],
) -> npt.NDArray[np.int64]:
    """Let agents play on `rows` until somebody with `who[row, seat] == -1` (the caller) is to act, or the episode has ended.

    Adds each step's rewards to `gained` [B, N]. Gives those of `rows` whose episode ended on the way. `tables` must not reset itself.
    """
    ended: list[npt.NDArray[np.int64]] = []
    while True:
        seats = tables.turn.seat[rows].astype(np.int64)
        ended.append(rows[seats < 0])
        rows = rows[seats >= 0]
        rows = rows[who[rows, tables.turn.seat[rows]] >= 0]
        if not len(rows):
            return np.concatenate(ended)
        turn = tables.step(act_rows(tables, agents, who, rows, table_keys), rows)
        gained[rows] += turn.reward[rows]
