"""The middle of the table: the trick, each card before the seat that played it, and around it what is nobody's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from ...rules.table import Place
from . import letters, panels
from .canvas import Canvas, in_lines
from .cards import PROPORTION, draw_card, in_words
from .colours import Colours
from .panels import LINE, PAD, SMALL, Panel, Ways

CARD, SMALLER = 54.0, 46.0
"""Widths of cards: in the trick, and elsewhere."""
ROUND = 24.0
HIGH = CARD * PROPORTION + LINE
"""Of a card of the trick, with the word below it."""
NAMED = 4
"""At tables of more seats, the cards of a trick are named."""


class Ring(NamedTuple):
    """The places of a trick's cards on an ellipse."""

    seats: int
    viewer: int
    across: float
    down: float

    @property
    def width(self) -> float:
        return 2 * self.across + CARD

    @property
    def height(self) -> float:
        return 2 * self.down + HIGH

    def at(self, seat: int) -> tuple[float, float]:
        """Where a seat's card lies, from the middle of the ring to the middle of the card: the viewer's below, the next
        seat's to the left of it."""
        angle = math.pi / 2 + 2 * math.pi * ((seat - self.viewer) % self.seats) / self.seats
        return self.across * math.cos(angle), self.down * math.sin(angle)

    def overlaps(self) -> bool:
        """Whether two cards overlap, with the words below them."""
        places = itertools.combinations(map(self.at, range(self.seats)), 2)
        return any(abs(x - u) < CARD + 8 and abs(y - v) < HIGH + 2 for (x, y), (u, v) in places)


def ring(seats: int, viewer: int) -> Ring:
    """Return the lowest ring on which no two cards overlap, nor their names."""
    made = Ring(seats, viewer, 1.2 * CARD / math.sin(math.pi / max(seats, 2)), HIGH / 2)
    while made.overlaps():
        made = made._replace(down=made.down + 2)
    return made


class Felt(NamedTuple):
    """The middle with all measures."""

    width: float
    height: float
    ring: Ring | None
    trick: Place | None
    beside: list[tuple[float, Panel]]
    """Places left and right of the trick, with the left edge of each."""
    rows: list[list[Panel]]
    """The others, below it."""
    below: float
    """Where these begin."""


def measure(places: Sequence[Place], width: float, seats: int, viewer: int) -> Felt:
    """Lay out what belongs to no seat."""
    trick = next((one for one in places if one.trick), None)
    found = ring(seats, viewer) if trick else None
    if found and found.width > width - 2 * PAD:
        found, trick = None, None
    others = [one for one in places if one is not trick and (one.piles or one.words)]
    if len(others) == 1 and others[0].title == "table":
        others = [others[0]._replace(title="")]
    ways, beside, left = Ways(SMALLER), list[tuple[float, Panel]](), list[Panel]()
    gutter = (width - found.width) / 2 - PAD if found else 0.0
    for one in others:
        panel = panels.measure(one, width, ways)
        if panel.needed <= gutter and len(beside) < 2:
            start = PAD + (width / 2 + (found.width if found else 0) / 2) * len(beside)
            beside.append((start, panels.measure(one, gutter, ways)))
        else:
            left.append(panel)
    rows = _abreast(left, width, ways)
    words = LINE * len(trick.words if trick else ())
    middle = max([found.height + words if found else 0.0, *(panel.height for _, panel in beside)])
    height = PAD * bool(middle) + middle + sum(max(one.height for one in row) for row in rows) + PAD * bool(middle)
    return Felt(width, max(height, 4 * PAD), found, trick, beside, rows, PAD * bool(middle) + middle)


def _abreast(given: Sequence[Panel], width: float, ways: Ways) -> list[list[Panel]]:
    """Places side by side as far as they fit, in rows; the free width is shared evenly."""
    rows = in_lines(given, lambda one: one.needed, width)
    shares = [(width - sum(one.needed for one in row)) / len(row) for row in rows]
    return [
        [panels.measure(one.place, one.needed + more, ways) for one in row]
        for row, more in zip(rows, shares, strict=True)
    ]


def draw(canvas: Canvas, colours: Colours, felt: Felt, x: float, y: float, height: float) -> None:
    """Draw the middle with its upper left corner at (x, y), at least as high as it was measured."""
    canvas.box(x, y, felt.width, height, colours.middle, ROUND, stroke=colours.edge, stroke_width=1)
    y += (height - felt.height) / 2
    top, tall = y + PAD, felt.below - PAD
    for left, panel in felt.beside:
        panels.draw(canvas, colours, panel, x + left, top + (tall - panel.height) / 2, panel.height, framed=False)
    if felt.ring and felt.trick:
        _trick(canvas, colours, felt, felt.ring, felt.trick, x + felt.width / 2, top)
    y += felt.below
    for row in felt.rows:
        left = x
        for panel in row:
            panels.draw(canvas, colours, panel, left, y, panel.height, framed=False)
            left += panel.width
        y += max(panel.height for panel in row)


def _trick(canvas: Canvas, colours: Colours, felt: Felt, found: Ring, trick: Place, x: float, y: float) -> None:
    """The trick around (x, ...), from the height y on: an empty place for each seat that has not played."""
    for line in trick.words:
        canvas.text(x - letters.width(line, SMALL) / 2, y + SMALL, line, SMALL, colours.word)
        y += LINE
    y += found.down + CARD * PROPORTION / 2
    tall = CARD * PROPORTION
    played = {one.seat: one.cards[0] for one in trick.piles}
    leader = trick.piles[0].seat if trick.piles else None
    for seat in range(found.seats):
        across, down = found.at(seat)
        left, top = x + across - CARD / 2, y + down - tall / 2
        if seat in played:
            with canvas.named(f"seat {seat}: {in_words(played[seat])}"):
                draw_card(canvas, colours, played[seat], left, top, CARD)
        else:
            canvas.box(
                left + 1, top + 1, CARD - 2, tall - 2, "none", CARD * 0.09, stroke=colours.quiet, stroke_width=1,
                stroke_dasharray="3 5", stroke_opacity=0.55,
            )  # fmt: skip
        words = " ".join([f"seat {seat}"] * (found.seats > NAMED) + ["led"] * (seat == leader))
        canvas.text(x + across - letters.width(words, SMALL) / 2, top + tall + SMALL + 1, words, SMALL, colours.quiet)
