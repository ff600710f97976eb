"""How fast training is: decisions, samples, labels and playouts a second of every kind of phase, on one thread and on
more, and of Stable-Baselines3 as it comes. All take turns in one process, so that whatever else the machine does meets
them alike.

    python -m backalley.training.throughput pitch --phases ppo,playouts,sb3 --threads 1,2 --json benchmarks/results

A phase that works on one thread has one row. `sb3` is what a user writes first: `sb3_contrib.MaskablePPO("MlpPolicy",
env)` with every default, over a `DummyVecEnv` of eight one-seat Gymnasium environments of this library, with random
opponents, which cost least. A turn is a number of whole steps (rollout and update) that lasts about as long for all;
the order alternates, and medians are compared.
"""

from __future__ import annotations

import inspect
import shlex
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import click
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv

import backalley
from backalley.agents.gymnasium_env import GymnasiumEnv
from backalley.agents.network_agent import one_thread
from backalley.agents.rule_based import RandomAgent
from backalley.benchmarks import results, tabular
from backalley.command import Command, whole_numbers
from backalley.envs.core.base import Game
from backalley.envs.core.catalogue import game as game_of

from . import config as config_rules
from .config import Config
from .phase import Phase
from .phases import KINDS, kind
from .trainer import practice_of

SB3 = "sb3"
"""The name of Stable-Baselines3 among the phases."""
COUNTED = ("decisions", "samples", "labels", "playouts")
_SB3_ENVS = 8
_TURNS = 5

Counts = Counter[str]
"""What was done, by name: samples, labels and so on."""
Step = Callable[[], Counts]
"""One step of a trainer; what it did."""


class Turn(NamedTuple):
    """What a trainer did while it had its turn."""

    counts: Counts
    seconds: float
    processor: float
    """Processor time, of all threads."""


def throughput(
    game: str | Game,
    phases: Sequence[str],
    threads: Sequence[int] = (1, 2),
    seconds: float = 120.0,
    *,
    config_overrides: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """The rates of kinds of phases, `sb3` among them, as `results.write` takes them; `command` is left to the caller.

    Takes about `seconds`, at least one step in each turn. A sample is a decision that an update learns from: those of
    a league's opponents do not count. Raises ValueError, OptionError or ConfigError in a sentence.
    """
    found = game_of(game)
    known = (*KINDS, SB3)
    unknown = [name for name in phases if name not in known]
    if unknown or not phases:
        raise ValueError(f"{', '.join(unknown) or 'Nothing'} is no kind of phase; there are: {', '.join(known)}.")
    if not seconds > 0:
        raise ValueError(f"seconds is {seconds}; it must be greater than 0.")
    config = config_rules.load(found, None, config_overrides)
    with one_thread(), tempfile.TemporaryDirectory(prefix="backalley-throughput-") as scratch, ExitStack() as opened:
        steps: dict[tuple[str, int], Step] = {}
        precisions: dict[tuple[str, int], str] = {}
        for name in phases:
            if name == SB3:
                steps[name, 1] = _PlainSB3(practice_of(found, config)).step
                continue
            for number, phase in _on_threads(name, found, config, Path(scratch), threads):
                opened.callback(phase.close)
                steps[name, number], precisions[name, number] = _step_of(phase), phase.precision
        turns = _alternate(steps, seconds, progress)
    return {
        "kind": "throughput",
        "game": found.id,
        "options": found.changed_options,
        "config": config.as_dict(),
        "torch": torch.__version__,
        "rows": [
            {"phase": name, "threads": number, **_summary(taken), "precision": precisions.get((name, number))}
            for (name, number), taken in turns.items()
        ],
        **results.stamp(__file__, found),
    }


def _on_threads(name: str, game: Game, config: Config, folder: Path, threads: Sequence[int]) -> list[tuple[int, Phase]]:
    """A phase for each number of threads, begun; a single one where it knows of none."""
    owner = kind(name)
    spreads = "num_threads" in inspect.signature(owner).parameters
    made = []
    for number in threads if spreads else (1,):
        more: dict[str, Any] = {"num_threads": number} if spreads else {}
        phase = owner(game, config, seed=0, folder=folder / f"{name}-{number}", **more)
        phase.begin()
        made.append((number, phase))
    return made


def _step_of(phase: Phase) -> Step:
    def step() -> Counts:
        before = Counts(phase.counts())
        phase.step()
        return Counts(phase.counts()) - before

    return step


class _PlainSB3:
    """MaskablePPO as it comes, one rollout and one update at a time."""

    def __init__(self, game: Game) -> None:
        env = DummyVecEnv([lambda: GymnasiumEnv(game, seat="random", opponent=RandomAgent())] * _SB3_ENVS)
        self.model = MaskablePPO("MlpPolicy", env, device="cpu", seed=0)
        self.model.set_logger(Logger(None, []))
        self._begun = False

    def step(self) -> Counts:
        """The samples learned from."""
        size = int(self.model.n_steps * _SB3_ENVS)
        self.model.learn(size, reset_num_timesteps=not self._begun)
        self._begun = True
        return Counts(samples=size)


def _alternate(
    steps: Mapping[tuple[str, int], Step], seconds: float, progress: Callable[[int, int], None] | None
) -> dict[tuple[str, int], list[Turn]]:
    """Turns of each trainer, for about so many seconds in all. The first step of each, which compiles, is not
    counted."""
    for step in steps.values():
        step()
    length = seconds / (_TURNS * len(steps))
    turns: dict[tuple[str, int], list[Turn]] = {name: [] for name in steps}
    for turn in range(_TURNS):
        for name, step in list(steps.items())[:: 1 if turn % 2 == 0 else -1]:
            counts, wall, processor = Counts(), time.perf_counter(), time.process_time()
            while not counts.total() or time.perf_counter() - wall < length:
                counts += step()
            turns[name].append(Turn(counts, time.perf_counter() - wall, time.process_time() - processor))
        if progress:
            progress(turn + 1, _TURNS)
    return turns


def _summary(turns: list[Turn]) -> dict[str, Any]:
    """Medians over the turns, of all that was done at all."""
    done = [name for name in COUNTED if any(turn.counts[name] for turn in turns)]
    return {
        "per_second": {name: statistics.median(turn.counts[name] / turn.seconds for turn in turns) for name in done},
        "per_cpu_second": {
            name: statistics.median(turn.counts[name] / turn.processor for turn in turns) for name in done
        },
    }


def table(found: Mapping[str, Any]) -> str:
    """What `throughput` found, as text."""
    rows = [
        [f"{row['phase']}, {row['threads']} thread{'s' * (row['threads'] > 1)}"]
        + [f"{row['per_second'][name]:,.0f}" if name in row["per_second"] else "·" for name in COUNTED]
        for row in found["rows"]
    ]
    return f"{found['game']}: a second\n\n{tabular.text(['phase', *COUNTED], rows)}"


@click.command(cls=Command)
@click.argument("game")
@click.option("--phases", default="ppo,playouts", show_default=True, help="Kinds of phases, and sb3, with commas.")
@click.option(
    "--threads", default="1,2", show_default=True, callback=whole_numbers, help="Numbers of threads, with commas."
)
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=120.0, show_default=True)
@click.option("--json", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write a file here.")
def main(game: str, phases: str, threads: tuple[int, ...], seconds: float, folder: Path | None) -> None:
    """Measure how many decisions, samples, labels and playouts a second the phases of training GAME make."""
    found = backalley.game(game)
    path = None if folder is None else folder / f"throughput_{found.name}.json"
    if path is not None:
        results.check_place(path)
    words = [found.spec, "--phases", phases, "--threads", ",".join(map(str, threads)), "--seconds", f"{seconds:g}"]
    words += ["--json", folder.as_posix()] if folder else []
    made = throughput(found, phases.split(","), threads, seconds)
    click.echo(table(made))
    if path is not None:
        results.write(path, made | {"command": shlex.join(["python", "-m", "backalley.training.throughput", *words])})


if __name__ == "__main__":
    main()
