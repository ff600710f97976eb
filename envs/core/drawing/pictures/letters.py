"""Text as outlines, so that a picture looks the same everywhere, with or without fonts; and signs of the suits: as
shapes, and in place of letters and names in the words of pictures.

The outlines are those of Inter, regular and semi-bold (SIL Open Font License 1.1, letters.LICENSE), in thousandths of
an em with y downwards.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("letters.json")
CAPITAL = 0.728
"""The height of a capital, in ems."""
PATHS = {
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
SIGNS = {"♣": "C", "♦": "D", "♥": "H", "♠": "S"}
"""What stands for each suit in words."""
SIGN_OF = {letter: sign for sign, letter in SIGNS.items()}
_NAMES = {"clubs": "♣", "diamonds": "♦", "hearts": "♥", "spades": "♠"}
_SUIT = re.compile(
    r"(?<![A-Za-z0-9])(?P<rank>[2-9TJQKA])(?P<suit>[CDHS])(?P<copy>[ab]|\.\d+)?(?![A-Za-z0-9])"  # a card
    r"|(?<=[a-z] )(?P<letter>[CDHS])(?![A-Za-z0-9'])"  # a suit's letter after a word: "trumps C"
    r"|(?<!of )\b(?P<name>clubs|diamonds|hearts|spades)\b"
)


class Letter(NamedTuple):
    """One letter of a weight."""

    advance: int
    outline: str


_SIGN = Letter(840, "")


@functools.cache
def letters_of(weight: str) -> dict[str, Letter]:
    """Return the letters of a weight."""
    found = json.loads(FILE.read_bytes())[weight]
    return {sign: Letter(*letter) for sign, letter in found.items()}


def weight(bold: bool) -> str:
    """Return the weight's name in the file."""
    return "bold" if bold else "regular"


def letter(sign: str, bold: bool = False) -> Letter:
    """Return a letter; for a suit's sign its width alone, a question mark for one that the file lacks."""
    if sign in SIGNS:
        return _SIGN
    known = letters_of(weight(bold))
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


def signed(words: str) -> str:
    """Return words with signs for suits: `among them JC` becomes `among them J♣`, `trumps C` and `trumps clubs` become
    `trumps ♣`. "The king of hearts" stays."""
    return _SUIT.sub(_sign, words)


def _sign(found: re.Match[str]) -> str:
    if found["rank"]:
        return found["rank"].replace("T", "10") + SIGN_OF[found["suit"]] + (found["copy"] or "")
    return SIGN_OF[found["letter"]] if found["letter"] else _NAMES[found["name"]]
