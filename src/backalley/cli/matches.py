"""Commands that play matches: evaluations, tournaments, people at the terminal, and a server for language models."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from backalley.console.command import INTERRUPTED
from backalley.console.errors import one_line
from backalley.console.progress import progress_bar

from .shared import (
    again,
    agents_argument,
    agents_of,
    check_place,
    cluster_option,
    command_line,
    finish,
    json_option,
    of_a_game,
    returns_of,
    seed_option,
    this_line,
    threads_option,
)

if TYPE_CHECKING:
    from backalley.benchmarks.matches.until import Until
    from backalley.envs.core.game.game import Game


def width_or_decided(ctx: click.Context, parameter: click.Parameter, given: str | None) -> Until | None:
    """The value of `--until`."""
    if given is None:
        return None
    if given == "decided":
        return "decided"
    try:
        return float(given)
    except ValueError:
        raise click.BadParameter(f"{given!r} is neither a half-width, such as 0.01, nor decided.") from None


@click.command()
@of_a_game
@agents_argument
@click.option("--deals", type=int, help="Deals to play, 4,096 by default; with --until the most, 1,000,000 by default.")
@click.option(
    "--precision",
    type=float,
    help="Half-width wanted for the mean returns; a pilot of 256 deals decides how many are played.",
)
@click.option(
    "--until",
    metavar="WIDTH|decided",
    callback=width_or_decided,
    help="Play until every mean return has this half-width, or every difference an interval without 0. The intervals "
    "then hold whenever one stops.",
)
@seed_option(0, "Decides decks and the agents' own randomness.")
@threads_option
@cluster_option
@click.option(
    "--by-phase", is_flag=True, help="What each phase of the first of two agents gains where all else is the second."
)
@json_option
def evaluate(
    game: Game,
    agents: tuple[str, ...],
    threads: int,
    cluster: str | None,
    path: Path | None,
    by_phase: bool,
    **settings: Any,
) -> None:
    """Play AGENTS against each other. Every deck is played in every seating.

    Two agents, or one for each side or each seat; in a game of one side any number, each on the same decks by itself.
    With two agents and more than two sides the first plays alone against copies of the second.
    """
    from backalley.benchmarks.matches.evaluate import evaluate as run

    check_place(path)
    players = agents_of(game, agents, 1 if cluster else threads)
    if by_phase:
        from backalley.benchmarks.matches.by_phase import by_phase as run_by_phase
        from backalley.benchmarks.matches.by_phase import phases

        if len(players) != 2:
            raise click.UsageError(f"--by-phase compares two agents, and {len(players)} were given.")
        with progress_bar("deals") as progress:
            reports = run_by_phase(game, *players, num_threads=threads, progress=progress, cluster=cluster, **settings)
        return finish(phases(reports), path)
    with progress_bar("deals") as progress:
        report = run(game, players, num_threads=threads, progress=progress, keep=path, cluster=cluster, **settings)
    finish(report, path, **({} if settings["until"] else {"deals": report.planned, "precision": None}))
    if not report.complete:
        kept = (
            "the same line goes on from here"
            if path
            else "with --json FILE an interrupted evaluation could be taken up again"
        )
        click.echo(f"Stopped by Ctrl-C; the report is of the deals finished so far, and {kept}.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


@click.command()
@of_a_game
@agents_argument
@click.option("--deals", type=int, default=2048, help="Deals for each pairing.")
@seed_option(0, "Decides decks and the agents' own randomness.")
@threads_option
@cluster_option
@json_option
def tournament(
    game: Game, agents: tuple[str, ...], threads: int, cluster: str | None, path: Path | None, **settings: Any
) -> None:
    """Rate AGENTS, all against all. Every pairing plays the same decks."""
    from backalley.benchmarks.matches.tournament import tournament as run

    players = agents_of(game, agents, 1 if cluster else threads)
    check_place(path)
    with progress_bar("deals") as progress:
        table = run(game, players, num_threads=threads, progress=progress, keep=path, cluster=cluster, **settings)
    finish(table, path)


@click.command()
@of_a_game
@click.option("--seat", type=int, default=0, help="Where you sit.")
@click.option(
    "--opponent",
    "opponents",
    multiple=True,
    help="One for all others, or one for each; the game's best bot by default, level:1 for the weakest of up to ten, "
    "human for somebody beside you.",
)
@click.option(
    "--hint",
    "adviser",
    help="The agent that gives hints; a search, which is the default, says what each action is worth.",
)
@click.option("--shared", is_flag=True, help="Do not clear the screen between people: you play all their seats.")
@click.option(
    "--save",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the game to this file at its end, for replay.",
)
@seed_option(None, "Decides the deal; random by default.")
def play(
    game: Game,
    seat: int,
    opponents: tuple[str, ...],
    adviser: str | None,
    shared: bool,
    path: Path | None,
    seed: int | None,
) -> None:
    """Play GAME at the terminal. One episode; you play --seat. Type ? for the legal actions, hint for advice, undo to
    take your last action back."""
    from backalley.agents.people.human import play as run
    from backalley.agents.people.terminal import LeftTable, Terminal, shown

    check_place(path)
    others = agents_of(game, opponents or (("bot",) if game.num_seats > 1 else ()))
    (hints,) = agents_of(game, [adviser or "search"])
    seed = secrets.randbelow(1_000_000) if seed is None else seed
    try:
        returns = run(game, others, seat=seat, seed=seed, terminal=Terminal(hides=not shared), adviser=hints, save=path)
    except LeftTable:
        without = f" {one_line(str(path))} was not written." if path else ""
        click.echo(f"\nYou left the table before the end.{without}")
    else:
        gains = returns_of(game, returns, None if "human" in opponents else seat)
        shown(f"\nThe game is over. Returns: {gains}.")
        if path is not None:
            click.echo(f"Written to {one_line(str(path))}: {command_line('replay', str(path))}")
    again(this_line(seed=seed))


@click.command()
def mcp() -> None:
    """Serve the games to language models by the Model Context Protocol, on standard input and output. Needs the extra
    mcp. A client starts this command itself; by hand there is nothing to see."""
    from backalley.mcp import server

    server().run("stdio")
