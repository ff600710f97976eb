"""A table as one seat may see it: the one description from which both text and pictures are drawn.

A game says which places there are and which cards are there, not how they are drawn.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

FACE_DOWN = "--"
"""The name of a card that the seat cannot see."""
CARD = re.compile(r"[2-9TJQKA][CDHS](?:[ab]|\.\d+)?|JOKER|BJ|LJ")
"""How games name cards: rank and suit, and a mark for copies; the jokers."""
COLUMNS = 80
"""The width at which text is wrapped."""


class Pile(NamedTuple):
    """Cards that lie together."""

    cards: tuple[str, ...] = ()
    """Their names, in order; FACE_DOWN for one that is not seen."""
    title: str = ""
    words: tuple[str, ...] = ()
    """Notes: a total, how they were bid on."""
    heap: bool = False
    """Whether they are stacked, the last on top, so that only that one and their number show."""
    seat: int | None = None
    """The seat that played them, in a trick."""
    counts: tuple[str, ...] = ()
    """What each card counts, for pictures of games in which that is not the number on it; empty where it is."""


class Place(NamedTuple):
    """A seat, or a part of the table that belongs to nobody."""

    title: str
    piles: tuple[Pile, ...] = ()
    words: tuple[str, ...] = ()
    """Bids, scores, stakes; who deals."""
    seat: int | None = None
    """The seat; None for the middle of the table."""
    trick: bool = False
    """Whether it is the trick that is being played: its piles name their seats, the leader's first."""


class Table(NamedTuple):
    """A table as one seat sees it; `laid_out` makes one."""

    words: tuple[str, ...] = ()
    """The state of the game: the round, the trump suit, the pot."""
    places: tuple[Place, ...] = ()
    """In the order of the seats, the middle of the table last."""
    sheet: tuple[tuple[str, ...], ...] = ()
    """A score sheet: rows of equal length, headings first."""
    legend: str = ""
    """What the score sheet shows."""
    headline: str = ""
    """What people are shown first: what is asked of the seat to act (`lead a card`); after a deal, what came of it."""


def pile(cards: Iterable[str], title: str = "", *words: str, shown: bool = True, heap: bool = False) -> Pile:
    """Return a pile of cards by their names, face down unless `shown`; empty words are left out."""
    names = tuple(cards) if shown else tuple(FACE_DOWN for _ in cards)
    return Pile(names, title, tuple(word for word in words if word), heap)


def trick(played: Iterable[tuple[int, str]], words: Iterable[str] = (), title: str = "trick") -> Place:
    """Return the trick that is being played, by the seats and their cards in the order of play."""
    piles = tuple(Pile((card,), f"seat {seat}", seat=seat) for seat, card in played)
    return Place(title, piles, tuple(word for word in words if word), trick=True)


def place(title: str, piles: Iterable[Pile], words: Iterable[str] = (), seat: int | None = None) -> Place:
    """Return a place with those of its piles that hold cards or have notes; empty words are left out."""
    return Place(
        title, tuple(one for one in piles if one.cards or one.words), tuple(word for word in words if word), seat
    )


def laid_out(
    words: Iterable[str], places: Iterable[Place], sheet: Iterable[tuple[str, ...]] = (), legend: str = "",
    headline: str = "",
) -> Table:  # fmt: skip
    """Return a table with every seat, the trick, and those other places that have cards or notes."""
    seen = (one for one in places if one.seat is not None or one.trick or one.piles or one.words)
    return Table(tuple(word for word in words if word), tuple(seen), tuple(sheet), legend, headline)


def text_of(table: Table) -> str:
    """Return a table as text, at most 80 columns wide unless one word is longer."""
    places = [one for one in table.places if one.seat is not None or one.piles or one.words]
    width = max((len(one.title) for one in places), default=0)
    lines = [line for word in table.words for line in broken(word, "")]
    for one in places:
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
    """Return a line wrapped to at most 80 columns unless one word is longer; later lines are indented."""
    if len(line) <= COLUMNS and line.isprintable():  # what wrapping would give, which takes far longer
        return [short] if (short := line.rstrip(" ")) else []
    return textwrap.wrap(
        line, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True,
        replace_whitespace=False,
    )  # fmt: skip


def cards_of(lying: Pile) -> str:
    """Return the cards of a pile as text; for a stack that is not all seen, their number and the top card."""
    if lying.heap and FACE_DOWN in lying.cards:
        top = "" if lying.cards[-1] == FACE_DOWN else f", {lying.cards[-1]} on top"
        return f"{len(lying.cards)} card{'s' * (len(lying.cards) > 1)}{top}"
    return " ".join(lying.cards)


def sheet_lines(table: Table) -> list[str]:
    """Return a score sheet as text: its first column, and beside it as many others as fit."""
    sheet = table.sheet
    if not sheet:
        return []
    widths = [max(len(row[column]) for row in sheet) for column in range(len(sheet[0]))]
    lines = broken(table.legend, "")
    for columns in abreast(widths, COLUMNS, 2):
        lines += ["  ".join(f"{row[column]:>{widths[column]}}" for column in columns) for row in sheet]
    return lines


def abreast(widths: Sequence[float], room: float, gap: float) -> list[list[int]]:
    """Return columns in groups of width at most `room`, each beginning with the first column."""
    bands, left = [[0]], room - widths[0]
    for column in range(1, len(widths)):
        left -= gap + widths[column]
        if left < 0 and len(bands[-1]) > 1:
            bands.append([0])
            left = room - widths[0] - gap - widths[column]
        bands[-1].append(column)
    return bands
