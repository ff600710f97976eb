"""Axes of charts: the positions of their ticks and their labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

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
