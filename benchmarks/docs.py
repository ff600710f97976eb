"""Writes every table of every page: `python -m backalley.benchmarks.docs`, and `--check` where they must be fresh.

What follows from the code stands between `<!-- generated: KIND -->` marks and is written by `envs/core/docs.py`, which
this runs first. Figures that were measured stand between

    <!-- results: KIND FILE ... -->
    <!-- /results -->

and come from those FILEs of `benchmarks/results` (without `.json`; `*` stands for any letters), with the commands that
measured them. KIND is one of `KINDS`. So no figure of a page is typed by hand. What a Python example prints stands
between `<!-- output -->` and `<!-- /output -->` beneath it; which policies come with a game, in its page between
`<!-- policies -->` and `<!-- /policies -->`. Pictures: `page_pictures.py`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from backalley.envs.core import docs
from backalley.envs.core.base import Game
from backalley.envs.core.catalogue import game as game_of
from backalley.envs.core.catalogue import games, games_root

from . import comparison, costs, standing
from .cells import Found, Line, agent, given_options, interval, mean, options, percent, title
from .page_pictures import with_pictures
from .tabular import markdown

RESULTS = Path(__file__).resolve().parent / "results"
_MARK = "<!-- results: "
_PART = re.compile(_MARK + r"(\w+)((?: [\w*]+)+) -->\n(.*?)<!-- /results -->", re.DOTALL)
_POLICIES = re.compile(r"(<!-- policies -->\n).*?(<!-- /policies -->)", re.DOTALL)
_EXAMPLE = re.compile(r"```python\n(.*?)```\n\n<!-- output -->\n(.*?)<!-- /output -->", re.DOTALL)
_AROUND_THE_GAMES = ("README.md", "benchmarks/README.md", "training/README.md")


def _strength(files: Sequence[Found]) -> Iterable[Line]:
    """A against B: what A returns and how often it wins."""
    several = len({found["game"] for found in files}) > 1
    for found in files:
        first, second = found["agents"]
        yield {
            "game": title(found) if several else "",
            "options": options(found),
            "A": agent(first),
            "B": agent(second),
            "mean return of A": mean(first["mean_return"]),
            "95 % interval": interval(first["mean_return"]),
            "wins of A": f"{100 * first['win_share']['mean']:.2f} %",
            "interval": percent(first["win_share"]),
            "chance": f"{100 / len(set(found['sides'])):.3g} %",
            "deals": f"{found['deals']:,}",
        }


def _alone(files: Sequence[Found]) -> Iterable[Line]:
    """Games of one seat: what each agent returns on the same decks."""
    several = len({found["game"] for found in files}) > 1
    for found in files:
        leads = [None, *(one["mean_return"] for one in found["differences"])]
        for one, lead in zip(found["agents"], leads, strict=True):
            yield {
                "game": title(found) if several else "",
                "options": options(found),
                "agent": agent(one),
                "mean return": mean(one["mean_return"]),
                "95 % interval": interval(one["mean_return"]),
                "wins": f"{100 * one['win_share']['mean']:.2f} %",
                "interval": percent(one["win_share"]),
                f"less {agent(found['agents'][0])}": f"{mean(lead)} ({interval(lead)})" if lead else "",
                "deals": f"{found['deals']:,}",
            }


def _exact(files: Sequence[Found]) -> Iterable[Line]:
    """Exact values, best and random play."""
    for found in files:
        for play in ("best", "random"):
            gain = found[f"{play}_return"]
            yield {
                "game": title(found),
                "play": play,
                "return": f"{gain:+.9f}",
                "wins, a tie counting half": f"{(1 + gain) / 2:.9f}",
                "positions": f"{found['positions']:,}",
            }


def _gaps(files: Sequence[Found]) -> Iterable[Line]:
    """Agents beside best play, by enumeration."""
    for found in files:
        for one in found["agents"]:
            digits = 9 if not one["error"] else 6
            yield {
                "game": title(found),
                "options": options(found),
                "agent": agent(one),
                "return": f"{one['mean_return']:+.{digits}f}",
                "gap to best play": f"{one['gap']:.{digits}f}",
                "standard error at most": f"{one['error']:.1g}" if one["error"] else "",
                "positions": f"{one['positions']:,}",
            }


def _exploitability(files: Sequence[Found]) -> Iterable[Line]:
    """What agents lose to best replies, seat by seat."""
    for found in files:
        for one in found["agents"]:
            yield {
                "game": title(found),
                "options": options(found),
                "agent": agent(one),
                **{f"loses as {seat}": f"{loss:.6f}" for seat, loss in zip(found["seats"], one["losses"], strict=True)},
                "on average": f"{one['mean_loss']:.6f}",
                "in equilibrium the first gains": f"{sum(found['value'].values()) / 2:+.6f}",
            }


def _speed(files: Sequence[Found]) -> Iterable[Line]:
    """Millions of decisions a second, and the rest of what `speed` measures."""
    for game in (game for found in files for game in found["games"]):
        yield {
            "game": title(game),
            **{
                _tables(entry): f"{entry['median'] / 1e6:.2f}"
                for entry in game["batch"]
                if entry["threads"] == 1 or entry["tables"] == 4096
            },
            "AEC loop, thousands": f"{game['aec']['median'] / 1e3:.0f}",
            "search playouts, thousands": f"{game['playouts']['median'] / 1e3:,.0f}",
            "first step ever": f"{game['seconds_to_first_step']['cold']['first_step']:.1f} s",
            "in a later process": f"{game['seconds_to_first_step']['warm']['first_step']:.1f} s",
        }


def _tables(entry: Found) -> str:
    threads = "" if entry["threads"] == 1 else f" on {entry['threads']} threads"
    return f"{entry['tables']:,} table{'' if entry['tables'] == 1 else 's'}{threads}"


def _size(files: Sequence[Found]) -> Iterable[Line]:
    """One game under options that change its size: bytes, as they are now, and millions of decisions a second on one
    thread."""
    for found in files:
        (measured,) = found["games"]
        game = game_of(measured["game"]).bind(dict(given.split("=", 1) for given in given_options(found)))
        yield {
            "options": options(found),
            "state, bytes": f"{game.state_dtype.itemsize:,}",
            "observation, bytes": f"{game.observation_dtype.itemsize:,}",
            **{
                f"millions of decisions a second, {_tables(entry)}": f"{entry['median'] / 1e6:.1f}"
                for entry in measured["batch"]
                if entry["threads"] == 1
            },
        }


def _pace(files: Sequence[Found]) -> str:
    """The slowest and the fastest game of a speed file, in a sentence."""
    paces = {
        title(game): entry["median"]
        for found in files
        for game in found["games"]
        for entry in game["batch"]
        if (entry["tables"], entry["threads"]) == (4096, 1)
    }
    slowest, fastest = (choose(paces, key=lambda title: paces[title]) for choose in (min, max))
    return (
        f"{paces[slowest] / 1e6:.1f} ({slowest}) to {paces[fastest] / 1e6:.1f} ({fastest}) million decisions a second "
        f"on one core of an {files[0]['machine']['processor']}, each with observation and mask written."
    )


def _endurance(files: Sequence[Found]) -> Iterable[Line]:
    """What was played with every promise checked."""
    for game in (game for found in files for game in found["games"]):
        yield {
            "game": title(game),
            **({"sets of options": f"{len(game['sets'])}"} if "sets" in game else {}),
            "decisions": f"{game['decisions']:,}",
            "episodes": f"{game['episodes']:,}",
            "seconds": f"{game['seconds']:.0f}",
        }


def _training_speed(files: Sequence[Found]) -> Iterable[Line]:
    """Our trainer beside MaskablePPO with its defaults."""
    for found in files:
        for name, words in (("backalley", "`backalley train`"), ("sb3_defaults", "`MaskablePPO`, its defaults")):
            side = found[name]
            yield {
                "game": title(found),
                "trainer": words,
                "samples a second": f"{side['samples_per_second']:,.0f}",
                "a processor second": f"{side['samples_per_cpu_second']:,.0f}",
                "times": f"{found['ratio']:.0f}" if name == "backalley" else "1",
            }


def _rates(files: Sequence[Found]) -> Iterable[Line]:
    """How fast the phases of training are."""
    for found in files:
        for row in found["rows"]:
            pace = {f"{name} a second": f"{number:,.0f}" for name, number in row["per_second"].items()}
            of = f" of commit {row['commit'][:7]}" if "commit" in row else ""
            yield {"game": title(found), "phase": f"`{row['phase']}`{of}", "threads": f"{row['threads']}", **pace}


def _training_pace(files: Sequence[Found]) -> str:
    """How many times as fast our trainer is, in a sentence."""
    (found,) = files
    return (
        f"At {title(found)} it learns from {found['ratio']:.0f} times as many samples a second as "
        f"`sb3_contrib.MaskablePPO` with its defaults, side by side on one {found['machine']['processor']}."
    )


KINDS: dict[str, Callable[[Sequence[Found]], Iterable[Line] | str]] = {
    "strength": _strength,
    "alone": _alone,
    "exact": _exact,
    "gaps": _gaps,
    "exploitability": _exploitability,
    "speed": _speed,
    "size": _size,
    "pace": _pace,
    "endurance": _endurance,
    "training_speed": _training_speed,
    "training_pace": _training_pace,
    "rates": _rates,
    "ladder": standing.ladder,
    "ladders": standing.ladders,
    "cross": standing.cross,
    "searches": costs.searches,
    "crowds": costs.crowds,
    "methods": comparison.methods,
    "methods_means": comparison.methods_means,
}
"""The kinds of tables, and of sentences, by name."""
MADE_BY = {
    kind: f"python -m backalley.{module}"
    for kind, module in (
        ("ladder", "benchmarks.ladder"),
        ("ladders", "benchmarks.ladder"),
        ("cross", "benchmarks.cross"),
        ("searches", "benchmarks.searches"),
        ("crowds", "benchmarks.crowds"),
        ("rates", "training.rates"),
        ("methods", "training.methods"),
    )
}
"""Kinds whose files one command makes for any game: a page may ask for them before they are measured."""
_WORDS = {"game", "options", "A", "B", "agent", "against", "alone", "play", "trainer", "phase", "way to train", "seed"}
"""Columns that stand to the left; the others are numbers."""


def table(kind: str, files: Sequence[Found]) -> str:
    """The part of a page that shows these files: a table and the commands behind it, or a sentence."""
    made = KINDS[kind](files)
    if isinstance(made, str):
        return made
    lines = list(made)
    names = dict.fromkeys(name for line in lines for name in line)
    head = [name for name in names if any(line.get(name) for line in lines)]
    left = next((number for number, name in enumerate(head) if name not in _WORDS), len(head))
    rows = [[line.get(name, "") for name in head] for line in lines]
    commands, notes = [found["command"] for found in files], list[str]()
    if kind in ("ladder", "ladders", "cross"):
        commands, notes = commands + standing.makers(files), standing.notes(files)
    elif kind in ("methods", "methods_means"):
        notes = comparison.notes(files)
    elif kind == "searches":
        notes = costs.notes(files)
    parts = [markdown(head, rows, left=left), "\n".join(notes), "\n".join(["```sh", *dict.fromkeys(commands), "```"])]
    return "\n\n".join(part for part in parts if part)


@functools.cache
def _load(path: Path) -> Found:
    found: Found = json.loads(path.read_text("utf-8"))
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
    docs.main(pages(), "python -m backalley.benchmarks.docs", check="--check" in sys.argv[1:])
