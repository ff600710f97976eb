"""B tables with one seat of the caller's each, and agents in the others: the base of both Gymnasium environments.

One agent that is a compiled function plays all its decisions in one kernel, up to the caller's next. Others are asked
through views; both play the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.compiled_play import Batch, Deck, constants_of, hand_out, step_table, table_names
from backalley.envs.core.api.spaces import check_observation, dict_space, number_type, vector_space
from backalley.envs.core.api.tables import IllegalAction, check_on_illegal
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.arguments import given_number, whole
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import Bound, specialise, template, unbound
from backalley.envs.core.game.threads import Workers
from backalley.envs.core.rules import rng

from ..base.agent import Agent, name_of, read_events
from ..base.keys import agent_keys, decision_key
from ..base.rule_based import RandomAgent, played_by, seen_by
from ..match import advance
from ..registry import agent as agent_of

Opponent = str | Agent | Sequence[str | Agent]

_RANDOM_SEAT = -1
_ROWS_PER_THREAD = 64
"""Threads are used only for at least this many tables. *Measured*: handing tables to a thread takes 20 microseconds;
64 tables take 15 in the quickest game (Twenty-One)."""

ACT = SEEN = OBSERVE = unbound
"""The kernel of the agent in the other seats, its view of a table, and the game's own OBSERVE, in `play_on`."""


@template
def play_on(
    by: Any,
    options: Any,
    batch: Batch,
    deck: Deck,
    start_outcomes: int,
    limit: int,
    caller: npt.NDArray[np.int64],
    keys: npt.NDArray[np.uint64],
    gained: npt.NDArray[np.float32],
    records: npt.NDArray[Any],
    vectors: npt.NDArray[Any],
    masks: npt.NDArray[np.int8],
    rows: npt.NDArray[np.int64],
) -> tuple[int, int]:
    """Let the agent play on the tables `rows` until the seat `caller[row]` is to act or the episode is over. Add the
    rewards to `gained` [B, N], and write what the caller is shown there to `records` and `vectors`, which are the same
    memory, and `masks`: all ones where the game is over, since a learner that draws by a mask of zeros would fail.

    Return (-1, 0), or a table and an illegal action that the agent chose there; the table stays as it was then.
    """
    for row in rows:
        while batch.seat[row] >= 0 and batch.seat[row] != caller[row]:
            acting = int(batch.seat[row])
            key = decision_key(keys[row], acting, int(batch.own_decisions[row, acting]))
            action = ACT(by, SEEN(batch, row), batch.mask[row], key)
            if action < 0 or action >= batch.mask.shape[1] or batch.mask[row, action] == 0:
                hand_out(batch, row)
                return row, action
            step_table(options, batch, deck, start_outcomes, limit, False, row, action)
            for seat in range(gained.shape[1]):
                gained[row, seat] += batch.reward[row, seat]
        hand_out(batch, row)
        vectors[row, :] = 0
        OBSERVE(options, batch.state[row], caller[row], records[row])
        for place in range(masks.shape[1]):
            masks[row, place] = 1 if batch.seat[row] < 0 else batch.mask[row, place]
    return -1, 0


@functools.cache
def _kernel(game: Game, act: Callable[..., int], seen: Callable[..., Any]) -> Callable[..., tuple[int, int]]:
    """`play_on` for one game and agent."""
    return specialise([play_on], {**table_names(game.type, constants_of(game)), "ACT": act, "SEEN": seen})["play_on"]


class SeatTables:
    """Tables that do not reset themselves: see `begin`."""

    def __init__(
        self,
        game: Game,
        num_envs: int,
        seat: int | str,
        opponent: Opponent,
        *,
        num_threads: int = 1,
        on_illegal: str = "raise",
        observation: str = "flat",
        dtype: Any = None,
        events: bool = False,
    ) -> None:
        check_on_illegal(on_illegal)
        check_observation(observation)
        agents = _seated(opponent, game)
        events = events or read_events(agents, game)
        # First of all attributes: pickling then finds first whether another thread plays.
        self.tables = BatchEnv(game, num_envs, num_threads=num_threads, autoreset=False, events=events)
        if on_illegal == "raise":
            self.tables.advise_other_ways()
        self.game, self.on_illegal, self.observation = game, on_illegal, observation
        self.dtype = number_type(game, dtype)
        seats = self.tables.num_seats
        number = _RANDOM_SEAT if isinstance(seat, str) and seat == "random" else whole(seat)
        if number is None or not _RANDOM_SEAT <= number < seats or (number == _RANDOM_SEAT and seat != "random"):
            raise InvalidValue(
                f"seat is {seat!r}; {game.name} has seats 0..{seats - 1}, or 'random' for a new one each episode."
            )
        self._fixed, self.agents = number, agents
        self.seat = np.zeros(num_envs, np.int64)
        self.refused: dict[int, str] = {}
        """The messages for the illegal actions of the latest step, by table."""
        self._who = np.zeros((num_envs, seats), np.int64)
        self._keys = np.zeros(num_envs, np.uint64)
        self._gained = np.zeros((num_envs, seats), np.float32)
        self._vectors = np.zeros((num_envs, game.observation_size), game.observation_base)
        self._masks = np.ones((num_envs, game.num_actions), np.int8)
        self._all = np.arange(num_envs)
        self._workers = Workers(num_threads, _ROWS_PER_THREAD)
        one = agents[0]
        self._compiled = len(agents) == 1 and getattr(one, "kernel", None) is not None and not events
        self._compiled = self._compiled and not getattr(one, "hears_ends", False)
        self._reseed()

    @functools.cached_property
    def _threads(self) -> list[Callable[[npt.NDArray[np.int64]], tuple[int, int]]]:
        """`play_on` for each thread, with all but the rows. Agents that are asked through views leave nobody to act."""
        agent = self.agents[0] if self._compiled else RandomAgent()
        act = agent.kernel
        assert act is not None
        entry = Bound(lambda: _kernel(self.game, act, seen_by(agent)), at_once=False)
        shown = self.game.records(self._vectors), self._vectors, self._masks
        made = list[Callable[[npt.NDArray[np.int64]], tuple[int, int]]]()
        for _ in range(self._workers.num_threads):
            given = self.tables.for_kernels()
            fixed = given.options, given.batch, given.deck, given.start_outcomes, given.limit
            mine = self.seat, self._keys, self._gained, *shown
            made.append(functools.partial(entry, played_by(agent, self.game), *fixed, *mine))
        return made

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in ("_threads", "_workers")}
        return kept | {"num_threads": self._workers.num_threads}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self._workers = Workers(kept.pop("num_threads"), _ROWS_PER_THREAD)
        self.__dict__.update(kept)

    @property
    def space(self) -> gymnasium.spaces.Space[Any]:
        """The space of one caller's observation."""
        return (dict_space if self.observation == "dict" else vector_space)(self.game, self.dtype)

    def _reseed(self) -> None:
        self._keys[:] = agent_keys(self.tables.arrays.stream)

    def seed(self, seed: int | Sequence[int | None] | None) -> None:
        """Reseed: table i with `seed + i`, or `seed[i]`, where None leaves it as it is."""
        if seed is None:
            return
        self.tables.seed(seed)
        before = self._keys.copy()
        self._reseed()
        if whole(seed) is None:
            kept = [row for row, one in enumerate(seed) if one is None]  # type: ignore[arg-type]  # not one, so several
            self._keys[kept] = before[kept]

    def begin(self, rows: npt.NDArray[np.int64], options: Mapping[str, Any] | None = None) -> npt.NDArray[np.int64]:
        """Begin new episodes on `rows`, up to the caller's first decision. Return the rows (rarely any) where the
        caller never had one."""
        seats = self.tables.num_seats
        with np.errstate(over="ignore"):
            for row in rows:
                self._keys[row], drawn = rng.below(self._keys[row], seats)
                self.seat[row] = drawn if self._fixed == _RANDOM_SEAT else self._fixed
        order = np.arange(seats)[None, :] - self.seat[rows][:, None]
        self._who[rows] = np.where(order == 0, -1, (order - 1) % seats if len(self.agents) > 1 else 0)
        self.tables.restart(rows, options=options)
        self._gained[rows] = 0
        self._play_on(rows)
        over: npt.NDArray[np.int64] = rows[self.tables.arrays.seat[rows] < 0]
        return over

    def step(self, actions: npt.ArrayLike) -> None:
        """Play the callers' actions [B] and then the others' until the caller is to act again or the game is over."""
        self.refused = {}
        if self.on_illegal == "raise":
            self._gained += self.tables.step(actions).reward
        else:
            rows, chosen = self._instead(self._all, actions)
            self._gained[rows] += self.tables.step(chosen, rows).reward[rows]
        self._play_on(self._all)

    def _play_on(self, rows: npt.NDArray[np.int64]) -> None:
        """Let the agents play up to the callers' decisions, and write what these are shown."""
        if not self._compiled or self.tables.packs_left:
            advance(self.tables, self.agents, self._who, rows, self._keys, self._gained)
        threads, found = self._threads, list[tuple[int, int]]()

        def play(thread: int, rows: npt.NDArray[np.int64]) -> None:
            row, action = threads[thread](rows)
            if row >= 0:
                found.append((row, action))

        self._workers.spread(play, rows)
        for row, action in found[:1]:
            raise IllegalAction(f"The agent {name_of(self.agents[0])}: {self.tables.refusal(row, action)}")

    def _instead(
        self, rows: npt.NDArray[np.int64], actions: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The actions left to be played, and their rows, after the consequences of illegal actions."""
        arrays = self.tables.arrays
        chosen = self.tables.actions(actions, rows)
        known = (chosen >= 0) & (chosen < self.tables.num_actions)
        legal = known & (arrays.mask[rows, np.where(known, chosen, 0)] == 1)
        illegal = rows[~legal & (arrays.seat[rows] >= 0)]
        self.refused = {row: str(self.tables.refusal(row, given_number(actions, row))) for row in illegal.tolist()}
        if self.on_illegal == "random":
            for row in illegal.tolist():
                chosen[row] = self.tables.random_legal(row)
            return rows, chosen
        self._gained[illegal] += self.tables.forfeit(illegal).reward[illegal]
        left = np.setdiff1d(rows, illegal)
        return left, chosen[left]

    def collect(self) -> npt.NDArray[np.float64]:
        """Return what each caller's seat gained since the last call [B]; gains before its first decision count with
        that decision."""
        gained = self._gained[self._all, self.seat].astype(np.float64)
        self._gained[:] = 0
        return gained

    @property
    def over(self) -> npt.NDArray[np.bool_]:
        """Return the tables whose episode has ended [B]."""
        ended: npt.NDArray[np.bool_] = self.tables.arrays.seat < 0
        return ended

    def masks(self, rows: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int8]:
        """Return what the callers may play [n, A], as a new array; all ones where the game is over."""
        masks: npt.NDArray[np.int8] = self._masks.copy() if rows is None else self._masks[rows]
        return masks

    def observe(self, rows: npt.NDArray[np.int64] | None = None) -> Any:
        """Return what the callers are shown, at finished tables too: vectors [n, O], or a dictionary of vectors and
        masks, as new arrays."""
        vectors = self._vectors.astype(self.dtype) if rows is None else self._vectors[rows].astype(self.dtype)
        return vectors if self.observation == "flat" else {"observation": vectors, "action_mask": self.masks(rows)}

    def ended(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return why the episodes of `rows` ended: "terminated", "truncated" or "illegal_action"."""
        why = np.where(self.tables.arrays.terminated[rows], "terminated", "truncated").astype(object)
        if self.on_illegal == "terminate" and self.refused:
            why[[row in self.refused for row in rows.tolist()]] = "illegal_action"
        return why

    def words(self, rows: npt.NDArray[np.int64]) -> dict[int, dict[str, Any]]:
        """Return what else `info` says of the ends of those episodes, by table: the message for an illegal action, or
        what the game reports at its end."""
        found: dict[int, dict[str, Any]] = {}
        state = self.tables.arrays.state
        tells = self.game.type.info is not None or self.game.type.open_info is not None
        for row, why in zip(rows.tolist(), self.ended(rows), strict=True) if tells or self.refused else ():
            found[row] = {} if why == "illegal_action" else self.game.info(state[row], int(self.seat[row]))
            found[row] |= self.game.open_info(state[row])
            if row in self.refused:
                found[row]["illegal_action"] = self.refused[row]
        return found

    def close(self) -> None:
        """End the worker threads."""
        self._workers.close()
        self.tables.close()

    def settings(self) -> str:
        """Return the arguments besides game and number of tables, for a `repr`."""
        seat = "random" if self._fixed == _RANDOM_SEAT else self._fixed
        names = [name_of(agent) for agent in self.agents]
        shown = {"seat": seat, "opponent": names[0] if len(names) == 1 else names}
        shown |= {} if self.on_illegal == "raise" else {"on_illegal": self.on_illegal}
        shown |= {} if self.observation == "flat" else {"observation": self.observation}
        shown |= {} if self.dtype == self.game.observation_base else {"dtype": self.dtype.name}
        return "".join(f", {name}={value!r}" for name, value in shown.items())


def _seated(opponent: Any, game: Game) -> list[Agent]:
    """The agents of the other seats: one for all, or one for each. Raises ValueError or TypeError."""
    others = game.num_seats - 1
    several = isinstance(opponent, (list, tuple))
    named = list(opponent) if several else [opponent]
    if several and len(named) not in (1, max(1, others)):
        raise InvalidValue(
            f"{len(named)} opponents were given; {game.name} has "
            f"{others} other seats: give one agent, or {max(1, others)}."
        )
    return [agent_of(one, game) for one in named]
