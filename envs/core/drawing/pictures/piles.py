"""Cards that lie together, as a picture: side by side, overlapping, or as a stack."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from ...rules.table import FACE_DOWN, Pile
from . import letters
from .canvas import Canvas
from .cards import PROPORTION, STRIP, draw_card
from .colours import Colours

BACKS_APART = 0.24
"""The distance between card backs, as a part of a card's width: there is nothing to read on them."""
APART = 1.1
SMALL, LINE = 12.0, 16.0
"""Size of the small letters, and from line to line."""
LIFT = 7.0
"""By how much a card that may be played is raised."""


class Laid(NamedTuple):
    """A pile with all measures."""

    pile: Pile
    card: float
    """The width of a card."""
    rows: list[int]
    """How many cards lie in each row."""
    step: float
    lines: list[str]
    """What stands below."""
    lift: float
    width: float
    height: float


def _heap(pile: Pile) -> bool:
    return pile.heap and len(pile.cards) > 1 and FACE_DOWN in pile.cards


def lay(pile: Pile, card: float, room: float, playable: Set[str]) -> Laid:
    """Lay out a pile, at most `room` wide: cards side by side if they fit, else overlapping, else in rows. `playable`
    are the names of cards that the viewer may play now."""
    count = 1 if _heap(pile) else len(pile.cards)
    backs = set(pile.cards) == {FACE_DOWN}
    least = card * (BACKS_APART if backs else STRIP)
    step = least if backs else card * APART
    if count > 1 and card + (count - 1) * step > room:
        step = max(least, (room - card) / (count - 1))
    each = max(1, min(count, 1 + int((room - card) / step + 1e-6))) if count else 0
    rows = [min(each, count - first) for first in range(0, count, each)] if count else []
    cards_wide = card + (each - 1) * step if count else 0.0
    lift = LIFT if any(name in playable for name in pile.cards) else 0.0
    said = ", ".join(([f"{len(pile.cards)} cards"] if _heap(pile) else []) + list(pile.words))
    beside = max(cards_wide, min(room, max(150.0, letters.width(pile.title, SMALL))))
    lines = letters.broken(said, SMALL, beside)
    width = max([cards_wide, letters.width(pile.title, SMALL), *(letters.width(line, SMALL) for line in lines)])
    height = (LINE + 2) * bool(pile.title) + len(rows) * (card * PROPORTION + lift + 5) + len(lines) * LINE
    return Laid(pile, card, rows, step, lines, lift, width, height)


def draw(canvas: Canvas, colours: Colours, laid: Laid, x: float, y: float, playable: Set[str]) -> None:
    """Draw a pile with its upper left corner at (x, y)."""
    if laid.pile.title:
        canvas.text(x, y + SMALL, laid.pile.title, SMALL, colours.quiet)
        y += LINE + 2
    cards = laid.pile.cards
    if _heap(laid.pile):
        canvas.box(x + 3, y + 3, laid.card, laid.card * PROPORTION, colours.card_edge, laid.card * 0.1)
        cards = cards[-1:]
    first = 0
    for count in laid.rows:
        for place, name in enumerate(cards[first : first + count]):
            raised = name in playable
            left, top = x + place * laid.step, y + laid.lift * (not raised)
            if raised:
                round = laid.card * 0.13
                canvas.box(left - 2, top - 2, laid.card + 4, laid.card * PROPORTION + 4, colours.accent, round)
            draw_card(canvas, colours, name, left, top, laid.card, faded=bool(laid.lift) and not raised)
        first += count
        y += laid.card * PROPORTION + laid.lift + 5
    for line in laid.lines:
        canvas.text(x, y + SMALL, line, SMALL, colours.word)
        y += LINE
