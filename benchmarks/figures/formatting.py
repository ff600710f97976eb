"""Tables of results for people: number formats, agents' labels and notes, and tables as text, as Markdown, as HTML in
notebooks, as a pandas DataFrame."""

from __future__ import annotations

import html
import importlib
import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from backalley.console.errors import NotInstalled
from backalley.envs.core.game.catalogue import game_names, game_type
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.rules.options import OptionError, typed

from .stats import Estimate

Found = Mapping[str, Any]
"""A file of results."""
Line = dict[str, str]
"""A table's row: columns by name. A column that is empty in every row is left out of the table."""
MET = "†"
"""The mark of a policy that met this bot in training."""
_ROUNDING = 1e-9
"""A half-width that counts as 0: an agent that always plays as another gains the same, except for the order of sums."""


def known(found: Found) -> GameType | None:
    """Return the game of a file, if it is one of this package's or registered: a file from somebody else must not
    choose what Python imports."""
    name = found["game"].partition("-v")[0]
    return game_type(name) if name in game_names() else None


def bound(found: Found) -> Game | None:
    """Return the game of a file under the options there; None where either is unknown here."""
    game = known(found)
    try:
        return game.bind(found.get("options", {})) if game else None
    except (OptionError, TypeError):  # unknown options, or no options at all
        return None


def title(found: Found) -> str:
    """Return the game's title; its id if the game is unknown here."""
    game = known(found)
    return game.title if game else str(found["game"])


def given_options(found: Found) -> list[str]:
    """Return the game's options as they were typed."""
    return [given for option, given in pairwise(shlex.split(str(found["command"]))) if option == "--option"]


def options(found: Found) -> str:
    """The same for a page."""
    return " ".join(f"`{given}`" for given in given_options(found))


def changed(values: Mapping[str, Any]) -> str:
    """Options by name and value, for a page."""
    return " ".join(f"`{name}={typed(value)}`" for name, value in values.items())


def agent(one: Found) -> str:
    """An agent's name."""
    return f"`{one['name']}`"


def signed(value: float, digits: int) -> str:
    """Return a number with its sign; a value that is only rounding is 0."""
    return f"{round(value, 9) + 0.0:+.{digits}f}"


def mean(estimate: Mapping[str, float]) -> str:
    """Return the mean, with as many digits as its interval justifies."""
    return signed(estimate["mean"], _digits(estimate))


def interval(estimate: Mapping[str, float]) -> str:
    """The ends of the interval."""
    digits = _digits(estimate)
    return f"{signed(estimate['low'], digits)} to {signed(estimate['high'], digits)}"


def with_interval(estimate: Mapping[str, float] | None) -> str:
    """Return the mean with the ends of its interval; "" for none."""
    return f"{mean(estimate)} ({interval(estimate)})" if estimate else ""


def optional(row: Found, name: str, form: str = "") -> str:
    """Return a value of a row in a format; "" where the row has none."""
    return format(row[name], form) if name in row else ""


def _digits(estimate: Mapping[str, float]) -> int:
    return decimals([Estimate(**estimate)])


def percent(share: Mapping[str, float]) -> str:
    """The ends of a share's interval, in hundredths."""
    return f"{100 * share['low']:.2f} to {100 * share['high']:.2f}"


def options_text(options: Mapping[str, Any]) -> str:
    """Return options in brackets, for the head of a table; empty where all are at their defaults."""
    return f" ({', '.join(f'{name}={value}' for name, value in options.items())})" if options else ""


def decimals(estimates: Sequence[Estimate]) -> int:
    """Return the decimals that show two digits of the narrowest interval that is more than rounding."""
    widths = [one.half_width for one in estimates if one.half_width > _ROUNDING]
    return int(np.clip(1 - math.floor(math.log10(min(widths))), 2, 8)) if widths else 3


def strength(one: Found) -> Line:
    """Return an agent's mean return and win share, each with its interval; "" where it was not played."""
    played = "mean_return" in one
    return {
        "mean return": mean(one["mean_return"]) if played else "",
        "95 % interval": interval(one["mean_return"]) if played else "",
        "wins": f"{100 * one['win_share']['mean']:.2f} %" if played else "",
        "interval": percent(one["win_share"]) if played else "",
    }


def with_options(found: Found) -> str:
    """The game of a file, with the options that differ from their defaults in brackets."""
    game = bound(found)
    return title(found) + (options_text(game.changed_options) if game else "")


def options_in_words(found: Found) -> list[str]:
    """The options of a file that differ from their defaults: `3 players`, `mode=chemin`."""
    game = bound(found)
    values = game.changed_options if game else {}
    return [f"{value} players" if name == "num_players" else f"{name}={value}" for name, value in values.items()]


def span(numbers: Iterable[int]) -> str:
    """Return numbers of deals, in words."""
    found = sorted(numbers)
    least, most = found[0], found[-1]
    return f"{least:,} to {most:,} deals" if least < most else f"{least:,} deals"


# Agents ---------------------------------------------------------------------------------------------------------------


def label(row: Found) -> str:
    """Return an agent's label: its name as one types it, or its own label."""
    return f"`{row['label']}`" if "made" not in row or row["label"].startswith("policy:") else row["label"]


def met(row: Found, against: str) -> bool:
    """Return whether the policy of a row met a bot in training."""
    return against.removeprefix("bot:") in row.get("met", ())


def notes(files: Sequence[Found]) -> list[str]:
    """Return what a reader of a ladder or a cross table should know of its agents, in sentences."""
    rows = [row for found in files for row in _rows(found)]
    said = [f"{label(row)}: {row['note']}" for row in rows if row.get("note")]
    if any(map(_has_marks, files)):
        said.append(f"{MET} The policy of this row met that bot in training.")
    return list(dict.fromkeys(said))


def _has_marks(found: Found) -> bool:
    """Whether a policy of a table met somebody there in training."""
    if "tables" in found:
        return any(met(row, table["against"]) for table in found["tables"] for row in table["rows"])
    labels = [row["label"] for row in found["agents"]]
    return any(met(row, label) for row in found["agents"] for label in labels)


def makers(files: Sequence[Found]) -> list[str]:
    """Return the commands that made the policies of these tables."""
    return [row["made"] for found in files for row in _rows(found) if "made" in row]


def _rows(found: Found) -> Iterable[Found]:
    if "tables" in found:
        return (row for table in found["tables"] for row in table["rows"])
    rows: Iterable[Found] = found["agents"]
    return rows


# Tables ---------------------------------------------------------------------------------------------------------------


class Figures(NamedTuple):
    """A table, and the text above and below it. Its first `left` columns are aligned left, numbers right."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    left: int = 1


class Tabular:
    """A report: subclasses define `figures` and `records`."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Make IPython show the table, at a terminal and beside a notebook's HTML: if a class has a `__repr__` of its
        own, as dataclasses do, IPython looks for a better one in that class only."""
        super().__init_subclass__(**given)
        cls._repr_pretty_ = lambda self, printer, cycle: printer.text(self.table())  # type: ignore[attr-defined]

    def figures(self) -> Figures:
        """Return the report as people read it."""
        raise NotImplementedError

    def records(self) -> list[dict[str, Any]]:
        """Return the report as plain numbers: a dictionary for each row of `to_dataframe()`."""
        raise NotImplementedError

    def table(self) -> str:
        """Return the report as text."""
        shown = self.figures()
        return "\n\n".join(
            part
            for part in (shown.title, text(shown.head, shown.rows, left=shown.left), "\n".join(shown.notes))
            if part
        )

    def _repr_html_(self) -> str:
        """The report as notebooks show it."""
        shown = self.figures()
        parts = [paragraph(shown.title), html_table(shown), *map(paragraph, shown.notes)]
        return "\n".join(part for part in parts if part)

    def to_dataframe(self) -> Any:
        """Return the report as a pandas DataFrame, a row for each of `records()`. Raises ModuleNotFoundError if pandas
        is not installed."""
        try:
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError:
            raise NotInstalled(
                "to_dataframe() needs pandas, which is not installed: pip install pandas. "
                "records() gives the same rows as dictionaries.",
                name="pandas",
            ) from None
        return pandas.DataFrame.from_records(self.records())


def text(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a table as aligned text; the first `left` columns are aligned left, the numbers right."""
    lines = [head, *rows]
    if not head:
        return ""
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    aligned = (
        "  ".join(
            cell.ljust(width) if number < left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
    return "\n".join(line.rstrip() for line in aligned)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---" if number < left else "---:" for number in range(len(head))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def html_table(shown: Figures, cell: Callable[[str], str] = html.escape) -> str:
    """Return a table as HTML; `cell` turns the text of a cell into HTML."""

    def line(tag: str, cells: Sequence[str]) -> str:
        sides = ["left" if number < shown.left else "right" for number in range(len(cells))]
        made = (
            f'<{tag} style="text-align: {side}">{cell(words)}</{tag}>' for words, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(made)}</tr>"

    body = "\n".join(line("td", row) for row in shown.rows)
    return f"<table>\n<thead>{line('th', shown.head)}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def paragraph(words: str, cell: Callable[[str], str] = html.escape) -> str:
    """Return words as HTML; empty where there are none."""
    return f"<p>{cell(words).replace(chr(10), '<br>')}</p>" if words else ""
