"""Card faces: a rank, a suit, and nothing that is too small to see at 40 pixels."""

from __future__ import annotations

from typing import NamedTuple

from ...rules.table import CARD, FACE_DOWN
from . import letters
from .canvas import Canvas
from .colours import Colours

PROPORTION = 1.4
"""Height by width."""
STRIP = 0.44
"""The part of a card's width that shows where others lie on it."""
SUIT_PATHS = {
    "S": "M50 4C60 22 96 42 96 66C96 82 84 91 72 91C64 91 58 87 54 81C55 89 58 95 65 99L35 99C42 95 45 89 46 81"
    "C42 87 36 91 28 91C16 91 4 82 4 66C4 42 40 22 50 4Z",
    "H": "M50 96C44 82 4 60 4 31C4 15 15 4 28 4C38 4 46 10 50 19C54 10 62 4 72 4C85 4 96 15 96 31C96 60 56 82 50 96Z",
    "D": "M50 1C58 20 72 37 88 50C72 63 58 80 50 99C42 80 28 63 12 50C28 37 42 20 50 1Z",
    "C": "M50 3C63 3 73 13 73 25C73 31 71 36 67 40C70 38 73 38 76 38C88 38 98 48 98 60C98 72 88 82 76 82C66 82 58 77 54"
    " 69C55 82 58 92 67 99L33 99C42 92 45 82 46 69C42 77 34 82 24 82C12 82 2 72 2 60C2 48 12 38 24 38C27 38 30 38 33 40"
    "C29 36 27 31 27 25C27 13 37 3 50 3Z",
    "J": "M50 2L62 37L98 38L69 60L79 95L50 74L21 95L31 60L2 38L38 37Z",
}
"""Suits and the joker's star, a hundred units wide and high."""


class Face(NamedTuple):
    """The parts of a card's name."""

    rank: str
    suit: str
    """A key of SUIT_PATHS."""
    mark: str
    """The mark of its copy, such as the `a` of `QSa`; empty for most."""
    red_joker: bool = False

    @property
    def red(self) -> bool:
        """Whether it is red where suits have two colours."""
        return self.red_joker or self.suit in "DH"


def face_of(name: str) -> Face:
    """The face of a card by its name in text: `QS`, `TD`, `7Cb`, `9C.2`, `JOKER`, `LJ`, `BJ`."""
    if name in ("JOKER", "BJ", "LJ"):
        return Face({"JOKER": "", "BJ": "big", "LJ": "little"}[name], "J", "", name != "LJ")
    rank = "10" if name[0] == "T" else name[0]
    return Face(rank, name[1], name[2:].lstrip("."))


def is_card(name: str) -> bool:
    """Return whether a face can be drawn for this name."""
    return CARD.fullmatch(name) is not None


def draw_card(
    canvas: Canvas, colours: Colours, name: str, x: float, y: float, width: float, faded: bool = False
) -> None:
    """Draw a card, or the back of one, with its upper left corner at (x, y)."""
    height, round = PROPORTION * width, width * 0.1
    canvas.box(x, y, width, height, colours.card_edge, round)
    if name == FACE_DOWN:
        canvas.box(x + 1, y + 1, width - 2, height - 2, colours.card, round - 1)
        _back(canvas, colours, x + width * 0.07, y + width * 0.07, width * 0.86, height - width * 0.14)
        return
    canvas.box(x + 1, y + 1, width - 2, height - 2, colours.card_faded if faded else colours.card, round - 1)
    if not is_card(name):
        size = min(width * 0.5, width * 0.8 / max(letters.width(name, 1.0, True), 0.01))
        canvas.text(
            x + (width - letters.width(name, size, True)) / 2, y + (height + size * letters.CAPITAL) / 2, name, size,
            colours.black, True,
        )  # fmt: skip
        return
    face = face_of(name)
    colour = colours.red_joker if face.red_joker else colours.suit(face.suit)
    small, big = width * 0.3, width * 0.5
    if face.suit == "J":
        canvas.text(x + width * 0.08, y + width * 0.3, face.rank, width * 0.2, colour, True)
        draw_suit(canvas, "J", x + width * 0.07, y + width * 0.38, small, colour)
    else:
        size = width * (0.46 if len(face.rank) == 1 else 0.37)
        room = width * STRIP - letters.width(face.rank, size, True)
        canvas.text(x + width * 0.02 + room / 2, y + width * 0.44, face.rank, size, colour, True)
        draw_suit(canvas, face.suit, x + width * 0.02 + (width * STRIP - small) / 2, y + width * 0.52, small, colour)
    draw_suit(canvas, face.suit, x + width * 0.94 - big, y + height - width * 0.1 - big, big, colour)
    if face.mark:
        canvas.text(x + width * 0.12, y + height - width * 0.1, face.mark, width * 0.26, colours.card_edge, True)


def draw_suit(canvas: Canvas, suit: str, x: float, y: float, size: float, fill: str) -> None:
    """Draw a suit's sign, with its upper left corner at (x, y)."""
    canvas.mark(f"suit{suit}", SUIT_PATHS[suit], x, y, size / 100, fill)


def _back(canvas: Canvas, colours: Colours, x: float, y: float, width: float, height: float) -> None:
    canvas.box(x, y, width, height, colours.back, width * 0.06)
    rows, columns = 5, 3
    across, down = width / columns, height / rows
    for row in range(rows):
        for column in range(columns):
            size = min(across, down) * 0.62
            left, top = x + (column + 0.5) * across - size / 2, y + (row + 0.5) * down - size / 2
            draw_suit(canvas, "D", left, top, size, colours.back_sign)
