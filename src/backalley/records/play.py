"""Play games for a record, many at once. Rows come in the order of games and decisions.

A game ends before its rows are given, since they hold its returns; so memory holds one batch of games, however many
follow. What is played depends on the seed and the game's number alone: not on the batch, nor on threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.base.action_probabilities import NoProbabilities
from backalley.agents.base.agent import Agent, View, answer, name_of, read_events, view_of
from backalley.agents.base.keys import agent_keys
from backalley.agents.match import tell_of_ends
from backalley.console.errors import InvalidValue
from backalley.envs.core.api.tables import Tables
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import rng
from backalley.envs.core.text import observation_text

from .columns import DIGITS, Head, Row

TABLES, TABLES_WITH_TEXT = 512, 64
"""Games in one batch; fewer where rows are long."""


def text_of(tables: Tables, row: int, seat: int) -> str:
    """Return what a seat may know at a table, with what happened since the latest deal, where the game tells events: of
    whole matches, texts would grow with the square of their length."""
    return observation_text(tables.position(row), seat, since=None if tables.game.type.events is None else "deal")


def seated(game: Game, agents: Sequence[Agent]) -> list[Agent]:
    """Return the agent of each seat: one for all, or one each. Raises ValueError for another number of agents."""
    if len(agents) not in (1, game.num_seats):
        raise InvalidValue(
            f"{len(agents)} agents were given; {game.name} has {game.num_seats} seats: give one, or one for each."
        )
    return [agents[seat % len(agents)] for seat in range(game.num_seats)]


def played(game: Game, agents: Sequence[Agent], head: Head, search: Any = None, num_threads: int = 1) -> Iterator[Row]:
    """Yield the rows of all games of a record. `search` has `analyse`, where the head has values. Raises ValueError for
    a wrong number of agents, and the errors of an agent's bad answer."""
    by_seat = seated(game, agents)
    at_once = TABLES_WITH_TEXT if {"text", "values", "observation"} & {*head.columns} else TABLES
    if any(agent.one_table for agent in agents):
        at_once = 1
    events = game.type.events is not None and ("text" in head.columns or read_events(agents, game))
    tables = BatchEnv(game, min(at_once, head.games), num_threads=num_threads, autoreset=False, events=events)
    try:
        for first in range(0, head.games, at_once):
            yield from _batch(tables, by_seat, head, first, min(at_once, head.games - first), search)
    finally:
        tables.close()


def _batch(
    tables: BatchEnv, by_seat: Sequence[Agent], head: Head, first: int, count: int, search: Any
) -> Iterator[Row]:
    """Play `count` games from number `first` on, and yield their rows."""
    rows = np.arange(count)
    streams = np.array([rng.stream_of(head.seed + first + number) for number in range(count)], np.uint64)
    seat = tables.restart(rows, streams=streams).seat
    keys = np.zeros(tables.num_envs, np.uint64)
    keys[:count] = agent_keys(streams)
    returns = np.zeros((count, tables.num_seats))
    kept: list[list[Row]] = [[] for _ in range(count)]
    cast = list(dict.fromkeys(by_seat))
    who = np.tile([cast.index(agent) for agent in by_seat], (count, 1))
    rows = rows[seat[:count] >= 0]
    while len(rows):
        made = _decide(tables, by_seat, head, rows, keys, search)
        actions = np.array([row["action"] for row in made])
        rewards = np.round(tables.step(actions, rows).reward[rows].astype(np.float64), DIGITS)
        returns[rows] += rewards
        for row, table, reward in zip(made, rows.tolist(), rewards.tolist(), strict=True):
            row["game"], row["reward"] = first + table, reward
            kept[table].append(row)
        over = seat[rows] < 0
        tell_of_ends(cast, who[rows[over]], keys[rows[over]], returns[rows[over]])
        rows = rows[~over]
    for table, mine in enumerate(kept):
        gained = np.round(returns[table], DIGITS).tolist()
        for row in mine:
            yield {name: gained if name == "returns" else row[name] for name in head.columns}


def _decide(
    tables: BatchEnv,
    by_seat: Sequence[Agent],
    head: Head,
    rows: npt.NDArray[np.int64],
    keys: npt.NDArray[np.uint64],
    search: Any,
) -> list[Row]:
    """The decision of each table of `rows`, by whoever sits there."""
    made: dict[int, Row] = {}
    acting = tables.time_step.seat[rows]
    for agent in dict.fromkeys(by_seat):
        mine = rows[[by_seat[seat] is agent for seat in acting.tolist()]]
        if len(mine):
            view = view_of(tables, mine, keys)
            before = tables.arrays.decisions[mine].tolist()
            made |= zip(mine.tolist(), _decided(view, before, agent, head, search), strict=True)
    found = [made[row] for row in rows.tolist()]
    if "text" in head.columns:
        for row, table in zip(found, rows.tolist(), strict=True):
            row["text"] = text_of(tables, table, row["seat"])
    return found


def _decided(view: View, before: list[int], agent: Agent, head: Head, search: Any) -> list[Row]:
    """What one agent does at the tables of a view, after `before` decisions there, and what its seats see."""
    game, shown, mask = view.game, view.observation.copy(), view.action_mask.copy()
    chances, analysis = _probabilities(agent, view), None if search is None else search.analyse(view)
    actions = answer(agent, view)
    names = [game.action_str(action) for action in range(game.num_actions)]
    found = []
    for k, action in enumerate(actions.tolist()):
        places = np.flatnonzero(mask[k])
        legal = places.tolist()
        row = {
            "decision": before[k],
            "seat": int(view.seat[k]),
            "agent": name_of(agent),
            "legal": legal,
            "action": action,
            "name": names[action],
            "probabilities": None if chances is None else np.round(chances[k, places], DIGITS).tolist(),
        }
        if "legal_names" in head.columns:
            row["legal_names"] = [names[one] for one in legal]
        if "observation" in head.columns:
            row["observation"] = shown[k].tolist()
        if analysis is not None:
            row["values"], row["errors"] = _numbers(analysis.value[k, places]), _numbers(analysis.error[k, places])
        found.append(row)
    return found


def _probabilities(agent: Agent, view: View) -> npt.NDArray[np.float64] | None:
    """The probabilities of an agent's actions, where it tells them."""
    try:
        return agent.action_probabilities(view)
    except NoProbabilities:
        return None


def _numbers(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Values as JSON has them: what was not tried is null."""
    return [None if np.isnan(value) else round(value, DIGITS) for value in values.tolist()]
