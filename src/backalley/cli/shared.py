"""Shared by the commands: options, their values, and the line that runs a command again."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import backalley
from backalley.console.command import CommandError, pairs
from backalley.console.printable import one_line
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.threads import MOST_THREADS, cores

if TYPE_CHECKING:
    from backalley.agents.base.agent import Agent


def threads_given(ctx: click.Context, parameter: click.Parameter, given: int | None) -> int:
    return cores() if given is None else given


class Amount(click.FloatRange):
    """A number in a range; nan is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value!r} is no number.", param, ctx)
        return found


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
threads_option = click.option(
    "--threads",
    type=click.IntRange(1, MOST_THREADS),
    callback=threads_given,
    help="Threads; every core by default. Results do not depend on it.",
)
cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="A Ray cluster that does the work: auto, or its head's HOST:PORT. Results do not depend on it.",
)


def picture_option(*, animated: bool = False) -> Callable[[Any], Any]:
    """`--out` of a picture, or also of a whole game's pictures."""
    kinds = ".svg, or .png with the extra `pictures`" + "; a whole game: .gif (the same extra) or .html" * animated
    return click.option(
        "--out", "path", type=click.Path(path_type=Path), required=True, metavar="FILE", help=f"The picture: {kinds}."
    )


dark_option = click.option("--dark", is_flag=True, help="Light on dark.")
zoom_option = click.option("--zoom", type=Amount(0.1, 8), default=1.0, show_default=True, help="Of a PNG or GIF.")


def theme_of(dark: bool) -> str:
    return "dark" if dark else "light"


def seed_option(default: int | None, doc: str) -> Callable[[Any], Any]:
    """`--seed`, a whole number of 0 or more."""
    return click.option("--seed", type=click.IntRange(0), default=default, show_default=default is not None, help=doc)


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
    if path.suffix.lower() not in (".svg", ".png", *(ANIMATED if animated else ())):
        more = ", and a whole game .gif or .html" * animated
        raise click.UsageError(f"A picture is .svg or .png{more}; {path.name!r} is neither.")
    check_place(path)


def write_picture(path: Path, svg: str, zoom: float) -> None:
    """Write a picture in the format of its name."""
    from backalley.envs.core.drawing.pictures.pixels import png

    write_bytes(path, png(svg, zoom) if path.suffix.lower() == ".png" else svg.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file and say so."""
    from backalley.envs.core.files.durable import write_file

    write_file(path, data)
    click.echo(f"Written to {one_line(str(path))}.")


def command_line(verb: str, *words: str, given: Mapping[str, str] | None = None, **settings: Any) -> str:
    """Return the line that runs a command again: words, the game's options, and settings, without those that are None
    or False."""
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
    return " ".join(map(_quoted, line))


def _quoted(word: str) -> str:
    """A word as a shell takes it; control characters, and what is not text, as escapes (`$'\x1b'`)."""
    if one_line(word) == word:
        return shlex.quote(word)
    kept = {byte: chr(byte) for byte in range(32, 127) if chr(byte) not in "'\\"}
    plain = (kept.get(byte, f"\\x{byte:02x}") for byte in word.encode("utf-8", "surrogateescape"))
    return f"$'{''.join(plain)}'"


def again(line: str) -> None:
    click.echo(f"\nAgain: {line}")


def finish(report: Any, line: str, path: Path | None) -> None:
    """Show what a verb found, write it where `--json` says, with the line that finds it again, and say that line."""
    found = dataclasses.replace(report, command=line)
    click.echo(found.table())
    write(path, found.to_json())
    again(line)


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
