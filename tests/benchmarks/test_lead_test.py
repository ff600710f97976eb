"""The sequential test of gates: its error rate, its power, and the deals it takes."""

from __future__ import annotations

import numpy as np
import pytest

from backalley.benchmarks.figures.stats import Floats
from backalley.benchmarks.sequential.lead_test import Look, look, looks

MOST = 1000


def ended(leads: Floats) -> tuple[Look, int]:
    """What a test over these leads, and no more, finds, and the number of deals it looked at."""
    for deals in looks(len(leads)):
        if (found := look(leads[:deals], len(leads))).ended:
            return found, deals
    raise AssertionError


def many(mean: float, runs: int = 4000) -> tuple[list[Look], float]:
    """Tests of leads of this mean and standard deviation 1, and the mean number of deals that they took."""
    random = np.random.default_rng(1)
    found = [ended(random.normal(mean, 1, MOST)) for _ in range(runs)]
    return [one for one, _ in found], float(np.mean([deals for _, deals in found]))


def test_looks_are_fixed_and_end_at_the_most() -> None:
    assert looks(3000)[:3] == [150, 188, 235]
    assert looks(3000)[-1] == 3000
    assert looks(64) == [38, 47, 59, 64]
    assert looks(2) == [2]


def test_one_in_a_hundred_passes_that_is_no_better_and_few_deals_show_it() -> None:
    found, deals = many(0.0)
    assert np.mean([one.passed for one in found]) <= 0.01 + 0.004  # 0.0016 is the standard error of the count
    assert deals < 0.4 * MOST


def test_its_power_is_that_of_a_fixed_test_over_two_thirds_of_the_deals() -> None:
    # 4.652 standard errors of 2/3 MOST deals: a fixed test finds it with probability 0.99.
    found, deals = many(4.652 / (MOST * 2 / 3) ** 0.5, runs=1500)
    assert np.mean([one.passed for one in found]) >= 0.98
    assert deals < 0.5 * MOST * 2 / 3 * 1.05


def test_the_lower_end_holds_at_whichever_look_it_ends() -> None:
    mean = 0.2
    found, _ = many(mean)
    assert np.mean([one.lower > mean for one in found]) <= 0.01 + 0.004
    assert all(one.passed == (one.ended and one.lower > 0) for one in found)


def test_a_lead_that_rests_on_rare_losses_not_yet_seen_waits_for_the_last_look() -> None:
    assert not look(np.full(200, 0.1), MOST).ended, "a loss of 100 in 1,000 deals is not ruled out"
    assert look(np.full(MOST, 0.1), MOST).passed
    losing = look(np.full(200, -0.1), MOST)
    assert (losing.ended, losing.passed) == (True, False)
    assert not look(np.zeros(50), MOST).ended
    assert look(np.zeros(300), MOST).ended, "no deal differs, so no lead is in sight"


def test_what_it_takes() -> None:
    with pytest.raises(ValueError, match="over at most 10 deals was given 11; it takes 2 to 10"):
        look(np.zeros(11), 10)
    with pytest.raises(ValueError, match="was given 1"):
        look(np.zeros(1), 10)
