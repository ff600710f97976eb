"""A whole table as SVG: the other seats above, then the middle, the viewer's own place, and the legal actions below."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from ...rules.table import Place, Table, abreast, text_of
from ..scene import Scene
from . import letters, panels
from .canvas import Canvas
from .cards import is_card
from .colours import Colours, colours
from .panels import GAP
from .piles import LINE, SMALL

WIDTH, MARGIN = 960.0, 18.0
ROOM = WIDTH - 2 * MARGIN
OWN, MIDDLE, OTHER, MANY = 60.0, 50.0, 44.0, 36.0
"""Widths of cards: in the viewer's own place, in the middle, in the others', and where there are many of these."""
BEYOND = 10_000.0
"""How far the background extends, for frames of another shape than the picture's."""
FEW = 6
"""More seats than this are many."""
HEAD = 19.0
MOST_ACTIONS = 40
NONE: frozenset[str] = frozenset()
"""Cards to play, in places that are not the viewer's."""

Step = Callable[[Canvas, float], float]
"""Draws a part of the picture from a height on, and returns where it ends."""


def svg(scene: Scene, theme: str = "light", four_colours: bool = False, frame: tuple[int, int] | None = None) -> str:
    """Return the picture of a table: 960 pixels wide and as high as it needs, or in a `frame` of (width, height).
    Raises ValueError for an unknown theme."""
    scheme, canvas = colours(theme, four_colours), Canvas()
    canvas.box(-BEYOND, -BEYOND, WIDTH + 2 * BEYOND, 3 * BEYOND, scheme.ground)
    y = MARGIN
    for draw in _steps(scene, scheme):
        y = draw(canvas, y)
    return canvas.svg(WIDTH, y - GAP + MARGIN, scene.title, text_of(scene.table), frame)


def _steps(scene: Scene, scheme: Colours) -> list[Step]:
    playable = _playable(scene)
    others, middle, own = _in_order(scene)
    size, per_row = OTHER if len(others) <= FEW else MANY, _per_row(len(others))
    each = (ROOM - (per_row - 1) * GAP) / max(per_row, 1)
    rows = [[(one, each) for one in others[first : first + per_row]] for first in range(0, len(others), per_row or 1)]
    steps: list[Step] = [lambda canvas, y: _head(canvas, scheme, scene, y)]
    steps += [_row(scheme, scene, row, size, NONE) for row in rows]
    steps += [_row(scheme, scene, row, MIDDLE, NONE) for row in _abreast(middle)]
    steps += [_row(scheme, scene, [(one, ROOM)], OWN, playable) for one in own]
    if scene.actions:
        steps.append(lambda canvas, y: _actions(canvas, scheme, scene, playable, y))
    if scene.table.sheet:
        steps.append(lambda canvas, y: _sheet(canvas, scheme, scene.table, y))
    return steps


def _abreast(places: Sequence[Place]) -> list[list[tuple[Place, float]]]:
    """Places side by side as far as they fit, in rows; the free width is shared evenly."""
    rows: list[list[tuple[Place, float]]] = []
    left = 0.0
    for one in places:
        needed = panels.measure(one, ROOM, MIDDLE, NONE, False).needed
        if not rows or needed + GAP > left:
            rows.append([])
            left = ROOM + GAP
        rows[-1].append((one, needed))
        left -= needed + GAP
    spare = [(ROOM + GAP - sum(needed + GAP for _, needed in row)) / len(row) for row in rows]
    return [[(one, needed + more) for one, needed in row] for row, more in zip(rows, spare, strict=True)]


def _playable(scene: Scene) -> frozenset[str]:
    """The cards that legal actions name."""
    words = {name.rpartition(" ")[2] for name in scene.actions or ()}
    return frozenset(word for word in words if is_card(word))


def _in_order(scene: Scene) -> tuple[list[Place], list[Place], list[Place]]:
    """The others from the viewer's left on, the middle, and the viewer's own places."""
    places, own = scene.table.places, scene.viewer
    seats = sorted({one.seat for one in places if one.seat is not None and one.seat != own})
    turned = [seat for seat in seats if own is not None and seat > own] + [
        seat for seat in seats if own is None or seat < own
    ]
    others = [one for seat in turned for one in places if one.seat == seat]
    return (
        others,
        [one for one in places if one.seat is None],
        [one for one in places if one.seat is not None and one.seat == own],
    )


def _per_row(count: int) -> int:
    return count if count <= 3 else 2 if count == 4 else 3 if count <= 9 else 4 if count <= 12 else 6


def _row(scheme: Colours, scene: Scene, places: Sequence[tuple[Place, float]], card: float, playable: Set[str]) -> Step:
    """Panels side by side, each of its width, all as high as the highest."""
    row = [
        panels.measure(one, width, card, playable, one.seat is not None and one.seat == scene.acting)
        for one, width in places
    ]
    height = max(one.height for one in row)

    def draw(canvas: Canvas, y: float) -> float:
        x = MARGIN
        for one in row:
            panels.draw(canvas, scheme, one, x, y, height, playable)
            x += one.width + GAP
        return y + height + GAP

    return draw


def _head(canvas: Canvas, scheme: Colours, scene: Scene, y: float) -> float:
    canvas.text(MARGIN, y + HEAD * letters.CAPITAL, scene.title, HEAD, scheme.word, True)
    seen = scene.seen
    canvas.text(WIDTH - MARGIN - letters.width(seen, SMALL), y + HEAD * letters.CAPITAL, seen, SMALL, scheme.quiet)
    y += HEAD + 10
    for word in (*scene.table.words, *([scene.turn] if scene.acting is None else [])):
        for line in letters.broken(word, 14, ROOM):
            canvas.text(MARGIN, y + 10, line, 14, scheme.word)
            y += 19
    return y + 6


def _actions(canvas: Canvas, scheme: Colours, scene: Scene, playable: Set[str], y: float) -> float:
    """The legal actions, except for the cards that are marked already."""
    names = [name for name in scene.actions or () if name.rpartition(" ")[2] not in playable]
    if len(names) > MOST_ACTIONS:
        names = [*names[:MOST_ACTIONS], f"... {len(names)} in all"]
    x = MARGIN
    for name in names:
        wide = letters.width(name, 14, True) + 22
        if x > MARGIN and x + wide > WIDTH - MARGIN:
            x, y = MARGIN, y + 36
        canvas.box(x, y, wide, 28, scheme.panel, 14, stroke=scheme.accent, stroke_width=1.5)
        canvas.text(x + 11, y + 19, name, 14, scheme.word, True)
        x += wide + 8
    return y + 28 + GAP if names else y


def _sheet(canvas: Canvas, scheme: Colours, table: Table, y: float) -> float:
    """A score sheet: as many columns side by side as fit."""
    sheet = table.sheet
    canvas.text(MARGIN, y + SMALL, table.legend, SMALL, scheme.word)
    y += LINE + 4
    widths = [max(letters.width(row[column], SMALL) for row in sheet) for column in range(len(sheet[0]))]
    for columns in abreast(widths, ROOM, 16):
        for number, row in enumerate(sheet):
            right = MARGIN
            for column in columns:
                right += widths[column]
                start = right - letters.width(row[column], SMALL)
                canvas.text(start, y + SMALL, row[column], SMALL, scheme.quiet if number == 0 else scheme.word)
                right += 16
            y += LINE
        y += 8
    return y + GAP
