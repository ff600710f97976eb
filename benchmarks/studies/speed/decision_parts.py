"""What a decision of random play costs, and where it goes, in nanoseconds of processor time.

Rules, legal actions and observations are timed alone, on positions of random play; then whole steps, which are recorded
and played again: in one call of compiled code, and by `BatchEnv.step`. What the first lacks of the second is Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.api.compiled_play import (
    Batch,
    Deck,
    constants_of,
    hand_out,
    shuffle_deck,
    step_table,
    table_names,
)
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import Bound, kernel, specialise, template, unbound

from ...figures.formatting import Found, title
from ...figures.result_kinds import Columns, Kept, lines
from ...speed.random_play import RandomPlay, draw, episode_length
from ..runner import GAMES, Progress, count, quiet, study

TABLES = {1: 3000, 64: 400, 4096: 40}
"""Steps that are played again, by the number of tables."""
_POSITIONS, _STREAMED = 4096, 2**26
PARTS = {
    "rules": "step",
    "legal actions": "legal",
    "observation": "observe",
    "zeroing": "zero",
    "shuffle": "shuffle",
    "rest of the kernel": "rest",
    "Python": "python",
    "together": "together",
    "writing alone": "writing",
}
"""Columns of the table, and what they are called in the file."""
_COLUMNS: Columns = {"game": title, "tables": "{tables:,}"}
_COLUMNS = {**_COLUMNS, **{shown: f"{{{name}:.0f}}" for shown, name in PARTS.items()}}

STEP = LEGAL = OBSERVE = unbound


@template
def zero(options: Any, batch: Batch, saved: npt.NDArray[Any], actions: npt.NDArray[np.int64]) -> None:
    for k in range(saved.shape[0]):
        row = k % batch.mask.shape[0]
        batch.mask[row, :] = 0
        batch.flat[row, :] = 0


@template
def legal(options: Any, batch: Batch, saved: npt.NDArray[Any], actions: npt.NDArray[np.int64]) -> None:
    for k in range(saved.shape[0]):
        row = k % batch.mask.shape[0]
        batch.mask[row, :] = 0
        batch.flat[row, :] = 0
        LEGAL(options, saved[k], batch.mask[row])


@template
def observe(options: Any, batch: Batch, saved: npt.NDArray[Any], actions: npt.NDArray[np.int64]) -> None:
    for k in range(saved.shape[0]):
        row = k % batch.mask.shape[0]
        batch.mask[row, :] = 0
        batch.flat[row, :] = 0
        OBSERVE(options, saved[k], int(saved[k].seat), batch.observation[row])


@template
def restore(options: Any, batch: Batch, saved: npt.NDArray[Any], actions: npt.NDArray[np.int64]) -> None:
    for k in range(saved.shape[0]):
        batch.state[k % batch.mask.shape[0]] = saved[k]


@template
def step(options: Any, batch: Batch, saved: npt.NDArray[Any], actions: npt.NDArray[np.int64]) -> None:
    for k in range(saved.shape[0]):
        row = k % batch.mask.shape[0]
        batch.state[row] = saved[k]
        STEP(options, batch.state[row], actions[k])


@template
def play_again(
    options: Any, batch: Batch, deck: Deck, start_outcomes: int, limit: int, actions: npt.NDArray[np.int64]
) -> None:
    """Play `actions` [T, B] as `BatchEnv.step` does."""
    for number in range(actions.shape[0]):
        for row in range(actions.shape[1]):
            step_table(options, batch, deck, start_outcomes, limit, True, row, actions[number, row])
            hand_out(batch, row)


@kernel
def shuffles(deck: Deck, stream: np.uint64, number: int) -> np.uint64:
    for _ in range(number):
        stream = shuffle_deck(deck, stream)
    return stream


class DecisionParts(
    Kept, kind="decision_parts", heading="Parts of a decision", tables={"decision_parts": lines(_COLUMNS, "rows")}
):
    """Nanoseconds of a decision and of its parts, game by game."""

    in_title = frozenset[str]()
    says = "Nanoseconds of a decision of random play, by processor time"


@study("parts", DecisionParts, GAMES, count("--repeats", 7, "Times that each is timed; the least counts."))
def decision_parts(games: Sequence[Game], *, repeats: int, progress: Progress = quiet) -> Found:
    """Take apart what a decision of GAMES costs, by default of all, in batches of 1, 64 and 4,096 tables."""
    rows = list[dict[str, Any]]()
    streamed = np.zeros(_STREAMED, np.uint8)
    a_byte = _least(lambda: streamed.fill(0), repeats) / _STREAMED
    for number, game in enumerate(games):
        progress(number, len(games), game.name)
        taken = _Taken(game, repeats)
        rows += [{"game": game.id, "tables": tables, **taken.apart(tables, a_byte)} for tables in TABLES]
    return {"GB a second written": 1 / a_byte, "rows": rows}


def _least(run: Callable[[], Any], repeats: int, before: Callable[[], Any] = lambda: None) -> float:
    """The least nanoseconds that `run` took."""
    found = []
    for _ in range(repeats):
        before()
        began = time.process_time_ns()
        run()
        found.append(time.process_time_ns() - began)
    return float(min(found))


class _Taken:
    """A game that is taken apart."""

    def __init__(self, game: Game, repeats: int) -> None:
        self.game, self.repeats, self.length = game, repeats, round(episode_length(game))
        names = table_names(game.type, constants_of(game))
        self.kernels = specialise([zero, legal, observe, restore, step, play_again], names)
        play = RandomPlay(game, _POSITIONS, 1)
        play.stagger(self.length)
        self.saved, self.actions = play.tables.arrays.state.copy(), np.zeros(_POSITIONS, np.int64)
        draw(play.time_step.action_mask, np.arange(_POSITIONS, dtype=np.uint64), self.actions)

    def apart(self, tables: int, a_byte: float) -> dict[str, float]:
        """The nanoseconds of a decision's parts in a batch."""
        play, steps = RandomPlay(self.game, tables, 1), TABLES[tables]
        play.stagger(self.length)
        env, given = play.tables, play.tables.for_kernels()
        kept, streams = env.save(), np.arange(tables, dtype=np.uint64)
        actions, dealt = np.zeros((steps, tables), np.int64), 0
        for one in actions:
            before = env.arrays.stream.copy()
            draw(env.time_step.action_mask, streams, one)
            env.step(one)
            dealt += int((env.arrays.stream != before).sum())
        fixed = given.options, given.batch, given.deck, given.start_outcomes, given.limit, actions
        again = Bound(lambda: self.kernels["play_again"])
        again(*fixed[:-1], actions[:1])  # binds the machine code
        whole = _least(lambda: again(*fixed), self.repeats, lambda: env.load(None, kept)) / actions.size
        stepped = _least(lambda: [*map(env.step, actions)], self.repeats, lambda: env.load(None, kept)) / actions.size
        found = {one.__name__: self._part(one.__name__, given) for one in (zero, legal, observe, restore, step)}
        found["legal"], found["observe"] = found["legal"] - found["zero"], found["observe"] - found["zero"]
        found["step"] -= found.pop("restore")
        shuffles(given.deck, np.uint64(1), 1)
        packs = 20 * max(1, dealt // 100)
        found["shuffle"] = _least(lambda: shuffles(given.deck, np.uint64(1), packs), self.repeats) / packs
        found["shuffle"] *= dealt / actions.size
        shown = sum(array.nbytes for array in env.time_step) + env.arrays.mask.nbytes
        return {
            **found,
            "rest": whole - sum(found.values()),
            "python": stepped - whole,
            "together": stepped,
            "writing": shown / tables * a_byte,
        }

    def _part(self, name: str, given: Any) -> float:
        run = Bound(lambda: self.kernels[name])
        fixed = given.options, given.batch, self.saved, self.actions
        run(*fixed)
        return _least(lambda: run(*fixed), self.repeats) / _POSITIONS
