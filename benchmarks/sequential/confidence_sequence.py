"""Intervals of a bounded mean that hold at every number of deals at once, so that whoever watches may stop at any time.

A confidence sequence by betting (Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by
betting", section 4). A gambler who begins with 1 and bets a share b of it, deal after deal, that the mean is above m
has the product of 1 + b (x - m) / m; were m the mean, or too high, that would be a supermartingale, which ever reaches
1 / a with probability a at the most (Ville 1939). So every m at which it has reached 2 / 0.05 is too low, and the same
from above. The money is spread over many b beforehand (the method of mixtures), which costs no estimate of the
variance, and makes an interval independent of the order of the deals.
"""

from __future__ import annotations

import math

import numpy as np

from backalley.console.errors import InvalidValue

from ..figures.stats import COVERAGE, Estimate, Floats

_LARGEST, _STEP, _NUMBER = 0.95, 2**-0.5, 40
BETS: Floats = np.array([_LARGEST * _STEP**number for number in range(_NUMBER)])
"""[K] The shares that are bet, the largest first: the smallest are for millions of deals."""
_MONEY: Floats = np.array([(number + 3) ** -1.5 for number in range(_NUMBER)])
LOG_MONEY: Floats = np.log(_MONEY / _MONEY.sum())
"""[K] The logarithm of the money on each: most on large bets, which narrow the intervals of tens of deals."""
FEW = 256
"""Up to this number of deals wealth is computed exactly, beyond it by a lower bound that needs only sums of powers."""
_TERMS = 2000
_FOURTH: Floats = (BETS[:, None] ** np.arange(_TERMS) / np.arange(4, 4 + _TERMS)).sum(1)
"""[K] c(b) = b^0 / 4 + b^1 / 5 + ..., with which log(1 + y) >= y - y^2 / 2 + y^3 / 3 - c(b) y^4 for y >= -b: the
remainder of the series falls as y grows (Fan, Grama and Liu 2015 do this for the second power)."""
_CANDIDATES, _ROUNDS = 9, 7
"""An end is sought among so many means, and then between the two around it, so many times."""


def anytime_interval(deals: Floats, bounds: tuple[float, float]) -> Estimate:
    """Return the mean of the deals [D] with a 95 % interval from a confidence sequence: it holds at all numbers of
    deals together with probability 0.95, so also at one that was chosen by looking at the deals.

    `bounds` are those of a single deal's value. Raises ValueError for no deals, or one outside the bounds.
    """
    least, most = bounds
    span = most - least
    if not len(deals) or not least < most:
        raise InvalidValue(f"An interval needs a deal, and bounds with room; there are {len(deals)}, in {bounds}.")
    if deals.min() < least - 1e-6 * span or deals.max() > most + 1e-6 * span:
        raise InvalidValue(f"Deals from {deals.min():g} to {deals.max():g} are not within {least:g} to {most:g}.")
    shares = np.clip((deals - least) / span, 0, 1)
    low, high = _lower_end(shares), 1 - _lower_end(1 - shares)
    return Estimate(float(deals.mean()), least + span * low, least + span * high)


def _lower_end(shares: Floats) -> float:
    """The greatest mean, of those sought among, that is too low for shares [D] in 0..1."""
    wealth, low, high = _Wealth(shares), 0.0, float(shares.mean())
    if high == 0:
        return 0.0
    for _ in range(_ROUNDS):
        means = np.linspace(low, high, _CANDIDATES)[1:]
        reached = np.flatnonzero(wealth.at(means) >= math.log(2 / (1 - COVERAGE)))
        last = reached[-1] if len(reached) else -1
        low, high = (low if last < 0 else float(means[last])), float(means[min(last + 1, len(means) - 1)])
    return low


class _Wealth:
    """The logarithm of the gambler's wealth after shares [D], at any mean."""

    def __init__(self, shares: Floats) -> None:
        self._shares, self._count, self._mean = shares, len(shares), float(shares.mean())
        apart = shares - self._mean
        self._powers = [float((apart**power).sum()) for power in (2, 3, 4)]

    def at(self, means: Floats) -> Floats:
        """[M], at means [M] above 0."""
        if self._count <= FEW:
            bets = BETS[:, None, None] / means[:, None]
            return mixed(np.log1p(bets * (self._shares - means[:, None])).sum(2))
        second, third, fourth = self._powers
        count, shift = self._count, self._mean - means
        sums = [
            count * shift,
            second + count * shift**2,
            third + 3 * shift * second + count * shift**3,
            fourth + 4 * shift * third + 6 * shift**2 * second + count * shift**4,
        ]
        return mixed(growth(sums, means))


def growth(sums: list[Floats], mean: Floats | float) -> Floats:
    """Return a lower bound of the logarithm of each bet's wealth [K, ...] from the sums [...] of the first to fourth
    powers of shares less `mean` [...]."""
    shape = (-1,) + (1,) * np.ndim(sums[0])
    bets, fourth = BETS.reshape(shape) / mean, _FOURTH.reshape(shape)
    grown: Floats = bets * (sums[0] - bets * (sums[1] / 2 - bets * (sums[2] / 3 - bets * fourth * sums[3])))
    return grown


def mixed(logs: Floats) -> Floats:
    """Return the logarithm of the whole wealth [...] from those of the bets [K, ...]."""
    logs = logs + LOG_MONEY.reshape((-1,) + (1,) * (logs.ndim - 1))
    most = logs.max(0)
    whole: Floats = most + np.log(np.exp(logs - most).sum(0))
    return whole
