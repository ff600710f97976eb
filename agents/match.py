"""Play tables to their end, or to the caller's next decision, with agents in the seats.

`Match` plays the same decks in several seatings, entirely in machine code if all its agents are compiled functions. The
randomness of every decision depends only on its table's key and its number, so neither the batch nor the threads can
change what is played.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.compiled_play import Batch, Deck, apply, begin, deal_out, report, show, table_names
from backalley.envs.core.api.tables import IllegalAction
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import Bound, call, laid, specialise, template
from backalley.envs.core.game.threads import Workers

from .base.agent import Agent, Rows, answer, name_of, read_events, view_of
from .base.keys import decision_key
from .base.keys import table_names as names_of_tables
from .base.rule_based import player

_MOST_TABLES = 8192
"""Tables in one batch of a match whose agents act through views."""
_FEWEST_DEALS = 16
"""Threads are used only for at least this many deals."""


def act_rows(
    tables: BatchEnv,
    agents: Sequence[Agent],
    who: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    table_keys: npt.NDArray[np.uint64],
) -> npt.NDArray[np.int64]:
    """Return an action for each table of `rows`; `who[row, seat]` is the index in `agents` of the player in that seat.

    Raises TypeError, ValueError or IllegalAction, with the agent's name, for an answer that cannot be played.
    """
    acting = who[rows, tables.arrays.seat[rows]]
    actions = np.empty(len(rows), np.int64)
    for number in np.unique(acting):
        mine = np.flatnonzero(acting == number)
        actions[mine] = answer(agents[number], view_of(tables, rows[mine], table_keys))
    return actions


def play_out(
    tables: BatchEnv,
    agents: Sequence[Agent],
    who: npt.NDArray[np.int64],
    table_keys: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Play every table from its present state to the end of its episode, one after the other if an agent sets
    `one_table`; `tables` must not reset itself.

    `who` [B, N] indexes `agents`; `table_keys` [B] seeds the agents' own randomness. Returns returns [B, N] and
    decisions [B].
    """
    if tables.autoreset:
        raise InvalidValue("play_out needs tables made with autoreset=False.")
    returns = np.zeros((tables.num_envs, tables.num_seats))
    seat, decisions = tables.arrays.seat, tables.arrays.decisions
    open_rows = np.flatnonzero(seat >= 0)
    # Bots trust what they are shown, and a caller may have written into its arrays.
    tables.arrays.flat[open_rows] = tables.observe(seat[open_rows], open_rows)
    one_by_one = any(getattr(agent, "one_table", False) for agent in agents)
    for rows in np.split(open_rows, len(open_rows)) if one_by_one and len(open_rows) else [open_rows]:
        while len(rows):
            time_step = tables.step(act_rows(tables, agents, who, rows, table_keys), rows)
            returns[rows] += time_step.reward[rows]
            ended = rows[seat[rows] < 0]
            tell_of_ends(agents, who[ended], table_keys[ended], returns[ended])
            rows = rows[seat[rows] >= 0]
    return returns, decisions.astype(np.int64)


def tell_of_ends(
    agents: Sequence[Agent],
    who: npt.NDArray[np.int64],
    table_keys: npt.NDArray[np.uint64],
    returns: npt.NDArray[np.float64],
) -> None:
    """Tell agents that tables [n] have ended, where they had seats (`who` [n, N]), with the seats' returns [n, N]."""
    for number, agent in enumerate(agents):
        if getattr(agent, "hears_ends", False):
            places, seats = np.nonzero(who == number)
            agent.tables_ended(names_of_tables(table_keys[places]), seats, returns[places, seats])


def advance(
    tables: BatchEnv,
    agents: Sequence[Agent],
    who: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    table_keys: npt.NDArray[np.uint64],
    gained: npt.NDArray[Any],
    compiled: Callable[[npt.NDArray[np.int64]], Any],
) -> None:
    """Let agents play on `rows` until a seat with `who[row, seat] == -1` (the caller) is to act, or the episode has
    ended. Before each step of the others, `compiled(rows)` lets those play on that need no view.

    Add each step's rewards to `gained` [B, N]. `tables` must not reset itself.
    """
    while True:
        compiled(rows)
        seats = tables.arrays.seat[rows]
        ended, rows = rows[seats < 0], rows[seats >= 0]
        tell_of_ends(agents, who[ended], table_keys[ended], np.full((len(ended), tables.num_seats), np.nan))
        rows = rows[who[rows, tables.arrays.seat[rows]] >= 0]
        if not len(rows):
            return
        time_step = tables.step(act_rows(tables, agents, who, rows, table_keys), rows)
        gained[rows] += time_step.reward[rows]


@template
def play_deals(
    acts: npt.NDArray[np.int64],
    by: npt.NDArray[np.int64],
    options: Any,
    batch: Batch,
    deck: Deck,
    start_outcomes: int,
    limit: int,
    seatings: npt.NDArray[np.int64],
    streams: npt.NDArray[np.uint64],
    keys: npt.NDArray[np.uint64],
    returns: npt.NDArray[np.float64],
    decisions: npt.NDArray[np.int64],
) -> tuple[int, int]:
    """Play deal after deal, in all seatings, on the one table of `batch`.

    `acts` has the address of each agent's `act_at`, `by` that of what it plays by. Return (-1, 0), or the seating and
    the action where an agent chose an illegal action; the table stays as it was then.
    """
    rows = laid(Rows(batch.observation, batch.flat, batch.mask))
    for number in range(streams.shape[0]):
        for seating in range(seatings.shape[0]):
            batch.stream[0] = streams[number]
            begin(options, batch, start_outcomes, 0)
            deal_out(options, batch, deck, 0)
            show(options, batch, 0)
            ended = batch.seat[0] < 0
            while not ended:
                acting = int(batch.seat[0])
                key = decision_key(keys[number, seating], acting, int(batch.own_decisions[0, acting]))
                agent = seatings[seating, acting]
                action = call(acts[agent], by[agent], rows, 0, key)
                if action < 0 or action >= batch.mask.shape[1] or batch.mask[0, action] == 0:
                    return seating, action
                apply(options, batch, 0, action)
                deal_out(options, batch, deck, 0)
                ended = report(batch, limit, 0)
                show(options, batch, 0)
                for seat in range(returns.shape[2]):
                    returns[number, seating, seat] += batch.reward[0, seat]
            decisions[number, seating] = batch.decisions[0]
    return -1, 0


@functools.cache
def _play_deals(game: GameType) -> Callable[..., tuple[int, int]]:
    return specialise([play_deals], table_names(game))["play_deals"]


class Match:
    """Agents at one game's table: whole episodes, each deal in each of R seatings.

    `seatings` [R, N] says which agent (an index of `agents`) plays which seat. `compiled` says whether episodes run
    entirely in machine code, if Python is not asked for: each agent then has a `kernel` (see
    `rule_based.KernelAgent`).
    """

    def __init__(
        self, game: Game, agents: Sequence[Agent], seatings: npt.NDArray[np.int64], *, num_threads: int = 1
    ) -> None:
        self.game, self.agents = game, list(agents)
        self.seatings = np.ascontiguousarray(seatings, np.int64)
        self._workers = Workers(max(1, num_threads), _FEWEST_DEALS)
        self.num_threads = self._workers.num_threads
        self.compiled = all(getattr(agent, "kernel", None) is not None for agent in agents)
        self._single = [BatchEnv(game, 1) for _ in range(self.num_threads if self.compiled else 0)]
        """The one table of each thread, where agents are compiled."""
        self._plays: list[Bound[tuple[int, int]]] = [
            Bound(lambda: _play_deals(game.type), [player(agent, game) for agent in agents]) for _ in self._single
        ]
        self._given = [table.for_kernels() for table in self._single]
        self._tables: BatchEnv | None = None

    def _args(self, thread: int, *arrays: npt.NDArray[Any]) -> tuple[Any, ...]:
        given = self._given[thread]
        fixed = given.options, given.batch, given.deck, given.start_outcomes, given.limit
        return (*fixed, self.seatings, *arrays)

    def link(self) -> bool:
        """Compile what will be needed; `play` does so itself, but a caller may want to time it separately. Return
        whether it plays in machine code."""
        none, (deals, seats) = np.zeros(0, np.uint64), self.seatings.shape
        arrays = none, none.reshape(0, deals), np.zeros((0, deals, seats)), np.zeros((0, deals), np.int64)
        return self.compiled and self._plays[0].link(*self._args(0, *arrays))

    def play(
        self, streams: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Play D deals in every seating: `streams` [D] decide all of chance, `keys` [D, R] the agents' own randomness.

        Return returns [D, R, N], by seat, and decisions [D, R]. Raises IllegalAction when an agent chooses an illegal
        action.
        """
        returns = np.zeros((len(streams), *self.seatings.shape))
        decisions = np.zeros(keys.shape, np.int64)
        if self.link():
            self._workers.spread(
                self._play_compiled, np.ascontiguousarray(streams), np.ascontiguousarray(keys), returns, decisions
            )
        else:
            self._play_views(streams, keys, returns, decisions)
        return returns, decisions

    def _play_compiled(self, thread: int, *arrays: npt.NDArray[Any]) -> None:
        seating, action = self._plays[thread](*self._args(thread, *arrays))
        if seating >= 0:
            table = self._single[thread]
            agent = self.agents[self.seatings[seating, table.arrays.seat[0]]]
            raise IllegalAction(f"The agent {name_of(agent)}: {table.refusal(0, action)}")

    def _play_views(self, *arrays: npt.NDArray[Any]) -> None:
        """Let agents act through views, on as many tables at once as a batch holds."""
        num_seatings = len(self.seatings)
        at_once = max(1, min(_MOST_TABLES // num_seatings, len(arrays[0])))
        if self._tables is None or self._tables.num_envs < at_once * num_seatings:
            size, events = at_once * num_seatings, read_events(self.agents, self.game)
            self._tables = BatchEnv(self.game, size, num_threads=self.num_threads, autoreset=False, events=events)
        room = self._tables.num_envs
        who, table_keys = np.resize(self.seatings, (room, self.seatings.shape[1])), np.zeros(room, np.uint64)
        for low in range(0, len(arrays[0]), at_once):
            streams, keys, returns, decisions = (array[low : low + at_once] for array in arrays)
            rows = np.arange(keys.size)
            table_keys[rows] = keys.reshape(-1)
            self._tables.restart(rows, streams=np.repeat(streams, num_seatings))
            gained, made = play_out(self._tables, self.agents, who, table_keys)
            returns[:] = gained[rows].reshape(returns.shape)
            decisions[:] = made[rows].reshape(decisions.shape)

    def close(self) -> None:
        """End the worker threads."""
        self._workers.close()
        if self._tables is not None:
            self._tables.close()
            self._tables = None
