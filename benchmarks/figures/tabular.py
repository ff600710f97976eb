"""Tables of results for people: as text, as HTML in notebooks, as a pandas DataFrame."""

from __future__ import annotations

import html
import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from backalley.console.errors import NotInstalled


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
