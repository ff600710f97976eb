"""The legal actions that are no cards, as buttons in lines of about the same length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import letters
from .canvas import Canvas, in_lines
from .colours import Colours
from .letters import signed

SIZE, HIGH, LINE, APART = 14.0, 30.0, 38.0, 8.0
MOST = 40


class Button(NamedTuple):
    """A legal action as a button; None is none, and only says something."""

    action: int | None
    name: str

    @property
    def width(self) -> float:
        return letters.width(self.name, SIZE, True) + 26


def lines(actions: Sequence[tuple[int, str]], room: float) -> list[list[Button]]:
    """Return buttons in as few lines as possible, and these as short as possible, so that none is alone."""
    found = [Button(number, signed(name)) for number, name in actions[:MOST]]
    if len(actions) > MOST:
        found.append(Button(None, f"… {len(actions)} in all"))
    if not found:
        return []
    made = in_lines(found, lambda one: one.width, room, APART)
    low, high = 0.0, room
    while high - low > 1:
        tried = in_lines(found, lambda one: one.width, (low + high) / 2, APART)
        if len(tried) > len(made):
            low = (low + high) / 2
        else:
            made, high = tried, (low + high) / 2
    return made


def draw(canvas: Canvas, colours: Colours, rows: Sequence[Sequence[Button]], middle: float, y: float) -> None:
    """Draw lines of buttons around `middle`, from the height y on."""
    for row in rows:
        x = middle - (sum(one.width + APART for one in row) - APART) / 2
        for one in row:
            if one.action is None:
                canvas.text(x + 13, y + 20.5, one.name, SIZE, colours.quiet)
            else:
                with canvas.named(one.name, one.action):
                    canvas.box(x, y, one.width, HIGH, colours.panel, HIGH / 2, stroke=colours.accent, stroke_width=1.5)
                    canvas.text(x + 13, y + 20.5, one.name, SIZE, colours.word, True)
            x += one.width + APART
        y += LINE
