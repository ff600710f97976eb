"""One figure of an analysis: a measure, by whose play, and its value, exact or with an interval."""

from __future__ import annotations

from typing import NamedTuple

from ..figures.stats import Estimate


class Figure(NamedTuple):
    """A number of an analysis."""

    part: str
    """`fairness`, `house`, `skill` or `course`."""
    measure: str
    play: str
    """By whose play: an agent's name, two of them, or `best`."""
    value: float
    low: float
    high: float
    """The ends of the 95 % interval over deals; equal where the value is exact or a plain count."""
    exact: bool = False


def exactly(part: str, measure: str, play: str, value: float) -> Figure:
    """Return an exact figure."""
    return Figure(part, measure, play, value, value, value, exact=True)


def estimated(part: str, measure: str, play: str, estimate: Estimate) -> Figure:
    """Return a figure with its interval."""
    return Figure(part, measure, play, float(estimate.mean), float(estimate.low), float(estimate.high))


def derived(part: str, measure: str, play: str, value: float) -> Figure:
    """Return a figure that follows from others, without an interval."""
    return Figure(part, measure, play, float(value), float(value), float(value))


def shown(one: Figure) -> str:
    """Return the value in words: with its interval, or whether it is exact."""
    if one.exact:
        return f"{one.value:.6f} exactly"
    return f"{one.value:.4g}" if one.low == one.high else f"{one.value:.4f} ({one.low:.4f} to {one.high:.4f})"
