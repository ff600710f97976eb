"""Evaluations that choose when they end: confidence sequences that hold all the same, and ends that depend on the deals
alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from backalley.benchmarks.figures.stats import Floats, mean_interval
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.report import Report
from backalley.benchmarks.matches.until import stops
from backalley.benchmarks.sequential.confidence_sequence import FEW, anytime_interval
from backalley.cli import main
from tests.benchmarks.test_evaluate import KUHN, contents, kuhn_agents

VILLE = {
    ("bernoulli", 200): ((0.17867, 0.39151), (0.17922, 0.38874)),
    ("bernoulli", 1000): ((0.24329, 0.35289), (0.23642, 0.35324)),
    ("bernoulli", 3000): ((0.26242, 0.33384), (0.25703, 0.33453)),
    ("beta", 200): ((0.20289, 0.28034), (0.22772, 0.27003)),
    ("beta", 1000): ((0.23666, 0.2548), (0.23852, 0.25313)),
    ("beta", 3000): ((0.24371, 0.25264), (0.24322, 0.25193)),
}
"""What the package ville 0.1.0 gives for the first so many values of `drawn`: the ends of its `EmpiricalBernsteinCS`
and `BettingCS` (theorems 2 and 3 of Waudby-Smith and Ramdas 2024; running intersections)."""


def drawn(law: str) -> Floats:
    random = np.random.default_rng(7)
    return (random.random(3000) < 0.3).astype(float) if law == "bernoulli" else random.beta(10, 30, 3000)


@pytest.mark.parametrize(("law", "count"), VILLE)
def test_it_agrees_with_the_intervals_of_another_library_and_is_about_as_narrow(law: str, count: int) -> None:
    ours = anytime_interval(drawn(law)[:count], (0, 1))
    ends = VILLE[law, count]
    for low, high in ends:
        assert max(low, ours.low) < min(high, ours.high)
        assert low - 0.03 < ours.low < ours.mean < ours.high < high + 0.03
    narrowest = min(high - low for low, high in ends)
    assert 2 * ours.half_width < 1.05 * narrowest


def test_it_is_as_narrow_as_the_widths_of_large_samples_allow() -> None:
    random = np.random.default_rng(5)
    for spread in (0.05, 0.5):
        deals = random.choice([-spread, spread], 20_000)
        ratio = anytime_interval(deals, (-1, 1)).half_width / mean_interval(deals).half_width
        assert 1.5 < ratio < 2.1


def test_the_lower_bound_of_wealth_costs_little_width() -> None:
    deals = np.random.default_rng(5).choice([-1.0, 0.0, 1.0], FEW + 1)
    exact, bound = (anytime_interval(deals[:count], (-1, 1)).half_width for count in (FEW, FEW + 1))
    assert exact < bound < 1.05 * exact


def test_ends_of_an_interval() -> None:
    none = anytime_interval(np.zeros(100), (0, 1))
    assert (none.mean, none.low) == (0, 0)
    assert 0.03 < none.high < 0.06, "it could be 1 in some deals that are not seen yet"
    assert anytime_interval(np.ones(100), (0, 1)).high == 1
    mirrored, deals = anytime_interval(-np.arange(9.0), (-10, 10)), anytime_interval(np.arange(9.0), (-10, 10))
    assert (mirrored.low, mirrored.high) == (pytest.approx(-deals.high), pytest.approx(-deals.low))
    with pytest.raises(ValueError, match="Deals from 0 to 2 are not within 0 to 1"):
        anytime_interval(np.array([0.0, 2.0]), (0, 1))
    with pytest.raises(ValueError, match="needs a deal"):
        anytime_interval(np.array([]), (0, 1))


@pytest.fixture(scope="module")
def decided() -> Report:
    return evaluate(KUHN, kuhn_agents(), until="decided", seed=3)


def test_it_ends_when_the_difference_is_not_zero(decided: Report) -> None:
    assert decided.complete
    assert decided.reached
    assert decided.deals in stops(1_000_000)
    assert decided.differences[0].high < 0
    before = stops(1_000_000)[stops(1_000_000).index(decided.deals) - 1]
    assert evaluate(KUHN, kuhn_agents(), until="decided", seed=3, deals=before).differences[0].high > 0
    text = decided.table()
    assert "The intervals hold at every number of deals at once (a confidence sequence)" in text
    assert "once 0 is outside the interval of every difference, which is so." in text
    assert (decided.to_json()["until"], decided.to_json()["reached"]) == ("decided", True)


def test_it_ends_when_the_intervals_are_narrow_enough_or_at_the_most_deals() -> None:
    report = evaluate(KUHN, kuhn_agents(), until=0.25)
    assert max(one.mean_return.half_width for one in report.agents) <= 0.25
    assert report.reached
    short = evaluate(KUHN, kuhn_agents(), until=0.001, deals=50)
    assert (short.deals, short.complete, short.reached) == (50, True, False)
    assert "no interval of a mean return is wider than ± 0.001, which is not so yet." in short.table()


def test_where_it_ends_depends_on_the_deals_alone(decided: Report, tmp_path: Path) -> None:
    assert contents(evaluate(KUHN, kuhn_agents(), until="decided", seed=3, num_threads=2)) == contents(decided)
    path = tmp_path / "report.json"

    def stop(done: int, planned: int) -> None:
        if done >= 1000:
            raise KeyboardInterrupt

    evaluate(KUHN, kuhn_agents(), deals=20_000, seed=3, keep=path, progress=stop)
    again = evaluate(KUHN, kuhn_agents(), until="decided", seed=3, keep=path)
    assert contents(again) == contents(decided), "deals of earlier work beyond its end have no say"


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    line = ["evaluate", "backalley.examples.kuhn", "bot", "random", "--until", "decided", "--deals", "4000"]
    result = CliRunner().invoke(main, [*line, "--json", str(path)])
    assert result.exit_code == 0, result.output
    assert "--deals 4000 --until decided --seed 0" in result.output
    assert json.loads(path.read_bytes())["until"] == "decided"
