"""`backalley dev study NAME`: the measurements behind the project's pages. Every command is declared here, calls one
function, and says how to run it again. Results go to one file for each game in the folder of `--json`, from which
`backalley dev docs` makes tables and charts."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import click

from backalley.cli.program import Program
from backalley.cli.shared import (
    check_place,
    cluster_option,
    command_line,
    end,
    game_of,
    games_of,
    json_option,
    option_option,
    threads_option,
    write_pages,
)
from backalley.console.command import INTERRUPTED, CommandError, pairs, whole_numbers
from backalley.console.progress import progress_bar
from backalley.envs.core.files import typed

from .runner import file_of, folder_option, measure, run_program

_GAMES = click.argument("games", nargs=-1)
_GAME = click.argument("game")


@click.group(cls=Program)
def study() -> None:
    """Measure results of the pages: only in a checkout of the repository."""


@study.command()
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
    from .strength.ladder import ladder as run

    if others and len(games) != 1:
        raise click.UsageError("--with goes with one game.")
    words = [word for label, spec in others.items() for word in ("--with", f"{label}={spec}")]
    for game in games_of(games):
        work = partial(run, game, others, num_threads=threads, cluster=cluster)
        measure("ladder", game, words, folder, work)


@study.command()
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
    from .strength.ladder import enter as run

    found = game_of(game, given)
    if not re.fullmatch(r"\w+", label):
        raise CommandError(f"{label!r} is no label; a label has letters, digits and _.")
    path = None if folder is None else folder / f"entry_{found.name}_{label}.json"
    check_place(path)
    place = folder.as_posix() if folder else None
    line = command_line("dev", "study", "enter", found.spec, label, agent, option=given, deals=deals, json=place)
    with progress_bar(found.name) as progress:
        entry = run(found, label, agent, deals=deals, num_threads=threads, progress=progress, keep=path, command=line)
    end(entry, path, line)


@study.command()
@_GAME
@click.argument("others", nargs=-1, metavar="[LABEL=AGENT]...", callback=pairs("LABEL=AGENT"))
@threads_option
@cluster_option
@folder_option
def cross(game: str, others: dict[str, str], threads: int, cluster: str | None, folder: Path | None) -> None:
    """Play the bots and the policy of GAME, and others, all against all."""
    from .strength.cross import cross as run

    (found,) = games_of((game,))
    words = [f"{label}={spec}" for label, spec in others.items()]
    work = partial(run, found, others, num_threads=threads, cluster=cluster)
    measure("cross", found, words, folder, work)


@study.command()
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
    from .strength.searches import searches as run

    settings = {"determinizations": ",".join(map(str, determinizations)), "deals": deals}
    for game in games_of(games):
        measure(
            "searches", game, [], folder, partial(run, game, determinizations, deals, num_threads=threads), **settings
        )


@study.command()
@_GAMES
@click.option("--pairs", type=click.IntRange(2), default=11, show_default=True, help="Pairs of turns of each game.")
@json_option
def events(games: tuple[str, ...], pairs: int, path: Path | None) -> None:
    """Measure what it costs to keep the events of tables of GAMES, by default all: with them against without, in
    pairs."""
    from .play.events_cost import events_cost

    chosen, place = games_of(games), path.as_posix() if path else None
    check_place(path)
    line = command_line("dev", "study", "events", *games, pairs=pairs, json=place)
    with progress_bar("games") as progress:
        found = events_cost(chosen, pairs=pairs, progress=progress, command=line)
    end(found, path, line)


@study.command()
@click.option(
    "--number", type=click.IntRange(3), default=100, show_default=True, help="Lines that are changed, in all."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@json_option
def mutants(number: int, seed: int, path: Path | None) -> None:
    """Plant leaks in three games, one changed line at a time, and count those that `backalley check` finds."""
    from .play.mutants import mutants as run

    check_place(path)
    line = command_line("dev", "study", "mutants", number=number, seed=seed, json=path.as_posix() if path else None)
    with progress_bar("games") as progress:
        found = run(number, seed=seed, progress=progress, command=line)
    end(found, path, line)


@study.command()
@_GAMES
@click.option("--runs", type=click.IntRange(50), default=2000, show_default=True, help="Simulated runs of each kind.")
@json_option
def sequential(games: tuple[str, ...], runs: int, path: Path | None) -> None:
    """Simulate sequential evaluation and gates on deals of GAMES, by default some, and on invented ones: coverage under
    constant looking, error rates, and the deals that they take."""
    from .play.sequential_checks import GAMES, sequential_checks

    check_place(path)
    line = command_line("dev", "study", "sequential", *games, runs=runs, json=path.as_posix() if path else None)
    with progress_bar("laws") as progress:
        found = sequential_checks(games_of(games or GAMES), runs=runs, progress=progress, command=line)
    end(found, path, line)


@study.command()
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
    from .peers.peers import default_folder
    from .peers.peers import peers as run

    check_place(path)
    place = path.as_posix() if path else None
    line = command_line("dev", "study", "peers", *names, seconds=f"{seconds:g}", json=place)
    with progress_bar("libraries") as progress:
        found = run(names, folder or default_folder(), seconds=seconds, progress=progress, command=line)
    end(found, path, line)


@study.command("cluster-check")
@json_option
def cluster_check(path: Path | None) -> None:
    """Check and measure work on a Ray of four nodes, which this starts on this machine, and of which it kills some."""
    from .play.cluster_check import cluster_check as run

    check_place(path)
    line = command_line("dev", "study", "cluster-check", json=path.as_posix() if path else None)
    with progress_bar("checks") as progress:
        found = run(progress=progress, command=line)
    end(found, path, line)
    if not found.kept:
        raise click.exceptions.Exit(1)


@study.command()
@_GAME
@click.option(
    "--samples", type=click.IntRange(1), default=24_000_000, show_default=True, help="Decisions to learn from."
)
@threads_option
@folder_option
def ppo(game: str, samples: int, threads: int, folder: Path | None) -> None:
    """Run the program of docs/guides/ppo.md on GAME: its samples a second on one thread and on all, and its wins."""
    from .learning.guide import guide_ppo as run

    (found,) = games_of((game,))

    def measured(keep: Path | None, **settings: Any) -> Any:  # nothing is kept: half a run is no curve
        return run(found, samples, sorted({1, threads}), **settings)

    measure("ppo", found, [], folder, measured, samples=samples, threads=threads)


@study.command()
@click.argument("name")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=100.0, show_default=True)
@click.option("--deals", type=click.IntRange(2), default=5_000, show_default=True)
@folder_option
def library(name: str, seconds: float, deals: int, folder: Path | None) -> None:
    """Train with the program of docs/guides/libraries.md for NAME (torchrl, tianshou or rllib), which has to be
    installed, and evaluate it."""
    from .learning.libraries import library_ppo

    run = partial(library_ppo, name, seconds, deals=deals)
    run_program(["library", name], folder, run, seconds=f"{seconds:g}", deals=deals)


@study.command()
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=120.0, show_default=True)
@click.option("--deals", type=click.IntRange(2), default=2048, show_default=True)
@folder_option
def beliefs(seconds: float, deals: int, folder: Path | None) -> None:
    """Train the transformer of docs/guides/beliefs.md for so many seconds of processor time, and measure it."""
    from .learning.beliefs import guide_beliefs

    run_program(["beliefs"], folder, partial(guide_beliefs, seconds, deals=deals), seconds=f"{seconds:g}", deals=deals)


@study.command()
@click.option("--iterations", type=click.IntRange(1), default=100, show_default=True, help="Of CFR, in each game.")
@json_option
def openspiel(iterations: int, path: Path | None) -> None:
    """Compare Kuhn and Leduc poker with OpenSpiel's, and run its algorithms on our games. Needs PyTorch, dm-tree."""
    check_place(path)
    from .play.openspiel_check import openspiel_check as run

    line = command_line("dev", "study", "openspiel", iterations=iterations, json=path.as_posix() if path else None)
    with progress_bar("checks") as progress:
        found = run(iterations, progress=progress, command=line)
    end(found, path, line)


@study.command()
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
    from backalley.training.train import Stopped

    from .learning.training_comparison import compare as run

    found = game_of(game, {})
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


@study.command()
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
    from .learning.learners import learners as run

    check_place(path)
    found, place = game_of(game, given), path.as_posix() if path else None
    settings = {"seeds": seeds, "processor_seconds": f"{processor_seconds:g}", "learners": names or None}
    line = command_line("dev", "study", "learners", found.spec, option=given, **settings, json=place)
    chosen = [name.strip() for name in names.split(",")] if names else []
    with progress_bar(found.name) as progress:
        made = run(
            found, chosen, num_seeds=seeds, processor_seconds=processor_seconds, keep=path, progress=progress,
            command=line,
        )  # fmt: skip
    end(made, path, line)


@study.command()
@_GAME
@click.option("--phases", default="ppo,rollouts", show_default=True, help="Kinds of phases, and sb3, with commas.")
@click.option(
    "--threads", default="1,2", show_default=True, callback=whole_numbers, help="Numbers of threads, with commas."
)
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=120.0, show_default=True)
@folder_option
def throughput(game: str, phases: str, threads: tuple[int, ...], seconds: float, folder: Path | None) -> None:
    """Measure how many decisions and samples a second the phases of training GAME make."""
    from .learning.throughput import throughput as run

    found = game_of(game, {})
    settings = {"phases": phases, "threads": ",".join(map(str, threads)), "seconds": f"{seconds:g}"}

    def measured(keep: Path | None, **settings: Any) -> Any:  # nothing is kept: rates of two halves are no rate
        return run(found, phases.split(","), threads, seconds, **settings)

    measure("throughput", found, [], folder, measured, **settings)


@click.command()
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
    from .play.against import against as run

    chosen, place = games_of(games), path.as_posix() if path else None
    check_place(path)
    settings: dict[str, Any] = {"pairs": pairs, "seconds": seconds, "first_uses": first_uses}
    line = command_line("dev", "speed", *games, against=against, **settings, json=place)
    with progress_bar("games") as progress:
        found = run(chosen, against, **settings, progress=progress, keep=path, command=line)
    end(found, path, line)


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail if a file is not fresh.")
def docs(check: bool) -> None:
    """Write every table, chart and output of every page, and what `types` writes."""
    from .pages import docs as pages

    write_pages({**pages.pages(), **typed.files()}, "docs", check=check)


@click.command()
@click.option("--mutations", type=click.IntRange(0), default=50_000, show_default=True, help="Damaged files, in all.")
@click.option("--kills", type=click.IntRange(0), default=200, show_default=True, help="Kills of a process that writes.")
@click.option(
    "--faults", type=click.IntRange(0), default=79, show_default=True, help="Of programs and servers of models."
)
@click.option(
    "--clicks",
    type=click.IntRange(0),
    default=200,
    show_default=True,
    help="Of a player at a server that others flood.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@json_option
def chaos(mutations: int, kills: int, faults: int, clicks: int, seed: int, path: Path | None) -> None:
    """Damage files, kill processes, fill disks, play with faulty programs, and flood a server of tables: nothing may be
    lost, run or disturbed."""
    from .play.chaos import chaos as run

    check_place(path)
    settings: dict[str, Any] = {
        "mutations": mutations,
        "kills": kills,
        "faults": faults,
        "clicks": clicks,
        "seed": seed,
    }
    line = command_line("dev", "chaos", **settings, json=path.as_posix() if path else None)
    with progress_bar("chaos") as progress:
        found = run(**settings, progress=progress, command=line)
    end(found, path, line)
    if not found.kept:
        raise click.exceptions.Exit(1)
