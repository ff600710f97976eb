"""Intervals and ratings against known values and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from backalley.benchmarks.figures import stats
from backalley.benchmarks.figures.stats import Floats
from backalley.benchmarks.sequential.lead_test import Look, look, looks

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
    assert 0.999 < nearly.high <= 1.0
    assert nearly.low < 0.875
    with pytest.raises(ValueError, match="2 deals or more"):
        stats.mean_interval(np.ones(1))


@pytest.mark.parametrize(
    ("events", "trials", "low", "high"),
    [(0, 10, 0.0, 0.3084971), (3, 100, 0.0062300, 0.0851761), (5, 20, 0.0865715, 0.4910459), (20, 20, 0.8315665, 1.0)],
)
def test_clopper_and_pearson_as_tables_give_them(events: int, trials: int, low: float, high: float) -> None:
    assert stats.clopper_pearson(float(events), float(trials)) == pytest.approx((low, high), abs=1e-7)


def test_shares_cover_however_rare_wins_are() -> None:
    """Every number of wins in 400 deals with its probability: nothing is left to chance."""
    deals = 400
    counts = np.arange(100)
    found = [stats.share_interval((np.arange(deals) < count).astype(np.float64)) for count in counts]
    low, high = (np.array([getattr(one, end) for one in found]) for end in ("low", "high"))
    logs = np.array([math.lgamma(deals + 1) - math.lgamma(k + 1) - math.lgamma(deals - k + 1) for k in counts])
    for expected in np.arange(1, 30.01, 0.25):
        share = expected / deals
        chances = np.exp(logs + counts * math.log(share) + (deals - counts) * math.log1p(-share))
        assert chances[(low <= share) & (share <= high)].sum() >= 0.94, f"{expected} wins expected"
    widths = [one.high - one.low for one in found]
    for count in (4, 10, 20, 39):
        plain = stats.mean_interval((np.arange(deals) < count).astype(np.float64))
        assert widths[count] < (1 + 0.6 / math.sqrt(count)) * (plain.high - plain.low)
    assert np.all(np.diff(widths[:40]) > 0)


@pytest.mark.parametrize("expected", [1, 3, 8, 30])
def test_shares_of_seatings_that_hang_together_are_covered(expected: int) -> None:
    """Four seatings of one deal, in which an agent wins now once, now in several, and shares a win now and then."""
    random = np.random.default_rng(expected)
    deals, share = 200, expected / 200 / 4
    luck = random.beta(0.5, 0.5 * (1 - share) / share, (800, deals, 1))
    won = (random.random((800, deals, 4)) < luck) * random.choice([0.5, 1.0], (800, deals, 4), p=[0.2, 0.8])
    found = [stats.share_interval(sample) for sample in won.mean(2)]
    # The share's standard error is 0.007; Student's t alone covers 0.66, 0.91, 0.91 and 0.94.
    assert np.mean([one.low <= 0.9 * share <= one.high for one in found]) >= 0.94


def test_deals_that_all_agree_leave_room_for_those_that_did_not_show() -> None:
    unseen = 1 - 0.025 ** (1 / 418)
    assert stats.mean_interval(np.ones(418), (-1.0, 1.0)) == (1.0, pytest.approx(1 - 2 * unseen), 1.0)
    assert stats.mean_interval(np.zeros(418), (-1.0, 3.0)) == pytest.approx((0.0, -unseen, 3 * unseen))
    assert stats.lead_bounds((-1.0, 3.0)) == (-4.0, 4.0)
    rounding = np.random.default_rng(8).normal(-1e-9, 1e-9, 418)
    assert stats.mean_interval(rounding, (-1.0, 3.0)) == pytest.approx((0.0, -unseen, 3 * unseen), abs=1e-8)


def test_intervals_stay_within_what_a_game_can_bring() -> None:
    returns = np.array([1.0] * 8 + [0.6])
    assert stats.mean_interval(returns).high > 1.0
    found = stats.mean_interval(returns, (-1.0, 1.0))
    assert found.low < found.mean < found.high <= 1.0


def test_a_few_deals_that_differ_from_the_middle_are_covered_on_both_sides() -> None:
    random = np.random.default_rng(6)
    inside = narrow = 0
    for _ in range(1000):
        deals = (random.random(400) < 4 / 400) * random.choice([-1.0, 1.0, 0.5], 400)
        low, high = stats.mean_interval(deals, (-1.0, 1.0))[1:]
        inside += low <= 4 / 400 / 6 <= high
        narrow += high - low < 0.08
    assert inside / 1000 >= 0.94  # Student's t alone covers 0.9
    assert narrow / 1000 > 0.95


def test_what_is_common_has_students_interval() -> None:
    random = np.random.default_rng(7)
    returns = random.choice([-1.0, 0.0, 1.0], 500)
    assert stats.mean_interval(returns, (-1.0, 1.0)) == stats.mean_interval(returns)


def test_an_interval_shows_its_ends_where_they_lie_unevenly() -> None:
    assert stats.Estimate(0.5, 0.4, 0.6).spread(2) == "± 0.10"
    assert stats.Estimate(1.0, 0.982, 1.0).spread(3, "+") == "(+0.982 to +1.000)"


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


# Gates ----------------------------------------------------------------------------------------------------------------

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


# Runs of learners on several tasks -----------------------------------------------------------------------------------


def test_the_mean_of_the_middle_half() -> None:
    """Of all runs on all tasks together; a run or two that failed move it little."""
    scores = np.arange(16.0).reshape(8, 2)
    found = stats.interquartile_mean(scores)
    assert found.mean == pytest.approx(np.arange(4.0, 12.0).mean())
    assert found.low < found.mean < found.high
    failed = scores.copy()
    failed[0] = -1000
    assert stats.interquartile_mean(failed).mean == found.mean
    assert stats.interquartile_mean(scores) == found, "the same draws each time"


def test_the_probability_of_improvement() -> None:
    """By hand: on the first task 3 of 4 pairs are won, on the second one and two ties of 4."""
    first, second = np.array([[2.0, 1.0], [4.0, 3.0]]), np.array([[1.0, 1.0], [3.0, 3.0]])
    found = stats.probability_of_improvement(first, second)
    assert found.mean == pytest.approx((3 / 4 + (1 + 2 / 2) / 4) / 2)
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert stats.probability_of_improvement(first + 10, second) == stats.Estimate(1.0, 1.0, 1.0)
    swapped = stats.probability_of_improvement(second, first)
    assert swapped.mean == pytest.approx(1 - found.mean)


@pytest.mark.release
def test_the_interval_of_runs_covers() -> None:
    """Eight runs on three tasks of normal scores: 95 % of intervals hold the mean, give or take."""
    random = np.random.default_rng(0)
    held = [
        found.low <= 0 <= found.high
        for found in (stats.interquartile_mean(random.normal(size=(8, 3)), draws=500) for _ in range(200))
    ]
    assert 0.85 <= np.mean(held) <= 0.99


@pytest.mark.parametrize("scores", [np.zeros(3), np.zeros((1, 3)), np.zeros((2, 0)), [[1.0, math.nan], [1.0, 2.0]]])
def test_scores_are_runs_by_tasks(scores: Floats) -> None:
    with pytest.raises(ValueError, match=r"runs × tasks"):
        stats.interquartile_mean(scores)


def test_both_learners_have_the_same_tasks() -> None:
    with pytest.raises(ValueError, match="3 tasks and 2"):
        stats.probability_of_improvement(np.zeros((4, 3)), np.zeros((4, 2)))
