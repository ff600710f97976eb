"""How fast the phases of training are, on one thread and on more: decisions, samples, labels and playouts a second,
turn by turn in one process, so that whatever else the machine does meets all of them alike.

    python -m backalley.training.rates pitch --phases ppo,playouts --threads 1,2 --json benchmarks/results

A phase that works on one thread has one row. `--before CHECKOUT` adds a row of PPO as the sources in another checkout
train it.
"""

from __future__ import annotations

import inspect
import shlex
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import torch

import backalley
from backalley.agents.network_agent import one_thread
from backalley.benchmarks import results, tabular
from backalley.command import Command, whole_numbers
from backalley.envs.core.base import Game
from backalley.envs.core.catalogue import game as game_of

from . import config as config_rules
from .config import Config
from .former import FormerTrainer
from .measure import Counts, Step, Turn, alternate
from .phase import Phase
from .phases import KINDS, kind

COUNTED = ("decisions", "samples", "labels", "playouts")


def rates(
    game: str | Game,
    phases: Sequence[str],
    threads: Sequence[int] = (1, 2),
    seconds: float = 120.0,
    *,
    config_overrides: Mapping[str, Any] | None = None,
    before: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """The rates of kinds of phases, as `results.write` takes them; `command` is left to the caller. `before` is a
    checkout of former sources, whose PPO is measured beside them.

    Takes about `seconds`, at least one step in each turn. Raises ValueError, OptionError or ConfigError in a sentence.
    """
    found = game_of(game)
    unknown = [name for name in phases if name not in KINDS]
    if unknown or not phases:
        raise ValueError(f"{', '.join(unknown) or 'Nothing'} is no kind of phase; there are: {', '.join(KINDS)}.")
    if not seconds > 0:
        raise ValueError(f"seconds is {seconds}; it must be greater than 0.")
    config = config_rules.load(found, None, config_overrides)
    with one_thread(), tempfile.TemporaryDirectory(prefix="backalley-rates-") as scratch, ExitStack() as opened:
        former = None if before is None else FormerTrainer(before, found.spec, config_overrides)
        if former is not None:
            opened.callback(former.close)
        sides = {
            (name, number): made
            for name in phases
            for number, made in _on_threads(name, found, config, Path(scratch), threads)
        }
        for made in sides.values():
            opened.callback(made.close)
        steps: dict[str, Step] = {f"{name} {number}": _step_of(made) for (name, number), made in sides.items()}
        if former is not None:
            steps["before"] = former.step
        turns = alternate(steps, seconds, progress)
    rows = [
        {"phase": name, "threads": number, **_summary(turns[f"{name} {number}"]), "precision": made.precision}
        for (name, number), made in sides.items()
    ]
    if former is not None:
        told = _summary(turns["before"])
        rows.insert(0, {"phase": "ppo", "threads": 1, "per_second": told["per_second"], "commit": former.commit})
    return {
        "kind": "training rates",
        "game": found.id,
        "options": found.changed_options,
        "config": config.as_dict(),
        "torch": torch.__version__,
        "rows": rows,
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
    """What `rates` found, as text."""
    rows = [
        [f"{row['phase']}, {row['threads']} thread{'s' * (row['threads'] > 1)}{_of(row)}"]
        + [f"{row['per_second'][name]:,.0f}" if name in row["per_second"] else "·" for name in COUNTED]
        for row in found["rows"]
    ]
    return f"{found['game']}: a second\n\n{tabular.text(['phase', *COUNTED], rows)}"


def _of(row: Mapping[str, Any]) -> str:
    return f" ({row['commit'][:7]})" if "commit" in row else ""


@click.command(cls=Command)
@click.argument("game")
@click.option("--phases", default="ppo,playouts", show_default=True, help="Kinds of phases, with commas.")
@click.option(
    "--threads", default="1,2", show_default=True, callback=whole_numbers, help="Numbers of threads, with commas."
)
@click.option("--before", type=click.Path(path_type=Path), metavar="CHECKOUT", help="Former sources.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=120.0, show_default=True)
@click.option("--json", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write a file here.")
def main(
    game: str, phases: str, threads: tuple[int, ...], before: Path | None, seconds: float, folder: Path | None
) -> None:
    """Measure how many decisions, samples, labels and playouts a second the phases of training GAME make."""
    found = backalley.game(game)
    path = None if folder is None else folder / f"rates_{found.name}.json"
    if path is not None:
        results.check_place(path)
    words = [found.spec, "--phases", phases, "--threads", ",".join(map(str, threads)), "--seconds", f"{seconds:g}"]
    words += ["--before", before.as_posix()] if before else []
    words += ["--json", folder.as_posix()] if folder else []
    made = rates(found, phases.split(","), threads, seconds, before=before)
    click.echo(table(made))
    if path is not None:
        results.write(path, made | {"command": shlex.join(["python", "-m", "backalley.training.rates", *words])})


if __name__ == "__main__":
    main()
