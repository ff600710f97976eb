"""What is measured, solved and played again."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

import backalley
from backalley.command import INTERRUPTED
from backalley.progress import progress_bar

from .shared import (
    Amount,
    again,
    agents_of,
    check_place,
    command_line,
    game_of,
    json_option,
    option_option,
    threads_option,
    write,
)

if TYPE_CHECKING:
    from backalley.benchmarks.agent_values import AgentValues
    from backalley.benchmarks.exact import Solution


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
    type=Amount(min=0, max=3600, min_open=True),
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
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="AGENT",
    help="An agent to work out the value of, too; may be repeated.",
)
@click.option(
    "--best",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --agent: take best and random play from the file of an earlier solution, instead of solving anew.",
)
@click.option(
    "--least",
    type=Amount(0, 1),
    default=0.0,
    show_default=True,
    help="With --agent: positions rarer than this after their opening are followed by lot; 0 follows all.",
)
@threads_option
@json_option
def solve(
    game: str,
    given: dict[str, str],
    agents: tuple[str, ...],
    best: Path | None,
    least: float,
    threads: int,
    path: Path | None,
) -> None:
    """Solve GAME exactly. Only games that hide nothing but the order of the stub can be solved."""
    from backalley.benchmarks.agent_values import agent_values, read_solution
    from backalley.benchmarks.exact import solve as run

    if not agents and (best is not None or least):
        raise click.UsageError("--best and --least go with --agent.")
    found = game_of(game, given)
    check_place(path)
    players = agents_of(found, agents)
    if best is None:
        with progress_bar("openings") as progress:
            solution = run(found, num_threads=threads, progress=progress, keep=path)
    else:
        solution = read_solution(best, found)
    report: Solution | AgentValues = solution
    if players:
        with progress_bar("openings") as progress:
            report = agent_values(found, players, solution, least=least, num_threads=threads, progress=progress)
    words = [found.spec] + [word for agent in agents for word in ("--agent", agent)]
    line = command_line("solve", *words, given=given, best=best, least=least or None, json=path)
    report = dataclasses.replace(report, command=line)
    click.echo(report.table())
    write(path, report.to_json())
    again(line)


@click.command()
@click.argument("game")
@click.argument("agents", nargs=-1, required=True)
@option_option
@json_option
def exploit(game: str, agents: tuple[str, ...], given: dict[str, str], path: Path | None) -> None:
    """Work out what AGENTS lose to opponents who know them. Exactly, in games of two seats that are small enough."""
    from backalley.benchmarks.exploit import exploitability

    found = game_of(game, given)
    check_place(path)
    report = exploitability(found, agents_of(found, agents))
    line = command_line("exploit", found.spec, *agents, given=given, json=path)
    report = dataclasses.replace(report, command=line)
    click.echo(report.table())
    write(path, report.to_json())
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
