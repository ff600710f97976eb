"""Figures of jack, queen, king and joker: simple busts of our own, for sizes from thirty pixels on.

Each is a hundred units wide and a hundred and ten high, and stands on the card's lower edge. Clothes are of the suit's
colour, which `Canvas.figure` gives to all shapes without one.
"""

from __future__ import annotations

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
