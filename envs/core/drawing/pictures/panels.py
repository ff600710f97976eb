"""A place of the table as a panel: its name, its notes, its cards, and whether it is its turn."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from ...rules.table import Place
from . import letters, piles
from .canvas import Canvas
from .colours import Colours
from .piles import Laid

PAD, GAP = 12.0, 14.0
TITLE = 15.0
TURN = "to act"


class Panel(NamedTuple):
    """A panel with all measures."""

    place: Place
    width: float
    height: float
    lines: list[str]
    laid: list[tuple[float, float, Laid]]
    """Piles with their places in the panel."""
    turn: bool
    needed: float
    """The least width in which it would look the same."""


def measure(place: Place, width: float, card: float, playable: Set[str], turn: bool) -> Panel:
    """Lay out a place in a panel of this width."""
    room = width - 2 * PAD
    lines = letters.broken(" · ".join(place.words), piles.SMALL, room)
    x, y, tallest = 0.0, PAD + TITLE + 6 + len(lines) * piles.LINE, 0.0
    head = letters.width(place.title, TITLE, True) + (letters.width(TURN, piles.SMALL, True) + 2 * GAP) * turn
    widest = max([head, *(letters.width(line, piles.SMALL) for line in lines)])
    laid = []
    for one in place.piles:
        found = piles.lay(one, card, room, playable)
        if x and x + found.width > room:
            x, y, tallest = 0.0, y + tallest + 6, 0.0
        laid.append((x, y, found))
        x, tallest = x + found.width + GAP, max(tallest, found.height)
        widest = max(widest, x - GAP)
    return Panel(place, width, y + tallest + PAD, lines, laid, turn, widest + 2 * PAD + 1)


def draw(canvas: Canvas, colours: Colours, panel: Panel, x: float, y: float, height: float, playable: Set[str]) -> None:
    """Draw a panel with its upper left corner at (x, y), at least as high as it was measured."""
    fill = colours.panel if panel.place.seat is not None else colours.middle
    canvas.box(
        x, y, panel.width, height, fill, 10, stroke=colours.accent if panel.turn else colours.edge,
        stroke_width=2.5 if panel.turn else 1,
    )  # fmt: skip
    base = y + PAD + TITLE * letters.CAPITAL
    canvas.text(x + PAD, base, panel.place.title, TITLE, colours.word, True)
    if panel.turn:
        wide = letters.width(TURN, piles.SMALL, True) + 14
        left = x + panel.width - PAD - wide
        canvas.box(left, base - 14, wide, 19, colours.accent, 9.5)
        canvas.text(left + 7, base, TURN, piles.SMALL, colours.on_accent, True)
    for number, line in enumerate(panel.lines):
        canvas.text(x + PAD, base + 6 + (number + 0.8) * piles.LINE, line, piles.SMALL, colours.quiet)
    for left, top, laid in panel.laid:
        piles.draw(canvas, colours, laid, x + PAD + left, y + top, playable)
