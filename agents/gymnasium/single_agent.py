"""B tables with one seat of the caller's each, and agents in the others: the base of both Gymnasium environments.

One agent that is a compiled function plays all its decisions in one kernel, up to the caller's next. Others are asked
through views; both play the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.compiled_play import (
    all_legal,
    begin,
    constants_of,
    deal_out,
    hand_out,
    show,
    step_table,
    table_names,
)
from backalley.envs.core.api.spaces import check_observation, dict_space, number_type, vector_space
from backalley.envs.core.api.tables import IllegalAction, check_on_illegal
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.arguments import given_number, whole
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import Bound, Kept, call, laid, specialise, template, unbound
from backalley.envs.core.game.threads import Workers
from backalley.envs.core.rules import rng

from ..base.agent import Agent, Rows, name_of, read_events
from ..base.keys import agent_keys, decision_key
from ..base.rule_based import NOBODY, player
from ..match import advance
from ..registry import agent as agent_of

Numbers = npt.NDArray[np.int64]
Opponent = str | Agent | Sequence[str | Agent]

_RANDOM_SEAT = -1
CALLER = -1
"""In `who`: the caller has the seat."""
_REFUSED = -2
"""What `step_on` returns in place of a table where an action of the callers is not legal."""
_ROWS_PER_THREAD = 64
"""Threads are used only for at least this many tables. *Measured*: handing tables to a thread takes 20 microseconds;
64 tables take 15 in the quickest game (Twenty-One)."""

OBSERVE = unbound
"""The game's own OBSERVE in `play_on`."""


class Callers(NamedTuple):
    """The callers of B tables and the agents beside them."""

    fixed: int
    """The callers' seat, or _RANDOM_SEAT."""
    several: int
    """1 where each of the other seats has an agent of its own."""
    seat: Numbers
    """The caller's [B]."""
    who: Numbers
    """The number of the agent in each seat, or CALLER [B, N]."""
    keys: npt.NDArray[np.uint64]
    """Each table's key of its agents [B]."""
    gained: npt.NDArray[np.float32]
    """What each seat gained since `collect` [B, N]."""
    records: npt.NDArray[Any]
    """What the callers are shown [B]."""
    vectors: npt.NDArray[Any]
    """The same memory as vectors [B, O]."""
    masks: npt.NDArray[np.int8]
    """Their legal actions: all ones where the game is over, since a learner that draws by zeros would fail [B, A]."""


@template
def step_and_gain(kept: Kept, row: int, action: int) -> None:
    """Play a legal action on one table."""
    options, batch, deck, start_outcomes, limit, callers = kept.values
    step_table(options, batch, deck, start_outcomes, limit, False, row, action)
    for seat in range(callers.gained.shape[1]):
        callers.gained[row, seat] += batch.reward[row, seat]


@template
def play_on(acts: Numbers, by: Numbers, kept: Kept, plays: bool, rows: Numbers) -> tuple[int, int]:
    """Let the agents that have an address in `acts` play on the tables `rows` for as long as they are to act, if
    anybody `plays`, and write what the caller is shown where it is the caller's turn or the game is over. `by` has the
    addresses of what they play by.

    Return (-1, 0), or a table and an illegal action that the agent chose there; the table stays as it was then.
    """
    options, batch, _deck, _start_outcomes, _limit, callers = kept.values
    shown = laid(Rows(batch.observation, batch.flat, batch.mask))
    for row in rows:
        while plays and batch.seat[row] >= 0:
            acting = int(batch.seat[row])
            number = callers.who[row, acting]
            if number < 0 or not acts[number]:
                break
            key = decision_key(callers.keys[row], acting, int(batch.own_decisions[row, acting]))
            action = call(acts[number], by[number], shown, row, key)
            if action < 0 or action >= batch.mask.shape[1] or batch.mask[row, action] == 0:
                hand_out(batch, row)
                return row, action
            step_and_gain(kept, row, action)
        hand_out(batch, row)
        over = batch.seat[row] < 0
        if over or batch.seat[row] == callers.seat[row]:
            callers.vectors[row, :] = 0
            OBSERVE(options, batch.state[row], callers.seat[row], callers.records[row])
            for place in range(batch.mask.shape[1]):
                callers.masks[row, place] = 1 if over else batch.mask[row, place]
    return -1, 0


@template
def open_on(acts: Numbers, by: Numbers, kept: Kept, plays: bool, rows: Numbers, deal: bool) -> tuple[int, int]:
    """Seat callers and agents for new episodes on `rows`, which begin here with `deal`; then do what `play_on` does."""
    options, batch, deck, start_outcomes, _limit, callers = kept.values
    seats = callers.who.shape[1]
    for row in rows:
        callers.keys[row], drawn = rng.below(callers.keys[row], seats)
        mine = drawn if callers.fixed == _RANDOM_SEAT else callers.fixed
        callers.seat[row] = mine
        for seat in range(seats):
            callers.who[row, seat] = (seat - mine - 1) % seats if callers.several else 0
            callers.gained[row, seat] = 0.0
        callers.who[row, mine] = CALLER
        if deal:
            begin(options, batch, start_outcomes, row)
            deal_out(options, batch, deck, row)
            show(options, batch, row)
    found: tuple[int, int] = play_on(acts, by, kept, plays, rows)
    return found


@template
def step_on(acts: Numbers, by: Numbers, kept: Kept, plays: bool, rows: Numbers, actions: Numbers) -> tuple[int, int]:
    """Play the callers' `actions[k]` on tables `rows[k]`, and then do what `play_on` does. Where one of them is not
    legal, play none, and return _REFUSED and the first such k."""
    bad = all_legal(kept.values[1].mask, rows, actions, actions)
    if bad >= 0:
        return _REFUSED, bad
    for k in range(rows.shape[0]):
        step_and_gain(kept, rows[k], actions[k])
    found: tuple[int, int] = play_on(acts, by, kept, plays, rows)
    return found


Calls = dict[str, Callable[..., tuple[int, int]]]
_TEMPLATES = step_and_gain, play_on, open_on, step_on


@functools.cache
def _kernels(game: Game) -> dict[str, Callable[..., Any]]:
    """The templates for one game."""
    return specialise(_TEMPLATES, table_names(game.type, constants_of(game)))


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
        self._events, self._dealt = events, False
        self._compiled = [
            getattr(one, "kernel", None) is not None and not (events or getattr(one, "hears_ends", False))
            for one in agents
        ]
        """Which agents play in machine code."""
        self._reseed()

    @functools.cached_property
    def _threads(self) -> list[Calls]:
        """The templates, for each thread, with the arrays that are the same at each call."""
        callers = Callers(
            self._fixed, int(len(self.agents) > 1), self.seat, self._who, self._keys, self._gained,
            self.game.records(self._vectors), self._vectors, self._masks,
        )  # fmt: skip
        given = [self.tables.for_kernels() for _ in range(self._workers.num_threads)]
        kept = [Kept.of(one.options, one.batch, one.deck, one.start_outcomes, one.limit, callers) for one in given]
        return [self._calls(one) for one in kept]

    def _calls(self, kept: Kept) -> Calls:
        both = zip(self.agents, self._compiled, strict=True)
        players = [player(agent, self.game) if compiled else NOBODY for agent, compiled in both]

        def bound(name: str) -> Callable[..., tuple[int, int]]:
            return functools.partial(Bound(lambda: _kernels(self.game)[name], players, at_once=False), kept)

        return {name: bound(name) for name in ("play_on", "open_on", "step_on")}

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

    def begin(self, rows: Numbers, options: Mapping[str, Any] | None = None) -> Numbers:
        """Begin new episodes on `rows`, up to the caller's first decision. Return the rows (rarely any) where the
        caller never had one."""
        here = options is None and self._in_kernels
        if not here:
            self.tables.restart(rows, options=options)
            self._dealt = self._dealt or len(rows) == len(self._all)
        self._play("open_on", rows, last=(here,))
        over: Numbers = rows[self.tables.arrays.seat[rows] < 0]
        return over

    def begin_deciding(self, rows: Numbers, options: Mapping[str, Any] | None = None) -> None:
        """Begin new episodes on `rows`, again where the caller never had to decide, but without the `options`."""
        while len(rows):
            rows, options = self.begin(rows, options), None

    @property
    def _in_kernels(self) -> bool:
        """Whether kernels may deal and step: they know neither given packs nor events."""
        return self._dealt and not self._events and not self.tables.packs_left

    def step(self, actions: npt.ArrayLike) -> None:
        """Play the callers' actions [B] and then the others' until the caller is to act again or the game is over."""
        self.refused = {}
        if self._in_kernels:
            chosen, mask = self.tables.actions(actions), self.tables.arrays.mask
            one = self._workers.shares(len(chosen)) == 1
            if (one or all_legal(mask, self._all, chosen, chosen) < 0) and self._play("step_on", self._all, chosen):
                return
        if self.on_illegal == "raise":
            self._gained += self.tables.step(actions).reward
        else:
            rows, chosen = self._instead(self._all, actions)
            self._gained[rows] += self.tables.step(chosen, rows).reward[rows]
        self._play("play_on", self._all)

    def _play(self, name: str, rows: Numbers, *arrays: Any, last: tuple[Any, ...] = ()) -> bool:
        """Call a template, and let all agents play up to the callers' decisions. Return whether the callers' actions
        were legal; if not, nothing was played."""
        if not self._call(name, rows, *arrays, last=last):
            return False
        if self.tables.packs_left or not all(self._compiled):
            play_on = functools.partial(self._call, "play_on")
            advance(self.tables, self.agents, self._who, rows, self._keys, self._gained, play_on)
        return True

    def _call(self, name: str, rows: Numbers, *arrays: Any, last: tuple[Any, ...] = ()) -> bool:
        """Call a template on all threads; return whether the callers' actions were legal."""
        found, plays = list[tuple[int, int]](), not self.tables.packs_left

        def play(thread: int, *parts: Numbers) -> None:
            row, action = self._threads[thread][name](plays, *parts, *last)
            if row != -1:
                found.append((row, action))

        self._workers.spread(play, rows, *arrays)
        for row, action in found[:1]:
            if row == _REFUSED:
                return False
            agent = self.agents[self._who[row, self.tables.arrays.seat[row]]]
            raise IllegalAction(f"The agent {name_of(agent)}: {self.tables.refusal(row, action)}")
        return True

    def _instead(self, rows: Numbers, actions: npt.ArrayLike) -> tuple[Numbers, Numbers]:
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

    def masks(self, rows: Numbers | None = None) -> npt.NDArray[np.int8]:
        """Return what the callers may play [n, A], as a new array; all ones where the game is over."""
        masks: npt.NDArray[np.int8] = self._masks.copy() if rows is None else self._masks[rows]
        return masks

    def observe(self, rows: Numbers | None = None) -> Any:
        """Return what the callers are shown, at finished tables too: vectors [n, O], or a dictionary of vectors and
        masks, as new arrays."""
        vectors = self._vectors.astype(self.dtype) if rows is None else self._vectors[rows].astype(self.dtype)
        return vectors if self.observation == "flat" else {"observation": vectors, "action_mask": self.masks(rows)}

    def ended(self, row: int) -> str:
        """Return why an episode ended: "terminated", "truncated" or "illegal_action"."""
        if self.on_illegal == "terminate" and row in self.refused:
            return "illegal_action"
        return "terminated" if self.tables.arrays.terminated[row] else "truncated"

    def words(self, row: int) -> dict[str, Any]:
        """Return what else `info` says of the end of an episode: the message for an illegal action, or what the game
        reports at its end."""
        informs = self.game.type.info is not None and self.ended(row) != "illegal_action"
        found = self.game.info(self.tables.arrays.state[row], int(self.seat[row])) if informs else {}
        return found | ({"illegal_action": self.refused[row]} if row in self.refused else {})

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
