"""Writes every table of every page: `python -m backalley.benchmarks.docs`, and `--check` where they must be fresh.

What follows from the code stands between `<!-- generated: KIND -->` marks and is written by `envs/core/docs.py`, which
this runs first; `envs/typed.py` writes what type checkers know of every game. Figures that were measured stand between

    <!-- results: KIND FILE ... -->
    <!-- /results -->

and come from those FILEs of `benchmarks/results` (without `.json`; `*` stands for any letters), with the commands that
measured them. KIND is one of `kinds.KINDS`. So no figure of a page is typed by hand. What a Python example prints
stands between `<!-- output -->` and `<!-- /output -->` beneath it; which policies come with a game, in its page between
`<!-- policies -->` and `<!-- /policies -->`. Pictures: `page_pictures.py`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from backalley.envs import typed
from backalley.envs.core import docs
from backalley.envs.core.base import Game
from backalley.envs.core.catalogue import games, games_root
from backalley.envs.core.reading import read_json

from . import standing
from .cells import Found
from .kinds import KINDS, MADE_BY, table
from .page_pictures import with_pictures

RESULTS = Path(__file__).resolve().parent / "results"
_MARK = "<!-- results: "
_PART = re.compile(_MARK + r"(\w+)((?: [\w*]+)+) -->\n(.*?)<!-- /results -->", re.DOTALL)
_POLICIES = re.compile(r"(<!-- policies -->\n).*?(<!-- /policies -->)", re.DOTALL)
_EXAMPLE = re.compile(r"```python\n(.*?)```\n\n<!-- output -->\n(.*?)<!-- /output -->", re.DOTALL)
_AROUND_THE_GAMES = ("README.md", "benchmarks/README.md", "training/README.md")


@functools.cache
def _load(path: Path) -> Found:
    found: Found = read_json(path)
    return found


def with_results(text: str, page: Path, folder: Path = RESULTS) -> str:
    """The page with every part between `results` marks made anew from the files in `folder`. Raises ValueError in a
    sentence for a mark that is not understood."""

    def part(found: re.Match[str]) -> str:
        kind, names = found[1], found[2].split()
        if kind not in KINDS:
            raise ValueError(f"{page} wants results of kind {kind!r}; there are: {', '.join(KINDS)}.")
        paths = [path for name in names for path in sorted(folder.glob(f"{name}.json"))]
        missing = [name for name in names if not any(folder.glob(f"{name}.json"))]
        if missing and kind in MADE_BY:
            return f"{_MARK}{kind} {' '.join(names)} -->\n{_not_yet(kind, names)}\n<!-- /results -->"
        if missing:
            raise ValueError(f"{page} wants {', '.join(missing)} of {folder}, where there is no such file.")
        return f"{_MARK}{kind} {' '.join(names)} -->\n{table(kind, [_load(path) for path in paths])}\n<!-- /results -->"

    made, parts = _PART.subn(part, text)
    if parts != text.count(_MARK):
        raise ValueError(f"{page} has a results mark that is not of the form {_MARK}KIND FILE ... --> ... .")
    return made


def _not_yet(kind: str, names: Sequence[str]) -> str:
    """What stands where nothing was measured yet."""
    named = [name.partition("_")[2] for name in names if "_" in name and "*" not in name]
    return f"Not measured yet: `{' '.join([MADE_BY[kind], *named, '--json', 'benchmarks/results'])}` does it."


def with_policies(text: str, game: Game) -> str:
    """The page of a game with what comes with it between the `policies` marks."""
    return _POLICIES.sub(lambda found: f"{found[1]}{standing.policies(game)}\n{found[2]}", text)


def with_outputs(text: str) -> str:
    """The page with what its Python examples print between the `output` marks beneath them."""

    def part(found: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(found[1], "example", "exec"), {"__name__": "example"})
        shown = f"```text\n{printed.getvalue().rstrip()}\n```"
        return f"```python\n{found[1]}```\n\n<!-- output -->\n{shown}\n<!-- /output -->"

    return _EXAMPLE.sub(part, text)


def pages() -> dict[Path, str]:
    """Every page, as it should read, and every picture on them."""
    root = games_root().parent
    found = docs.pages()
    around = (root / name for name in _AROUND_THE_GAMES)
    found |= {page: found.get(page, page.read_text("utf-8")) for page in around if page.is_file()}
    own = {game.type.folder / "README.md": game for game in games()}
    pictures: dict[Path, str] = {}
    for page, text in found.items():
        text = with_policies(text, own[page]) if page in own else text
        text, drawn = with_pictures(with_outputs(with_results(text, page)), page, root)
        found[page] = text
        pictures |= drawn
    return found | pictures


if __name__ == "__main__":
    docs.main({**pages(), **typed.files()}, "python -m backalley.benchmarks.docs", check="--check" in sys.argv[1:])
