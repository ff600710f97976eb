"""`backalley dev`: the commands that measure training; `commands.py` adds them to the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import backalley
from backalley.console.command import INTERRUPTED, whole_numbers
from backalley.console.progress import progress_bar

from ..measuring import end, file_of, folder_option, measure
from ..shared import check_place, command_line, game_of, json_option, option_option

_GAME = click.argument("game")


@click.command()
@_GAME
@click.option("--seeds", type=click.IntRange(1, 100), default=3, show_default=True, help="Runs of each method.")
@click.option("--processor-seconds", type=float, default=120.0, show_default=True, help="Processor time of each run.")
@click.option("--methods", default="", help="Some of the methods, with commas; by default all that the game has.")
@click.option(
    "--runs",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs") / "methods",
    show_default=True,
    help="The folder of the runs.",
)
@folder_option
def compare(game: str, seeds: int, processor_seconds: float, methods: str, runs: Path, folder: Path | None) -> None:
    """Compare the methods of training a policy for GAME, each over several training seeds."""
    from backalley.training.compare.training_comparison import compare as run
    from backalley.training.train import Stopped

    found = backalley.game(game)
    path = file_of(folder, "methods", found)
    chosen = [name.strip() for name in methods.split(",")] if methods else []
    try:
        with progress_bar(found.name) as progress:
            made = run(
                found, chosen, num_seeds=seeds, processor_seconds=processor_seconds, runs=runs, keep=path,
                progress=progress,
            )  # fmt: skip
    except (Stopped, KeyboardInterrupt):
        click.echo("Stopped; the same command continues.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    click.echo(f"\n{made.table()}\n")
    click.echo(f"Again: {made.found['command']}", err=True)


@click.command()
@_GAME
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="Runs of each learner.")
@click.option("--processor-seconds", type=float, default=60.0, show_default=True, help="Processor time of each run.")
@click.option("--learners", "names", default="", help="Some of the learners, with commas; by default all.")
@option_option
@json_option
def learners(
    game: str, seeds: int, processor_seconds: float, names: str, given: dict[str, str], path: Path | None
) -> None:
    """Compare learning algorithms by what their policies lose to best responses in GAME, which has to be small."""
    from backalley.training.compare.learners import learners as run

    check_place(path)
    found, place = game_of(game, given), path.as_posix() if path else None
    settings = {"seeds": seeds, "processor_seconds": f"{processor_seconds:g}", "learners": names or None}
    line = command_line("dev", "learners", found.spec, given=given, **settings, json=place)
    chosen = [name.strip() for name in names.split(",")] if names else []
    with progress_bar(found.name) as progress:
        made = run(
            found, chosen, num_seeds=seeds, processor_seconds=processor_seconds, keep=path, progress=progress,
            command=line,
        )  # fmt: skip
    end(made, path, line)


@click.command()
@_GAME
@click.option("--phases", default="ppo,rollouts", show_default=True, help="Kinds of phases, and sb3, with commas.")
@click.option(
    "--threads", default="1,2", show_default=True, callback=whole_numbers, help="Numbers of threads, with commas."
)
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=120.0, show_default=True)
@folder_option
def throughput(game: str, phases: str, threads: tuple[int, ...], seconds: float, folder: Path | None) -> None:
    """Measure how many decisions and samples a second the phases of training GAME make."""
    from backalley.training.compare.throughput import throughput as run

    found = backalley.game(game)
    settings = {"phases": phases, "threads": ",".join(map(str, threads)), "seconds": f"{seconds:g}"}

    def measured(keep: Path | None, **settings: Any) -> Any:  # nothing is kept: rates of two halves are no rate
        return run(found, phases.split(","), threads, seconds, **settings)

    measure("throughput", found, [], folder, measured, **settings)
