"""Pictures on pages. Between the marks

    <!-- picture: GAME seed=7 decisions=9 -->
    <!-- /picture -->

stands the picture that `backalley picture` draws by these words, drawn again with the pages, and between

    <!-- plot: NAME FILE_OR_FOLDER ... -->
    <!-- /plot -->

the charts that `backalley plot` draws of these places of the repository. Between

    <!-- summary: NAME FILE ... -->
    <!-- /summary -->

stands the one chart that a kind of result has of many files of `benchmarks/results` (as in the marks of `docs.py`).
Files lie in `docs/pictures`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from backalley.agents.people.watching import picture
from backalley.agents.registry import agent
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.catalogue import game as game_of

from ...figures import charts
from ...publish import plots
from ...publish.sources import all_sources

FOLDER, RESULTS = "docs/pictures", "benchmarks/results"
_PART = re.compile(r"<!-- picture: (\w+)((?: \w+=[\w.]+)*) -->\n.*?<!-- /picture -->", re.DOTALL)
_PLOT = re.compile(r"<!-- plot: (\w+)((?: [\w./]+)+) -->\n.*?<!-- /plot -->", re.DOTALL)
_SUMMARY = re.compile(r"<!-- summary: (\w+)((?: [\w*]+)+) -->\n.*?<!-- /summary -->", re.DOTALL)
_MARKS = re.compile(r"^<!-- (?:picture|plot|summary): ", re.MULTILINE)
_FLAGS = ("seed", "decisions", "seat")
"""Words that are flags of the command; others are the game's options."""


def drawn(name: str, words: Mapping[str, str]) -> str:
    """The picture of a game's table, as `backalley picture` draws it."""
    game = game_of(name, **{key: value for key, value in words.items() if key not in _FLAGS})
    numbers = {key: int(value) for key, value in words.items() if key in _FLAGS}
    return picture(game, agent("bot", game), **{"seed": 0, "decisions": 0} | numbers)


def with_pictures(text: str, page: Path, root: Path) -> tuple[str, dict[Path, str]]:
    """The page with its pictures between their marks, and the files that these are, by path."""
    files: dict[Path, str] = {}

    def part(found: re.Match[str]) -> str:
        name, words = found[1], dict(word.split("=") for word in found[2].split())
        path = root / FOLDER / f"{name}.svg"
        files[path] = drawn(name, words)
        flags = [f"--{key} {value}" if key in _FLAGS else f"--option {key}={value}" for key, value in words.items()]
        command = " ".join(["backalley picture", name, *flags, f"--out {FOLDER}/{name}.svg"])
        shown = _shown(path, f"A table of {game_of(name).title}", command, page)
        return f"<!-- picture: {name}{found[2]} -->\n{shown}\n<!-- /picture -->"

    def plotted(found: re.Match[str]) -> str:
        name, paths = found[1], found[2].split()
        path = root / FOLDER / f"{name}.svg"
        made = plots.drawn(all_sources([root / place for place in paths]))
        files[path] = charts.svg(made)
        words = "; ".join(chart.title for chart in made)
        command = " ".join(["backalley plot", *paths, f"--out {FOLDER}/{name}.svg"])
        return f"<!-- plot: {name}{found[2]} -->\n{_shown(path, words, command, page)}\n<!-- /plot -->"

    def summed(found: re.Match[str]) -> str:
        path = root / FOLDER / f"{found[1]}.svg"
        chart = plots.summary(
            [file for name in found[2].split() for file in sorted((root / RESULTS).glob(f"{name}.json"))]
        )
        files[path] = charts.svg([chart])
        return f"<!-- summary: {found[1]}{found[2]} -->\n{_image(path, chart.title, page)}\n<!-- /summary -->"

    made, pictures = _PART.subn(part, text)
    made, charted = _PLOT.subn(plotted, made)
    made, summaries = _SUMMARY.subn(summed, made)
    if pictures + charted + summaries != len(_MARKS.findall(text)):
        raise InvalidValue(f"{page} has a picture or plot mark that is not of the form `page_pictures.py` tells.")
    return made, files


def _shown(path: Path, words: str, command: str, page: Path) -> str:
    """A picture on a page, and the line that draws it again."""
    return "\n".join([_image(path, words, page), "", "```sh", command, "```"])


def _image(path: Path, words: str, page: Path) -> str:
    return f"![{words}]({os.path.relpath(path.resolve(), page.parent.resolve())})"
