"""Simulations of people who look at deals again and again: do intervals hold, when is a difference decided, and how
often and how soon does a gate pass? Deals are drawn with replacement, so their true mean is known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...figures import stats
from ...figures.stats import COVERAGE, Estimate, Floats
from ...sequential import lead_test
from ...sequential.confidence_sequence import BETS, FEW, anytime_interval, growth, mixed

_CHUNK = 50
"""Runs that are simulated at once, for the sake of memory."""
_FIRST_LOOK = 10
"""Deals before anybody looks at Student's interval: it needs some to be an interval at all."""
_REACHED = math.log(2 / (1 - COVERAGE))


class Law(NamedTuple):
    """What the deals of a simulation are drawn from."""

    name: str
    values: Floats
    """[V] equally likely"""
    bounds: tuple[float, float]
    """Those that are declared of a value."""
    measured: bool = False
    """Whether they were played, and have a lead of their own."""

    @property
    def effect(self) -> float:
        """The mean in standard deviations."""
        return float(self.values.mean() / self.values.std())

    def shifted(self, effect: float) -> Floats:
        """Return the values [V] moved so that their mean is so many standard deviations."""
        moved: Floats = self.values - self.values.mean() + effect * self.values.std()
        return moved


def share(times: int, runs: int) -> dict[str, float]:
    """Return how often something happened, with its 95 % interval (Clopper and Pearson)."""
    return Estimate(times / runs, *stats.clopper_pearson(float(times), float(runs))).to_json()


def coverage(law: Law, runs: int, deals: int, seed: int) -> dict[str, Any]:
    """Return in how many runs an interval held the mean at every look of one who looks after each of 256 deals and then
    after every eighth: of the confidence sequence, and of Student's t from the tenth deal on; and Student's at the last
    deal alone."""
    peeks = np.array([*range(1, min(FEW, deals) + 1), *range(FEW + 8, deals + 1, 8)])
    held, student, student_end, widths = 0, 0, 0, list[float]()
    for values in _drawn(law.values, runs, deals, seed):
        low, high = law.bounds
        shares, mean = (values - low) / (high - low), float((law.values.mean() - low) / (high - low))
        above = log_wealth(shares, mean, peeks) >= _REACHED
        below = log_wealth(1 - shares, 1 - mean, peeks) >= _REACHED
        held += int((~(above | below).any(1)).sum())
        reached = _student_misses(values, float(law.values.mean()), peeks)
        student += int((~reached.any(1)).sum())
        student_end += int((~reached[:, -1]).sum())
        if len(widths) < 20:
            widths += [anytime_interval(one, law.bounds).half_width / _student(one) for one in values[:5]]
    return {
        "law": law.name,
        "anytime": share(held, runs),
        "student": share(student, runs),
        "student_at_the_end": share(student_end, runs),
        "width_ratio": float(np.mean(widths)),
    }


def decided(law: Law, runs: int, stops: Sequence[int], seed: int) -> dict[str, Any]:
    """Return after how many deals the confidence sequence has told the mean from 0, of those it looks at."""
    low, high = law.bounds
    values, zero = (law.values, -low) if law.values.mean() > 0 else (-law.values, high)
    shift = zero / (high - low)
    ends = list[float]()
    for drawn in _drawn(values, runs, stops[-1], seed):
        reached = log_wealth(drawn / (high - low) + shift, shift, np.array(stops)) >= _REACHED
        ends += np.where(reached.any(1), np.array(stops)[reached.argmax(1)], np.inf).tolist()
    middle, most = np.quantile(ends, (0.5, 0.9), method="inverted_cdf")
    return {
        "law": law.name,
        "effect": abs(law.effect),
        "fixed": math.ceil((stats.t_critical(10**9) + stats.t_critical(10**9, 0.9)) ** 2 / law.effect**2),
        "median": None if math.isinf(middle) else int(middle),
        "nine_in_ten": None if math.isinf(most) else int(most),
    }


def gates(law: Law, effect: float, runs: int, most: int, fixed: int, seed: int) -> dict[str, Any]:
    """Return how often the sequential test over at most `most` deals passes, and a test over `fixed` deals, and how
    many deals the former takes, for leads of the law moved to a mean of `effect` standard deviations."""
    passed, passed_fixed, played = 0, 0, list[int]()
    looks = lead_test.looks(most)
    for drawn in _drawn(law.shifted(effect), runs, most, seed):
        for leads in drawn:
            deals, found = next(
                (deals, found) for deals in looks if (found := lead_test.look(leads[:deals], most)).ended
            )
            passed += found.passed
            played.append(deals)
            passed_fixed += bool(leads[:fixed].mean() > _student(leads[:fixed], 2 * lead_test.CONFIDENCE - 1))
    return {
        "law": law.name,
        "effect": effect,
        "passed": share(passed, runs),
        "passed_fixed": share(passed_fixed, runs),
        "deals": float(np.mean(played)),
    }


def log_wealth(shares: Floats, mean: float, peeks: npt.NDArray[np.int64]) -> Floats:
    """Return the gambler's log wealth against a mean after so many deals, as `anytime_interval` reckons it: [R, P] from
    shares [R, D] in 0..1 and peeks [P] in ascending order."""
    early = np.log1p((BETS / mean)[:, None, None] * (shares[:, :FEW] - mean)).cumsum(2)
    sums, power = [], np.ones_like(shares)
    for _ in range(4):
        power = power * (shares - mean)
        sums.append(power.cumsum(1)[:, peeks[peeks > FEW] - 1])
    return np.concatenate([mixed(early[:, :, peeks[peeks <= FEW] - 1]), mixed(growth(sums, mean))], 1)


def _drawn(values: Floats, runs: int, deals: int, seed: int) -> Iterator[Floats]:
    """Chunks [R, D] of the deals of all runs."""
    random = np.random.default_rng(seed)
    for begun in range(0, runs, _CHUNK):
        yield values[random.integers(len(values), size=(min(_CHUNK, runs - begun), deals))]


def _student(values: Floats, confidence: float = COVERAGE) -> float:
    """Half the width of Student's interval."""
    return stats.t_critical(len(values) - 1, confidence) * float(values.std(ddof=1)) / math.sqrt(len(values))


def _student_misses(values: Floats, mean: float, peeks: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether Student's interval misses the mean [R, P], by the deals so far."""
    peeks = peeks[peeks >= _FIRST_LOOK]
    apart = values - mean
    total, squares = (np.cumsum(apart**power, 1)[:, peeks - 1] for power in (1, 2))
    spread = np.sqrt(np.maximum(squares - total**2 / peeks, 0) / (peeks - 1))
    critical = np.array([stats.t_critical(int(count) - 1) for count in peeks])
    missed: npt.NDArray[np.bool_] = np.abs(total / peeks) > critical * spread / np.sqrt(peeks) + 1e-12
    return missed
