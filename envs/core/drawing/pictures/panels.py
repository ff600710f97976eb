"""A place of the table as a panel: its name, its notes, whether it is its turn, and its piles of cards, side by side,
overlapping, or as a stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple

from ...rules.table import FACE_DOWN, Pile, Place
from . import letters
from .canvas import Canvas, in_lines
from .cards import PROPORTION, STRIP, draw_card, in_words
from .colours import Colours
from .letters import signed

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
PAD, GAP = 12.0, 14.0
TITLE = 15.0
TURN = "to act"


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
    """What is drawn below."""
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
    """Piles side by side, in rows, each of which is in the middle of the width."""

    laid: list[tuple[float, float, Laid]]
    """Piles with their places."""
    width: float
    """Of the widest row."""
    height: float


def in_rows(piles: Sequence[Pile], ways: Ways, room: float) -> Rows:
    """Lay piles side by side, in as few rows as are possible with cards closer to each other."""
    laid = ([lay(one, ways, room, apart) for one in piles] for apart in CLOSER)
    tried = [in_lines(ones, lambda one: one.width, room, BETWEEN) for ones in laid]
    return _placed(min(tried, key=len), room)


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


def _draw_pile(canvas: Canvas, colours: Colours, laid: Laid, x: float, y: float) -> None:
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


# Panels ---------------------------------------------------------------------------------------------------------------


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
    rows = in_rows(place.piles, ways, room)
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
        _draw_pile(canvas, colours, laid, x + PAD + left, top + down)


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
