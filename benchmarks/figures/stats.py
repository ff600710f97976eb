"""Means with valid intervals.

The unit is the deal: one deck played in every seating. Deals are independent of each other, the games of one deal are
not, so every interval is over deals.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue

Floats = npt.NDArray[np.float64]

COVERAGE = 0.95
FEW = 40
"""From this number of events on, Student's t has its stated coverage, however skewed they are."""
_LIMIT = 10**9
"""Degrees of freedom at which Student's t is the normal distribution."""
NORMAL = 1.959964
"""Standard errors to each end of a 95 % interval, where the error is not estimated from a few deals."""
TIED = 1e-6
"""Returns closer than this are a tie: they are sums of 32-bit numbers."""


class Estimate(NamedTuple):
    """A mean and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def spread(self, digits: int, sign: str = "") -> str:
        """Return the interval to print after the mean: "± 0.02", or "(0.91 to 0.94)" if it is not symmetric."""
        reaches = {f"{abs(end - self.mean):.{digits}f}" for end in (self.low, self.high)}
        if len(reaches) == 1:
            return f"± {self.half_width:.{digits}f}"
        return f"({self.low:{sign}.{digits}f} to {self.high:{sign}.{digits}f})"

    @property
    def percent(self) -> Estimate:
        """A share in hundredths."""
        return Estimate(*(100 * value for value in self))

    def to_json(self) -> dict[str, float]:
        """`mean`, `low`, `high`."""
        return self._asdict()

    def columns(self, name: str) -> dict[str, float]:
        """`name`, `name_low`, `name_high`, for a row of a data frame."""
        return {name: self.mean, f"{name}_low": self.low, f"{name}_high": self.high}


@functools.lru_cache(maxsize=1024)
def t_critical(freedom: int, coverage: float = COVERAGE) -> float:
    """Return the t with P(-t < T < t) = `coverage` for Student's T with `freedom` >= 1 degrees of freedom."""
    from scipy.special import stdtrit

    if freedom < 1:
        raise InvalidValue(f"Student's t needs 1 degree of freedom or more; there are {freedom}.")
    return float(stdtrit(freedom, (1 + coverage) / 2))


def mean_interval(deals: Floats, bounds: tuple[float, float] | None = None) -> Estimate:
    """Return the mean of the deals [D] with its 95 % interval, which stays within the `bounds` of a single deal's
    value.

    It is mean ± t(D - 1) * sd / sqrt(D), unless bounds are given and the mean depends on a few deals: those that differ
    from the most frequent value are worth fewer than FEW independent events. What is above that value and what is below
    then have an interval each (`rare_interval`), and the two are combined by the distances of their ends (Zou and
    Donner 2008). If all deals agree, the interval reaches as far as 1 - 0.025 ** (1 / D) of deals at the bounds would
    move the mean: that many would have been seen in 97.5 % of samples. Raises ValueError for fewer than two deals.
    """
    count = len(deals)
    if count < 2:
        raise InvalidValue(f"An interval needs 2 deals or more; there are {count}.")
    mean = float(deals.mean())
    reach = t_critical(count - 1) * float(deals.std(ddof=1)) / math.sqrt(count)
    if bounds is None:
        return Estimate(mean, mean - reach, mean + reach)
    least, most = bounds
    usual = _usual(deals, least, most)
    apart = np.where(np.abs(deals - usual) <= TIED * (most - least), 0.0, deals - usual)
    above, below = (np.maximum(apart, 0.0), most - usual), (np.maximum(-apart, 0.0), usual - least)
    if sum(_events(values, room)[0] for values, room in (above, below)) >= FEW:
        return Estimate(mean, max(least, mean - reach), min(most, mean + reach))
    up, down = rare_interval(*above), rare_interval(*below)
    low = mean - math.hypot(up.mean - up.low, down.high - down.mean)
    high = mean + math.hypot(up.high - up.mean, down.mean - down.low)
    return Estimate(mean, max(least, low), min(most, high))


def share_interval(deals: Floats) -> Estimate:
    """Return `mean_interval` for shares, which are in 0..1."""
    return mean_interval(deals, (0.0, 1.0))


def lead_bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the bounds of the difference of two returns, each of which is between `bounds`."""
    low, high = bounds
    return low - high, high - low


def _usual(deals: Floats, least: float, most: float) -> float:
    """The value of more than half of the deals; `least` where they have none in common."""
    for value in (least, most, float(np.median(deals))):
        if np.count_nonzero(np.abs(deals - value) <= TIED * (most - least)) > len(deals) / 2:
            return value
    return least


def _events(values: Floats, room: float) -> tuple[float, float]:
    """The number of events and of independent trials that have the mean and the spread of values [D] in 0..`room`.

    Deals are played in several seatings, which are not independent, and ties count in parts: by mean and spread a deal
    is worth between less than one trial and as many as it has seatings (Korn and Graubard 1998).
    """
    count = len(values)
    share = float(values.mean()) / room if room > 0 else 0.0
    spread = float(values.var(ddof=1)) / room**2 if room > 0 else 0.0
    if share == 0 or spread == 0:
        return 0.0, float(count)
    wider = (t_critical(count - 1) / t_critical(_LIMIT)) ** 2
    trials = count * share * (1 - share) / (spread * wider)
    return share * trials, trials


def rare_interval(values: Floats, room: float) -> Estimate:
    """Return the mean of values [D] in 0..`room`, most of which are 0, with its 95 % interval: that of Clopper and
    Pearson (1934) for the effective number of events and trials."""
    events, trials = _events(values, room)
    low, high = clopper_pearson(events, trials)
    return Estimate(float(values.mean()), room * low, room * high)


@functools.lru_cache(maxsize=4096)
def clopper_pearson(events: float, trials: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a probability after `events` (not always whole) in `trials`, 2.5 % on each
    side: quantiles of two beta distributions."""
    from scipy.special import betaincinv

    tail = (1 - COVERAGE) / 2
    low = float(betaincinv(events, trials - events + 1, tail)) if events > 0 else 0.0
    high = float(betaincinv(events + 1, trials - events, 1 - tail)) if events < trials else 1.0
    return low, high


def win_shares(returns: Floats, sides: Sequence[int] | None = None) -> Floats:
    """Return each seat's share of the win [..., N]: 1 for the greatest return, split among ties.

    Partners, seats of one number in `sides`, win together: each gets their side's share, which depends on their mean
    return. A seat that plays alone wins where its return is positive, and half where it is 0.
    """
    if sides is not None and len(set(sides)) < len(sides):
        held = np.array(sides)[:, None] == np.arange(max(sides) + 1)
        return win_shares(returns @ (held / held.sum(0)))[..., np.array(sides)]
    if returns.shape[-1] == 1:
        return np.where(returns > TIED, 1.0, np.where(returns < -TIED, 0.0, 0.5))
    best = returns >= returns.max(-1, keepdims=True) - TIED
    shares: Floats = best / best.sum(-1, keepdims=True)
    return shares


def duplicate_gain(returns: Floats) -> float | None:
    """Return how many times more games on independent decks would give an interval as narrow: returns [D, R] of one
    agent, by deal and seating.

    It is the variance of the mean of D * R independent games, R seatings each equally often, over the variance of the
    mean of D deals. Below 1 the same decks do harm. None if all deals give the same.
    """
    seatings = returns.shape[1]
    return _ratio(float(returns.var(0, ddof=1).sum()) / seatings**2, float(returns.mean(1).var(ddof=1)))


def pairing_gain(first: Floats, second: Floats) -> float | None:
    """Return the same for the difference of two agents that play the same decks [D] each by itself."""
    return _ratio(float(first.var(ddof=1) + second.var(ddof=1)), float((second - first).var(ddof=1)))


def _ratio(independent: float, by_deals: float) -> float | None:
    """None where the denominator is only rounding."""
    return independent / by_deals if by_deals > 1e-12 * max(independent, 1e-12) else None


def deals_for(precision: float, pilot: Floats) -> int:
    """Return the number of deals after which a 95 % interval should reach ± `precision`, by a pilot [n] (Stein's
    two-stage rule, 1945)."""
    return math.ceil((t_critical(len(pilot) - 1) * float(pilot.std(ddof=1)) / precision) ** 2)


def rate(shares: Floats, first: npt.NDArray[Any], second: npt.NDArray[Any], chance: float, anchor: int) -> Floats:
    """Return strengths [B, K] in natural units, with `anchor`'s as 0, by maximum likelihood from win shares [B, M] of M
    pairings.

    In pairing m agent `first[m]` plays alone against `second[m]` in all other seats, and wins with the odds
    exp(difference of strengths) times its odds by chance: Bradley and Terry (1952) for two seats, Plackett and Luce's
    first place for more. B samples at once.
    """
    agents = int(max(first.max(), second.max())) + 1
    design = np.zeros((len(first), agents))
    design[np.arange(len(first)), first] += 1
    design[np.arange(len(first)), second] -= 1
    free = np.arange(agents) != anchor
    design, offset = design[:, free], math.log(chance / (1 - chance))
    strength = np.zeros((len(shares), agents - 1))
    for _ in range(100):
        expected = 1 / (1 + np.exp(-(strength @ design.T + offset)))
        slope = (shares - expected) @ design
        curve = np.einsum("bm,mi,mj->bij", expected * (1 - expected), design, design)
        move = np.clip(np.linalg.solve(curve, slope[..., None])[..., 0], -2, 2)
        strength += move
        if np.abs(move).max() < 1e-9:
            break
    rated = np.zeros((len(shares), agents))
    rated[:, free] = strength
    return rated


# Runs of learners on several tasks ------------------------------------------------------------------------------------

_DRAWS = 2000


def interquartile_mean(scores: npt.ArrayLike, *, draws: int = _DRAWS) -> Estimate:
    """Return the mean of the middle half of all scores [runs × tasks], which a few runs that failed hardly move.

    The interval is a stratified bootstrap's: `draws` times, as many runs are drawn again on each task by itself. Scores
    of different games have to be comparable. Raises ValueError for another shape, and for fewer than two runs.
    """
    from scipy.stats import trim_mean

    given = _runs_by_tasks(scores)
    random = np.random.default_rng(0)
    again = [trim_mean(_drawn_again(given, random), 0.25, axis=None) for _ in range(draws)]
    return Estimate(float(trim_mean(given, 0.25, axis=None)), *np.quantile(again, _ENDS).tolist())


def probability_of_improvement(scores: npt.ArrayLike, others: npt.ArrayLike, *, draws: int = _DRAWS) -> Estimate:
    """Return the probability that a run of one learner scores more than a run of another on the same task, the mean
    over tasks; a tie counts half. Both are [runs × tasks], with any numbers of runs. Interval and errors are those of
    `interquartile_mean`."""
    first, second = _runs_by_tasks(scores), _runs_by_tasks(others)
    if first.shape[1] != second.shape[1]:
        raise InvalidValue(f"The scores are of {first.shape[1]} tasks and {second.shape[1]}; both take the same tasks.")

    def better(one: Floats, other: Floats) -> float:
        return float((np.sign(one[:, None] - other[None]) / 2 + 0.5).mean())

    random = np.random.default_rng(0)
    again = [better(_drawn_again(first, random), _drawn_again(second, random)) for _ in range(draws)]
    return Estimate(better(first, second), *np.quantile(again, _ENDS).tolist())


_ENDS = (1 - COVERAGE) / 2, (1 + COVERAGE) / 2


def _runs_by_tasks(scores: npt.ArrayLike) -> Floats:
    given = np.asarray(scores, np.float64)
    if given.ndim != 2 or len(given) < 2 or not given.size or not np.isfinite(given).all():
        raise InvalidValue(f"The scores have shape {given.shape}; they are numbers, runs × tasks, of two runs or more.")
    return given


def _drawn_again(scores: Floats, random: np.random.Generator) -> Floats:
    return np.take_along_axis(scores, random.integers(len(scores), size=scores.shape), axis=0)
