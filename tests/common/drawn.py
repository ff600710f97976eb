"""Where things stand in a picture, for tests of tables and of charts."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import NamedTuple

from backalley.envs.core.drawing.pictures import letters

SVG = "{http://www.w3.org/2000/svg}"


class Box(NamedTuple):
    """A rectangle of a picture."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: str

    def within(self, other: Box) -> bool:
        return (
            self.x >= other.x - 4
            and self.y >= other.y - 4
            and self.x + self.width <= other.x + other.width + 4
            and self.y + self.height <= other.y + other.height + 4
        )

    def overlaps(self, other: Box) -> bool:
        across = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        down = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return across > 0 and down > 0


def boxes(root: ET.Element) -> list[Box]:
    return [
        Box(
            *(float(one.attrib[key]) for key in ("x", "y", "width", "height")),
            one.attrib["fill"],
            one.get("stroke", ""),
        )
        for one in root.iter(f"{SVG}rect")
        if float(one.attrib["x"]) >= 0
    ]


def letters_of(root: ET.Element) -> list[Box]:
    """Where the letters, suits and figures of a picture stand."""
    found = []
    for one in root.iter(f"{SVG}use"):
        x, y, scale = map(float, re.findall(r"-?[\d.]+", one.attrib["transform"]))
        name = one.attrib["href"][1:]
        if not re.fullmatch(r"[rb]\d+", name):
            high = 140 if name == "back" else 110 if name.startswith("court") else 73
            found.append(Box(x, y, 100 * scale, high * scale, one.attrib["fill"], ""))
            continue
        size, sign = 1000 * scale, letters.letter(chr(int(name[1:])), name[0] == "b")
        high = size * letters.CAPITAL
        found.append(Box(x, y - high, sign.advance * scale, high, one.attrib["fill"], ""))
    return found


def contrast(colour: str, ground: str) -> float:
    """How far a colour stands out from its ground; WCAG 2.1 asks for 4.5 to 1."""
    high, low = sorted((_luminance(colour), _luminance(ground)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
