"""What lies on a table, as one seat may see it: the one description that both text and pictures are drawn from.

A game says which places there are and what lies there, and nothing of how it is drawn.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

FACE_DOWN = "--"
"""Stands for a card that the seat cannot see."""
CARD = re.compile(r"[2-9TJQKA][CDHS](?:[ab]|\.\d+)?|JOKER|BJ|LJ")
"""How games name cards: rank and suit, and what tells copies apart; the jokers."""
COLUMNS = 80
"""The width that text is broken to."""


class Pile(NamedTuple):
    """Cards that lie together."""

    cards: tuple[str, ...] = ()
    """Their names, in the order in which they lie; FACE_DOWN for one that is not seen."""
    title: str = ""
    words: tuple[str, ...] = ()
    """What is said of them: a total, how they were bid on."""
    heap: bool = False
    """Whether they lie on one another, the last on top, so that only that one and their number show."""


class Place(NamedTuple):
    """A seat, or a part of the table that is nobody's."""

    title: str
    piles: tuple[Pile, ...] = ()
    words: tuple[str, ...] = ()
    """Bids, scores, stakes; who deals."""
    seat: int | None = None
    """Whose place it is; None for the middle of the table."""


class Table(NamedTuple):
    """A table as one seat sees it; `laid_out` makes one."""

    words: tuple[str, ...] = ()
    """How far the game has come, what is trumps, what is in the pot."""
    places: tuple[Place, ...] = ()
    """In the order of the seats, the middle of the table last."""
    sheet: tuple[tuple[str, ...], ...] = ()
    """A score sheet: rows of equal length, headings first."""
    legend: str = ""
    """What the sheet's entries say."""


def pile(cards: Iterable[str], title: str = "", *words: str, shown: bool = True, heap: bool = False) -> Pile:
    """A pile of cards by their names, face down unless `shown`; empty words are left out."""
    names = tuple(cards) if shown else tuple(FACE_DOWN for _ in cards)
    return Pile(names, title, tuple(word for word in words if word), heap)


def place(title: str, piles: Iterable[Pile], words: Iterable[str] = (), seat: int | None = None) -> Place:
    """A place with those of its piles that hold cards or are spoken of; empty words are left out."""
    return Place(
        title, tuple(one for one in piles if one.cards or one.words), tuple(word for word in words if word), seat
    )


def laid_out(
    words: Iterable[str], places: Iterable[Place], sheet: Iterable[tuple[str, ...]] = (), legend: str = ""
) -> Table:
    """A table with every seat, and those other places where something lies or is said."""
    seen = (one for one in places if one.seat is not None or one.piles or one.words)
    return Table(tuple(word for word in words if word), tuple(seen), tuple(sheet), legend)


def text_of(table: Table) -> str:
    """A table in text, at most 80 columns wide where no word is longer."""
    width = max((len(one.title) for one in table.places), default=0)
    lines = [line for word in table.words for line in broken(word, "")]
    for one in table.places:
        lines += _place_lines(one, width)
    return "\n".join(lines + sheet_lines(table))


def _place_lines(one: Place, width: int) -> list[str]:
    if one.piles and all(lying.title and len(lying.cards) == 1 and not lying.words for lying in one.piles):
        lying = ", ".join(f"{lying.title} {lying.cards[0]}" for lying in one.piles)
        return _row(f"{one.title:{width}}  ", lying, one.words)
    if len(one.piles) > 1 or any(lying.title for lying in one.piles):
        head = f"{one.title:{width}}  {', '.join(one.words)}".rstrip()
        inner = max(len(lying.title) for lying in one.piles)
        rows = [(f"  {lying.title:{inner}}  ", cards_of(lying), lying.words) for lying in one.piles]
        return [*broken(head, " " * (width + 2)), *(line for row in rows for line in _row(*row))]
    words = (*(one.piles[0].words if one.piles else ()), *one.words)
    return _row(f"{one.title:{width}}  ", cards_of(one.piles[0]) if one.piles else "", words)


def _row(start: str, cards: str, words: Sequence[str]) -> list[str]:
    said = ", ".join(words)
    return broken(f"{start}{cards}{'  ' if cards and said else ''}{said}".rstrip(), " " * len(start))


def broken(line: str, indent: str = "") -> list[str]:
    """A line in lines of at most 80 columns, where no word is longer; the later ones are indented."""
    return textwrap.wrap(
        line, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True,
        replace_whitespace=False,
    )  # fmt: skip


def cards_of(lying: Pile) -> str:
    """The cards of a pile in text; of a heap that is not all seen, how many there are and the top one."""
    if lying.heap and FACE_DOWN in lying.cards:
        top = "" if lying.cards[-1] == FACE_DOWN else f", {lying.cards[-1]} on top"
        return f"{len(lying.cards)} card{'s' * (len(lying.cards) > 1)}{top}"
    return " ".join(lying.cards)


def sheet_lines(table: Table) -> list[str]:
    """A score sheet in text: its first column, and as many others abreast as there is room for."""
    sheet = table.sheet
    if not sheet:
        return []
    widths = [max(len(row[column]) for row in sheet) for column in range(len(sheet[0]))]
    lines = broken(table.legend, "")
    for columns in abreast(widths, COLUMNS, 2):
        lines += ["  ".join(f"{row[column]:>{widths[column]}}" for column in columns) for row in sheet]
    return lines


def abreast(widths: Sequence[float], room: float, gap: float) -> list[list[int]]:
    """Columns in bands of at most `room`, each of which begins with the first column."""
    bands, left = [[0]], room - widths[0]
    for column in range(1, len(widths)):
        left -= gap + widths[column]
        if left < 0 and len(bands[-1]) > 1:
            bands.append([0])
            left = room - widths[0] - gap - widths[column]
        bands[-1].append(column)
    return bands
