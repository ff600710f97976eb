"""Kinds of results: one class for each kind says how it is written and read, its tables and charts, and its command.

The class is in the file that measures the kind. Results of training, which is above this folder, have theirs in a file
here. A class is found once it is imported; `sources.py` imports them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from backalley.envs.core.game.game import Game

from . import results
from .formatting import Figures, Found, Line, Tabular, options_text

if TYPE_CHECKING:
    from .charts import Chart

Files = Sequence[Found]
Lines = Callable[[Files], Iterable[Line] | str]
"""Makes the lines of a table, or a sentence, from files of one kind."""
Columns = Mapping[str, str | Callable[[Found], str]]
"""Columns of a table by name: a format string over the values of an entry and of its file, or a function of them."""
KINDS: dict[str, type[Result]] = {}
"""Kinds of results, by the word `kind` of their files."""
_TEXT = {"game", "options", "A", "B", "agent", "against", "alone", "play", "trainer", "phase", "method", "seed"}
_TEXT |= {"deal", "to act", "action", "game's bot", "check", "measured", "did", "library", "played through"}
_TEXT |= {"thousands of decisions a second", "with", "kind", "learner", "attacker", "drawn from"}
"""Columns that are aligned to the left; the others are numbers."""
_MODULE = re.compile(r"^python -m backalley\.(\w+\.\w+)(?= |$)")
_TODAY = {
    "benchmarks.ladder": "study ladder",
    "benchmarks.cross": "study cross",
    "benchmarks.endurance": "soak",
    "training.methods": "study compare",
    "training.throughput": "study throughput",
}
"""Today's commands of `backalley dev` for modules that older files name; others no longer exist."""
_STUDY = re.compile(
    r"^backalley dev (?=(ladder|enter|cross|searches|events|sequential|peers|cluster-check|ppo|library|beliefs"
    r"|openspiel|compare|learners|throughput)( |$))"
)
"""Commands of version 1.0.0 that are studies today."""


def lines(columns: Columns, rows: str = "") -> Lines:
    """Return what makes a line of each entry of `rows` in every file, or of each file."""

    def made(files: Files) -> Iterator[Line]:
        for found in files:
            for row in found[rows] if rows else ({},):
                values = {**found, **row}
                yield {
                    name: one.format_map(values) if isinstance(one, str) else one(values)
                    for name, one in columns.items()
                }

    return made


class Result(Tabular):
    """Results of one kind. A subclass gives its kind by keywords (`__init_subclass__`) and has `to_json`."""

    kind: ClassVar[str]
    heading: ClassVar[str]
    tables: ClassVar[Mapping[str, Lines]]
    in_title: ClassVar[frozenset[str]] = frozenset({"game", "options"})
    """Columns of the first table that are in the title of the result as text."""
    brief: ClassVar[frozenset[str]] = frozenset()
    """Tables that pages show without notes and commands, since another table of the same files has them."""
    says: ClassVar[str] = ""
    """The first line of the result as text; by default the game and its options."""

    def __init_subclass__(cls, *, kind: str = "", heading: str = "", tables: Mapping[str, Lines] | None = None) -> None:
        """Register a kind by the word `kind` of its files.

        Reports put `heading` above such results. `tables` are tables, and sentences, by their names in the marks of
        pages; the first is the one of reports and of the result as text.
        """
        super().__init_subclass__()
        if kind:
            cls.kind, cls.heading, cls.tables = kind, heading, tables or {}
            KINDS[kind] = cls

    def to_json(self) -> dict[str, Any]:
        """Return the result in the form that `results.write` takes."""
        raise NotImplementedError

    @classmethod
    def read(cls, found: Found) -> Found:
        """Return the contents of a file of this kind in the form that tables and charts take."""
        return found

    @classmethod
    def shown(cls, files: Files) -> str:
        """Return the name of the table that reports show of these files."""
        return next(iter(cls.tables))

    @classmethod
    def together(cls, found: Found) -> Any:
        """Return a value that is equal for files that share a table in a report; None: each has its own."""
        return None

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Return notes for readers of a table, in sentences."""
        return []

    @classmethod
    def commands(cls, files: Files) -> list[str]:
        """Return the commands that made the agents of these files, where files say so."""
        return []

    @classmethod
    def charts(cls, files: Files) -> Iterable[Chart]:
        """Return the charts of these files."""
        return ()

    @classmethod
    def summary(cls, files: Files) -> Chart:
        """Return one chart of many files. Raises NotImplementedError where a kind has none."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """The first line of the result as text."""
        if self.says:
            return self.says
        found = self.to_json()
        return f"{found['game']}{options_text(getattr(self, 'changed', found['options']))}"

    def figures(self) -> Figures:
        """Return the first table, in plain text, without the columns that are in its title."""
        found = [self.to_json()]
        shown = table_of(self.tables[self.shown(found)](found), self.footnotes(found), self.in_title)
        assert not isinstance(shown, str)
        rows = [[_plain(cell) for cell in row] for row in shown.rows]
        return Figures(self.title, [*map(_plain, shown.head)], rows, [*map(_plain, shown.notes)], shown.left)

    def records(self) -> list[dict[str, Any]]:
        """A row for each line of the table."""
        shown = self.figures()
        return [dict(zip(shown.head, row, strict=True)) for row in shown.rows]


class Kept(Result):
    """A result that has just the contents of its file."""

    def __init__(self, found: Found) -> None:
        self.found = found

    def to_json(self) -> dict[str, Any]:
        """Return the result in the form that `results.write` takes."""
        return {**self.found}


@dataclass(frozen=True, kw_only=True)
class OfGame(Result):
    """A result of one game, with what every file of such a result says first and last. A subclass adds what was
    found."""

    game: str
    options: dict[str, Any]
    changed: dict[str, Any]
    """Those options that differ from their defaults."""
    stamp: dict[str, Any]
    command: str = ""

    def measured(self) -> dict[str, Any]:
        """What was found, as its file holds it: the fields of the subclass."""
        about = {field.name for field in fields(OfGame)}
        return {field.name: stored(getattr(self, field.name)) for field in fields(self) if field.name not in about}

    def to_json(self) -> dict[str, Any]:
        """The result as `results.write` takes it."""
        about = {"kind": self.kind, "command": self.command, "game": self.game, "options": self.options}
        return {**about, **self.measured(), **self.stamp}


def of_game(game: Game, measuring: str = "") -> dict[str, Any]:
    """The fields of `OfGame` for a game that the module of the file `measuring` measures now; without it they have no
    stamp."""
    about = {"game": game.id, "options": game.option_values, "changed": game.changed_options}
    return {**about, "stamp": results.stamp(measuring, game) if measuring else {}}


def stored(value: Any) -> Any:
    """Return a value in the form that JSON takes: what has names by its names."""
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, list):
        return [stored(one) for one in value]
    if hasattr(value, "to_json"):
        return value.to_json()
    return {name: stored(one) for name, one in value._asdict().items()} if hasattr(value, "_asdict") else value


def _plain(cell: str) -> str:
    return cell.replace("`", "")


def table_of(made: Iterable[Line] | str, notes: Sequence[str], without: Iterable[str] = ()) -> Figures | str:
    """Return lines as a table with its notes, without the columns that are empty in every line and those in `without`;
    a sentence is returned as it is. Cells are Markdown."""
    if isinstance(made, str):
        return made
    lines = list(made)
    names = dict.fromkeys(name for line in lines for name in line)
    head = [name for name in names if name not in without and any(line.get(name) for line in lines)]
    left = next((number for number, name in enumerate(head) if name not in _TEXT), len(head))
    return Figures("", head, [[line.get(name, "") for name in head] for line in lines], notes, left)


def tables() -> dict[str, type[Result]]:
    """Return the kind of each table, by the table's name."""
    return {name: kind for kind in KINDS.values() for name in kind.tables}


def figures(name: str, files: Files) -> Figures | str:
    """Return the table or sentence of that name for these files."""
    kind = tables()[name]
    return table_of(kind.tables[name](files), [] if name in kind.brief else kind.footnotes(files))


def commands(name: str, files: Files) -> list[str]:
    """Return the commands that measure these files again, and make the policies in them."""
    return list(dict.fromkeys([*(again(found) for found in files), *tables()[name].commands(files)]))


def again(found: Found) -> str:
    """Return the command that measures a file again, or the original one if there is no such command any more."""
    line = _MODULE.sub(
        lambda named: f"backalley dev {_TODAY[named[1]]}" if named[1] in _TODAY else named[0], found["command"]
    )
    return _STUDY.sub("backalley dev study ", line)
