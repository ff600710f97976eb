"""Card faces: a rank, a suit, a figure, and nothing that is too small to see at 40 pixels."""

from __future__ import annotations

from typing import NamedTuple

from ...rules.table import CARD, FACE_DOWN
from . import courts, letters
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
    """A key of suits.PATHS."""
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
    if figure in courts.FIGURES:
        wide = width * 0.7
        canvas.figure(
            f"court{figure}", courts.FIGURES[figure], x + width * 0.97 - wide,
            y + height - 1 - wide * courts.HEIGHT, wide / 100, colour,
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
