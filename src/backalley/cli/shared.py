"""Shared by the commands: options, each declared once, and the line that runs a command again."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import backalley
from backalley.console.command import INTERRUPTED, CommandError, pairs
from backalley.console.errors import one_line
from backalley.console.progress import progress_bar
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.threads import MOST_THREADS, cores

if TYPE_CHECKING:
    from backalley.agents.base.agent import Agent


class Amount(click.FloatRange):
    """A number in a range; nan is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value!r} is no number.", param, ctx)
        return found


class Neutral(click.Option):
    """An option that results do not depend on: the line that runs a command again leaves it out."""


class Special(click.Option):
    """An option that the line names only where its value is not the default. All others it names in any case, since a
    later version may have another default."""


option_option = click.option(
    "--option",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    callback=pairs(),
    help="An option of the game; may be repeated.",
)
json_option = click.option(
    "--json", "path", type=click.Path(path_type=Path), metavar="FILE", help="Write the results to this file, too."
)
set_option = click.option(
    "--set",
    "config_overrides",
    multiple=True,
    metavar="NAME=VALUE",
    callback=pairs(),
    help="A setting of training; may be repeated.",
)
threads_option = click.option(
    "--threads",
    cls=Neutral,
    type=click.IntRange(1, MOST_THREADS),
    callback=lambda ctx, parameter, given: cores() if given is None else given,
    help="Threads; every core by default. Results do not depend on it.",
)
cluster_option = click.option(
    "--cluster",
    cls=Neutral,
    metavar="ADDRESS",
    help="A Ray cluster that does the work: auto, or its head's HOST:PORT. Results do not depend on it.",
)


agents_argument = click.argument("agents", nargs=-1, required=True)
games_argument = click.argument("games", nargs=-1)


def of_a_game(command: Callable[..., Any]) -> Callable[..., Any]:
    """GAME and --option, handed to the command as one `game`."""

    @click.argument("game")
    @option_option
    @functools.wraps(command)
    def bound(*, game: str, given: dict[str, str], **rest: Any) -> Any:
        found = game_of(game, given)
        click.get_current_context().params["game"] = found.spec  # the line names what any process finds
        return command(game=found, **rest)

    return bound


def picture_option(*, animated: bool = False) -> Callable[[Any], Any]:
    """`--out` of a picture, or also of a whole game's pictures."""
    kinds = ".svg, or .png with the extra `pictures`" + "; a whole game: .gif (the same extra) or .html" * animated
    return click.option(
        "--out", "path", type=click.Path(path_type=Path), required=True, metavar="FILE", help=f"The picture: {kinds}."
    )


dark_option = click.option("--dark", is_flag=True, help="Light on dark.")
zoom_option = click.option("--zoom", cls=Special, type=Amount(0.1, 8), default=1.0, help="Of a PNG or GIF.")


def theme_of(dark: bool) -> str:
    return "dark" if dark else "light"


def seed_option(default: int | None, doc: str) -> Callable[[Any], Any]:
    """`--seed`, a whole number of 0 or more."""
    return click.option("--seed", type=click.IntRange(0), default=default, help=doc)


def game_of(name: str, given: Mapping[str, Any]) -> Game:
    return backalley.game(name, **given)


def games_of(names: Sequence[str]) -> list[Game]:
    """Return the games of those names; all of them where there are none."""
    return [backalley.game(name) for name in names or backalley.game_names()]


def agents_of(game: Game, specs: Sequence[str], threads: int = 0) -> list[Agent]:
    from backalley.agents.registry import agent

    return [agent(spec, game, num_threads=threads) for spec in specs]


def returns_of(game: Game, returns: Sequence[float], you: int | None = None) -> str:
    """Return what every seat has gained, in words."""
    names = ("you" if who == you else game.seat_name(who) for who in range(game.num_seats))
    return ", ".join(f"{name} {value:+g}" for name, value in zip(names, returns, strict=True))


def check_place(path: Path | None) -> None:
    from backalley.benchmarks.figures import results

    if path is not None:
        results.check_place(path)


def write(path: Path | None, payload: Mapping[str, Any]) -> None:
    from backalley.benchmarks.figures import results

    if path is not None:
        results.write(path, payload)
        click.echo(f"Written to {one_line(str(path))}.", err=True)


ANIMATED = (".gif", ".html")
"""Endings of files that show a whole game."""


def check_picture(path: Path, *, animated: bool = False) -> None:
    """Raise before any work if no picture could be written here."""
    if path.suffix.lower() not in (".svg", ".png", ".pdf", *(ANIMATED if animated else ())):
        more = ", and a whole game .gif or .html" * animated
        raise click.UsageError(f"A picture is .svg, .png or .pdf{more}; {path.name!r} is none of them.")
    check_place(path)


def write_picture(path: Path, svg: str, zoom: float) -> None:
    """Write a picture in the format of its name."""
    from backalley.envs.core.drawing.pictures.pixels import pdf, png

    kind = path.suffix.lower()
    write_bytes(path, png(svg, zoom) if kind == ".png" else pdf(svg) if kind == ".pdf" else svg.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file and say so."""
    from backalley.envs.core.files.durable import write_file

    write_file(path, data)
    click.echo(f"Written to {one_line(str(path))}.")


def command_line(*words: str, **settings: Any) -> str:
    """Return a line of this program, as a shell takes it: words, then options by their names, without those that are
    None or False; True is a flag, and of several values or pairs each has the option before it."""
    line = ["backalley", *words]
    for name, value in settings.items():
        for word in _words(value):
            line += [f"--{name.replace('_', '-')}"] + ([] if value is True else [word])
    return " ".join(map(_quoted, line))


def _words(value: Any) -> list[str]:
    """A value as it is typed."""
    if value is None or value is False:
        return []
    if isinstance(value, Mapping):
        return [f"{name}={item}" for name, item in value.items()]
    if isinstance(value, (tuple, list)):
        return [word for item in value for word in _words(item)]
    if isinstance(value, Path):
        return [value.as_posix()]
    return [f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)]


def this_line(**instead: Any) -> str:
    """Return the line that runs the current command again, from click's context: its arguments, then its options in the
    order of their declaration. `instead` has other values than those given, by the names of parameters."""
    ctx = click.get_current_context()
    words, settings, above = list[str](), dict[str, Any](), ctx
    while above.parent is not None:
        words.insert(0, str(above.info_name))
        above = above.parent
    for parameter in ctx.command.params:
        name = str(parameter.name)
        value = instead.get(name, ctx.params[name])
        if isinstance(parameter, click.Argument):
            words += _words(value)
            continue
        if isinstance(value, tuple) and not parameter.multiple:
            value = ",".join(map(str, value)) or None
        usual = isinstance(parameter, Special) and value == parameter.get_default(ctx)
        if name in instead or not (usual or isinstance(parameter, Neutral)):
            settings[max(parameter.opts, key=len).removeprefix("--")] = value
    return command_line(*words, **settings)


def _quoted(word: str) -> str:
    """A word as a shell takes it; control characters, and what is not text, as escapes (`$'\x1b'`)."""
    if one_line(word) == word:
        return shlex.quote(word)
    kept = {byte: chr(byte) for byte in range(32, 127) if chr(byte) not in "'\\"}
    plain = (kept.get(byte, f"\\x{byte:02x}") for byte in word.encode("utf-8", "surrogateescape"))
    return f"$'{''.join(plain)}'"


def again(line: str | None = None) -> None:
    """Say how to run the current command again."""
    click.echo(f"\nAgain: {line or this_line()}")


@contextlib.contextmanager
def kept_when_stopped() -> Iterator[None]:
    """End a block that Ctrl-C stopped after it kept everything with a sentence that says how to go on."""
    from backalley.training.train import Stopped

    try:
        yield
    except Stopped as stopped:
        click.echo(str(stopped), err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


def finish(report: Any, path: Path | None, **instead: Any) -> None:
    """Show what a verb found, write it where `--json` says, with the line that finds it again, and say that line."""
    found = dataclasses.replace(report, command=this_line(**instead))
    click.echo(found.table())
    write(path, found.to_json())
    again(found.command)


def measure(label: str, path: Path | None, run: Callable[..., Any], **instead: Any) -> None:
    """Measure by `run(progress=, command=)`, show what was found, write it, and say how to find it again."""
    check_place(path)
    line = this_line(**instead)
    with progress_bar(label) as progress:
        found = run(progress=progress, command=line)
    end(found, path, line)


def end(found: Any, path: Path | None, line: str) -> None:
    """Show what was found, write it, and say how to find it again."""
    click.echo(f"\n{found.table()}\n")
    write(path, found.to_json())
    click.echo(f"Again: {line}", err=True)


def know_studies() -> None:
    """Make the kinds of results known that `benchmarks/studies` measures; a wheel has none of them."""
    with contextlib.suppress(ModuleNotFoundError):
        from backalley.benchmarks.studies import kinds  # noqa: F401


def write_pages(fresh: dict[Path, Any], name: str, *, check: bool) -> None:
    from backalley.envs.core.files import docs

    if not check:
        for line in docs.write(fresh):
            click.echo(line)
    elif stale := docs.stale(fresh):
        raise CommandError(f"{', '.join(map(str, stale))}: not fresh; run backalley dev {name}.")
