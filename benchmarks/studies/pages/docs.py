"""Write every table of every page: `backalley dev docs`, with `--check` to test that they are fresh.

Tables that follow from the code are between `<!-- generated: KIND -->` marks; `envs/core/files/docs.py`, which this
runs first, writes them. `envs/core/files/typed.py` writes every game's options for type checkers. Measured results are
between

    <!-- results: KIND FILE ... -->
    <!-- /results -->

and come from those FILEs of `benchmarks/results` (without `.json`; `*` stands for any letters), with the commands that
measured them. KIND is one of `result_kinds.tables()`. So no number on a page is typed by hand. The output of a Python
example is between `<!-- output -->` and `<!-- /output -->` below it; a game's pretrained policies are in its page
between `<!-- policies -->` and `<!-- /policies -->`. Pictures: `page_pictures.py`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import re
from collections.abc import Callable
from pathlib import Path

import click

from backalley.cli.shared import write_pages
from backalley.console.errors import InvalidValue
from backalley.envs.core.files import docs, typed
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.catalogue import games, games_root
from backalley.envs.core.game.game import Game

from ...figures import leaderboard
from ...figures.formatting import Found
from ...figures.result_kinds import page_part, tables
from .. import kinds  # noqa: F401
from ..runner import COMMANDS as COMMANDS
from .model_cards import model_cards
from .page_pictures import with_pictures

RESULTS = Path(__file__).resolve().parents[2] / "results"
_MARK = "<!-- results: "
_PART = re.compile(_MARK + r"(\w+)((?: [\w*]+)+) -->\n(.*?)<!-- /results -->", re.DOTALL)
_POLICIES = re.compile(r"(<!-- policies -->\n).*?(<!-- /policies -->)", re.DOTALL)
_EXAMPLE = re.compile(r"```python\n(.*?)```\n\n<!-- output -->\n(.*?)<!-- /output -->", re.DOTALL)
_AROUND_THE_GAMES = (
    "README.md",
    "LEADERBOARD.md",
    "benchmarks/README.md",
    "training/README.md",
    "docs/benchmarks/*.md",
    "docs/guides/*.md",
)


_load: Callable[[Path], Found] = functools.cache(read_json)


def with_results(text: str, page: Path, folder: Path = RESULTS) -> str:
    """Return the page with every part between `results` marks made again from the files in `folder`. Raises ValueError
    for a mark of another form."""

    def part(found: re.Match[str]) -> str:
        kind, names = found[1], found[2].split()
        if kind not in tables():
            raise InvalidValue(f"{page} wants results of kind {kind!r}; there are: {', '.join(sorted(tables()))}.")
        there = {name: sorted(folder.glob(f"{name}.json")) for name in names}
        paths = [path for found_there in there.values() for path in found_there]
        missing = [name for name in names if not there[name] and ("*" not in name or not paths)]
        if missing:
            raise InvalidValue(f"{page} wants {', '.join(missing)} of {folder}, where there is no such file.")
        shown = page_part(kind, [_load(path) for path in paths])
        return f"{_MARK}{kind} {' '.join(names)} -->\n{shown}\n<!-- /results -->"

    made, parts = _PART.subn(part, text)
    if parts != text.count(_MARK):
        raise InvalidValue(f"{page} has a results mark that is not of the form {_MARK}KIND FILE ... --> ... .")
    return made


def with_policies(text: str, game: Game) -> str:
    """Return the page of a game with its pretrained policies between the `policies` marks."""
    return _POLICIES.sub(lambda found: f"{found[1]}{leaderboard.policies(game)}\n{found[2]}", text)


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
        text, drawn = with_pictures(with_outputs(with_results(text, page)), page, root)
        found[page] = text
        pictures |= drawn
    return found | pictures | model_cards(RESULTS)


@click.command("docs")
@click.option("--check", is_flag=True, help="Write nothing; fail if a file is not fresh.")
def write_docs(check: bool) -> None:
    """Write every table, chart and output of every page, and what `types` writes."""
    write_pages({**pages(), **typed.files()}, "docs", check=check)


COMMANDS["docs"] = write_docs
