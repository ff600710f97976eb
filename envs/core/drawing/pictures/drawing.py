"""A whole table as SVG, from the viewer's chair: the others around it in the order of play, the trick in the middle,
the viewer's own cards and the legal actions below."""

from __future__ import annotations

from collections.abc import Sequence

from backalley.console.errors import InvalidValue

from ...rules.table import Place, Table, abreast, text_of
from ..scene import Scene
from . import buttons, letters, middle, panels
from .canvas import Canvas
from .cards import is_card
from .colours import Colours, colours
from .letters import signed
from .panels import GAP, LINE, PAD, SMALL, Panel, Ways

WIDTH, NARROWEST, NARROW = 960.0, 320.0, 700.0
"""Of a picture: by default, at least, and below which nobody sits at the sides."""
OWN, OTHER, MANY = 84.0, 46.0, 36.0
"""Widths of cards: in the viewer's own place, in the others', and where there are many of these."""
SIDE = 196.0
"""The width of the seats at the sides."""
ENOUGH = 330.0
"""The width of a panel for most of what a seat shows."""
BEYOND = 10_000.0
"""How far the background extends, for frames of another shape than the picture's."""
FEW, AROUND = 6, 12
"""More seats than the first are many; more than the second sit in rows, since they do not fit around the table."""
HEAD = 19.0


class Sheet:
    """A picture while it is drawn, from top to bottom."""

    def __init__(self, scene: Scene, scheme: Colours, width: float) -> None:
        self.scene, self.scheme, self.canvas = scene, scheme, Canvas(scheme.signs)
        self.width, self.margin = width, 18.0 if width >= NARROW else 10.0
        self.y = self.margin

    @property
    def room(self) -> float:
        """The width between the margins."""
        return self.width - 2 * self.margin

    @property
    def shared(self) -> list[Place]:
        """What belongs to no seat; the empty trick only while the game is going on."""
        places = (one for one in self.scene.table.places if one.seat is None)
        return [one for one in places if one.piles or one.words or self.scene.acting is not None]

    def head(self) -> None:
        """The game's name, who sees the table, and the state of the game."""
        canvas, scheme, scene = self.canvas, self.scheme, self.scene
        beside = letters.width(scene.title, HEAD, True) + GAP + letters.width(scene.seen, SMALL) <= self.room
        for line in letters.broken(scene.title, HEAD, self.room, True):
            canvas.text(self.margin, self.y + HEAD * letters.CAPITAL, line, HEAD, scheme.word, True)
            self.y += HEAD + 6
        if beside:
            left = self.width - self.margin - letters.width(scene.seen, SMALL)
            canvas.text(left, self.y - HEAD - 6 + HEAD * letters.CAPITAL, scene.seen, SMALL, scheme.quiet)
        else:
            canvas.text(self.margin, self.y + 8, scene.seen, SMALL, scheme.quiet)
            self.y += LINE
        self.y += 4
        for word in (*scene.table.words, *([scene.turn] if scene.acting is None else [])):
            for line in letters.broken(signed(word), 14, self.room):
                canvas.text(self.margin, self.y + 10, line, 14, scheme.word)
                self.y += 19
        self.y += 6

    def panel(self, place: Place, width: float, ways: Ways) -> Panel:
        return panels.measure(place, width, ways, place.seat is not None and place.seat == self.scene.acting)

    def row(self, row: Sequence[Panel]) -> None:
        """Panels side by side, all as high as the highest."""
        height, x = max(one.height for one in row), self.margin
        for one in row:
            panels.draw(self.canvas, self.scheme, one, x, self.y, height)
            x += one.width + GAP
        self.y += height + GAP

    def felt(self, seats: int) -> None:
        """The middle alone, in the whole width."""
        if self.shared:
            felt = middle.measure(self.shared, self.room, seats, self.scene.viewer or 0)
            middle.draw(self.canvas, self.scheme, felt, self.margin, self.y, felt.height)
            self.y += felt.height + GAP

    def around(self, others: Sequence[Place], seats: int) -> None:
        """The others at the left, above and at the right, the middle between them."""
        sides = max(1, round(len(others) / 3))
        left, above, right = others[:sides][::-1], others[sides : len(others) - sides], others[len(others) - sides :]
        room = self.room - 2 * (SIDE + GAP)
        ways = Ways(OTHER if len(others) <= FEW else MANY, fanned=True)
        top = self.above(above, room, ways)
        columns = [[self.panel(one, SIDE, ways) for one in column] for column in (left, right)]
        felt = middle.measure(self.shared, room, seats, self.scene.viewer or 0)
        high = max((one.height for one in top), default=-GAP) + GAP
        tall = max([felt.height + high, *(sum(one.height + GAP for one in column) - GAP for column in columns)])
        for x, column in zip((self.margin, self.width - self.margin - SIDE), columns, strict=True):
            y = self.y + (tall - sum(one.height + GAP for one in column) + GAP) / 2
            for one in column:
                panels.draw(self.canvas, self.scheme, one, x, y, one.height)
                y += one.height + GAP
        x = (self.width - sum(one.width + GAP for one in top) + GAP) / 2
        for one in top:
            panels.draw(self.canvas, self.scheme, one, x, self.y, high - GAP)
            x += one.width + GAP
        middle.draw(self.canvas, self.scheme, felt, self.margin + SIDE + GAP, self.y + high, tall - high)
        self.y += tall + GAP

    def above(self, places: Sequence[Place], room: float, ways: Ways) -> list[Panel]:
        """Those opposite the viewer, in equal panels; as wide as they can be only where they have much to show."""
        most = (room - (len(places) - 1) * GAP) / max(len(places), 1)
        found = [self.panel(one, min(most, ENOUGH), ways) for one in places]
        if any(one.needed > one.width for one in found):
            found = [self.panel(one, most, ways) for one in places]
        return found

    def own(self, places: Sequence[Place]) -> None:
        """The viewer's own place, with the actions that are no cards of it."""
        playable = _playable(self.scene.actions)
        others = [(number, name) for number, name in self.scene.actions if number not in playable.values()]
        rows = buttons.lines(others, self.room - 2 * PAD)
        for place in places:
            panel = self.panel(place, self.room, Ways(OWN if self.width >= NARROW else 0.75 * OWN, playable))
            more = len(rows) * buttons.LINE
            panels.draw(self.canvas, self.scheme, panel, self.margin, self.y, panel.height + more)
            self.y += panel.height
            buttons.draw(self.canvas, self.scheme, rows, self.width / 2, self.y - 2)
            self.y += more + GAP
            rows = []

    def score(self, table: Table) -> None:
        """A score sheet: as many columns side by side as fit."""
        sheet, canvas, scheme = table.sheet, self.canvas, self.scheme
        for line in letters.broken(table.legend, SMALL, self.room):
            canvas.text(self.margin, self.y + SMALL, line, SMALL, scheme.word)
            self.y += LINE
        self.y += 4
        shown = [[signed(cell) for cell in row] for row in sheet]
        widths = [max(letters.width(row[column], SMALL) for row in shown) for column in range(len(shown[0]))]
        for columns in abreast(widths, self.room, 16):
            for number, row in enumerate(shown):
                right = self.margin
                for column in columns:
                    right += widths[column]
                    start = right - letters.width(row[column], SMALL)
                    colour = scheme.quiet if number == 0 else scheme.word
                    canvas.text(start, self.y + SMALL, row[column], SMALL, colour)
                    right += 16
                self.y += LINE
            self.y += 8
        self.y += GAP


def svg(
    scene: Scene,
    theme: str = "light",
    four_colours: bool = False,
    frame: tuple[int, int] | None = None,
    width: float = WIDTH,
) -> str:
    """Return the picture of a table: `width` pixels wide (960; for a phone some 400) and as high as it needs, or in a
    `frame` of (width, height).

    Cards and buttons of legal actions are groups with the action's number as `data-action`. Raises ValueError for an
    unknown theme, and a width below 320.
    """
    if not width >= NARROWEST:
        raise InvalidValue(f"width is {width!r}; a picture of a table is at least {NARROWEST:.0f} pixels wide.")
    sheet = Sheet(scene, colours(theme, four_colours), width)
    sheet.canvas.box(-BEYOND, -BEYOND, width + 2 * BEYOND, 3 * BEYOND, sheet.scheme.ground)
    sheet.head()
    others, own = _in_order(scene)
    seats = len({one.seat for one in scene.table.places if one.seat is not None})
    if 2 <= len(others) <= AROUND and width >= NARROW:
        sheet.around(others, seats)
    else:
        _rows(sheet, others)
        sheet.felt(seats)
    sheet.own(own)
    if scene.table.sheet:
        sheet.score(scene.table)
    return sheet.canvas.svg(width, sheet.y - GAP + sheet.margin, scene.title, text_of(scene.table), frame)


def _rows(sheet: Sheet, others: Sequence[Place]) -> None:
    """The others in rows above the middle, in the order of play."""
    count = len(others)
    per_row = count if count <= 2 else 2 if count == 4 else 3 if count <= 9 else 4 if count <= 12 else 6
    if sheet.width < NARROW:
        per_row = min(per_row, 2 if count % 3 else 3)
    ways = Ways(OTHER if count <= FEW else MANY, fanned=True)
    each = (sheet.room - (per_row - 1) * GAP) / max(per_row, 1)
    for first in range(0, count, per_row or 1):
        sheet.row([sheet.panel(one, each, ways) for one in others[first : first + per_row]])


def _playable(actions: Sequence[tuple[int, str]]) -> dict[str, int]:
    """The cards that one legal action names, and its number."""
    named: dict[str, list[int]] = {}
    for number, name in actions:
        named.setdefault(name.rpartition(" ")[2], []).append(number)
    return {word: numbers[0] for word, numbers in named.items() if len(numbers) == 1 and is_card(word)}


def _in_order(scene: Scene) -> tuple[list[Place], list[Place]]:
    """The others from the viewer's left on, and the viewer's own places; seat 0's chair where nobody looks."""
    own = scene.viewer or 0
    seats = sorted({one.seat for one in scene.table.places if one.seat is not None})
    turned = [seat for seat in seats if seat > own] + [seat for seat in seats if seat < own]
    others = [one for seat in turned for one in scene.table.places if one.seat == seat]
    return others, [one for one in scene.table.places if one.seat == own]
