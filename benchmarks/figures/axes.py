"""Where values and names stand in a chart: axes with their ticks, and words at the points that they name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from backalley.envs.core.drawing.pictures import letters

Form = Callable[[float], str]
"""Writes a value at a tick."""


class Axis(NamedTuple):
    """An axis from `low` to `high`, in the data's units."""

    low: float
    high: float
    ticks: Sequence[float]
    form: Form
    log: bool = False

    def at(self, value: float) -> float:
        """Return the position of a value, as a part of the axis's length."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def linear(values: Sequence[float], form: Form | None = None, *, wanted: int = 6) -> Axis:
    """Return an axis that holds all values, from tick to tick, with about as many ticks as wanted, at steps of one, two
    or five times a power of ten."""
    low, high = min(values), max(values)
    if high - low < 1e-12 * max(1.0, abs(high)):
        low, high = low - 0.5, high + 0.5
    step = _round((high - low) / wanted)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [number * step for number in range(first, last + 1)]
    return Axis(ticks[0], ticks[-1], ticks, form or plain(step))


def logarithmic(values: Sequence[float]) -> Axis:
    """Return a logarithmic axis; values are positive. Ticks are ones, twos and fives of powers of ten."""
    low, high = min(values) / 1.25, max(values) * 1.25
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= tick <= high]
    return Axis(low, high, ticks, lambda value: f"{value:g}", log=True)


def _round(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= step * (1 - 1e-9))


def plain(step: float) -> Form:
    """Numbers to as many decimals as steps of that size have."""
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return lambda value: f"{value + 0.0 if abs(value) > step / 1e6 else 0.0:,.{decimals}f}"


def percent(value: float) -> str:
    """A share in hundredths."""
    return f"{round(100 * value, 6) + 0.0:g} %"


def minutes(seconds: Sequence[float]) -> tuple[float, str]:
    """Return a divisor that makes seconds easy to read, and the unit's name."""
    return (60.0, "minutes") if max(seconds) > 180 else (1.0, "seconds")


def counted(numbers: Sequence[float]) -> tuple[float, str]:
    """Return a divisor that makes large numbers easy to read, and the word before the unit."""
    most = max(numbers)
    return (1e6, "millions of ") if most >= 2e6 else (1e3, "thousands of ") if most >= 2e3 else (1.0, "")


# Words ----------------------------------------------------------------------------------------------------------------

SMALL, LINE = 13.0, 17.0
"""Size of the words of charts, and from line to line."""
_PLACES = 24
"""Where in a field the words of its mark may be."""
_BESIDE = 9.0
"""From a point to its words."""


class Field(NamedTuple):
    """The part of a chart that holds the values."""

    left: float
    top: float
    width: float
    height: float

    def x(self, axis: Axis, value: float) -> float:
        """Return the position of a value on an axis from left to right."""
        return self.left + axis.at(value) * self.width

    def y(self, axis: Axis, value: float) -> float:
        """Return the position of a value on an axis from bottom to top."""
        return self.top + (1 - axis.at(value)) * self.height


class Drawn(NamedTuple):
    """The position of a value and its interval on the sheet."""

    x: float
    mean: float
    low: float
    high: float


class Words(NamedTuple):
    """A line of words: where it begins, its base line, and its width."""

    x: float
    base: float
    wide: float

    def meets(self, points: Sequence[Drawn]) -> bool:
        """Whether the boxes that hold a line with its intervals, from point to point, overlap these words."""
        left, right, top, bottom = self.x - 4, self.x + self.wide + 4, self.base - SMALL, self.base + 2
        for one, other in zip(points, points[1:] or points, strict=False):
            beside = max(one.x, other.x) < left or min(one.x, other.x) > right
            if not beside and min(one.high, other.high) <= bottom and max(one.low, other.low) >= top:
                return True
        return False

    def overlaps(self, other: Words) -> bool:
        """Whether two lines of words touch."""
        beside = self.x > other.x + other.wide + 4 or other.x > self.x + self.wide + 4
        return not beside and abs(self.base - other.base) < LINE

    def within(self, field: Field) -> bool:
        """Whether they stand in the field."""
        across = field.left + 2 <= self.x and self.x + self.wide <= field.left + field.width - 2
        return across and field.top + SMALL <= self.base <= field.top + field.height - 3


def of_mark(field: Field, wide: float, height: float, lines: Sequence[Sequence[Drawn]]) -> Words:
    """Where the words of a mark at this height stand, above it or below: as far right as no line and no interval is
    there, else as no line is there; at the right end if there is no free place."""
    right = field.left + field.width - wide - 4
    step = (field.width - wide - 8) / (_PLACES - 1)
    bases = [
        base for base in (height - 5, height + SMALL + 2) if field.top < base - SMALL < base < field.top + field.height
    ]
    places = [Words(right - number * step, base, wide) for base in bases for number in range(_PLACES)]
    alone = [[Drawn(one.x, one.mean, one.mean, one.mean) for one in points] for points in lines]
    for drawn in (lines, alone):
        for place in places:
            if not any(place.meets(points) for points in drawn):
                return place
    return places[0]


def at_points(
    room: Field, names: Sequence[str], lines: Sequence[Sequence[Drawn]], taken: Sequence[Words], marks: Sequence[float]
) -> list[Words] | None:
    """Where in this room the names of lines stand, each at a point of its own line, clear of all lines, of the words
    that are there already, and of marks at these heights; None if there is no such place for one of them."""
    free = [
        [
            one
            for one in _places(points, letters.width(name, SMALL))
            if one.within(room)
            and not any(one.meets(other) for other in lines)
            and not any(one.overlaps(other) for other in taken)
            and not any(one.base - SMALL < mark < one.base + 3 for mark in marks)
        ]
        for name, points in zip(names, lines, strict=True)
    ]
    found: dict[int, Words] = {}
    for line in sorted(range(len(free)), key=lambda line: len(free[line])):  # first those with the fewest places
        place = next((one for one in free[line] if not any(one.overlaps(other) for other in found.values())), None)
        if place is None:
            return None
        found[line] = place
    return [found[line] for line in range(len(free))]


def _places(points: Sequence[Drawn], wide: float) -> Iterator[Words]:
    """Places for a line's name: to the right of its end, above and below its points from the end on, left of it."""
    end, first = points[-1], points[0]
    yield Words(end.x + _BESIDE, end.mean + 0.36 * SMALL, wide)
    for farther in (0, SMALL, 2 * SMALL):
        for one in reversed(points):
            for left in (one.x - wide / 2, one.x - wide + 4, one.x - 4):
                yield Words(left, one.high - 7 - farther, wide)
                yield Words(left, one.low + SMALL + 4 + farther, wide)
    yield Words(first.x - _BESIDE - wide, first.mean + 0.36 * SMALL, wide)


def stacked(heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Heights for names beside their lines that do not overlap, in the order given."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    found = list(heights)
    for way in (1, -1):
        edge = top if way == 1 else bottom
        for place in order[::way]:
            found[place] = max(found[place] * way, edge * way) * way
            edge = found[place] + way * LINE
    return found
