"""Checks of any vector environment in which one seat acts at each table (docs/guides/vector_protocol.md).

They use only the protocol, and play at random by the masks.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from backalley.console.errors import BrokenPromise
from backalley.envs.core.game.kernels import COMPILED

from .aec import mask_of
from .play import random_actions
from .report import NOT_TRIED, Report, run

STEPS = 200 if COMPILED else 60
"""Steps of a check, by default. (Uncompiled rules are slow.)"""
TABLES = 5
"""Tables of a check: few, so that a difference between rows is soon met, and odd, so that halves differ."""


class Step(Protocol):
    """What B tables show: `backalley.TimeStep` is one."""

    @property
    def observation(self) -> npt.NDArray[Any]: ...
    @property
    def action_mask(self) -> npt.NDArray[Any]: ...
    @property
    def seat(self) -> npt.NDArray[Any]: ...
    @property
    def reward(self) -> npt.NDArray[Any]: ...
    @property
    def terminated(self) -> npt.NDArray[Any]: ...
    @property
    def truncated(self) -> npt.NDArray[Any]: ...


Shown = dict[str, npt.NDArray[Any]]
FIELDS = ("observation", "action_mask", "seat", "reward", "terminated", "truncated")


class VectorEnv(Protocol):
    """The protocol: `backalley.BatchEnv` keeps it."""

    @property
    def num_envs(self) -> int: ...
    @property
    def num_seats(self) -> int: ...
    @property
    def num_actions(self) -> int: ...
    def reset(self, *, seed: int | None = None) -> Step: ...
    def restart(self, rows: npt.ArrayLike) -> Step: ...
    def step(self, actions: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> Step: ...


class Make(Protocol):
    """Makes an environment: `functools.partial(backalley.make_vec, "backhand")` does."""

    def __call__(self, *, num_envs: int, autoreset: bool) -> VectorEnv: ...


def check_vector(
    make: Make,
    *,
    aec: Callable[[], Any] | None = None,
    seed: int = 0,
    steps: int = STEPS,
    seconds: float | None = None,
) -> Report:
    """Check what `make(num_envs=..., autoreset=...)` makes, and return a report. Each check plays about `steps` steps
    at random, with `seed`; with `seconds` the checks are repeated with other seeds for that long. `aec` makes a
    PettingZoo environment of the same game; nothing else says what is to be seen and gained, so without it observations
    and rewards are not compared with any.

    >>> import functools, backalley
    >>> check_vector(functools.partial(backalley.make_vec, "backhand"), steps=20).ok
    True
    """
    checks: dict[str, Callable[..., str]] = {
        "shapes": partial(check_vector_shapes, make, steps=steps),
        "masks": partial(check_vector_masks, make, steps=steps),
        "rows": partial(check_vector_rows, make, steps=steps),
        "seeds": partial(check_vector_seeds, make, steps=steps),
        "ends": partial(check_vector_ends, make, steps=steps),
        "observe": partial(check_vector_observe, make, steps=steps),
        "writing": partial(check_vector_writing, make, steps=steps),
        "reference": partial(check_vector_reference, make, aec, steps=steps),
    }
    return run(repr(make(num_envs=TABLES, autoreset=True)), checks, seed, seconds)


# Playing -------------------------------------------------------------------------------------------------------------


class _Play:
    """Random play of one environment, by its masks."""

    def __init__(self, make: Make, seed: int, num_envs: int = TABLES, autoreset: bool = True) -> None:
        self.env, self.seed, self.steps = make(num_envs=num_envs, autoreset=autoreset), seed, 0
        self.after = ""
        self.random = np.random.default_rng(seed)
        self.all = np.arange(num_envs)
        self.shown = _copied(self.env.reset(seed=seed))

    def hold(self, kept: Any, sentence: str) -> None:
        if not kept:
            raise BrokenPromise(f"Seed {self.seed}, step {self.steps}: {sentence}")

    def hold_same(self, one: Shown, other: Shown, sentence: str, rows: Any = slice(None)) -> None:
        """Hold that two show the same, in some rows; `{}` in the sentence is what differs."""
        name = next((name for name in FIELDS if not np.array_equal(one[name][rows], other[name][rows])), "")
        self.hold(not name, sentence.format(name))

    def actions(self, rows: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
        """Return legal actions for tables that go on, by default for all."""
        rows = self.all if rows is None else rows
        masks = self.shown["action_mask"][rows]
        empty = rows[~masks.any(axis=1)]
        self.hold(not len(empty), f"table {empty[:1].tolist()} goes on, and its mask allows nothing.")
        return random_actions(masks, self.random)

    def step(self, actions: Sequence[int] | npt.NDArray[Any], rows: Any = None) -> Shown:
        try:
            self.shown = _copied(self.env.step(actions) if rows is None else self.env.step(actions, rows))
        except Exception as error:
            where = "all tables" if rows is None else f"rows {np.asarray(rows).tolist()}"
            said = f"legal actions {np.asarray(actions).tolist()} on {where} raise {type(error).__name__}: {error}"
            self.hold(False, self.after + said)
        self.steps += 1
        return self.shown

    def on(self, steps: int) -> Iterator[Shown]:
        """Play all tables; yield what they show before each step, and at the end."""
        for _ in range(steps):
            yield self.shown
            self.step(self.actions())
        yield self.shown

    def refused(self, actions: Any, rows: Any, what: str) -> None:
        """Hold that this raises, and that nothing changes: neither what is shown, nor how the tables play on."""
        try:
            self.env.step(actions) if rows is None else self.env.step(actions, rows)
        except Exception:  # each environment refuses in its own way
            self.after = "after refused actions, which have to change nothing, "
            return
        self.hold(False, f"{what} is played; it has to raise, and change nothing.")


def _copied(step: Step) -> Shown:
    """Copies of what a step shows, by name."""
    return {name: np.array(getattr(step, name)) for name in FIELDS}


# The checks ----------------------------------------------------------------------------------------------------------


def check_vector_shapes(make: Make, *, seed: int = 0, steps: int = STEPS) -> str:
    """Check shapes, types and ranges at every step, and that they stay: B tables, A actions, N seats."""
    play = _Play(make, seed)
    tables, actions, seats = play.env.num_envs, play.env.num_actions, play.env.num_seats
    play.hold(tables == TABLES, f"num_envs is {tables}; {TABLES} tables were asked for.")
    width = play.shown["observation"].shape[1:]
    for shown in play.on(steps):
        for name, shape, kinds in (
            ("observation", (tables, *width), "iuf"),
            ("action_mask", (tables, actions), "iub"),
            ("seat", (tables,), "i"),
            ("reward", (tables, seats), "f"),
            ("terminated", (tables,), "b"),
            ("truncated", (tables,), "b"),
        ):
            array = shown[name]
            play.hold(array.shape == shape, f"{name} has shape {array.shape}; it has to be {shape}.")
            play.hold(array.dtype.kind in kinds, f"{name} is of type {array.dtype}.")
        play.hold(np.isin(shown["action_mask"], (0, 1)).all(), "action_mask holds other numbers than 0 and 1.")
        wrong = shown["seat"][(shown["seat"] < 0) | (shown["seat"] >= seats)]
        play.hold(not len(wrong), f"seat {wrong[:1].tolist()} is to act; seats are 0..{seats - 1}.")
        for name in ("observation", "reward"):
            play.hold(np.isfinite(shown[name]).all(), f"{name} holds numbers that are not finite.")
        both = shown["terminated"] & shown["truncated"]
        play.hold(not both.any(), "a table is terminated and truncated at once; truncated means that it would go on.")
    return f"{steps} steps of {tables} tables had the shapes, types and ranges of the protocol."


def check_vector_masks(make: Make, *, seed: int = 0, steps: int = STEPS) -> str:
    """Check that what masks allow is played, and that one forbidden action among legal ones is refused before any table
    changes."""
    play, twin, forbidden = _Play(make, seed), _Play(make, seed), 0
    for _ in range(steps):
        actions = play.actions()
        mask = play.shown["action_mask"]
        rows = np.flatnonzero((mask == 0).any(axis=1))
        if len(rows):
            row = int(play.random.choice(rows))
            wrong = actions.copy()
            wrong[row] = play.random.choice(np.flatnonzero(mask[row] == 0))
            play.refused(wrong, None, f"action {wrong[row]}, which the mask of table {row} forbids,")
            forbidden += 1
        for outside in (-1, play.env.num_actions):
            play.refused([*actions[:-1], outside], None, f"action {outside}, which is none,")
        said = "refused actions change the tables: {} differs from tables that were given none."
        play.hold_same(play.step(actions), twin.step(actions), said)
    return f"{steps * TABLES:,} legal actions were played; {forbidden} forbidden ones were refused and changed nothing."


def check_vector_rows(make: Make, *, seed: int = 0, steps: int = STEPS) -> str:
    """Check `step(actions, rows)`: other tables keep all that they show; tables play alike in any order and division
    into calls; repeated rows, rows that are none, and too few actions are refused."""
    play, parts = _Play(make, seed), _Play(make, seed)
    for _ in range(steps):
        actions = play.actions()
        for bad, of, what in (
            (actions[:2], [0, 0], "a row named twice"),
            (actions[:1], [TABLES], f"row {TABLES} of {TABLES} tables"),
            (actions[:1], [-1], "row -1"),
            (actions[:-1], None, f"{TABLES - 1} actions for {TABLES} tables"),
            (actions[:1], [0, 1], "1 action for 2 rows"),
        ):
            parts.refused(bad, of, what)
        play.step(actions)
        order = play.random.permutation(TABLES)
        for rows in (order[:2], order[2:]):
            before = parts.shown
            after = parts.step(actions[rows], rows)
            said = f"a step of rows {rows.tolist()} changes the {{}} of another row."
            play.hold_same(before, after, said, np.setdiff1d(play.all, rows))
        play.hold_same(
            play.shown, parts.shown, f"rows {order.tolist()} in two calls give another {{}} than all in one."
        )
        ended = np.flatnonzero(parts.shown["terminated"] | parts.shown["truncated"])
        rows = ended[:2] if len(ended) else order[:2]
        if play.random.random() < 0.5:
            before = parts.shown
            for each in (play, parts):
                each.shown = _copied(each.env.restart(rows))
            said = f"restart({rows.tolist()}) changes the {{}} of another row."
            play.hold_same(before, parts.shown, said, np.setdiff1d(play.all, rows))
            for name in ("reward", "terminated", "truncated"):
                kept = np.array_equal(before[name], parts.shown[name])
                play.hold(kept, f"restart changes {name}, which belongs to a table's latest step.")
    return f"{steps} steps in two calls, in any order of rows, equalled steps in one, and changed no other row."


def check_vector_seeds(make: Make, *, seed: int = 0, steps: int = STEPS) -> str:
    """Check that the same seed gives the same play: again, in another environment, and at row i as at one table with
    seed + i; and that NumPy's global random numbers are left alone."""
    first = _Play(make, seed)
    played: _Trace = []
    for _ in range(steps):
        played.append((first.shown, first.actions()))
        first.step(played[-1][1])
    again = _Play(make, seed)
    for _ in again.on(3):
        pass
    again.shown = _copied(again.env.reset(seed=seed))
    for said, other in (
        ("a second environment with the same seed", _Play(make, seed)),
        ("reset(seed) of an environment that has played", again),
    ):
        _follow(other, played, said)
    state = pickle.dumps(np.random.get_state())  # noqa: NPY002
    for row in range(TABLES):
        one = _Play(make, seed + row, num_envs=1)
        one.seed = seed  # which plays a failure again
        _follow(one, played, f"one table with seed {seed + row}", row)
    kept = state == pickle.dumps(np.random.get_state())  # noqa: NPY002
    first.hold(kept, "the environment draws from, or seeds, NumPy's global random numbers.")
    return f"{steps} steps were the same again, in a second environment, and at each table alone with its own seed."


_Trace = list[tuple[Shown, npt.NDArray[np.int64]]]


def _follow(play: _Play, played: _Trace, said: str, row: int | None = None) -> None:
    """Play the actions of a trace, or of one of its rows, and hold that the same is shown. What belongs to the latest
    step is compared from the first step on."""
    play.steps = 0
    for number, (shown, actions) in enumerate(played):
        mine = [row] if row is not None else play.all
        for name in FIELDS[: 3 if number == 0 else None]:
            same = np.array_equal(play.shown[name], shown[name][mine])
            play.hold(
                same, f"{said} plays otherwise: {name} differs{'' if row is None else f' from that of row {row}'}."
            )
        play.step(actions[mine])


def check_vector_ends(make: Make, *, seed: int = 0, steps: int = STEPS) -> str:
    """Check ends. Without autoreset a finished table has a negative seat and an empty mask, takes no action and keeps
    what it shows until `restart`; with it the same step shows the next episode, and reward and flags of the last."""
    auto, manual = _Play(make, seed), _Play(make, seed, autoreset=False)
    ended = 0
    for _ in range(steps):
        actions = auto.actions()
        auto.step(actions)
        shown = manual.step(actions)
        for name in ("reward", "terminated", "truncated"):
            same = np.array_equal(auto.shown[name], shown[name])
            auto.hold(
                same, f"with autoreset a step shows another {name} than without; it belongs to the step's own episode."
            )
        over = shown["terminated"] | shown["truncated"]
        finished = np.flatnonzero(over)
        for row in range(TABLES):
            alive, legal = shown["seat"][row] >= 0, shown["action_mask"][row].any()
            if over[row]:
                manual.hold(
                    not alive,
                    f"table {row} is finished, and seat {shown['seat'][row]} is to act; it has to be negative.",
                )
                manual.hold(not legal, f"table {row} is finished, and its mask allows something.")
            else:
                manual.hold(
                    alive and legal, f"table {row} is neither terminated nor truncated, and nobody can act there."
                )
            auto.hold(auto.shown["seat"][row] >= 0, f"table {row} resets itself, and nobody is to act there.")
        if len(finished):
            ended += len(finished)
            manual.refused(actions[finished], finished, f"an action on the finished table {finished[0]}")
            others = np.flatnonzero(~over)
            if len(others):
                said = "restart of no rows changes the {} of finished ones."
                manual.hold_same(shown, _copied(manual.env.restart([])), said, finished)
            manual.shown = _copied(manual.env.restart(finished))
        said = "a table that resets itself begins otherwise than by restart: {} differs."
        auto.hold_same(auto.shown, manual.shown, said)
    if not ended:
        return f"{NOT_TRIED}no episode ended within {steps} steps; give more `steps`."
    return f"{ended} episodes ended alike with and without autoreset, and restarted tables began as self-reset ones."


def check_vector_observe(make: Make, *, seed: int = 0, steps: int = STEPS) -> str:
    """Check `observe(seats, rows)`, where there is one: it equals the observation of the seat to act, can be asked for
    any seat, changes nothing, and belongs to the caller."""
    play, quiet, asked = _Play(make, seed), _Play(make, seed), 0
    observe: Any = getattr(play.env, "observe", None)
    if observe is None:
        return f"{NOT_TRIED}there is no observe(seats, rows); the protocol does not demand it."
    for _ in range(steps):
        shown = play.shown
        mine = np.array(observe(shown["seat"]))
        play.hold(
            np.array_equal(mine, shown["observation"]), "observe(seat to act) differs from the observation shown."
        )
        rows = play.random.permutation(TABLES)[:3]
        seats = play.random.integers(play.env.num_seats, size=3)
        seen = observe(seats, rows)
        play.hold(seen.shape == (3, *shown["observation"].shape[1:]), f"observe of 3 rows has shape {seen.shape}.")
        first = np.array(seen)
        if seen.flags.writeable:
            seen[...] = 0
        play.hold(
            np.array_equal(observe(seats, rows), first), "what observe gave was changed, and changes what it gives."
        )
        asked += 3
        actions = play.actions()
        said = "observing changes play: {} differs from tables that nobody looked at."
        play.hold_same(play.step(actions), quiet.step(actions), said)
    return f"{asked:,} observations, of any seat, changed nothing."


def check_vector_writing(make: Make, *, seed: int = 0, steps: int = STEPS) -> str:
    """Check that writing to what is handed out changes nothing: learners normalise in place."""
    play, twin, wrote = _Play(make, seed), _Play(make, seed), 0
    step = play.env.reset(seed=seed)
    for _ in range(steps):
        actions = twin.actions()
        for name in FIELDS:
            array = getattr(step, name)
            if array.flags.writeable:
                array[...] = 1 - array if array.dtype != np.bool_ else ~array
                wrote += 1
        try:
            step = play.env.step(actions)
        except Exception as error:
            play.hold(False, f"writing to what is handed out makes legal actions raise {type(error).__name__}: {error}")
        play.steps += 1
        said = "writing to what is handed out changes play: {} differs."
        play.hold_same(_copied(step), twin.step(actions), said)
    return f"{wrote:,} arrays were written to, and play went on as it would have." if wrote else "All is read-only."


def check_vector_reference(make: Make, aec: Callable[[], Any] | None, *, seed: int = 0, steps: int = STEPS) -> str:
    """Check the first episode of each table against a PettingZoo AEC environment with the same seed: who acts, the
    observation, the mask, the rewards of all and the end."""
    if aec is None:
        return f"{NOT_TRIED}only a PettingZoo environment of the same game (`aec`) says what is to be seen and gained."
    decisions, episodes, begin = 0, 0, seed
    while decisions < steps:
        play = _Play(make, begin)
        envs = {int(row): aec() for row in play.all}
        for row, env in envs.items():
            env.reset(seed=begin + row)
        while envs and decisions < steps:
            for row, env in envs.items():
                _compare_position(play, row, env)
            actions = play.actions()
            play.step(actions)
            for row, env in list(envs.items()):
                env.step(int(actions[row]))
                decisions += 1
                if _compare_outcome(play, row, env):
                    del envs[row]
                    episodes += 1
        begin += TABLES
    return f"{decisions:,} decisions in {episodes} episodes showed and paid what the AEC environment does."


def _compare_position(play: _Play, row: int, env: Any) -> None:
    agent = env.agent_selection
    seat, given = env.possible_agents.index(agent), env.observe(agent)
    seen = np.asarray(given["observation"] if isinstance(given, Mapping) else given).reshape(-1)
    mask = mask_of(env, agent, given)
    for name, its in (("seat", seat), ("observation", seen), ("action_mask", mask)):
        same = its is None or np.array_equal(play.shown[name][row], its)
        play.hold(same, f"{name} of table {row} is not that of the AEC environment.")


def _compare_outcome(play: _Play, row: int, env: Any) -> bool:
    """Return whether the episode has ended."""
    agents, shown = env.possible_agents, play.shown
    its = np.array([env.rewards.get(agent, 0) for agent in agents])
    paid = f"table {row} pays {shown['reward'][row].tolist()}, and the AEC environment {its.tolist()}."
    play.hold(np.allclose(shown["reward"][row], its, rtol=1e-5, atol=1e-6), paid)
    ends = any(env.terminations.values()), any(env.truncations.values())
    mine = bool(shown["terminated"][row]), bool(shown["truncated"][row])
    said = f"table {row} is terminated and truncated {mine}, and the AEC environment {ends}."
    play.hold(mine == ends, said)
    return any(ends)
