"""Deviation ratings: by their definition, on games that are known, and what must not change them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backalley.benchmarks.figures.stats import Floats
from backalley.benchmarks.matches.deviation import deviation_ratings
from backalley.benchmarks.matches.tournament import deviations_of

optimize = pytest.importorskip("scipy.optimize")

CYCLE = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
"""Rock, paper, scissors."""


def ratings(payoffs: Floats) -> Floats:
    return deviation_ratings(payoffs)[0]


def by_definition(payoffs: Floats) -> Floats:
    """The ratings of the first player by the paper's programs: over joint distributions [K * K] of both players'
    agents, the deviation gains of both at once."""
    agents = len(payoffs)
    rows = []
    for deviator in range(agents):
        pairs = list(itertools.product(range(agents), repeat=2))
        rows.append([payoffs[deviator, there] - payoffs[here, there] for here, there in pairs])
        rows.append([-payoffs[here, deviator] + payoffs[here, there] for here, there in pairs])
    gains, fixed = np.array(rows), np.full(2 * agents, np.nan)
    while np.isnan(fixed).any():
        free = np.isnan(fixed)
        found = optimize.linprog(
            [0.0] * agents**2 + [1.0],
            A_ub=np.column_stack([gains, -free.astype(float)]),
            b_ub=np.where(free, 0.0, fixed + 1e-11),
            A_eq=[[1.0] * agents**2 + [0.0]],
            b_eq=[1.0],
            bounds=[(0, None)] * agents**2 + [(None, None)],
        )
        assert found.status == 0
        fixed[free & (found.ineqlin.marginals < -1e-6)] = found.fun
    return np.asarray(fixed[::2])


def antisymmetric(numbers: list[int], agents: int) -> Floats:
    """A table of two sides: what one gains the other loses."""
    payoffs = np.zeros((agents, agents))
    payoffs[np.triu_indices(agents, 1)] = np.array(numbers[: agents * (agents - 1) // 2]) / 8
    return np.asarray(payoffs - payoffs.T)


def one_sided(numbers: list[int], agents: int) -> Floats:
    """A table of more sides: one alone against the others. Only the diagonal is known."""
    payoffs = np.array(numbers[: agents * agents]).reshape(agents, agents) / 8
    np.fill_diagonal(payoffs, 0)
    return payoffs


def with_copies(payoffs: Floats, number: int, copies: int) -> Floats:
    """The table with copies of one agent behind the others."""
    which = [*range(len(payoffs)), *[number] * copies]
    return payoffs[np.ix_(which, which)]


NUMBERS = st.lists(st.integers(-8, 8), min_size=25, max_size=25)
TABLES = st.builds(
    lambda make, *rest: make(*rest), st.sampled_from([antisymmetric, one_sided]), NUMBERS, st.integers(2, 5)
)


@pytest.mark.parametrize("agents", [2, 3, 4])
def test_they_are_those_of_the_definition(agents: int) -> None:
    random = np.random.default_rng(agents)
    for _ in range(4):
        payoffs = antisymmetric(random.integers(-8, 9, 6).tolist(), agents)
        assert ratings(payoffs) == pytest.approx(by_definition(payoffs), abs=1e-7)


def test_known_games() -> None:
    assert ratings(CYCLE) == pytest.approx([0, 0, 0], abs=1e-9)
    assert deviation_ratings(CYCLE)[1] == pytest.approx([1 / 3] * 3)
    assert ratings(np.array([[0, 0.4, 0.1], [-0.4, 0, 0.9], [-0.1, -0.9, 0]])) == pytest.approx([0, -0.4, -0.1])
    assert ratings(np.zeros((4, 4))) == pytest.approx([0] * 4)
    # Scissors counts double where it wins, so that the equilibrium is no longer even, and all three stay equal.
    uneven = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -2.0], [-1.0, 2.0, 0.0]])
    rated, mixture = deviation_ratings(uneven)
    assert rated == pytest.approx([0, 0, 0], abs=1e-9)
    assert mixture == pytest.approx([0.5, 0.25, 0.25])


def test_of_equally_good_mixtures_the_one_that_leaves_the_others_least_is_taken() -> None:
    """Agents 0 and 1 play level; 2 loses to both, but more to 0."""
    rated, mixture = deviation_ratings(np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 0.1], [-0.5, -0.1, 0.0]]))
    assert rated == pytest.approx([0, 0, -0.5])
    assert mixture == pytest.approx([1, 0, 0])


def test_who_loses_to_all_changes_nothing() -> None:
    with_loser = np.pad(CYCLE, (0, 1), constant_values=-0.5)
    with_loser[:3, 3] = 0.5
    assert ratings(with_loser) == pytest.approx([0, 0, 0, -0.5], abs=1e-9)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(TABLES, st.integers(0, 4), st.integers(1, 3))
def test_copies_change_no_rating_and_have_that_of_their_original(payoffs: Floats, number: int, copies: int) -> None:
    number %= len(payoffs)
    rated, before = ratings(with_copies(payoffs, number, copies)), ratings(payoffs)
    assert rated == pytest.approx([*before, *[before[number]] * copies], abs=1e-7)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(TABLES, st.permutations(range(5)), st.floats(-2, 2))
def test_neither_order_nor_unit_nor_offset_matters(payoffs: Floats, order: list[int], offset: float) -> None:
    agents, before = len(payoffs), ratings(payoffs)
    order = [number for number in order if number < agents]
    assert ratings(payoffs[np.ix_(order, order)]) == pytest.approx(before[order], abs=1e-7)
    assert ratings(1e-3 * payoffs) == pytest.approx(1e-3 * before, abs=1e-10)
    assert ratings(payoffs + offset) == pytest.approx(before, abs=1e-7)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(TABLES)
def test_a_better_agent_is_never_rated_lower_and_the_mixture_is_one(payoffs: Floats) -> None:
    rated, mixture = deviation_ratings(payoffs)
    assert rated.max() == 0
    assert mixture.sum() == pytest.approx(1)
    assert mixture.min() >= 0
    met = payoffs @ mixture
    assert rated == pytest.approx(met - met.max(), abs=1e-7)
    for better, worse in itertools.permutations(range(len(payoffs)), 2):
        if (payoffs[better] >= payoffs[worse]).all():
            assert rated[better] >= rated[worse] - 1e-7


def test_intervals_know_that_the_mixture_may_be_another() -> None:
    """Agents 0 and 1 are level, so that chance decides which is the mixture; 2 loses five times as much to one."""
    random = np.random.default_rng(1)
    gains = np.zeros((3, 3, 400))
    for one, other, mean in ((0, 1, 0.0), (0, 2, 0.5), (1, 2, 0.1)):
        gains[one, other] = random.normal(mean, 0.3, 400)
        gains[other, one] = -gains[one, other]
    found, mixture = deviations_of(gains, (-2.0, 2.0), seed=0)
    assert sum(mixture) == pytest.approx(1)
    assert found[2].low < -0.45
    assert found[2].high > -0.15
    assert all(one.low <= one.mean <= one.high for one in found)
    assert deviations_of(gains, (-2.0, 2.0), seed=0) == (found, mixture)
    gains[0] += 0.5
    gains[:, 0] -= 0.5
    found, mixture = deviations_of(gains, (-2.0, 2.0), seed=0)
    assert mixture == [1, 0, 0]
    assert found[0] == (0, 0, 0)
    assert found[1].high < found[0].low, "who beats all is distinguished"
