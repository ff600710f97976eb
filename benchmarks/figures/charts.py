"""Charts of results as SVG: lines with their intervals, and intervals below each other.

They use the canvas of table pictures, with every letter an outline, so that they look the same on a page, in a notebook
and as a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from backalley.console.errors import InvalidValue
from backalley.envs.core.drawing.pictures import letters
from backalley.envs.core.drawing.pictures.canvas import Canvas, number
from backalley.envs.core.drawing.pictures.colours import Colours, colours

from .axes import LINE, SMALL, Axis, Drawn, Field, Form, Words, at_points, linear, logarithmic, of_mark, stacked
from .stats import Estimate

WIDTH, MARGIN = 960.0, 22.0
HEIGHT = 300.0
"""The least size of the field of a chart with lines."""
TITLE, ROW = 17.0, 26.0
FOOT = 2 * LINE + MARGIN / 2
"""Beneath the field: ticks, and the unit."""
_ROOM = WIDTH - 4 * MARGIN
"""For words, within a chart's panel."""
_BESIDE, _BEFORE = 0.3 * WIDTH, 0.42 * WIDTH
"""For the names of lines and of rows, at most."""
PALETTE = {
    "light": ("#0072b2", "#c2500a", "#00805e", "#a63f7e", "#8a6a00", "#5b4bb5", "#4d5560"),
    "dark": ("#62b8f0", "#ff8f50", "#35cf9f", "#e79bc9", "#e8bf45", "#b3a6ff", "#b8c0ca"),
}
"""Colours of lines: colour-blind readers can distinguish the first four, too (after Okabe and Ito)."""


class Mark(NamedTuple):
    """A value to compare with: the share by chance, or the baseline itself."""

    value: float
    words: str


EVEN = Mark(0.0, "even")


def chance(whole: float, sides: int) -> Mark:
    """Return the wins of equal players, if all wins are `whole`."""
    return Mark(whole / sides, f"chance, {100 / sides:.3g} %")


class Lines(NamedTuple):
    """Values against time or cost, each with its interval; a line for each name."""

    title: str
    about: str
    """A line below the title: what the values are, and on how many deals."""
    across: str
    """The unit of the horizontal axis."""
    lines: Sequence[tuple[str, Sequence[tuple[float, Estimate]]]]
    axes: tuple[Axis, Axis]
    mark: Mark | None = None


class Dots(NamedTuple):
    """Values below each other, each with its interval."""

    title: str
    about: str
    across: str
    rows: Sequence[tuple[str, Estimate]]
    axis: Axis
    mark: Mark | None = None


Chart = Lines | Dots


def dots(title: str, about: str, across: str, rows: Sequence[tuple[str, Estimate]], mark: Mark | None = None) -> Dots:
    """Return a chart of intervals whose axis holds them all, and the mark."""
    ends = [value for _, one in rows for value in one] + ([mark.value] if mark else [])
    return Dots(title, about, across, rows, linear(ends), mark)


def axes_of(
    lines: Sequence[tuple[str, Sequence[tuple[float, Estimate]]]],
    mark: Mark | None,
    log: bool,
    form: Form | None = None,
) -> tuple[Axis, Axis]:
    """Return axes that hold all lines with their intervals, and the mark; `form` writes the values."""
    all_x = [x for _, points in lines for x, _ in points]
    ends = [value for _, points in lines for _, one in points for value in one] + ([mark.value] if mark else [])
    return (logarithmic(all_x) if log else linear([0.0, *all_x])), linear(ends, form)


def svg(charts: Sequence[Chart], theme: str = "light") -> str:
    """Return the charts below each other, as SVG. Raises ValueError for no charts, and for an unknown theme."""
    if not charts:
        raise InvalidValue("There is nothing to draw: no chart was given.")
    scheme, canvas = colours(theme, False), Canvas()
    heights = [_height(chart) for chart in charts]
    total = sum(heights) + MARGIN * (len(charts) + 1)
    canvas.box(0, 0, WIDTH, total, scheme.ground)
    y = MARGIN
    for chart, height in zip(charts, heights, strict=True):
        _draw(canvas, scheme, PALETTE[theme], chart, y, height)
        y += height + MARGIN
    return canvas.svg(WIDTH, total, "; ".join(chart.title for chart in charts), "\n".join(map(_said, charts)))


def _said(chart: Chart) -> str:
    """A chart in words, for those who cannot see it."""
    rows = chart.rows if isinstance(chart, Dots) else [(name, points[-1][1]) for name, points in chart.lines]
    values = (f"{name}: {one.mean:.4g} ({one.low:.4g} to {one.high:.4g})" for name, one in rows)
    return f"{chart.title}. {chart.about} {'; '.join(values)}."


_POLICY = re.compile(r"\bpolicy:\w+")


def policies(names: Iterable[str]) -> list[str]:
    """Return the names of agents as a chart shows them: `policy:standard` is a policy, and where it lies is of no
    interest, unless several in the chart differ only in that."""
    given = list(names)
    short = [_POLICY.sub("policy", name) for name in given]
    return short if len(set(short)) == len(set(given)) else given


def shortened(name: str, room: float) -> str:
    """Return a name that fits into this width: a longer one without its middle, since names of a kind differ at their
    ends."""
    kept = len(name) - 1
    cut = name
    while letters.width(cut, SMALL) > room:
        cut = f"{name[: kept // 3]}…{name[-(kept - kept // 3) :]}"
        kept -= 1
    return cut


def _head(chart: Chart) -> list[tuple[str, float]]:
    """The lines above the field, each with its size: the title, and what it is about."""
    titles = [(line, TITLE) for line in letters.broken(chart.title, TITLE, _ROOM, True)]
    return titles + [(line, SMALL) for line in letters.broken(chart.about, SMALL, _ROOM)]


def _field_begins(chart: Chart) -> float:
    """How far below the panel's upper edge."""
    return 12 + sum(size + 4 for _, size in _head(chart)) + LINE


def _height(chart: Chart) -> float:
    field = len(chart.rows) * ROW + 8 if isinstance(chart, Dots) else max(HEIGHT, len(chart.lines) * LINE)
    return _field_begins(chart) + field + FOOT


def _draw(canvas: Canvas, scheme: Colours, palette: Sequence[str], chart: Chart, y: float, height: float) -> None:
    canvas.box(MARGIN, y, WIDTH - 2 * MARGIN, height, scheme.panel, 8, stroke=scheme.edge, stroke_width=1)
    base = y + 4
    for line, size in _head(chart):
        base += size + 4
        title = size == TITLE
        canvas.text(2 * MARGIN, base, line, size, scheme.word if title else scheme.quiet, title)
    top, below = y + _field_begins(chart), y + height - FOOT
    if isinstance(chart, Dots):
        _dots(canvas, scheme, palette, chart, top, below)
    else:
        _lines(canvas, scheme, palette, chart, top, below)


def _lines(canvas: Canvas, scheme: Colours, palette: Sequence[str], chart: Lines, top: float, below: float) -> None:
    """Lines, each with its name at one of its points; where there is no room for all names, at the right."""
    named = [shortened(name, _BESIDE) for name in policies(name for name, _ in chart.lines)]
    upward = chart.axes[1]
    left = 2 * MARGIN + max(letters.width(upward.form(tick), SMALL) for tick in upward.ticks) + 8
    room = Field(left, top, WIDTH - 2 * MARGIN - left - SMALL, below - top)
    wide = max(letters.width(name, SMALL) for name in named)
    marks = [chart.mark] if chart.mark else []
    for field in (room, room._replace(width=room.width + SMALL - wide - 12)):
        lines = _laid(chart, field)
        words = [_words_of(one, field, upward, lines) for one in marks]
        places = at_points(room, named, lines, words, [field.y(upward, one.value) for one in marks])
        if places is not None:
            break
    else:
        heights = stacked([points[-1].mean for points in lines], top, below)
        places = [Words(field.left + field.width + 10, end + SMALL * 0.36, wide) for end in heights]
    _grid(canvas, scheme, field, chart)
    for one, place in zip(marks, words, strict=True):
        canvas.text(place.x, place.base, one.words, SMALL, scheme.quiet)
    for which, (points, name, place) in enumerate(zip(lines, named, places, strict=True)):
        colour = palette[which % len(palette)]
        _line(canvas, colour, points)
        canvas.text(place.x, place.base, name, SMALL, colour)


def _words_of(mark: Mark, field: Field, upward: Axis, lines: Sequence[Sequence[Drawn]]) -> Words:
    return of_mark(field, letters.width(mark.words, SMALL), field.y(upward, mark.value), lines)


def _laid(chart: Lines, field: Field) -> list[list[Drawn]]:
    across, upward = chart.axes
    return [
        [
            Drawn(field.x(across, x), field.y(upward, one.mean), field.y(upward, one.low), field.y(upward, one.high))
            for x, one in points
        ]
        for _, points in chart.lines
    ]


def _grid(canvas: Canvas, scheme: Colours, field: Field, chart: Lines) -> None:
    across, upward = chart.axes
    _across(canvas, scheme, field, across, chart.across)
    right = field.left + field.width
    for tick in upward.ticks:
        y, words = field.y(upward, tick), upward.form(tick)
        _rule(canvas, scheme, field.left, y, right, y)
        canvas.text(field.left - 8 - letters.width(words, SMALL), y + SMALL * 0.36, words, SMALL, scheme.quiet)
    if chart.mark:
        y = field.y(upward, chart.mark.value)
        _rule(canvas, scheme, field.left, y, right, y, dashed=True)


def _line(canvas: Canvas, colour: str, points: Sequence[Drawn]) -> None:
    """A line through points, with its interval around it."""
    if len(points) > 1:
        around = [(x, low) for x, _, low, _ in points] + [(x, high) for x, _, _, high in reversed(points)]
        canvas.add("polygon", points=_joined(around), fill=colour, fill_opacity=0.16)
        middle = _joined([(x, mean) for x, mean, _, _ in points])
        canvas.add("polyline", points=middle, fill="none", stroke=colour, stroke_width=2)
    else:
        ((x, _, low, high),) = points
        canvas.add("line", x1=x, y1=low, x2=x, y2=high, stroke=colour, stroke_width=2)
    for x, mean, _, _ in points if len(points) <= 40 else points[-1:]:
        canvas.add("circle", cx=x, cy=mean, r=3, fill=colour)


def _dots(canvas: Canvas, scheme: Colours, palette: Sequence[str], chart: Dots, top: float, below: float) -> None:
    named = [shortened(name, _BEFORE) for name in policies(name for name, _ in chart.rows)]
    left = 2 * MARGIN + max(letters.width(name, SMALL) for name in named) + 14
    field = Field(left, top, WIDTH - 3 * MARGIN - left, below - top)
    _across(canvas, scheme, field, chart.axis, chart.across)
    if chart.mark:
        x = field.x(chart.axis, chart.mark.value)
        _rule(canvas, scheme, x, field.top, x, field.top + field.height, dashed=True)
        words = chart.mark.words
        start = min(x + 5, field.left + field.width - letters.width(words, SMALL))
        canvas.text(start, field.top - 3, words, SMALL, scheme.quiet)
    for place, (name, (_, one)) in enumerate(zip(named, chart.rows, strict=True)):
        y, colour = field.top + (place + 0.5) * ROW + 4, palette[0]
        low, mean, high = (field.x(chart.axis, value) for value in (one.low, one.mean, one.high))
        canvas.text(field.left - 14 - letters.width(name, SMALL), y + SMALL * 0.36, name, SMALL, scheme.word)
        canvas.add("line", x1=low, y1=y, x2=high, y2=y, stroke=colour, stroke_width=3, stroke_opacity=0.55)
        canvas.add("circle", cx=mean, cy=y, r=5, fill=colour)


def _across(canvas: Canvas, scheme: Colours, field: Field, axis: Axis, unit: str) -> None:
    bottom = field.top + field.height
    for tick in axis.ticks:
        x, words = field.x(axis, tick), axis.form(tick)
        _rule(canvas, scheme, x, field.top, x, bottom)
        canvas.text(x - letters.width(words, SMALL) / 2, bottom + LINE, words, SMALL, scheme.quiet)
    canvas.text(
        field.left + (field.width - letters.width(unit, SMALL)) / 2, bottom + 2 * LINE, unit, SMALL, scheme.quiet
    )


def _rule(canvas: Canvas, scheme: Colours, x: float, y: float, to_x: float, to_y: float, dashed: bool = False) -> None:
    more = {"stroke_dasharray": "5 4"} if dashed else {}
    colour, width = (scheme.quiet, 1.4) if dashed else (scheme.edge, 0.8)
    canvas.add("line", x1=x, y1=y, x2=to_x, y2=to_y, stroke=colour, stroke_width=width, **more)


def _joined(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)
