"""Intervals and ratings against known values and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from backalley.benchmarks import stats

T_975 = {
    1: 12.706204736174694,
    2: 4.302652729749462,
    3: 3.182446305284263,
    4: 2.7764451051977987,
    5: 2.570581835636314,
    10: 2.2281388519649385,
    30: 2.0422724563012373,
    199: 1.971956544249395,
    200: 1.9718962236316089,
    1000: 1.9623390808264078,
}
"""Quantiles of Student's t at 0.975, as tables give them."""


@pytest.mark.parametrize("freedom", T_975)
def test_t_critical(freedom: int) -> None:
    assert stats.t_critical(freedom) == pytest.approx(T_975[freedom], rel=1e-10)


def test_t_critical_of_another_coverage_and_in_the_limit() -> None:
    assert stats.t_critical(7, 0.99) == pytest.approx(3.4994832973504937, rel=1e-9)
    assert stats.t_critical(10**7) == pytest.approx(1.959963984540054, rel=1e-6)
    with pytest.raises(ValueError, match="1 degree of freedom"):
        stats.t_critical(0)


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    random = np.random.default_rng(1)
    samples = random.normal(3.0, 2.0, (20_000, 6))
    inside = 0
    for sample in samples:
        _, low, high = stats.mean_interval(sample)
        inside += low <= 3.0 <= high
    # 0.0015 is the standard error of the count; 1.96 in place of t would cover 0.893.
    assert inside / len(samples) == pytest.approx(0.95, abs=0.006)


def test_intervals_of_shares_stay_within_bounds_and_cover() -> None:
    assert stats.share_interval(np.ones(10)) == (1.0, pytest.approx(0.025**0.1), 1.0)
    assert stats.share_interval(np.zeros(10)) == (0.0, 0.0, pytest.approx(1 - 0.025**0.1))
    nearly = stats.share_interval(np.array([1.0, 1.0, 1.0, 0.5]))
    assert nearly.high == 1.0
    assert nearly.low < 0.875
    with pytest.raises(ValueError, match="2 deals or more"):
        stats.mean_interval(np.ones(1))


def test_win_shares() -> None:
    assert stats.win_shares(np.array([[1.0, -1.0], [0.0, 0.0]])).tolist() == [[1.0, 0.0], [0.5, 0.5]]
    thirds = np.float64(np.float32(0.1)) + np.float64(np.float32(0.2))
    assert stats.win_shares(np.array([[0.3, thirds, -0.6, -1.0]])).tolist() == [[0.5, 0.5, 0.0, 0.0]]
    assert stats.win_shares(np.array([[2.0], [0.0], [-0.5]])).tolist() == [[1.0], [0.5], [0.0]]


def test_partners_win_together() -> None:
    sides = (0, 1, 0, 1)
    assert stats.win_shares(np.array([[1.0, -1.0, 1.0, -1.0], [0.5, 0.5, 0.5, 0.5]]), sides).tolist() == [
        [1, 0, 1, 0],
        [0.5] * 4,
    ]
    assert stats.win_shares(np.array([[3.0, 0.0, -1.0, 1.5]]), sides).tolist() == [[1, 0, 1, 0]]  # means 1 and 0.75


def test_duplicate_gain_of_known_correlations() -> None:
    random = np.random.default_rng(2)
    luck = random.normal(size=(200_000, 1))
    skill = random.normal(size=(200_000, 2))
    assert stats.duplicate_gain(np.hstack([luck, luck])) == pytest.approx(0.5)
    assert stats.duplicate_gain(skill) == pytest.approx(1.0, rel=0.02)
    # The seats share the luck with opposite signs: variance 2 each, and 1 / 2 of the mean's instead of 1.
    assert stats.duplicate_gain(np.hstack([luck, -luck]) + skill) == pytest.approx(2.0, rel=0.02)
    assert stats.duplicate_gain(np.hstack([luck, -luck])) is None


def test_pairing_gain() -> None:
    random = np.random.default_rng(3)
    common, own = random.normal(size=100_000), random.normal(size=(2, 100_000))
    assert stats.pairing_gain(common + own[0], common + own[1]) == pytest.approx(2.0, rel=0.02)
    assert stats.pairing_gain(common, common) is None


def test_deals_for_a_precision() -> None:
    random = np.random.default_rng(4)
    pilot = random.normal(0, 0.5, 256)
    deals = stats.deals_for(0.01, pilot)
    sample = random.normal(0, float(pilot.std(ddof=1)), deals)
    assert stats.mean_interval(sample).half_width == pytest.approx(0.01, rel=0.05)
    assert stats.deals_for(0.01, np.zeros(256)) == 0


def test_two_ratings() -> None:
    first, second = np.array([0]), np.array([1])
    strengths = stats.rate(np.array([[0.75], [0.5]]), first, second, 0.5, anchor=1)
    assert strengths[:, 1].tolist() == [0.0, 0.0]
    assert strengths[:, 0] == pytest.approx([math.log(3), 0.0], abs=1e-9)


@pytest.mark.parametrize("seats", [2, 4])
def test_ratings_are_found_again(seats: int) -> None:
    true = np.array([0.0, 1.5, -0.7, 3.0])
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    odds = np.exp(true[first] - true[second]) / (seats - 1)
    found = stats.rate((odds / (1 + odds))[None, :], first, second, 1 / seats, anchor=0)
    assert found[0] == pytest.approx(true, abs=1e-7)
