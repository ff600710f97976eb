"""A strategy card as a page of size A6."""

from __future__ import annotations

from backalley.agents.base.card import CardAgent
from backalley.envs.core.drawing.pictures import letters
from backalley.envs.core.drawing.pictures.canvas import Canvas

WIDTH, HEIGHT = 397, 559
"""A6, 105 by 148 mm, in CSS pixels."""
_MARGIN, _LARGEST, _SPACING = 20, 13.0, 1.3


def page(card: CardAgent, says: str) -> str:
    """Return the card as an SVG of size A6: its rules, what its words mean, and what it loses (`says`)."""
    assert card.game is not None
    size = _LARGEST
    while size > 1 and _SPACING * size * len(_lines(card, says, size)) > HEIGHT - 3 * _MARGIN:
        size *= 0.95
    canvas, y = Canvas(), _MARGIN + _LARGEST
    canvas.box(0, 0, WIDTH, HEIGHT, "#ffffff")
    canvas.text(_MARGIN, y, card.game.title, _LARGEST + 3, "#000000", bold=True)
    for indent, line, bold in _lines(card, says, size):
        y += _SPACING * size
        canvas.text(_MARGIN + indent * size, y, line, size, "#000000", bold=bold)
    return canvas.svg(WIDTH, HEIGHT, f"{card.game.title}: strategy card", "\n".join([*card.words(), says]))


def _lines(card: CardAgent, says: str, size: float) -> list[tuple[float, str, bool]]:
    """Lines that fit across: indent, words, whether bold."""
    found = list[tuple[float, str, bool]]()
    for line in ["", *card.words(), "", *card.meanings(), says]:
        indent = (len(line) - len(line.lstrip())) / 2
        bold = line.startswith("Of ")
        room = max(WIDTH - 2 * _MARGIN - indent * size, 8 * size)
        found += [(indent, part, bold) for part in letters.broken(line.strip(), size, room, bold) or [""]]
    return found
