"""What is measured, solved and played again."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

import backalley
from backalley.progress import progress_bar

from .program import INTERRUPTED
from .shared import (
    again,
    check_place,
    command_line,
    game_of,
    json_option,
    option_option,
    threads_option,
    write,
)


@click.command()
@click.argument("games", nargs=-1)
@option_option
@click.option(
    "--tables",
    multiple=True,
    type=click.IntRange(1),
    help="A number of tables; by default 1, 64, 1,024, 4,096 and 16,384.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=0.4,
    show_default=True,
    help="Length of a repetition.",
)
@click.option(
    "--repeats", type=click.IntRange(1), default=5, show_default=True, help="Repetitions of each measurement."
)
@json_option
def speed(
    games: tuple[str, ...],
    given: dict[str, str],
    tables: tuple[int, ...],
    seconds: float,
    repeats: int,
    path: Path | None,
) -> None:
    """Measure the speed of GAMES, by default all. Decisions a second of random play, and the wait before the first."""
    from backalley.benchmarks.speed import TABLES
    from backalley.benchmarks.speed import speed as run

    if given and len(games) != 1:
        raise click.UsageError("--option goes with one game.")
    chosen = [game_of(name, given) for name in games or backalley.game_names()]
    check_place(path)
    with progress_bar("games") as progress:
        speeds = run(chosen, tables=tables or TABLES, seconds=seconds, repeats=repeats, progress=progress, keep=path)
    line = command_line(
        "speed", *(game.spec for game in chosen), given=given, seconds=seconds, repeats=repeats, json=path
    )
    line += "".join(f" --tables {size}" for size in tables)
    speeds = dataclasses.replace(speeds, command=line)
    click.echo(speeds.table())
    write(path, speeds.to_json())
    again(line)
    if not speeds.complete:
        click.echo(f"Stopped by Ctrl-C after {len(speeds.games)} of {speeds.planned} games.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


@click.command()
@click.argument("game")
@option_option
@threads_option
@json_option
def solve(game: str, given: dict[str, str], threads: int, path: Path | None) -> None:
    """Solve GAME exactly. Only games that hide nothing but the order of the stub can be solved."""
    from backalley.benchmarks.exact import solve as run

    found = game_of(game, given)
    check_place(path)
    with progress_bar("openings") as progress:
        solution = run(found, num_threads=threads, progress=progress, keep=path)
    line = command_line("solve", found.spec, given=given, json=path)
    solution = dataclasses.replace(solution, command=line)
    click.echo(solution.table())
    write(path, solution.to_json())
    again(line)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def replay(file: Path) -> None:
    """Replay the game in FILE. Turn by turn, with a check that the rules still give what was recorded."""
    from backalley.envs.core.playthrough import replay as run

    for turn in run(file):
        click.echo(f"{turn}\n")
    click.echo("Everything shown and won is as it was recorded.")
    again(command_line("replay", str(file)))
