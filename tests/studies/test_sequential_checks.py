"""Simulations of constant looking: the intervals that `evaluate --until` gives hold, and gates are as sure as they
say."""

from __future__ import annotations

import numpy as np
import pytest

from backalley.benchmarks.figures.result_kinds import figures
from backalley.benchmarks.matches.until import stops
from backalley.benchmarks.sequential.confidence_sequence import anytime_interval
from backalley.benchmarks.studies.play import sequential_checks as peeking
from backalley.benchmarks.studies.play.sequential_checks import Law, invented, sequential_checks

WIN = Law("wins more", np.array([1.0, 1.0, 1.0, -1.0, -1.0]), (-1, 1), True)


def test_the_simulated_wealth_is_that_of_the_intervals() -> None:
    deals = np.random.default_rng(2).choice(WIN.values, 400)
    peeks = np.array([5, 100, 256, 257, 400])
    wealth = peeking.log_wealth(deals[None] / 2 + 0.5, 0.5, peeks)[0]
    lows = [anytime_interval(deals[:count], WIN.bounds).low for count in peeks]
    assert [value >= np.log(40) for value in wealth] == [low > 0 for low in lows]
    assert any(low > 0 for low in lows)
    assert not all(low > 0 for low in lows)


@pytest.mark.parametrize("law", invented(), ids=lambda law: law.name)
def test_an_interval_holds_the_mean_at_all_looks_together(law: Law) -> None:
    found = peeking.coverage(law, runs=200, deals=400, seed=1)
    assert found["anytime"]["mean"] >= 0.95
    assert found["student"]["mean"] < 0.8, "an interval for one number of deals does not survive constant looking"


def test_a_lead_is_decided_in_few_deals_and_no_lead_is_not() -> None:
    found = peeking.decided(WIN, 100, stops(2000), seed=1)
    assert found["median"] in stops(2000)
    assert found["fixed"] / 2 < found["median"] < 3 * found["fixed"]
    assert peeking.decided(Law("hardly", np.array([1.0, -0.999]), (-1, 1)), 100, stops(300), seed=1)["median"] is None


def test_gates_pass_as_often_as_a_fixed_test_on_fewer_deals() -> None:
    none, some = (
        peeking.gates(WIN, effect, runs=300, most=900, fixed=600, seed=1) for effect in (0.0, 4.652 / 600**0.5)
    )
    assert none["passed"]["low"] <= 0.01
    assert min(some["passed"]["mean"], some["passed_fixed"]["mean"]) > 0.96
    assert max(none["deals"], some["deals"]) < 0.52 * 600


def test_its_tables() -> None:
    found = sequential_checks([], runs=50).to_json()
    for table in ("coverage", "gates"):
        shown = figures(table, [found])
        assert not isinstance(shown, str)
        assert {row[0] for row in shown.rows} == {law.name for law in invented()}
