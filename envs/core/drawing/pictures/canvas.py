"""A drawing surface that becomes SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar
from xml.sax.saxutils import escape, quoteattr

from backalley.console.errors import printable

from . import letters
from .letters import PATHS, SIGNS

Thing = TypeVar("Thing")


def number(value: float) -> str:
    """Return a coordinate, to a hundredth."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def in_lines(
    things: Sequence[Thing], width: Callable[[Thing], float], room: float, apart: float = 0
) -> list[list[Thing]]:
    """Return things side by side, `apart` from each other, in lines of which each takes as many as fit into `room`."""
    lines: list[list[Thing]] = []
    left = 0.0
    for one in things:
        if not lines or width(one) > left:
            lines.append([])
            left = room
        lines[-1].append(one)
        left -= width(one) + apart
    return lines


class Canvas:
    """Shapes one over the other. Coordinates are pixels, y downwards. `signs` are the colours of suits in words, by
    their letters; others are drawn like the words."""

    def __init__(self, signs: Mapping[str, str] | None = None) -> None:
        self._defined: dict[str, str] = {}
        self._shapes: list[str] = []
        self._signs = signs or {}

    def add(self, name: str, **values: float | str) -> None:
        """An element; `_` in the names of attributes stands for a hyphen."""
        written = (
            f"{key.replace('_', '-')}={quoteattr(value if isinstance(value, str) else number(value))}"
            for key, value in values.items()
        )
        self._shapes.append(f"<{name} {' '.join(written)}/>")

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, round: float = 0.0, **more: float | str
    ) -> None:
        """A filled rectangle with rounded corners."""
        self.add("rect", x=x, y=y, width=width, height=height, rx=round, fill=fill, **more)

    @contextmanager
    def named(self, name: str, action: int | None = None) -> Iterator[None]:
        """What is drawn inside is one thing with a name, which screen readers read and browsers show; what stands for a
        legal action carries its number as `data-action`, for pages on which it can be clicked."""
        self._shapes.append(
            f"<g{'' if action is None else f' data-action={quoteattr(str(action))}'}>"
            f"<title>{escape(printable(name))}</title>"
        )
        yield
        self._shapes.append("</g>")

    def mark(self, name: str, outline: str, x: float, y: float, scale: float, fill: str) -> None:
        """Draw an outline that is used repeatedly, at a place and in a size."""
        self._use(name, f'<path id="{name}" d="{outline}"/>', x, y, scale, fill)

    def figure(self, name: str, shapes: str, x: float, y: float, scale: float, fill: str) -> None:
        """Draw shapes that are used repeatedly, given as SVG; those that say no colour are of colour `fill`."""
        self._use(name, f'<g id="{name}">{shapes}</g>', x, y, scale, fill)

    def _use(self, name: str, definition: str, x: float, y: float, scale: float, fill: str) -> None:
        self._defined.setdefault(name, definition)
        self._shapes.append(
            f'<use href="#{name}" transform="translate({number(x)} {number(y)}) scale({scale:.4f})" fill="{fill}"/>'
        )

    def text(self, x: float, y: float, text: str, size: float, fill: str, bold: bool = False) -> float:
        """Draw a line of text with its base line at y; return where it ends."""
        for sign in text:
            suit = SIGNS.get(sign)
            if suit:
                top = y - size * letters.CAPITAL * 1.06
                self.suit(suit, x + size * 0.03, top, size * letters.CAPITAL * 1.08, self._signs.get(suit, fill))
            found = letters.letter(sign, bold)
            if found.outline:
                self.mark(f"{'b' if bold else 'r'}{ord(sign)}", found.outline, x, y, size / 1000, fill)
            x += found.advance * size / 1000
        return x

    def suit(self, suit: str, x: float, y: float, size: float, fill: str) -> None:
        """Draw a suit's sign, with its upper left corner at (x, y)."""
        self.mark(f"suit{suit}", PATHS[suit], x, y, size / 100, fill)

    def svg(
        self, width: float, height: float, title: str, description: str, frame: tuple[int, int] | None = None
    ) -> str:
        """Return the picture; title and description are for people who cannot see it. In a `frame` of (width, height)
        it is as large as possible, at the top, so that tables do not jump in a video."""
        across, down = frame or (width, height)
        title, description = printable(title), printable(description)  # XML has no control characters
        size = f'width="{number(across)}" height="{number(down)}" viewBox="0 0 {number(width)} {number(height)}"'
        size += ' preserveAspectRatio="xMidYMin meet"' * bool(frame)
        defined = "".join(self._defined[name] for name in sorted(self._defined))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={quoteattr(title)}>\n'
            f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>\n<defs>{defined}</defs>\n"
            + "\n".join(self._shapes)
            + "\n</svg>\n"
        )
