"""Card faces: a rank, a suit, a figure, and nothing that is too small to see at 40 pixels.

Figures of jack, queen, king and joker are simple busts of our own, for sizes from thirty pixels on. Each is a hundred
units wide and a hundred and ten high, and rests on the card's lower edge. Clothes are of the suit's colour, which
`Canvas.figure` gives to all shapes without one.
"""

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
_RANKS = {
    "2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight", "9": "nine", "T": "ten",
    "J": "jack", "Q": "queen", "K": "king", "A": "ace",
}  # fmt: skip
_SUITS = {"C": "clubs", "D": "diamonds", "H": "hearts", "S": "spades"}
_JOKERS = {"JOKER": "joker", "BJ": "big joker", "LJ": "little joker"}


class Face(NamedTuple):
    """The parts of a card's name."""

    rank: str
    suit: str
    """A key of letters.PATHS."""
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


def in_words(name: str) -> str:
    """Return a card's name for people who hear it: `queen of spades`, `seven of clubs b`, `card face down`."""
    if name == FACE_DOWN:
        return "card face down"
    if name in _JOKERS or not is_card(name):
        return _JOKERS.get(name, name)
    return f"{_RANKS[name[0]]} of {_SUITS[name[1]]} {name[2:].lstrip('.')}".rstrip()


def draw_card(
    canvas: Canvas, colours: Colours, name: str, x: float, y: float, width: float, *, faded: bool = False,
    counts: str = "",
) -> None:  # fmt: skip
    """Draw a card, or the back of one, with its upper left corner at (x, y); `counts` is written small beside it."""
    height, round = PROPORTION * width, width * 0.09
    fill = colours.card_faded if faded else colours.card
    canvas.box(x, y, width, height, fill, round, stroke=colours.card_edge, stroke_width=1)
    if name == FACE_DOWN:
        _back(canvas, colours, x, y, width, height)
    elif not is_card(name):
        size = min(width * 0.5, width * 0.8 / max(letters.width(name, 1.0, True), 0.01))
        canvas.text(
            x + (width - letters.width(name, size, True)) / 2, y + (height + size * letters.CAPITAL) / 2, name, size,
            colours.black, True,
        )  # fmt: skip
    else:
        _face(canvas, colours, face_of(name), x, y, width, counts)


def _face(canvas: Canvas, colours: Colours, face: Face, x: float, y: float, width: float, counts: str) -> None:
    height, strip = PROPORTION * width, width * STRIP
    colour = colours.red_joker if face.red_joker else colours.suit(face.suit)
    joker = face.suit == "J"
    size = width * (0.19 if joker else 0.46 if len(face.rank) == 1 else 0.37)
    left = x + width * 0.07 if joker else x + width * 0.02 + (strip - letters.width(face.rank, size, True)) / 2
    canvas.text(left, y + width * (0.26 if joker else 0.44), face.rank, size, colour, True)
    small = width * 0.28
    top = 0.51 if not joker else 0.34 if face.rank else 0.1
    canvas.suit(face.suit, x + width * 0.02 + (strip - small) / 2, y + width * top, small, colour)
    figure = "JOKER" if joker else face.rank
    if figure in FIGURES:
        wide = width * 0.7
        canvas.figure(
            f"court{figure}", FIGURES[figure], x + width * 0.97 - wide,
            y + height - 1 - wide * HEIGHT, wide / 100, colour,
        )  # fmt: skip
    else:
        big = width * 0.5
        canvas.suit(face.suit, x + width * 0.93 - big, y + height - width * 0.09 - big, big, colour)
    note = counts or face.mark
    if note:
        size = width * 0.24
        canvas.text(x + width * 0.08, y + height - width * 0.09, note, size, colours.card_note, True)


def _back(canvas: Canvas, colours: Colours, x: float, y: float, width: float, height: float) -> None:
    edge = width * 0.07
    canvas.box(x + edge, y + edge, width - 2 * edge, height - 2 * edge, colours.back, width * 0.05)
    canvas.mark("back", _LATTICE, x, y, width / 100, colours.back_sign)


_LATTICE = "".join(
    f"M{x} {y - 8}L{x + 6} {y}L{x} {y + 8}L{x - 6} {y}Z"
    for row, y in enumerate(range(20, 121, 10))
    for x in (range(18, 83, 16) if row % 2 == 0 else range(26, 75, 16))
)
"""The pattern of backs, for a card a hundred units wide."""


# Figures --------------------------------------------------------------------------------------------------------------

_SKIN, _GOLD, _DARK, _HAIR, _LIGHT = "#f3d3b3", "#e3a92b", "#3a2a1e", "#8a5a2b", "#fffaf0"
_EYES = f'<path fill="{_DARK}" d="M40 52a3.6 3.6 0 1 0 .1 0ZM60 52a3.6 3.6 0 1 0 .1 0Z"/>'


def _shape(outline: str, fill: str = "") -> str:
    return f'<path{f" fill={chr(34)}{fill}{chr(34)}" if fill else ""} d="{outline}"/>'


FIGURES = {
    "J": (
        _shape("M4 110C5 92 24 84 50 84C76 84 95 92 96 110Z")
        + _shape("M27 36C21 60 22 76 30 80L70 80C78 76 79 60 73 36Z", _HAIR)
        + _shape("M42 72H58V86L50 96L42 86Z", _SKIN)
        + _shape("M34 86L50 110L66 86L58 82L50 94L42 82Z", _GOLD)
        + _shape("M33 40H67V58C67 71 60 78 50 78C40 78 33 71 33 58Z", _SKIN)
        + _shape("M33 40C40 46 50 46 67 42V50C70 46 70 40 68 34H32C30 40 30 46 33 50Z", _HAIR)
        + _shape("M16 38C10 18 32 8 54 10C76 11 90 20 84 36C62 30 38 31 16 38Z")
        + _shape("M17 40C38 32 62 31 83 38L82 45C62 39 38 40 18 47Z", _GOLD)
        + _shape("M66 34C66 16 80 4 97 2C97 20 86 31 66 34Z", _GOLD)
        + _EYES
        + _shape("M44 67Q50 70 56 67L55 70Q50 73 45 70Z", "#a8442f")
    ),
    "Q": (
        _shape("M28 36C14 46 12 84 22 96H78C88 84 86 46 72 36Z", _HAIR)
        + _shape("M6 110C7 96 24 88 50 88C76 88 93 96 94 110Z")
        + _shape("M42 74H58V88C62 90 64 92 65 93C60 104 40 104 35 93C36 92 38 90 42 88Z", _SKIN)
        + _shape("M32 92C38 108 62 108 68 92L72 94C66 114 34 114 28 94Z", _GOLD)
        + _shape("M32 44H68V58C68 72 60 80 50 80C40 80 32 72 32 58Z", _SKIN)
        + _shape("M30 60C28 42 36 34 50 34C64 34 72 42 70 60C68 50 60 44 50 40C40 44 32 50 30 60Z", _HAIR)
        + _shape("M26 36L22 13L36 23L50 6L64 23L78 13L74 36C58 30 42 30 26 36Z", _GOLD)
        + _shape("M22 7a5 5 0 1 0 .1 0ZM50 0a5 5 0 1 0 .1 0ZM78 7a5 5 0 1 0 .1 0ZM50 20a4 4 0 1 0 .1 0Z")
        + _EYES
        + _shape("M43 67Q47 64 50 66Q53 64 57 67Q50 74 43 67Z", "#b3262e")
    ),
    "K": (
        _shape("M2 110C3 92 22 82 50 82C78 82 97 92 98 110Z")
        + _shape("M24 86L50 110L76 86L84 90L62 110H38L16 90Z", _LIGHT)
        + _shape("M27 36C20 60 22 78 30 84H70C78 78 80 60 73 36Z", _DARK)
        + _shape("M32 40H68V58C68 72 60 80 50 80C40 80 32 72 32 58Z", _SKIN)
        + _shape("M31 56C32 66 40 66 50 62C60 66 68 66 69 56C74 80 64 98 50 102C36 98 26 80 31 56Z", _DARK)
        + _shape("M43 70Q50 66 57 70Q50 76 43 70Z", "#b3262e")
        + _shape("M22 38V6L36 20L50 0L64 20L78 6V38C60 33 40 33 22 38Z", _GOLD)
        + _shape("M22 31C40 26 60 26 78 31V38C60 33 40 33 22 38ZM50 12a4.5 4.5 0 1 0 .1 0Z")
        + _EYES
    ),
    "JOKER": (
        _shape("M8 110C9 96 26 88 50 88C74 88 91 96 92 110Z")
        + _shape("M20 92L32 84L40 92L50 84L60 92L68 84L80 92L72 104L60 100L50 108L40 100L28 104Z", _GOLD)
        + _shape("M32 42H68V58C68 74 60 84 50 84C40 84 32 74 32 58Z", _SKIN)
        + _shape("M30 48C22 40 12 40 8 54C0 36 12 18 30 20C36 8 44 2 50 2C56 2 64 8 70 20C88 18 100 36 92 54C88 40"
                 " 78 40 70 48C60 42 40 42 30 48Z")
        + _shape("M50 2C44 16 42 30 42 43.6C46 43 54 43 58 43.6C58 30 56 16 50 2Z", _GOLD)
        + _shape("M8 52a6 6 0 1 0 .1 0ZM92 52a6 6 0 1 0 .1 0ZM50 -4a6 6 0 1 0 .1 0Z", _GOLD)
        + _EYES
        + _shape("M38 66Q50 82 62 66Q50 72 38 66Z", "#b3262e")
    ),
}  # fmt: skip
"""By rank, as SVG."""
HEIGHT = 1.1
"""Of a figure, by its width."""
