"""What the studies share. A study is one file: what it measures, the result with its tables and charts, and its
command. The runner gives a result its machine and commit, and keeps rows that a file already has."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from backalley.cli.shared import check_place, end, games_of, json_option, this_line
from backalley.cli.shared import game_of as game_named
from backalley.console.command import Program
from backalley.console.errors import InvalidValue
from backalley.console.progress import progress_bar
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.catalogue import game as game_of

from ..figures import results
from ..figures.formatting import Found
from ..figures.result_kinds import Result

Progress = Callable[[float, float, str], None]
"""Takes the work done, all work, and some words."""
Row = dict[str, Any]
R = TypeVar("R", bound=Result)
COMMANDS: dict[str, click.Command] = {}
"""The commands of `backalley dev` that only a checkout has."""
FOLDER = click.Path(path_type=Path, file_okay=False)
GAMES = click.argument("games", nargs=-1, is_eager=True)
GAME = click.argument("game")
SEED = click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
_FOLDER = click.option("--json", "path", type=FOLDER, help="Write a file for each game to this folder.")
_LEFT_OUT = ("cluster", "folder", "runs")
"""Options that are not in the line that measures again: what is found does not depend on them."""
_SAME = ("kind", "game", "options", "processor_seconds")
"""What rows of one file have in common."""


def quiet(done: float, total: float, words: str = "") -> None:
    """Show no progress."""


# Commands -------------------------------------------------------------------------------------------------------------


@click.group(cls=Program)
def studies() -> None:
    """Measure results of the pages: only in a checkout of the repository."""


COMMANDS["study"] = studies


def count(name: str, default: int | None, said: str = "", least: int = 1, most: int | None = None) -> Any:
    """An option that is a whole number; its last name is the function's."""
    kind = click.IntRange(least, most)
    return click.option(*name.split(), type=kind, default=default, show_default=default is not None, help=said)


def seconds(name: str, default: float, said: str = "Processor time of each run.") -> Any:
    """An option that is a number of seconds."""
    kind = click.FloatRange(0, min_open=True)
    return click.option(*name.split(), type=kind, default=default, show_default=True, help=said)


def _listed(ctx: click.Context, parameter: click.Parameter, given: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in given.split(",") if word.strip())


def words(name: str, default: str, said: str, reads: Any = _listed) -> Any:
    """An option that is words with commas."""
    return click.option(*name.split(), default=default, show_default=bool(default), callback=reads, help=said)


def study(
    name: str, kind: type[R], *parameters: Any, file: str = "", of: Sequence[str] = (), top: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., R]]:
    """Make a function that measures return a result of `kind`, stamped, with the `command` that runs it again; and make
    it the command `backalley dev study NAME`, or `backalley dev NAME` where it is at the `top`; its help
    is the first paragraph of the function's text.

    What was measured are the function's argument `game`, which may be a name, or `games`, else the games `of` those
    names. A function may return the result itself; one that takes `about`, how its file begins, gives the whole file.
    `parameters` are the command's, by the function's names. `file` is the name of a file of results in the folder of
    `--json`, as `{game}` and other parameters have it, one for each of several games; without it `--json` names the
    file.
    """

    def made(measure: Callable[..., Any]) -> Callable[..., R]:
        signature = inspect.signature(measure)
        result: Callable[..., R] = kind

        @functools.wraps(measure)
        def measured(*given: Any, command: str = "", **more: Any) -> R:
            there = signature.bind(*given, **more, **{"about": {}} if "about" in signature.parameters else {})
            about: Found = {"kind": kind.kind, "command": command}
            games = there.arguments.get("games", of)
            if "game" in there.arguments:
                game = there.arguments["game"] = game_of(there.arguments["game"])
                games, about = [game], {**about, "game": game.id, "options": game.changed_options}
            stamp = results.stamp(inspect.getfile(measure), *map(game_of, games))
            if "about" in there.arguments:
                there.arguments["about"] = {**about, **stamp}
                return result(measure(*there.args, **there.kwargs))
            found = measure(*there.args, **there.kwargs)
            if isinstance(found, kind):
                whole: R = dataclasses.replace(cast(Any, found), command=command)
                return whole
            # A file that is whole already says when it was measured, but not how it was asked for now.
            return result({**about, **stamp, **found, "command": command})

        def command(path: Path | None, **given: Any) -> None:
            if "game" in given:
                given["game"] = game_named(given["game"], given.pop("given", {}))
            if "games" in given:
                given["games"] = games_of(given["games"])
            for one in [{"game": game} for game in given.pop("games")] if file and "games" in given else [{}]:
                values = {**given, **one}
                named = {**values, "game": getattr(values.get("game"), "name", "")}
                _measure(measured, signature, values, path and path / f"{file.format(**named)}.json" if file else path)

        command.__doc__ = inspect.cleandoc(str(measure.__doc__)).split("\n\n")[0]
        for parameter in reversed((*parameters, _FOLDER if file else json_option)):
            command = parameter(command)
        if top:
            COMMANDS[name] = click.command(name)(command)
        else:
            studies.command(name)(command)
        return measured

    return made


def _measure(run: Callable[..., Result], signature: inspect.Signature, given: Row, path: Path | None) -> None:
    """Measure once, and write the file `path`."""
    check_place(path)
    ctx, game = click.get_current_context(), given.get("game")
    one: Row = {"game": game.spec, "games": (game.spec,)} if game else {}
    line = this_line(**one, **dict.fromkeys(_LEFT_OUT))
    given = {**given, "num_threads": given.get("threads")}
    with progress_bar(game.name if game else str(ctx.command.name)) as progress:
        more = {"progress": progress, "keep": path, **given}
        found = run(**{name: value for name, value in more.items() if name in signature.parameters}, command=line)
    end(found, path, found.to_json()["command"])
    if not getattr(found, "kept", True):
        raise click.exceptions.Exit(1)


# Rows -----------------------------------------------------------------------------------------------------------------


def rows_by(name: str, found: Found) -> dict[str, list[Found]]:
    """Return the rows of a file by what they have under a name, in their order."""
    by: dict[str, list[Found]] = {}
    for row in found["rows"]:
        by.setdefault(row[name], []).append(row)
    return by


def kept_rows(path: Path | None, about: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a file of results; none where there is no file. Raises InvalidValue where it holds something
    else than `about`."""
    if path is None or not path.exists():
        return []
    try:
        found = read_json(path)
        other = next((name for name in _SAME if found[name] != about[name]), "")
        rows: list[Row] = [] if other else found["rows"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidValue(f"{path} holds no {about['kind']}; move it away, or name another.") from None
    if other:
        raise InvalidValue(f"{path} has {other} {found[other]!r}, not {about[other]!r}; move it away, or name another.")
    return rows


def make_rows(
    keep: Path | None,
    file: Callable[[list[Row]], Row],
    rows: list[Row],
    cells: Iterable[tuple[Row, Callable[[], Row]]],
    place: Callable[[Row], Any],
) -> Row:
    """Return the `file` of rows once all cells have one, and write it after each. A cell is what identifies its row,
    which is not made where it is there already, and what makes the rest; rows are in the order of `place`, and a new
    one takes the place of an earlier one."""
    for identity, make in cells:
        if any(all(row.get(name) == value for name, value in identity.items()) for row in rows):
            continue
        made = {**identity, **make()}
        rows = sorted([*(row for row in rows if place(row) != place(made)), made], key=place)
        if keep is not None:
            results.write(keep, file(rows))
    return file(rows)
