"""A place of the table as a panel: its name, its notes, its cards, and whether it is its turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...rules.table import Place
from . import letters, piles
from .canvas import Canvas
from .colours import Colours
from .piles import LINE, SMALL, Rows, Ways
from .suits import signed

PAD, GAP = 12.0, 14.0
TITLE = 15.0
TURN = "to act"


class Panel(NamedTuple):
    """A panel with all measures."""

    place: Place
    width: float
    height: float
    beside: str
    """The notes, where they fit beside the name."""
    below: list[str]
    """The notes, where they do not."""
    rows: Rows
    turn: bool
    needed: float
    """The least width in which it would look the same."""


def measure(place: Place, width: float, ways: Ways, turn: bool = False) -> Panel:
    """Lay out a place in a panel of this width."""
    room, words = width - 2 * PAD, signed(" · ".join(place.words))
    name = letters.width(place.title, TITLE, True)
    marked = name + (letters.width(TURN, SMALL, True) + 2 * GAP) * turn
    fits = marked + GAP + letters.width(words, SMALL) <= room
    below = [] if fits else _lines([signed(word) for word in place.words], room)
    head = (TITLE + 6 if place.title or (fits and words) else 0.0) + len(below) * LINE + 4 * bool(below)
    rows = piles.in_rows(place.piles, ways, room)
    widest = max([marked, rows.width, *(letters.width(line, SMALL) for line in below)])
    if fits and words:
        widest = max(widest, marked + GAP + letters.width(words, SMALL))
    height = PAD + head + rows.height + PAD - 4
    return Panel(place, width, height, words if fits else "", below, rows, turn, widest + 2 * PAD + 1)


def draw(
    canvas: Canvas, colours: Colours, panel: Panel, x: float, y: float, height: float, framed: bool = True
) -> None:
    """Draw a panel with its upper left corner at (x, y), at least as high as it was measured; on the middle of the
    table it has no frame."""
    if framed:
        canvas.box(
            x, y, panel.width, height, colours.panel, 12, stroke=colours.accent if panel.turn else colours.edge,
            stroke_width=2.5 if panel.turn else 1,
        )  # fmt: skip
    base = y + PAD + TITLE * letters.CAPITAL
    name, words = panel.place.title, panel.beside
    gap = GAP * bool(name and words)
    start = 0.0 if framed else (panel.width - letters.width(name, TITLE, True) - letters.width(words, SMALL) - gap) / 2
    end = canvas.text(x + max(start, PAD), base, name, TITLE, colours.word, True)
    canvas.text(end + gap, base, words, SMALL, colours.quiet)
    if panel.turn:
        wide = letters.width(TURN, SMALL, True) + 14
        left = x + panel.width - PAD - wide
        canvas.box(left, base - 14, wide, 19, colours.accent, 9.5)
        canvas.text(left + 7, base, TURN, SMALL, colours.on_accent, True)
    top = y + PAD + (TITLE + 6 if panel.place.title or panel.beside else 0)
    for line in panel.below:
        canvas.text(x + PAD, top + 0.8 * LINE - 2, line, SMALL, colours.quiet)
        top += LINE
    top += 4 * bool(panel.below)
    for left, down, laid in panel.rows.laid:
        piles.draw(canvas, colours, laid, x + PAD + left, top + down)


def _lines(words: Sequence[str], room: float) -> list[str]:
    """Notes in lines, none of them broken that fits into one."""
    lines: list[str] = []
    for word in words:
        joined = f"{lines[-1]} · {word}" if lines else word
        if letters.width(joined, SMALL) <= room:
            lines[-1:] = [joined]
        else:
            lines += letters.broken(word, SMALL, room)
    return lines
