"""How fast training is: our trainer beside Stable-Baselines3 as it comes, on the same game, in one process, turn by
turn: `python -m backalley.training.measure GAME`.

The other side is what a user writes first: `sb3_contrib.MaskablePPO("MlpPolicy", env)` with every default, over a
`DummyVecEnv` of eight one-seat Gymnasium environments of this library (random opponents, which cost least). Both use
one torch thread. A turn is a number of whole iterations (rollout and update) that last about as long on both sides; the
order alternates, and medians are compared.
"""

from __future__ import annotations

import shlex
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv

from backalley.agents.gymnasium_env import GymnasiumEnv
from backalley.agents.network_agent import one_thread
from backalley.agents.rule_based import RandomAgent
from backalley.benchmarks import results, tabular
from backalley.command import Command
from backalley.envs.core.base import Game
from backalley.envs.core.catalogue import game as game_of

from . import config as config_rules
from .trainer import Trainer

ENVS = 8
"""One-table environments on SB3's side."""
FLOOR = 20.0
"""Ours must learn from at least this many times as many samples a second."""
_TURNS = 5

Counts = Counter[str]
"""What was done, by name: samples, labels and so on."""
Step = Callable[[], Counts]
"""One step of a trainer; what it did."""


class Turn(NamedTuple):
    """What a side did while it had its turn."""

    counts: Counts
    seconds: float
    processor: float
    """Processor time, of all threads."""


def measure(
    game: str | Game,
    seconds: float = 120.0,
    *,
    config_overrides: Mapping[str, Any] | None = None,
    path: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Samples a second of both trainers, wall clock and processor time, and their ratio (of wall-clock medians).

    Takes about `seconds`, at least two iterations on each side. Writes the result to `path` as JSON if given. A sample
    is a decision that the update learns from: our league's decisions do not count. Raises OptionError, ConfigError or
    UnknownGame in a sentence.
    """
    found = game_of(game)
    if not seconds > 0:
        raise ValueError(f"seconds is {seconds}; it must be greater than 0.")
    config = config_rules.load(found, config_overrides)
    with one_thread(), tempfile.TemporaryDirectory(prefix="backalley-measure-") as scratch:
        trainer = Trainer(found, config, seed=0, folder=Path(scratch))
        plain = _PlainSB3(trainer.practice)
        sides: dict[str, Step] = {"backalley": lambda: _step(trainer), "sb3_defaults": plain.step}
        turns = alternate(sides, seconds, progress)
    result: dict[str, Any] = {
        "kind": "training speed",
        "game": found.id,
        "options": trainer.practice.changed_options,
        "config": config.as_dict(),
        "precision": trainer.precision,
        "sb3_envs": ENVS,
        "torch": torch.__version__,
        "floor": FLOOR,
        **{name: _summary(taken) for name, taken in turns.items()},
        **results.stamp(__file__, found),
    }
    result["ratio"] = result["backalley"]["samples_per_second"] / result["sb3_defaults"]["samples_per_second"]
    result["ratio_of_processor_time"] = (
        result["backalley"]["samples_per_cpu_second"] / result["sb3_defaults"]["samples_per_cpu_second"]
    )
    words = [found.name, "--seconds", f"{seconds:g}", *(["--json", path.as_posix()] if path else [])]
    result["command"] = shlex.join(["python", "-m", "backalley.training.measure", *words])
    if path is not None:
        results.write(path, result)
    return result


def table(found: Mapping[str, Any]) -> str:
    """What `measure` found, as text."""
    rows = []
    for name, label in (("backalley", "backalley"), ("sb3_defaults", "MaskablePPO, defaults")):
        side = found[name]
        low, high = min(side["turns"]), max(side["turns"])
        rows.append(
            [
                label,
                f"{side['samples_per_second']:,.0f}",
                f"{low:,.0f} to {high:,.0f}",
                f"{side['samples_per_cpu_second']:,.0f}",
            ]
        )
    text = tabular.text(["trainer", "samples/s", "turns", "per processor second"], rows)
    return f"{found['game']}: {found['ratio']:.1f} times as fast (the floor is {found['floor']:.0f})\n\n{text}"


def _step(trainer: Trainer) -> Counts:
    before = trainer.samples
    trainer.step()
    return Counts(samples=trainer.samples - before)


class _PlainSB3:
    """MaskablePPO as it comes, one iteration at a time."""

    def __init__(self, game: Game) -> None:
        env = DummyVecEnv([lambda: GymnasiumEnv(game, seat="random", opponent=RandomAgent())] * ENVS)
        self.model = MaskablePPO("MlpPolicy", env, device="cpu", seed=0)
        self.model.set_logger(Logger(None, []))
        self._begun = False

    def step(self) -> Counts:
        """One rollout and one update; the samples learned from."""
        size = int(self.model.n_steps * ENVS)
        self.model.learn(size, reset_num_timesteps=not self._begun)
        self._begun = True
        return Counts(samples=size)


def alternate(
    sides: Mapping[str, Step], seconds: float, progress: Callable[[int, int], None] | None
) -> dict[str, list[Turn]]:
    """Turns of each side, for about so many seconds in all. The first step of each side, which compiles, is not
    counted."""
    for step in sides.values():
        step()
    length = seconds / (_TURNS * len(sides))
    turns: dict[str, list[Turn]] = {name: [] for name in sides}
    for turn in range(_TURNS):
        for name, step in list(sides.items())[:: 1 if turn % 2 == 0 else -1]:
            counts, wall, processor = Counts(), time.perf_counter(), time.process_time()
            while not counts.total() or time.perf_counter() - wall < length:
                counts += step()
            turns[name].append(Turn(counts, time.perf_counter() - wall, time.process_time() - processor))
        if progress:
            progress(turn + 1, _TURNS)
    return turns


def _summary(turns: list[Turn]) -> dict[str, Any]:
    pace = [turn.counts["samples"] / turn.seconds for turn in turns]
    return {
        "samples_per_second": statistics.median(pace),
        "samples_per_cpu_second": statistics.median(turn.counts["samples"] / turn.processor for turn in turns),
        "turns": pace,
        "samples": sum(turn.counts["samples"] for turn in turns),
    }


@click.command(cls=Command)
@click.argument("game")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=120.0, show_default=True)
@click.option("--json", "path", type=click.Path(path_type=Path), metavar="FILE", help="Write the figures here, too.")
def main(game: str, seconds: float, path: Path | None) -> None:
    """Measure how many samples a second training GAME learns from, beside Stable-Baselines3."""
    if path is not None:
        results.check_place(path)
    click.echo(table(measure(game, seconds, path=path)))


if __name__ == "__main__":
    main()
