"""A sequential test over deals: is the mean lead of one agent over another greater than 0?

It looks at the deals at fixed numbers of them and ends as soon as the answer is clear. The sum of the leads, in their
standard deviation, is held against two straight lines: that of a generalised sequential probability ratio test (Wald
1945; the standard deviation is estimated, as in the testing of chess engines) above, and one below that meets it at the
last look, so that every test ends (the triangular test of Whitehead and Stratton 1983). The lower end that comes with
it is a repeated confidence bound (Jennison and Turnbull 1989): it holds at whichever look the test ends.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from backalley.console.errors import InvalidValue

from ..figures import stats
from ..figures.stats import Floats

CONFIDENCE = 0.99
"""The one-sided confidence of the lower end: an agent that is no better passes at most once in a hundred times."""
_FIRST, _GROWTH, _FEWEST = 0.05, 1.25, 32
"""The first look is at this share of the most deals, each later one at so many times the deals of the one before; none
is at fewer deals than the last number."""
_UPPER, _SLOPE, _LOWER = 0.951, 2.0, 1.0
"""The lines, in units of a Brownian motion that is observed up to time 1, the last look: `_UPPER` + `_SLOPE` * time
above, and from -`_LOWER` up to the same end below. Given the slope, `_UPPER` makes a motion without drift cross the
upper line at one of the looks with probability 0.01 (numerical integration, look by look); slope and `_LOWER` take the
fewest deals on the mean of no lead and of one that the test finds 99 times in a hundred."""


class Look(NamedTuple):
    """What the deals say so far."""

    mean: float
    """The mean lead."""
    lower: float
    """The lower end of its one-sided 99 % interval, valid at whichever look the test ends."""
    ended: bool
    passed: bool
    """Whether the test has ended with a lead above 0."""


def looks(most: int) -> list[int]:
    """Return the numbers of deals at which a test over at most `most` deals looks, `most` last."""
    shares = (_FIRST * _GROWTH**step for step in range(1 + math.floor(-math.log(_FIRST) / math.log(_GROWTH))))
    return sorted({*(number for share in shares if _FEWEST <= (number := math.ceil(share * most)) < most), most})


def look(leads: Floats, most: int) -> Look:
    """Return what leads [D] say in a test over at most `most` deals. Raises ValueError where D is below 2 or above
    `most`.

    Student's t at the normal distribution's tail stands for the line, since the standard deviation is estimated.
    Before its last look a test passes nobody on fewer than 40 leads (`stats.FEW`) that differ from the median lead: a
    rare great loss may be missing among them.
    """
    count = len(leads)
    if not 2 <= count <= most:
        raise InvalidValue(f"A test over at most {most} deals was given {count}; it takes 2 to {most}.")
    time, mean, error = count / most, float(leads.mean()), float(leads.std(ddof=1)) / math.sqrt(count)
    line = (_UPPER + _SLOPE * time) / math.sqrt(time)
    lower = mean - _student(line, count - 1) * error
    if count == most:
        return Look(mean, lower, True, lower > 0)
    reached = mean / error * math.sqrt(time) if error > 0 else math.copysign(math.inf, mean) if mean else 0.0
    passed = lower > 0 and _apart(leads) >= stats.FEW
    return Look(mean, lower, passed or reached <= -_LOWER + (_LOWER + _UPPER + _SLOPE) * time, passed)


def _student(normal: float, freedom: int) -> float:
    """The quantile of Student's t with the same tail as a quantile of the normal distribution."""
    return stats.t_critical(freedom, 1 - 2 * NormalDist().cdf(-normal))


def _apart(leads: Floats) -> int:
    """How many leads differ from the median lead."""
    return int(np.count_nonzero(np.abs(leads - np.median(leads)) > stats.TIED * np.ptp(leads)))
