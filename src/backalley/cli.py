"""The command line: one program, thin verbs. Each calls one function of the folder that owns its work, and says how to
run it again.

What goes wrong is said in a sentence, with exit code 2; Ctrl-C ends with 130.
"""

from __future__ import annotations

import dataclasses
import difflib
import dis
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import backalley
from backalley.envs.core.base import Game
from backalley.envs.core.workers import cores
from backalley.progress import progress_bar

if TYPE_CHECKING:
    from backalley.agents.base import Agent

EXTRAS = {"torch", "stable_baselines3", "sb3_contrib", "safetensors", "tensorboard", "yaml"}
"""Modules that come with `pip install 'backalley[train]'`."""
WRONG, INTERRUPTED = 2, 130


class CommandError(click.ClickException):
    """What went wrong, in one line."""

    exit_code = WRONG

    def show(self, file: Any = None) -> None:
        """`Error: ...` on standard error."""
        click.echo(f"Error: {self.message}", err=True)


def _ours(error: BaseException) -> bool:
    """Whether an error was raised by a `raise` of this package's own code, and so has a sentence for a person; others
    are bugs and keep their trace."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or str(trace.tb_frame.f_globals.get("__name__", "")).split(".")[0] != "backalley":
        return False
    return dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")


class Program(click.Group):
    """The verbs in the order written, with every known error turned into its sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of this file."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was typed; for a wrong one, the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            near = difflib.get_close_matches(args[0], list(self.commands), 1)
            meant = f" Did you mean {near[0]}?" if near else f" There are: {', '.join(self.commands)}."
            raise CommandError(f"There is no command {args[0]!r}.{meant}") from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            click.echo("\nStopped by Ctrl-C.", err=True)
            ctx.exit(INTERRUPTED)
        except ModuleNotFoundError as error:
            missing = (error.name or "").split(".")[0]
            if missing not in EXTRAS:
                raise
            raise CommandError(
                f"This needs {missing}, which is not installed: pip install 'backalley[train]'"
            ) from error
        except MemoryError as error:
            raise CommandError("This does not fit into memory; ask for fewer tables, deals or worlds.") from error
        except BrokenPipeError:
            raise
        except OSError as error:
            named = f"{error.filename}: " if error.filename is not None else ""
            raise CommandError(f"{named}{error.strerror}." if error.strerror else str(error)) from error
        except (ValueError, TypeError) as error:
            if not _ours(error):
                raise
            raise CommandError(str(error)) from error


def _pairs(ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for item in given:
        name, sign, value = item.partition("=")
        if not sign or not name:
            raise click.BadParameter(f"{item!r} is not of the form NAME=VALUE.", ctx, parameter)
        found[name.strip()] = value.strip()
    return found


def _threads(ctx: click.Context, parameter: click.Parameter, given: int | None) -> int:
    return cores() if given is None else given


option_option = click.option(
    "--option",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_pairs,
    help="An option of the game; may be repeated.",
)
json_option = click.option(
    "--json", "path", type=click.Path(path_type=Path), metavar="FILE", help="Write the results to this file, too."
)
threads_option = click.option(
    "--threads",
    type=click.IntRange(1),
    callback=_threads,
    help="Threads; every core by default. Results do not depend on it.",
)


def seed_option(default: int | None, doc: str) -> Callable[[Any], Any]:
    """`--seed`, a whole number of 0 or more."""
    return click.option("--seed", type=click.IntRange(0), default=default, show_default=default is not None, help=doc)


def _game(name: str, given: Mapping[str, str]) -> Game:
    return backalley.game(name, **given)


def _agents(game: Game, specs: Sequence[str], threads: int = 0) -> list[Agent]:
    from backalley.agents.registry import agent

    return [agent(spec, game, num_threads=threads) for spec in specs]


def _check_place(path: Path | None) -> None:
    from backalley.benchmarks import results

    if path is not None:
        results.check_place(path)


def _write(path: Path | None, payload: Mapping[str, Any]) -> None:
    from backalley.benchmarks import results

    if path is not None:
        results.write(path, payload)
        click.echo(f"Written to {path}.", err=True)


def command_line(verb: str, *words: str, given: Mapping[str, str] | None = None, **settings: Any) -> str:
    """The line that runs a verb again: words, the game's options, and settings, of which those that are None or False
    are left out."""
    line = ["backalley", verb, *words]
    for name, value in (given or {}).items():
        line += ["--option", f"{name}={value}"]
    for name, value in settings.items():
        if isinstance(value, dict):
            for key, item in value.items():
                line += [f"--{name}", f"{key}={item}"]
        elif value is True:
            line.append(f"--{name.replace('_', '-')}")
        elif value is not None and value is not False:
            line += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(line)


def _again(line: str) -> None:
    click.echo(f"\nAgain: {line}")


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(backalley.__version__, prog_name="backalley")
def main() -> None:
    """Card games for reinforcement learning.

    Agents are named random, bot (a game's best), bot:NAME, mc:WORLDS[:MILLISECONDS] (a search with so many redrawn
    worlds, and so much time, for each decision), by the folder of a trained policy, or, for one's own, module:Class,
    file.py:Class or sb3:model.zip.
    """


@main.command()
def games() -> None:
    """List the games. Seats, actions and observation size are those of the default options."""
    from backalley.benchmarks import tabular

    rows, troubles = [], []
    for name in backalley.game_names():
        try:
            game = backalley.game(name)
            numbers = (game.num_seats, game.num_actions, game.observation_size)
        except Exception as error:  # a game that is being written must not stand in the others' way
            troubles.append(f"{name} cannot be loaded: {type(error).__name__}: {error}")
            continue
        rows.append([game.id, game.title, ", ".join(game.bots) or "none", *map(str, numbers)])
        if not (game.type.folder / "README.md").is_file():
            troubles.append(f"{name} has no README.md, the page of its rules.")
    click.echo(tabular.text(["game", "title", "bots", "seats", "actions", "observation"], rows, left=3))
    for sentence in troubles:
        click.echo(sentence, err=True)
    _again(command_line("games"))


@main.command()
@click.argument("game")
def rules(game: str) -> None:
    """Print the page of GAME. It has the rules, options, actions, observation and bots."""
    found = backalley.game(game)
    page = found.type.folder / "README.md"
    if not page.is_file():
        raise CommandError(f"{found.name} has no page: there is no README.md beside its game.py.")
    text = page.read_text("utf-8")
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        click.echo(text)
    click.echo(f"Again: {command_line('rules', found.spec)}", err=True)


@main.command("new-game")
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
def new_game(name: str, folder: Path) -> None:
    """Begin a game of your own. Writes a small whole game, the package NAME in FOLDER, by default the working one."""
    from backalley.new_game import new_game as run

    place = run(name, folder)
    click.echo(f"Written: {place}, a game to change. Read game.py first; README.md has the rules.")
    click.echo(f"Play it from {folder}: {command_line('evaluate', f'{name}.game', 'bot', 'random')}")


@main.command("compile")
@click.argument("games", nargs=-1)
@threads_option
def compile_(games: tuple[str, ...], threads: int) -> None:
    """Compile GAMES ahead of time, by default all. It is done once for each version; nobody waits later."""
    from backalley.compiling import compile_games

    names = [backalley.game(name).name for name in games] if games else backalley.game_names()
    failed = []

    def done(name: str, seconds: float, error: str) -> None:
        failed.extend([name] if error else [])
        click.echo(f"{name}: {error.splitlines()[-1] if error else f'{seconds:.1f} s'}")

    compile_games(names, threads, done)
    _again(command_line("compile", *games))
    if failed:
        raise CommandError(f"{', '.join(failed)} could not be compiled.")


class TrainCommand(click.Command):
    """`train`, whose help names every hyperparameter."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The settings, as `training/config.py` declares them."""
        from backalley.training.config import settings

        with formatter.section("Settings, for --set and, by sections, for --config"):
            formatter.write_dl(settings(), col_max=25)


@main.command(cls=TrainCommand)
@click.argument("game", required=False)
@click.option("--out", type=click.Path(path_type=Path), help="The folder of the run; by default a new one under runs/.")
@click.option("--seconds", type=float, help="Train for this long.")
@click.option("--decisions", type=int, help="Train for this many decisions.")
@seed_option(None, "Decides packs, weights and exploration; 0 by default.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="A YAML file of settings, by sections.")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", callback=_pairs, help="A setting; may be repeated."
)
@option_option
@click.option("--resume", type=click.Path(path_type=Path), help="Go on with the run in this folder.")
@click.option("--restart", is_flag=True, help="With --resume: begin that run anew, in its place.")
@click.option("--device", default="auto", show_default=True, help="Where torch computes: auto, cpu, cuda, cuda:1, ...")
@click.option("--quiet", is_flag=True, help="No progress.")
def train(
    game: str | None,
    out: Path | None,
    seconds: float | None,
    decisions: int | None,
    seed: int | None,
    config: Path | None,
    overrides: dict[str, str],
    given: dict[str, str],
    resume: Path | None,
    restart: bool,
    device: str,
    quiet: bool,
) -> None:
    """Train a policy for GAME. It learns by self-play, in every seat.

    Ctrl-C stops and keeps everything; --resume goes on. At the end the policy plays every bot, and the line is printed
    that trains the same weights again.
    """
    from backalley.training.train import Stopped
    from backalley.training.train import train as run

    if given and game is None:
        raise click.UsageError("--option goes with a game.")
    with progress_bar(game or (resume.name if resume else ""), quiet=quiet) as progress:
        try:
            result = run(
                _game(game, given) if game is not None and given else game,
                out=out,
                seconds=seconds,
                decisions=decisions,
                seed=seed,
                config=config,
                config_overrides=overrides,
                resume=resume,
                restart=restart,
                device=device,
                progress=progress,
                say=(lambda sentence: None) if quiet else progress.say,
            )
        except Stopped as stopped:
            click.echo(str(stopped), err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
    click.echo(f"\n{result.table()}")


@main.command()
@click.argument("game")
@click.argument("agents", nargs=-1, required=True)
@click.option("--deals", type=int, help="Deals to play; 4,096 by default.")
@click.option(
    "--precision",
    type=float,
    help="Half-width wanted for the mean returns; a pilot of 256 deals decides how many are played.",
)
@seed_option(0, "Decides decks and the agents' own randomness.")
@option_option
@threads_option
@json_option
def evaluate(
    game: str,
    agents: tuple[str, ...],
    deals: int | None,
    precision: float | None,
    seed: int,
    given: dict[str, str],
    threads: int,
    path: Path | None,
) -> None:
    """Play AGENTS against each other. Every deck is played in every seating.

    Two agents, or one for each seat; in a game of one seat any number, each on the same decks by itself. With two
    agents and more than two seats the first sits alone against a field of the second.
    """
    from backalley.benchmarks.evaluate import evaluate as run

    found = _game(game, given)
    _check_place(path)
    players = _agents(found, agents, threads)
    with progress_bar("deals") as progress:
        report = run(
            found,
            players,
            deals=deals,
            precision=precision,
            seed=seed,
            num_threads=threads,
            progress=progress,
            keep=path,
        )
    line = command_line("evaluate", found.spec, *agents, given=given, deals=report.planned, seed=seed, json=path)
    report = dataclasses.replace(report, command=line)
    click.echo(report.table())
    _write(path, report.to_json())
    _again(line)
    if not report.complete:
        kept = (
            "the same line goes on from here"
            if path
            else "with --json FILE an interrupted evaluation could be taken up again"
        )
        click.echo(f"Stopped by Ctrl-C; the report is of the deals finished so far, and {kept}.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


@main.command()
@click.argument("game")
@click.argument("agents", nargs=-1, required=True)
@click.option("--deals", type=int, default=2048, show_default=True, help="Deals for each pairing.")
@seed_option(0, "Decides decks and the agents' own randomness.")
@option_option
@threads_option
@json_option
def tournament(
    game: str, agents: tuple[str, ...], deals: int, seed: int, given: dict[str, str], threads: int, path: Path | None
) -> None:
    """Rate AGENTS, all against all. Every pairing plays the same decks."""
    from backalley.benchmarks.tournament import tournament as run

    found = _game(game, given)
    players = _agents(found, agents, threads)
    _check_place(path)
    with progress_bar("deals") as progress:
        table = run(found, players, deals=deals, seed=seed, num_threads=threads, progress=progress, keep=path)
    line = command_line("tournament", found.spec, *agents, given=given, deals=deals, seed=seed, json=path)
    table = dataclasses.replace(table, command=line)
    click.echo(table.table())
    _write(path, table.to_json())
    _again(line)


@main.command()
@click.argument("game")
@click.option("--seat", type=int, default=0, show_default=True, help="Where you sit.")
@click.option(
    "--opponent",
    "opponents",
    multiple=True,
    help="One for all others, or one for each; the game's best bot by default, human for somebody beside you.",
)
@click.option("--shared", is_flag=True, help="Do not clear the screen between people: you play all their seats.")
@seed_option(None, "Decides the deal; drawn anew by default.")
@option_option
def play(
    game: str, seat: int, opponents: tuple[str, ...], shared: bool, seed: int | None, given: dict[str, str]
) -> None:
    """Play GAME at the terminal. One episode; you sit in --seat."""
    from backalley.agents.human import LeftTable, Terminal
    from backalley.agents.human import play as run

    found = _game(game, given)
    others = _agents(found, opponents or (("bot",) if found.num_seats > 1 else ()))
    if seed is None:
        import secrets

        seed = secrets.randbelow(1_000_000)
    again = command_line("play", found.spec, given=given, seat=seat, seed=seed)
    again += "".join(f" --opponent {shlex.quote(spec)}" for spec in opponents)
    again += " --shared" if shared else ""
    try:
        returns = run(found, others, seat=seat, seed=seed, terminal=Terminal(hides=not shared))
    except LeftTable:
        click.echo("\nYou left the table before the end.")
    else:
        you = None if "human" in opponents else seat
        gains = ", ".join(
            f"{'you' if who == you else found.seat_name(who)} {value:+g}" for who, value in enumerate(returns)
        )
        click.echo(f"\nThe game is over. Returns: {gains}.")
    _again(again)


@main.command()
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
    chosen = [_game(name, given) for name in games or backalley.game_names()]
    _check_place(path)
    with progress_bar("games") as progress:
        speeds = run(chosen, tables=tables or TABLES, seconds=seconds, repeats=repeats, progress=progress, keep=path)
    line = command_line(
        "speed", *(game.spec for game in chosen), given=given, seconds=seconds, repeats=repeats, json=path
    )
    line += "".join(f" --tables {size}" for size in tables)
    speeds = dataclasses.replace(speeds, command=line)
    click.echo(speeds.table())
    _write(path, speeds.to_json())
    _again(line)
    if not speeds.complete:
        click.echo(f"Stopped by Ctrl-C after {len(speeds.games)} of {speeds.planned} games.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


@main.command()
@click.argument("game")
@option_option
@threads_option
@json_option
def solve(game: str, given: dict[str, str], threads: int, path: Path | None) -> None:
    """Solve GAME exactly. Only games that hide nothing but the order of the stub can be solved."""
    from backalley.benchmarks.exact import solve as run

    found = _game(game, given)
    _check_place(path)
    with progress_bar("openings") as progress:
        solution = run(found, num_threads=threads, progress=progress, keep=path)
    line = command_line("solve", found.spec, given=given, json=path)
    solution = dataclasses.replace(solution, command=line)
    click.echo(solution.table())
    _write(path, solution.to_json())
    _again(line)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
def replay(file: Path) -> None:
    """Replay the game in FILE. Turn by turn, with a check that the rules still give what was recorded."""
    from backalley.envs.core.playthrough import replay as run

    for turn in run(file):
        click.echo(f"{turn}\n")
    click.echo("Everything shown and won is as it was recorded.")
    _again(command_line("replay", str(file)))
