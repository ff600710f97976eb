"""What searches gain and cost: who plays whom, on how many decks, what it costs, and that a stopped run goes on."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from backalley.agents.registry import agent
from backalley.benchmarks import costs, docs, plots, processor_time, publication, results, searches
from backalley.benchmarks.charts import Lines
from backalley.benchmarks.evaluate import evaluate
from backalley.benchmarks.keys import Space
from backalley.benchmarks.processor_time import Stopwatch, Timed, cost
from backalley.benchmarks.searches import Numbers, Row, rows_of
from backalley.envs.core.base import Game
from backalley.envs.core.catalogue import game as game_of
from tests import high_card

NUMBERS = Numbers(equal=2, dearer=6, policy=0, deals=32)


@pytest.fixture
def game(monkeypatch: pytest.MonkeyPatch) -> Game:
    """A small game of several seats, measured by a seed of its own."""
    monkeypatch.setattr(publication, "seed", lambda: 7)
    monkeypatch.setattr(searches, "MEASURE", "mc:2")
    return high_card.GAME.bind()


def test_who_plays_whom() -> None:
    plan = searches.plan_of(game_of("pitch"))
    rows = rows_of(plan, (20, 80), Numbers(20, 100, 9, 400))
    assert rows[:6] == [
        Row("mc:20", "bot:book", 400, 1.0),
        Row("search:20", "bot:book", 400, 1.0, "mc:20"),
        Row("search:80", "bot:book", 200, 4.0, "mc:20"),
        Row("search:100", "bot:book", 200, 4.0, "mc:20"),
        Row("policy:standard", "bot:book", 400, 0.0, "mc:20"),
        Row("search+policy:9", "bot:book", 200, 4.0, "mc:20"),
    ]
    others = [row for row in rows if row.against != "bot:book"]
    assert {row.against for row in others} == {*(f"bot:{name}" for name in plan.game.bots), "policy:standard"} - {
        "bot:book"
    }
    assert {row.agent for row in others} == {"bot:book", "search:20", "search:100"}
    assert all(row.base == ("" if row.agent == "bot:book" else "bot:book") for row in others)
    alone = rows_of(searches.plan_of(game_of("backhand")), (20,), NUMBERS)
    assert {row.against for row in alone} == {""}
    assert (alone[0].agent, alone[1].base) == ("bot:planner", "bot:planner")


def test_the_figures_are_those_of_evaluations_on_the_same_decks(game: Game) -> None:
    found = searches.searches(game, (2,), NUMBERS)
    rows = {(row["agent"], row["against"]): row for row in found["rows"]}
    best = found["best"]
    assert set(rows) >= {("mc:2", best), ("search:2", best), ("search:6", best)}
    row = rows["search:2", best]
    by_hand = evaluate(game, ["search:2", best], deals=32, seed=7, space=Space.PUBLICATION)
    assert row["mean_return"] == by_hand.agents[0].mean_return.to_json()
    assert row["deals"] == 32
    assert rows["search:6", best]["deals"] == round(32 / math.sqrt(4))
    assert row["less"]["agent"] == "mc:2"
    assert row["less"]["lead"]["mean"] == pytest.approx(
        row["mean_return"]["mean"] - rows["mc:2", best]["mean_return"]["mean"]
    )
    assert row["milliseconds"] > 0
    assert rows["mc:2", best]["worlds"] == 2
    assert 0 < rows["search:6", best]["worlds"] <= 6
    shown = costs.text_of(found)
    assert "search:2 =" in shown
    assert "search:6 4x" in shown


def test_where_one_plays_alone_all_are_held_against_the_best_bot_too(game: Game) -> None:
    """Mean returns there are mostly the cards' luck: what tells agents apart is a difference on the same decks."""
    found = searches.searches("backhand", (2,), NUMBERS)
    rows = {row["agent"]: row for row in found["rows"]}
    best = rows.pop(found["best"])
    assert "lead" not in best
    by_hand = evaluate("backhand", ["search:2", found["best"]], deals=32, seed=7, space=Space.PUBLICATION)
    lead, behind = rows["search:2"]["lead"], by_hand.differences[0]
    assert [lead["low"], lead["mean"], lead["high"]] == pytest.approx([-behind.high, -behind.mean, -behind.low])
    assert rows["mc:2"]["lead"] == rows["mc:2"]["less"]["lead"]
    shown = costs.text_of(found)
    assert shown.count(f"{found['best']}: ") == len(rows)
    (chart,) = plots.of_results([found])
    assert isinstance(chart, Lines)
    assert found["best"] in chart.title
    assert sorted(point.mean for _, point in dict(chart.lines)["search"]) == sorted(
        row["lead"]["mean"] for name, row in rows.items() if name.startswith("search:")
    )


def test_it_goes_on_where_it_was_stopped(game: Game, tmp_path: Path) -> None:
    path, calls = tmp_path / "searches.json", 0
    whole = searches.searches(game, (2,), NUMBERS)

    def stop(done: int, planned: int, words: str) -> None:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        searches.searches(game, (2,), NUMBERS, progress=stop, keep=path)
    assert results.durable.unfinished_beside(path).exists()
    again = searches.searches(game, (2,), NUMBERS, keep=path)
    for one, other in zip(whole["rows"], again["rows"], strict=True):
        assert {**one, "milliseconds": 0} == {**other, "milliseconds": 0}, "what had been counted is counted still"


def test_time_is_counted_for_decisions_with_a_choice(game: Game) -> None:
    timed = Timed(agent("mc:3", game))
    evaluate(game, [timed, "random"], deals=16)
    assert timed.spent[0] > 0
    assert timed.spent[2] == 3 * timed.spent[1] > 0
    assert cost(timed.spent)["worlds"] == 3
    assert cost(np.zeros(3)) == {}


def test_worlds_are_found_by_what_they_cost(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs as those of a search might be: not all worlds are drawn, and a decision costs something of itself."""
    asked: list[str] = []

    def time(watch: Stopwatch, spec: str) -> Any:
        asked.append(spec)
        worlds = int(spec.rpartition(":")[2])
        return np.array([(1.0 + 0.5 * worlds**0.8) / 1000, 1.0, worlds]), 1.0

    monkeypatch.setattr(processor_time.Stopwatch, "time", time)
    watch = Stopwatch(game, "random", 0, 1, lambda words: None)
    found = watch.worlds_for(20.0, "search:{}", 20)
    assert (1.0 + 0.5 * found**0.8) == pytest.approx(20.0, rel=0.06)
    assert len(asked) <= 5
    assert watch.worlds_for(0.1, "search:{}", 20) == 1, "nothing costs so little"


def test_the_command(game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor_time, "SECONDS", 0.01)
    monkeypatch.setattr("backalley.game", lambda name: game)
    words = ["high_card", "--points", "2", "--numbers", "2,6,0,16", "--json", str(tmp_path), "--threads", "1"]
    done = CliRunner().invoke(searches.main, words)
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / f"searches_{game.name}.json").read_text())
    assert " --points 2 --numbers 2,6,0,16 --json " in found["command"]
    page = f"<!-- results: searches searches_{game.name} -->\n<!-- /results -->\n"
    shown = docs.with_results(page, tmp_path / "README.md", tmp_path)
    assert "| `search:2` = |" in shown
    assert found["command"] in shown
    for wrong, sentence in (
        (["--numbers", "2,6"], "is not of the form EQUAL,DEARER,POLICY,DEALS"),
        (["--points", "many"], "is not a list of whole numbers with commas"),
        (["--minutes", "0"], "--minutes takes more than 0"),
    ):
        assert sentence in CliRunner().invoke(searches.main, ["high_card", *wrong]).output
    numbers = searches.find_numbers(searches.plan_of(game), (2,), 0.01, 1, lambda done, total, words="": None)  # type: ignore[arg-type]
    assert numbers.dearer >= numbers.equal >= 1
    assert numbers.deals >= searches.LEAST_DEALS
