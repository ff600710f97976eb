"""`backalley dev`: commands for maintainers. They measure published results, and write files that follow from the code.

Every command is declared here, calls one function, and says how to run it again. Results go to one file for each game
in the folder of `--json`, from which `backalley dev docs` makes tables and charts.
"""

from __future__ import annotations

import importlib
import re
from functools import partial
from pathlib import Path
from typing import Any

import click

import backalley
from backalley.console.command import CommandError, pairs, whole_numbers
from backalley.console.progress import progress_bar
from backalley.envs.core.game.game import Game

from ..measuring import end, folder_option, measure, run_program
from ..program import Program
from ..shared import (
    check_place,
    cluster_option,
    command_line,
    finish,
    game_of,
    json_option,
    option_option,
    threads_option,
)
from . import training

_GAMES = click.argument("games", nargs=-1)
_GAME = click.argument("game")


@click.group(cls=Program)
def dev() -> None:
    """Maintain the package: measure published results, and write files that follow from the code."""


def _all(names: tuple[str, ...]) -> list[Game]:
    return [backalley.game(name) for name in names or backalley.game_names()]


@dev.command()
@_GAMES
@click.option(
    "--with", "others", multiple=True, metavar="LABEL=AGENT", callback=pairs("LABEL=AGENT"), help="One more agent."
)
@threads_option
@cluster_option
@folder_option
def ladder(
    games: tuple[str, ...], others: dict[str, str], threads: int, cluster: str | None, folder: Path | None
) -> None:
    """Measure random play, bots, policy and searches of GAMES against each game's best bot. By default all games."""
    from backalley.benchmarks.publish.ladder import ladder as run

    if others and len(games) != 1:
        raise click.UsageError("--with goes with one game.")
    words = [word for label, spec in others.items() for word in ("--with", f"{label}={spec}")]
    for game in _all(games):
        work = partial(run, game, others, num_threads=threads, cluster=cluster)
        measure("ladder", game, words, folder, work)


@dev.command()
@_GAME
@click.argument("label")
@click.argument("agent")
@option_option
@click.option("--deals", type=click.IntRange(2), help="The first of the published deals; by default all.")
@threads_option
@folder_option
def enter(
    game: str, label: str, agent: str, given: dict[str, str], deals: int | None, threads: int, folder: Path | None
) -> None:
    """Measure AGENT against the best bot of GAME, on the decks of the ladder: an entry for the leaderboard. LABEL names
    it there, and its file."""
    from backalley.benchmarks.publish.ladder import enter as run

    found = game_of(game, given)
    if not re.fullmatch(r"\w+", label):
        raise CommandError(f"{label!r} is no label; a label has letters, digits and _.")
    path = None if folder is None else folder / f"entry_{found.name}_{label}.json"
    check_place(path)
    place = folder.as_posix() if folder else None
    line = command_line("dev", "enter", found.spec, label, agent, given=given, deals=deals, json=place)
    with progress_bar(found.name) as progress:
        entry = run(found, label, agent, deals=deals, num_threads=threads, progress=progress, keep=path, command=line)
    end(entry, path, line)


@dev.command()
@_GAME
@click.argument("others", nargs=-1, metavar="[LABEL=AGENT]...", callback=pairs("LABEL=AGENT"))
@threads_option
@cluster_option
@folder_option
def cross(game: str, others: dict[str, str], threads: int, cluster: str | None, folder: Path | None) -> None:
    """Play the bots and the policy of GAME, and others, all against all."""
    from backalley.benchmarks.publish.cross import cross as run

    (found,) = _all((game,))
    words = [f"{label}={spec}" for label, spec in others.items()]
    work = partial(run, found, others, num_threads=threads, cluster=cluster)
    measure("cross", found, words, folder, work)


@dev.command()
@_GAMES
@click.option(
    "--determinizations",
    callback=whole_numbers,
    default="20,80",
    show_default=True,
    help="Determinizations of the searches, with commas.",
)
@click.option("--deals", type=click.IntRange(2), help="Deals of every agent; by default those of publication.toml.")
@threads_option
@folder_option
def searches(
    games: tuple[str, ...], determinizations: tuple[int, ...], deals: int | None, threads: int, folder: Path | None
) -> None:
    """Measure the gains of searches in GAMES, by default all, and the milliseconds of a decision."""
    from backalley.benchmarks.publish.searches import searches as run

    settings = {"determinizations": ",".join(map(str, determinizations)), "deals": deals}
    for game in _all(games):
        measure(
            "searches", game, [], folder, partial(run, game, determinizations, deals, num_threads=threads), **settings
        )


@dev.command()
@_GAMES
@click.option(
    "--decisions", type=click.IntRange(1), default=10_000_000, show_default=True, help="Random decisions of each game."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--sets",
    type=click.IntRange(1),
    help="Share the decisions among at least this many sets of random options, until every value has been in one.",
)
@json_option
def soak(games: tuple[str, ...], decisions: int, seed: int, sets: int | None, path: Path | None) -> None:
    """Play GAMES, by default all, at random and check every invariant at each step."""
    from backalley.benchmarks.speed.soak import soak as run

    check_place(path)
    place = path.as_posix() if path else None
    line = command_line("dev", "soak", *games, decisions=decisions, seed=seed, sets=sets, json=place)
    with progress_bar("games") as progress:
        found = run(_all(games), decisions, seed, sets, progress=progress, command=line)
    end(found, path, line)


@dev.command()
@_GAMES
@click.option("--against", metavar="COMMIT", default="HEAD", show_default=True, help="The earlier commit.")
@click.option("--pairs", type=click.IntRange(2), default=5, show_default=True, help="Pairs of processes of each game.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=0.25,
    show_default=True,
    help="Processor time of a side in each of the four turns of a pair.",
)
@click.option(
    "--first-uses",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Processes of each side that begin with an empty cache of machine code.",
)
@json_option
def speed(games: tuple[str, ...], against: str, pairs: int, seconds: float, first_uses: int, path: Path | None) -> None:
    """Compare the speed of GAMES, by default all, with that of an earlier commit: play and first use, by processor
    time, in pairs."""
    from backalley.benchmarks.speed.against import against as run

    chosen, place = _all(games), path.as_posix() if path else None
    check_place(path)
    settings: dict[str, Any] = {"pairs": pairs, "seconds": seconds, "first_uses": first_uses}
    line = command_line("dev", "speed", *games, against=against, **settings, json=place)
    with progress_bar("games") as progress:
        found = run(chosen, against, **settings, progress=progress, keep=path, command=line)
    end(found, path, line)


@dev.command()
@_GAMES
@click.option("--pairs", type=click.IntRange(2), default=11, show_default=True, help="Pairs of turns of each game.")
@json_option
def events(games: tuple[str, ...], pairs: int, path: Path | None) -> None:
    """Measure what it costs to keep the events of tables of GAMES, by default all: with them against without, in
    pairs."""
    from backalley.benchmarks.speed.events_cost import events_cost

    chosen, place = _all(games), path.as_posix() if path else None
    check_place(path)
    line = command_line("dev", "events", *games, pairs=pairs, json=place)
    with progress_bar("games") as progress:
        found = events_cost(chosen, pairs=pairs, progress=progress, command=line)
    end(found, path, line)


@dev.command()
@_GAMES
@click.option("--runs", type=click.IntRange(50), default=2000, show_default=True, help="Simulated runs of each kind.")
@json_option
def sequential(games: tuple[str, ...], runs: int, path: Path | None) -> None:
    """Simulate sequential evaluation and gates on deals of GAMES, by default some, and on invented ones: coverage under
    constant looking, error rates, and the deals that they take."""
    from backalley.benchmarks.matches.sequential_checks import GAMES, sequential_checks

    check_place(path)
    line = command_line("dev", "sequential", *games, runs=runs, json=path.as_posix() if path else None)
    with progress_bar("laws") as progress:
        found = sequential_checks(_all(games or GAMES), runs=runs, progress=progress, command=line)
    end(found, path, line)


@dev.command()
@click.argument("names", nargs=-1, metavar="[LIBRARY]...")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the libraries' environments; by default one in your cache folder. It takes some gigabytes.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Processor time of each of three repetitions of a game.",
)
@json_option
def peers(names: tuple[str, ...], folder: Path | None, seconds: float, path: Path | None) -> None:
    """Measure the card games of other libraries, by default all that pip can install here, beside ours. LIBRARY is
    open_spiel, rlcard, pettingzoo, pgx or pufferlib."""
    from backalley.benchmarks.peers.peers import default_folder
    from backalley.benchmarks.peers.peers import peers as run

    check_place(path)
    place = path.as_posix() if path else None
    line = command_line("dev", "peers", *names, seconds=f"{seconds:g}", json=place)
    with progress_bar("libraries") as progress:
        found = run(names, folder or default_folder(), seconds=seconds, progress=progress, command=line)
    end(found, path, line)


@dev.command("cluster-check")
@json_option
def cluster_check(path: Path | None) -> None:
    """Check and measure work on a Ray of four nodes, which this starts on this machine, and of which it kills some."""
    from backalley.training.compare.cluster_check import cluster_check as run

    check_place(path)
    line = command_line("dev", "cluster-check", json=path.as_posix() if path else None)
    with progress_bar("checks") as progress:
        found = run(progress=progress, command=line)
    end(found, path, line)
    if not found.kept:
        raise click.exceptions.Exit(1)


@dev.command()
@_GAME
@click.option(
    "--samples", type=click.IntRange(1), default=24_000_000, show_default=True, help="Decisions to learn from."
)
@threads_option
@folder_option
def ppo(game: str, samples: int, threads: int, folder: Path | None) -> None:
    """Run the program of docs/guides/ppo.md on GAME: its samples a second on one thread and on all, and its wins."""
    from backalley.training.compare.guide import guide_ppo as run

    (found,) = _all((game,))

    def measured(keep: Path | None, **settings: Any) -> Any:  # nothing is kept: half a run is no curve
        return run(found, samples, sorted({1, threads}), **settings)

    measure("ppo", found, [], folder, measured, samples=samples, threads=threads)


@dev.command()
@click.argument("name")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=100.0, show_default=True)
@click.option("--deals", type=click.IntRange(2), default=5_000, show_default=True)
@folder_option
def library(name: str, seconds: float, deals: int, folder: Path | None) -> None:
    """Train with the program of docs/guides/libraries.md for NAME (torchrl, tianshou or rllib), which has to be
    installed, and evaluate it."""
    from backalley.training.compare.libraries import library_ppo

    run = partial(library_ppo, name, seconds, deals=deals)
    run_program(["library", name], folder, run, seconds=f"{seconds:g}", deals=deals)


@dev.command()
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=120.0, show_default=True)
@click.option("--deals", type=click.IntRange(2), default=2048, show_default=True)
@folder_option
def beliefs(seconds: float, deals: int, folder: Path | None) -> None:
    """Train the transformer of docs/guides/beliefs.md for so many seconds of processor time, and measure it."""
    from backalley.training.compare.beliefs import guide_beliefs

    run_program(["beliefs"], folder, partial(guide_beliefs, seconds, deals=deals), seconds=f"{seconds:g}", deals=deals)


@dev.command()
@click.option("--iterations", type=click.IntRange(1), default=100, show_default=True, help="Of CFR, in each game.")
@json_option
def openspiel(iterations: int, path: Path | None) -> None:
    """Compare Kuhn and Leduc poker with OpenSpiel's, and run its algorithms on our games. Needs PyTorch, dm-tree."""
    check_place(path)
    from backalley.openspiel.checks import openspiel_check as run

    line = command_line("dev", "openspiel", iterations=iterations, json=path.as_posix() if path else None)
    with progress_bar("checks") as progress:
        found = run(iterations, progress=progress, command=line)
    end(found, path, line)


@dev.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("name")
@click.option("--game", help="The import path of a game from outside the package.")
@click.option(
    "--serves",
    multiple=True,
    metavar="OPTION=VALUE,VALUE",
    callback=pairs("OPTION=VALUE,VALUE"),
    help="Values of an option under which it plays as well as under its own; may be repeated.",
)
def publish(run: Path, name: str, game: str | None, serves: dict[str, str]) -> None:
    """Copy the policy in RUN to its game, as the pretrained policy NAME."""
    from backalley.agents.policies.publish import ship

    served = {option: [value.strip() for value in values.split(",")] for option, values in serves.items()}
    click.echo(f"Written to {ship(run, name, None if game is None else backalley.game(game), served)}.")


@dev.command()
@_GAMES
def digests(games: tuple[str, ...]) -> None:
    """Write the behaviour digests of the policies of GAMES, by default all: after a change that alters play on
    purpose."""
    from backalley.agents.policies.publish import write_digests

    for game in _all(games):
        if (path := write_digests(game)) is not None:
            click.echo(f"Written to {path}.")


@dev.command()
@_GAME
@click.option("--seed", type=click.IntRange(0), default=0, help="Decides decks and random moves.")
@click.option("--bot", help="A bot of the game for every seat; random moves by default.")
@option_option
@click.option(
    "--out", type=click.Path(path_type=Path), help="The file; by default one in the game's playthroughs folder."
)
def playthrough(game: str, seed: int, bot: str | None, given: dict[str, str], out: Path | None) -> None:
    """Play one episode of GAME and keep it as a file that tests replay."""
    from backalley.envs.core.files.playthrough import make

    click.echo(f"Written to {make(game_of(game, given), seed, bot, out)}.")


@dev.command()
@click.option("--check", is_flag=True, help="Write nothing; fail if a file is not fresh.")
def docs(check: bool) -> None:
    """Write every table, chart and output of every page, and what `types` writes."""
    from backalley.benchmarks.publish import docs as pages
    from backalley.envs.core.files import typed

    _write({**pages.pages(), **typed.files()}, "docs", check=check)


@dev.command()
@click.option("--check", is_flag=True, help="Write nothing; fail if a file is not fresh.")
def types(check: bool) -> None:
    """Write the types of every game's options for type checkers and editors."""
    from backalley.envs.core.files import typed

    _write(typed.files(), "types", check=check)


def _write(fresh: dict[Path, Any], name: str, *, check: bool) -> None:
    from backalley.envs.core.files import docs

    if not check:
        for line in docs.write(fresh):
            click.echo(line)
    elif stale := docs.stale(fresh):
        raise CommandError(f"{', '.join(map(str, stale))}: not fresh; run backalley dev {name}.")


@dev.command()
@_GAME
@option_option
@click.option(
    "--most",
    type=click.IntRange(1),
    default=10_000_000,
    show_default=True,
    help="Stop where there are more information sets.",
)
@json_option
def count(game: str, given: dict[str, str], most: int, path: Path | None) -> None:
    """Count the deals, histories and information sets of a small GAME, by walking through all of them."""
    from backalley.benchmarks.exact.information_sets import count_information_sets as run

    found = game_of(game, given)
    check_place(path)
    line = command_line("dev", "count", found.spec, given=given, json=path)
    with progress_bar("information sets") as progress:
        counted = run(found, most=most, progress=progress)
    finish(counted, line, path)


@dev.command()
@_GAME
@click.argument("given", nargs=-1, metavar="[NAME=VALUE]...", callback=pairs())
def odds(game: str, given: dict[str, str]) -> None:
    """Print the exact odds of GAME under the options given. Baccarat and Twenty-One have some."""
    click.echo(_part(game, "odds").text(game_of(game, given)))


@dev.command()
@_GAME
@click.argument("table")
def tune(game: str, table: str) -> None:
    """Measure a TABLE that the bots of GAME use, and write it anew. Poker Duel has some."""
    tables = _part(game, "bots.tune").TABLES
    if table not in tables:
        raise CommandError(f"{game} has no table {table!r}; there are: {', '.join(tables)}.")
    click.echo(f"Written to {tables[table]()}.")


def _part(name: str, part: str) -> Any:
    """A module of a game's folder that not every game has."""
    game = backalley.game(name)
    module = f"{game.type.module.rpartition('.')[0]}.{part}"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        path = part.replace(".", "/")
        raise CommandError(f"{game.name} has no {path}.py beside its game.py.") from None


for _verb in (training.compare, training.learners, training.throughput):
    dev.add_command(_verb)
