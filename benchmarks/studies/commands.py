"""`backalley dev study NAME`: the measurements behind the project's pages. Every command is declared here, with the
function that measures. Results go to one file, or to one for each game in the folder of `--json`, from which `backalley
dev docs` makes tables and charts."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from backalley.cli.shared import (
    check_place,
    cluster_option,
    end,
    game_of,
    games_of,
    json_option,
    option_option,
    this_line,
    threads_option,
    write_pages,
)
from backalley.console.command import CommandError, Program, pairs, whole_numbers
from backalley.console.progress import progress_bar
from backalley.envs.core.files import typed

_GAMES = click.argument("games", nargs=-1, is_eager=True)
_GAME = click.argument("game")
_FOLDER = click.Path(path_type=Path, file_okay=False)
_LEFT_OUT = ("cluster", "folder", "runs")
"""Options that are not in the line that measures again: what is found does not depend on them."""
_SAMPLED = ("pitch", "poker_duel", "killer_bridge", "missouri_city", "bezique")
"""The games from whose deals simulations draw."""
_SEED = click.option("--seed", type=click.IntRange(0), default=0, show_default=True)


def _count(name: str, default: int | None, said: str = "", least: int = 1, most: int | None = None) -> Any:
    """An option that is a whole number; its last name is the function's."""
    kind = click.IntRange(least, most)
    return click.option(*name.split(), type=kind, default=default, show_default=default is not None, help=said)


def _seconds(name: str, default: float, said: str = "") -> Any:
    kind = click.FloatRange(0, min_open=True)
    return click.option(*name.split(), type=kind, default=default, show_default=True, help=said)


def _budget(default: float) -> Any:
    said = "Processor time of each run."
    return click.option("--processor-seconds", type=float, default=default, show_default=True, help=said)


def _listed(ctx: click.Context, parameter: click.Parameter, given: str) -> tuple[str, ...]:
    """Words with commas."""
    return tuple(word.strip() for word in given.split(",") if word.strip())


def _words(name: str, default: str, said: str, reads: Any = _listed) -> Any:
    return click.option(*name.split(), default=default, show_default=bool(default), callback=reads, help=said)


def _measures(where: str, *parameters: Any, file: str = "") -> Callable[[Callable[[], None]], Callable[..., None]]:
    """Give a command its parameters, and let it call `where`, MODULE:FUNCTION, by their names. `file` is the name of a
    file of results in the folder of `--json`, as `{game}` and other parameters have it, one for each of several games;
    without it `--json` names the file. What was measured is shown, written, and said how to measure again."""
    folder = click.option("--json", "path", type=_FOLDER, help="Write a file for each game to this folder.")

    def of(said: Callable[[], None]) -> Callable[..., None]:
        def command(path: Path | None, **given: Any) -> None:
            if "game" in given:
                given["game"] = game_of(given["game"], given.pop("given", {}))
            if file and "games" in given:
                for game in games_of(given.pop("games")):
                    _measure(where, {"game": game, **given}, path and path / f"{file.format(game=game.name)}.json")
                return
            if "games" in given:
                given["games"] = games_of(given["games"])
            named = {**given, "game": getattr(given.get("game"), "name", "")}
            _measure(where, given, path and path / f"{file.format(**named)}.json" if file else path)

        command.__name__, command.__doc__ = said.__name__, said.__doc__
        for parameter in reversed((*parameters, folder if file else json_option)):
            command = parameter(command)
        return command

    return of


def _measure(where: str, given: dict[str, Any], path: Path | None) -> None:
    """Measure once, and write the file `path`."""
    check_place(path)
    module, _, name = where.partition(":")
    run = getattr(importlib.import_module(f".{module}", __package__), name)
    takes, ctx, game = inspect.signature(run).parameters, click.get_current_context(), given.get("game")
    one: dict[str, Any] = {"game": game.spec, "games": (game.spec,)} if game else {}
    line = this_line(**one, **dict.fromkeys(_LEFT_OUT))
    if "num_threads" in takes:
        given = {**given, "num_threads": given["threads"]}
    with progress_bar(game.name if game else str(ctx.command.name)) as progress:
        more = {"progress": progress, "keep": path, "command": line, **given}
        found = run(**{name: value for name, value in more.items() if name in takes or name == "command"})
    end(found, path, found.to_json()["command"])
    if not getattr(found, "kept", True):
        raise click.exceptions.Exit(1)


@click.group(cls=Program)
def study() -> None:
    """Measure results of the pages: only in a checkout of the repository."""


def _of_one_game(ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    if given and len(ctx.params["games"]) != 1:
        raise click.UsageError("--with goes with one game.")
    return pairs("LABEL=AGENT")(ctx, parameter, given)


@study.command()
@_measures(
    "strength.ladder:ladder", _GAMES,
    click.option("--with", "others", multiple=True, metavar="LABEL=AGENT", callback=_of_one_game, help="One more."),
    threads_option, cluster_option, file="ladder_{game}",
)  # fmt: skip
def ladder() -> None:
    """Measure random play, bots, policy and searches of GAMES against each game's best bot. By default all games."""


def _label(ctx: click.Context, parameter: click.Parameter, given: str) -> str:
    if not re.fullmatch(r"\w+", given):
        raise CommandError(f"{given!r} is no label; a label has letters, digits and _.")
    return given


@study.command()
@_measures(
    "strength.ladder:enter", _GAME, click.argument("label", callback=_label), click.argument("spec", metavar="AGENT"),
    option_option, _count("--deals", None, "The first of the published deals; by default all.", 2), threads_option,
    file="entry_{game}_{label}",
)  # fmt: skip
def enter() -> None:
    """Measure AGENT against the best bot of GAME, on the decks of the ladder: an entry for the leaderboard. LABEL names
    it there, and its file."""


@study.command()
@_measures(
    "strength.cross:cross", _GAME,
    click.argument("others", nargs=-1, metavar="[LABEL=AGENT]...", callback=pairs("LABEL=AGENT")),
    threads_option, cluster_option, file="cross_{game}",
)  # fmt: skip
def cross() -> None:
    """Play the bots and the policy of GAME, and others, all against all."""


@study.command()
@_measures(
    "strength.searches:searches", _GAMES,
    _words("--determinizations", "20,80", "Determinizations of the searches, with commas.", whole_numbers),
    _count("--deals", None, "Deals of every agent; by default those of publication.toml.", 2),
    threads_option, file="searches_{game}",
)  # fmt: skip
def searches() -> None:
    """Measure the gains of searches in GAMES, by default all, and the milliseconds of a decision."""


@study.command()
@_measures("play.events_cost:events_cost", _GAMES, _count("--pairs", 11, "Pairs of turns of each game.", 2))
def events() -> None:
    """Measure what it costs to keep the events of tables of GAMES, by default all: with them against without, in
    pairs."""


@study.command()
@_measures("play.mutants:mutants", _count("--number", 100, "Lines that are changed, in all.", 3), _SEED)
def mutants() -> None:
    """Plant leaks in three games, one changed line at a time, and count those that `backalley check` finds."""


@study.command()
@_measures(
    "play.sequential_checks:sequential_checks",
    click.argument("games", nargs=-1, callback=lambda ctx, parameter, given: given or _SAMPLED),
    _count("--runs", 2000, "Simulated runs of each kind.", 50),
)  # fmt: skip
def sequential() -> None:
    """Simulate sequential evaluation and gates on deals of GAMES, by default some, and on invented ones: coverage under
    constant looking, error rates, and the deals that they take."""


@study.command()
@_measures(
    "peers.peers:peers", click.argument("names", nargs=-1, metavar="[LIBRARY]..."),
    click.option("--folder", type=_FOLDER, help="Of the libraries' environments: gigabytes; by default in your cache."),
    _seconds("--seconds", 1.0, "Processor time of each of three repetitions of a game."),
)  # fmt: skip
def peers() -> None:
    """Measure the card games of other libraries, by default all that pip can install here, beside ours. LIBRARY is
    open_spiel, rlcard, pettingzoo, pgx or pufferlib."""


@study.command("cluster-check")
@_measures("play.cluster_check:cluster_check")
def cluster_check() -> None:
    """Check and measure work on a Ray of four nodes, which this starts on this machine, and of which it kills some."""


@study.command()
@_measures(
    "learning.guide:guide_ppo", _GAME, _count("--samples", 24_000_000, "Decisions to learn from."), threads_option,
    file="ppo_{game}",
)  # fmt: skip
def ppo() -> None:
    """Run the program of docs/guides/ppo.md on GAME: its samples a second on one thread and on all, and its wins."""


@study.command()
@_measures(
    "learning.libraries:library_ppo", click.argument("name"), _seconds("--seconds", 100.0),
    _count("--deals", 5_000, "", 2), file="library_{name}",
)  # fmt: skip
def library() -> None:
    """Train with the program of docs/guides/libraries.md for NAME (torchrl, tianshou or rllib), which has to be
    installed, and evaluate it."""


@study.command()
@_measures(
    "learning.beliefs:guide_beliefs", _seconds("--seconds", 120.0), _count("--deals", 2048, "", 2), file="beliefs"
)
def beliefs() -> None:
    """Train the transformer of docs/guides/beliefs.md for so many seconds of processor time, and measure it."""


@study.command()
@_measures("play.openspiel_check:openspiel_check", _count("--iterations", 100, "Of CFR, in each game."))
def openspiel() -> None:
    """Compare Kuhn and Leduc poker with OpenSpiel's, and run its algorithms on our games. Needs PyTorch, dm-tree."""


@study.command()
@_measures(
    "learning.training_comparison:compare", _GAME,
    _count("--seeds num_seeds", 3, "Runs of each method.", 1, 100),
    _budget(120.0),
    _words("--methods", "", "Some of the methods, with commas; by default all that the game has."),
    click.option("--runs", type=_FOLDER, default=Path("runs") / "methods", show_default=True, help="Their folder."),
    file="methods_{game}",
)  # fmt: skip
def compare() -> None:
    """Compare the methods of training a policy for GAME, each over several training seeds."""


@study.command()
@_measures(
    "learning.learners:learners", _GAME, _count("--seeds num_seeds", 3, "Runs of each learner."),
    _budget(60.0),
    _words("--learners names", "", "Some of the learners, with commas; by default all."), option_option,
)  # fmt: skip
def learners() -> None:
    """Compare learning algorithms by what their policies lose to best responses in GAME, which has to be small."""


@study.command()
@_measures(
    "learning.throughput:throughput", _GAME,
    _words("--phases", "ppo,rollouts", "Kinds of phases, and sb3, with commas."),
    _words("--threads", "1,2", "Numbers of threads, with commas.", whole_numbers), _seconds("--seconds", 120.0),
    file="throughput_{game}",
)  # fmt: skip
def throughput() -> None:
    """Measure how many decisions and samples a second the phases of training GAME make."""


@click.command()
@_measures(
    "play.against:against", _GAMES,
    click.option("--against", "commit", metavar="COMMIT", default="HEAD", show_default=True, help="An earlier one."),
    _count("--pairs", 5, "Pairs of processes of each game.", 2),
    _seconds("--seconds", 0.25, "Processor time of a side in each of the four turns of a pair."),
    _count("--first-uses", 1, "Processes of each side that begin with an empty cache of machine code.", 0),
)  # fmt: skip
def speed() -> None:
    """Compare the speed of GAMES, by default all, with that of an earlier commit: play and first use, by processor
    time, in pairs."""


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail if a file is not fresh.")
def docs(check: bool) -> None:
    """Write every table, chart and output of every page, and what `types` writes."""
    from .pages import docs as pages

    write_pages({**pages.pages(), **typed.files()}, "docs", check=check)


@click.command()
@_measures(
    "play.chaos:chaos", _count("--mutations", 50_000, "Damaged files, in all.", 0),
    _count("--kills", 200, "Of each thing that is killed, fails or forks.", 0),
    _count("--faults", 79, "Of programs and servers of models.", 0),
    _count("--clicks", 200, "Of a player at a server that others flood.", 0), _SEED,
)  # fmt: skip
def chaos() -> None:
    """Damage files, kill processes and tasks, fill disks, let threads fail, fork, play with faulty programs, and flood
    a server of tables: nothing may be lost, run or disturbed."""
