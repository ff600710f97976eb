"""Text as outlines, so that a picture looks the same everywhere, with or without fonts.

The outlines are those of Inter, regular and semi-bold (SIL Open Font License 1.1, letters.LICENSE), in thousandths of
an em with y downwards.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import NamedTuple

from .suits import SIGNS

FILE = Path(__file__).with_name("letters.json")
CAPITAL = 0.728
"""The height of a capital, in ems."""


class Letter(NamedTuple):
    """One letter of a weight."""

    advance: int
    outline: str


_SIGN = Letter(840, "")


@functools.cache
def _letters(weight: str) -> dict[str, Letter]:
    found = json.loads(FILE.read_bytes())[weight]
    return {sign: Letter(*letter) for sign, letter in found.items()}


def weight(bold: bool) -> str:
    """Return the weight's name in the file."""
    return "bold" if bold else "regular"


def letter(sign: str, bold: bool = False) -> Letter:
    """Return a letter; for a suit's sign its width alone, a question mark for one that the file lacks."""
    if sign in SIGNS:
        return _SIGN
    known = _letters(weight(bold))
    return known.get(sign) or known["?"]


def width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of a text."""
    return sum(letter(sign, bold).advance for sign in text) * size / 1000


def broken(text: str, size: float, room: float, bold: bool = False) -> list[str]:
    """Return a text in lines of at most `room`; a word that is longer is cut into pieces."""
    lines: list[str] = []
    for word in text.split():
        if lines and width(f"{lines[-1]} {word}", size, bold) <= room:
            lines[-1] += f" {word}"
            continue
        while width(word, size, bold) > room and len(word) > 1:
            cut = max((n for n in range(1, len(word)) if width(word[:n], size, bold) <= room), default=1)
            lines.append(word[:cut])
            word = word[cut:]
        lines.append(word)
    return lines
