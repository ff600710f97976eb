"""When an evaluation may end early: at fixed numbers of deals it asks whether the intervals are narrow enough."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from backalley.console.errors import InvalidType, InvalidValue
from backalley.envs.core.game.game import Game

from ..figures.stats import Floats, lead_bounds
from ..sequential.confidence_sequence import anytime_interval
from .sample import Sample

Until = float | Literal["decided"]
"""The half-width wanted for the widest interval of a mean return, or `decided`: every difference of mean returns has an
interval without 0."""

_FIRST, _GROWTH = 16, 1.2
"""The deals played when it is first asked, and how many times more each next time."""


def checked(until: object, num_agents: int) -> Until:
    """Return `until` if it is one, for so many agents. Raises ValueError or TypeError."""
    if until == "decided":
        if num_agents < 2:
            raise InvalidValue("until='decided' compares agents, and 1 was given; give two or more, or a half-width.")
        return "decided"
    if isinstance(until, bool) or not isinstance(until, (int, float)):
        raise InvalidType(f"until is {until!r}; it is 'decided', or a half-width of a mean return greater than 0.")
    if not 0 < until < math.inf:
        raise InvalidValue(f"until is {until:g}; it is 'decided', or a half-width of a mean return greater than 0.")
    return float(until)


def stops(most: int) -> list[int]:
    """Return the numbers of deals at which it is asked, `most` last. They depend on nothing else, so that an evaluation
    ends after as many deals on any number of threads."""
    found, deals = list[int](), _FIRST
    while deals < most:
        found.append(deals)
        deals = math.ceil(deals * _GROWTH)
    return [*found, most]


def ends_until(until: Until, game: Game, sample: Sample, most: int) -> Iterator[tuple[int, int]]:
    """Yield the numbers of deals to play to, each with about how many it will take in all, until the intervals of the
    sample are narrow enough. Deals beyond the number asked about, of earlier work, have no say."""
    expected = most
    for deals in stops(most):
        yield deals, max(deals, expected)
        too_wide = _excess(until, game, sample, deals)
        if too_wide <= 1:
            return
        expected = most if too_wide == math.inf else min(most, math.ceil(deals * too_wide**2))


def _excess(until: Until, game: Game, sample: Sample, deals: int) -> float:
    """How many times too wide the widest interval is after so many deals; widths fall with the root of the deals."""
    agents = range(1 + int(sample.seatings.max()))
    means = [sample.of_agent(number, sample.returns[:deals]).mean(1) for number in agents]
    if until == "decided":
        return max(_from_zero(mean - means[0], lead_bounds(game.reward_range)) for mean in means[1:])
    return max(anytime_interval(mean, game.reward_range).half_width for mean in means) / until


def _from_zero(leads: Floats, bounds: tuple[float, float]) -> float:
    """The part of the interval towards 0 over the distance of the mean from 0."""
    mean, low, high = anytime_interval(leads, bounds)
    reach = mean - low if mean > 0 else high - mean
    return reach / abs(mean) if mean else math.inf
