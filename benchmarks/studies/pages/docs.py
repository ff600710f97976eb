"""Write every table and picture of every page: `backalley dev docs`, with `--check` to test that they are fresh.

Tables that follow from the code are between `<!-- generated: KIND -->` marks; `envs/core/files/docs.py`, which this
runs first, writes them. `typed.py` writes every game's options for type checkers. What is between

    <!-- KIND: NAME WORD ... -->
    <!-- /KIND -->

is written here, so no number on a page is typed by hand:

* `results: TABLE FILE ...`: a table of `result_kinds.tables()` from those FILEs of `benchmarks/results` (without
  `.json`; `*` stands for any letters), with the commands that measured them
* `summary: PICTURE FILE ...`: the one chart that a kind of result has of many such files
* `plot: PICTURE PATH ...`: the charts that `backalley plot` draws of these places of the repository
* `picture: GAME seed=7 decisions=9`: the picture that `backalley picture` draws by these words

The output of a Python example is between `<!-- output -->` and `<!-- /output -->` below it; a game's pretrained
policies are in its page between `<!-- policies -->` and `<!-- /policies -->`. Pictures lie in `docs/pictures`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from backalley.agents.people.watching import picture
from backalley.agents.registry import agent
from backalley.cli.shared import write_pages
from backalley.console.errors import InvalidValue
from backalley.envs.core.files import docs
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.catalogue import games, games_root
from backalley.envs.core.game.game import Game

from ...figures import charts
from ...figures.formatting import Found, markdown
from ...figures.result_kinds import Files, commands, figures, tables
from ...publish import plots
from ...publish.sources import all_sources
from .. import kinds  # noqa: F401
from ..runner import COMMANDS as COMMANDS
from . import typed
from .model_cards import model_cards, policies

RESULTS = Path(__file__).resolve().parents[2] / "results"
PICTURES = "docs/pictures"
_PART = re.compile(r"<!-- (results|summary|plot|picture): (\w+)((?: [\w*./=]+)*) -->\n.*?<!-- /\1 -->", re.DOTALL)
_MARKS = re.compile(r"^<!-- (results|summary|plot|picture): ", re.MULTILINE)
_POLICIES = re.compile(r"(<!-- policies -->\n).*?(<!-- /policies -->)", re.DOTALL)
_EXAMPLE = re.compile(r"```python\n(.*?)```\n\n<!-- output -->\n(.*?)<!-- /output -->", re.DOTALL)
_FLAGS = ("seed", "decisions", "seat")
"""Words of a picture that are flags of the command; others are the game's options."""
_AROUND_THE_GAMES = (
    "README.md",
    "LEADERBOARD.md",
    "benchmarks/README.md",
    "training/README.md",
    "docs/*.md",
    "docs/benchmarks/*.md",
    "docs/guides/*.md",
)

_load: Callable[[Path], Found] = functools.cache(read_json)


def _results(name: str, files: Sequence[str], page: Path, folder: Path) -> str:
    if name not in tables():
        raise InvalidValue(f"{page} wants results of kind {name!r}; there are: {', '.join(sorted(tables()))}.")
    return page_part(name, [_load(path) for path in _paths(files, page, folder)])


def page_part(name: str, files: Files) -> str:
    """Return the part of a page that shows these files: a table and its commands, or a sentence."""
    shown = figures(name, files)
    if isinstance(shown, str):
        return shown
    brief = name in tables()[name].brief
    lines = "" if brief else "\n".join(["```sh", *commands(name, files), "```"])
    parts = [markdown(shown.head, shown.rows, left=shown.left), "\n".join(shown.notes), lines]
    return "\n\n".join(part for part in parts if part)


def _paths(names: Sequence[str], page: Path, folder: Path) -> list[Path]:
    """Files of results."""
    there = {name: sorted(folder.glob(f"{name}.json")) for name in names}
    paths = [path for found in there.values() for path in found]
    missing = [name for name in names if not there[name] and ("*" not in name or not paths)]
    if missing:
        raise InvalidValue(f"{page} wants {', '.join(missing)} of {folder}, where there is no such file.")
    return paths


def _plotted(paths: Sequence[str], root: Path) -> tuple[str, str, str]:
    """Charts as SVG, their titles, and the words of the command that draws them."""
    made = plots.drawn(all_sources([root / place for place in paths]))
    return charts.svg(made), "; ".join(chart.title for chart in made), " ".join(["plot", *paths])


def _pictured(name: str, words: Mapping[str, str]) -> tuple[str, str, str]:
    """The picture of a game's table, what it shows, and the words of the command that draws it."""
    game = game_of(name, **{key: value for key, value in words.items() if key not in _FLAGS})
    numbers = {key: int(value) for key, value in words.items() if key in _FLAGS}
    flags = [f"--{key} {value}" if key in _FLAGS else f"--option {key}={value}" for key, value in words.items()]
    drawn = picture(game, agent("bot", game), **{"seed": 0, "decisions": 0} | numbers)
    return drawn, f"A table of {game.title}", " ".join(["picture", name, *flags])


def filled(text: str, page: Path, folder: Path = RESULTS) -> tuple[str, dict[Path, str]]:
    """Return the page with every part between marks made again, from the files of results in `folder`, and its
    pictures by their paths. Raises ValueError for a mark of another form."""
    root, pictures = games_root().parent, dict[Path, str]()

    def image(name: str, svg: str, words: str) -> str:
        path = root / PICTURES / f"{name}.svg"
        pictures[path] = svg
        return f"![{words}]({os.path.relpath(path.resolve(), page.parent.resolve())})"

    def part(found: re.Match[str]) -> str:
        kind, name, words = found[1], found[2], found[3].split()
        if kind == "results":
            shown = _results(name, words, page, folder)
        elif kind == "summary":
            chart = plots.summary(_paths(words, page, folder))
            shown = image(name, charts.svg([chart]), chart.title)
        else:
            more = dict(word.split("=") for word in words) if kind == "picture" else {}
            svg, title, command = _pictured(name, more) if kind == "picture" else _plotted(words, root)
            line = f"backalley {command} --out {PICTURES}/{name}.svg"
            shown = "\n".join([image(name, svg, title), "", "```sh", line, "```"])
        return f"<!-- {kind}: {name}{found[3]} -->\n{shown}\n<!-- /{kind} -->"

    for mark in _MARKS.finditer(text):
        found = _PART.match(text, mark.start())
        if found is None or not (found[3] or found[1] == "picture"):
            kind = mark[1]
            raise InvalidValue(f"{page} has a {kind} mark that is not of the form <!-- {kind}: NAME WORD ... --> ... .")
    return _PART.sub(part, text), pictures


def with_results(text: str, page: Path, folder: Path = RESULTS) -> str:
    """Return the page alone of `filled`."""
    return filled(text, page, folder)[0]


def with_policies(text: str, game: Game) -> str:
    """Return the page of a game with its pretrained policies between the `policies` marks."""
    return _POLICIES.sub(lambda found: f"{found[1]}{policies(game)}\n{found[2]}", text)


def with_outputs(text: str) -> str:
    """Return the page with the output of its Python examples between the `output` marks below them."""

    def part(found: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(found[1], "example", "exec"), {"__name__": "example"})
        shown = f"```text\n{printed.getvalue().rstrip()}\n```"
        return f"```python\n{found[1]}```\n\n<!-- output -->\n{shown}\n<!-- /output -->"

    return _EXAMPLE.sub(part, text)


def pages() -> dict[Path, str]:
    """Return every page, as it should read, and every picture on them."""
    root = games_root().parent
    found = docs.pages()
    around = (page for name in _AROUND_THE_GAMES for page in sorted(root.glob(name)))
    found |= {page: found.get(page, page.read_text("utf-8")) for page in around}
    own = {game.type.folder / "README.md": game for game in games()}
    pictures: dict[Path, str] = {}
    for page, text in found.items():
        text = with_policies(text, own[page]) if page in own else text
        found[page], drawn = filled(with_outputs(text), page)
        pictures |= drawn
    return found | pictures | model_cards(RESULTS)


@click.command("docs")
@click.option("--check", is_flag=True, help="Write nothing; fail if a file is not fresh.")
def write_docs(check: bool) -> None:
    """Write every table, chart and output of every page, and what `types` writes."""
    write_pages({**pages(), **typed.files()}, "docs", check=check)


@click.command("types")
@click.option("--check", is_flag=True, help="Write nothing; fail if a file is not fresh.")
def write_types(check: bool) -> None:
    """Write the types of every game's options for type checkers and editors."""
    write_pages(typed.files(), "types", check=check)


COMMANDS |= {"docs": write_docs, "types": write_types}
