"""Cards that lie together, as a picture: side by side, overlapping, or as a stack; and piles beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

from ...rules.table import FACE_DOWN, Pile
from . import letters
from .canvas import Canvas
from .cards import PROPORTION, STRIP, draw_card, in_words
from .colours import Colours
from .suits import signed

BACKS_APART, TIGHT = 0.24, 0.12
"""The distance between card backs, as a part of a card's width: there is nothing to read on them; and where there
is little room."""
APART = 1.08
CLOSER = (APART, 0.9, 0.75, 0.6)
"""Distances between cards that are tried before piles are laid in several rows."""
SMALL, LINE = 12.0, 16.0
"""Size of the small letters, and from line to line."""
LIFT = 7.0
"""By how much a card that may be played is raised."""
BETWEEN = 16.0
"""The distance between piles."""


class Ways(NamedTuple):
    """How piles of a place are laid."""

    card: float
    """The width of a card."""
    playable: Mapping[str, int] = {}
    """The cards that the viewer may play now, with the numbers of these actions."""
    fanned: bool = False
    """Whether stacks are shown as a hand of cards."""


class Laid(NamedTuple):
    """A pile with all measures."""

    pile: Pile
    ways: Ways
    stacked: bool
    rows: list[int]
    """How many cards lie in each row."""
    step: float
    cards_wide: float
    """The width of the widest row."""
    title: str
    lines: list[str]
    """What stands below."""
    lift: float
    width: float
    height: float


def lay(pile: Pile, ways: Ways, room: float, apart: float = APART) -> Laid:
    """Lay out a pile, at most `room` wide: cards at this distance if they fit, else closer, else in rows."""
    heap = pile.heap and len(pile.cards) > 1 and FACE_DOWN in pile.cards
    stacked = heap and not ways.fanned
    count, card = 1 if stacked else len(pile.cards), ways.card
    backs = set(pile.cards) == {FACE_DOWN}
    least = card * (TIGHT if backs else STRIP)
    most = max(1, 1 + int((room - card) / least + 1e-6))
    each = -(-count // max(1, -(-count // most)))
    step = min(card * (BACKS_APART if backs else apart), max(least, (room - card) / max(each - 1, 1)))
    rows = [min(each, count - first) for first in range(0, count, each)] if count else []
    cards_wide = card + (each - 1) * step if count else 0.0
    lift = LIFT if 0 < sum(name in ways.playable for name in pile.cards) < len(pile.cards) else 0.0
    said = ", ".join(([f"{len(pile.cards)} cards"] if heap else []) + list(map(signed, pile.words)))
    title = signed(pile.title)
    beside = max(cards_wide, min(room, max(150.0, letters.width(title, SMALL))))
    lines = letters.broken(said, SMALL, beside)
    width = max([cards_wide, letters.width(title, SMALL), *(letters.width(line, SMALL) for line in lines)])
    height = (LINE + 2) * bool(title) + len(rows) * (card * PROPORTION + lift + 5) + len(lines) * LINE
    return Laid(pile, ways, stacked, rows, step, cards_wide, title, lines, lift, width, height)


class Rows(NamedTuple):
    """Piles side by side, in rows, each of which stands in the middle of the width."""

    laid: list[tuple[float, float, Laid]]
    """Piles with their places."""
    width: float
    """Of the widest row."""
    height: float


def in_rows(piles: Sequence[Pile], ways: Ways, room: float) -> Rows:
    """Lay piles side by side, in as few rows as are possible with cards closer to each other."""
    tried = [_rows([lay(one, ways, room, apart) for one in piles], room) for apart in CLOSER]
    return _placed(min(tried, key=len), room)


def _rows(laid: Sequence[Laid], room: float) -> list[list[Laid]]:
    rows: list[list[Laid]] = []
    left = 0.0
    for one in laid:
        if not rows or one.width > left:
            rows.append([])
            left = room
        rows[-1].append(one)
        left -= one.width + BETWEEN
    return rows


def _placed(rows: list[list[Laid]], room: float) -> Rows:
    found, y, widest = [], 0.0, 0.0
    for row in rows:
        wide = sum(one.width + BETWEEN for one in row) - BETWEEN
        x, widest = (room - wide) / 2, max(widest, wide)
        for one in row:
            found.append((x, y, one))
            x += one.width + BETWEEN
        y += max(one.height for one in row) + 6
    return Rows(found, widest, max(y - 6, 0.0))


def draw(canvas: Canvas, colours: Colours, laid: Laid, x: float, y: float) -> None:
    """Draw a pile with its upper left corner at (x, y)."""
    if laid.title:
        canvas.text(
            x + (laid.width - letters.width(laid.title, SMALL)) / 2, y + SMALL, laid.title, SMALL, colours.quiet
        )
        y += LINE + 2
    cards, ways = laid.pile.cards, laid.ways
    tall, start = ways.card * PROPORTION, x + (laid.width - laid.cards_wide) / 2
    if laid.stacked:
        canvas.box(start + 3, y + 3, ways.card, tall, colours.card_edge, ways.card * 0.09)
        cards = cards[-1:]
    closed = len(cards) > 1 and set(cards) == {FACE_DOWN}
    first = 0
    with canvas.named(f"{len(cards)} cards face down") if closed else nullcontext():
        for count in laid.rows:
            for place in range(first, first + count):
                left = start + (place - first) * laid.step
                if closed:
                    draw_card(canvas, colours, FACE_DOWN, left, y, ways.card)
                else:
                    _one(canvas, colours, laid, place, left, y)
            first += count
            y += tall + laid.lift + 5
    for line in laid.lines:
        canvas.text(x + (laid.width - letters.width(line, SMALL)) / 2, y + SMALL, line, SMALL, colours.word)
        y += LINE


def _one(canvas: Canvas, colours: Colours, laid: Laid, place: int, x: float, y: float) -> None:
    """A card of a pile under its own name; raised if it may be played."""
    pile, ways = laid.pile, laid.ways
    name = pile.cards[-1] if laid.stacked else pile.cards[place]
    action = ways.playable.get(name)
    top = y + laid.lift * (action is None)
    said = f"{len(pile.cards)} cards, on top " * laid.stacked + in_words(name)
    with canvas.named(said, action):
        if action is not None:
            tall = ways.card * PROPORTION
            canvas.box(x - 2.5, top - 2.5, ways.card + 5, tall + 5, colours.accent, ways.card * 0.12)
        counts = pile.counts[place] if pile.counts else ""
        draw_card(canvas, colours, name, x, top, ways.card, faded=bool(laid.lift) and action is None, counts=counts)
