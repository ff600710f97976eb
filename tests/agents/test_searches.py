"""What searches gain and cost: who plays whom, on which decks, what it costs, and that a stopped run goes on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from backalley.agents.registry import agent
from backalley.benchmarks.figures.charts import Lines
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.seeding import Space
from backalley.benchmarks.publish import plots
from backalley.benchmarks.speed.processor_time import Timed, cost
from backalley.benchmarks.studies import publication
from backalley.benchmarks.studies.pages import docs
from backalley.benchmarks.studies.strength import searches
from backalley.benchmarks.studies.strength.searches import Row, rows_of
from backalley.envs.core.files import durable
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game
from tests.common import high_card
from tests.common.commands import run


@pytest.fixture
def game(monkeypatch: pytest.MonkeyPatch) -> Game:
    """A small game of several seats, measured by a seed of its own."""
    monkeypatch.setattr(publication, "seed", lambda: 7)
    monkeypatch.setattr(searches, "BASELINE", "mc:2")
    return high_card.GAME.bind()


def test_who_plays_whom() -> None:
    plan = publication.several(game_of("pitch"))
    rows = rows_of(plan, (20, 80))
    assert rows[:5] == [
        Row("mc:20", "bot:book"),
        Row("search:20", "bot:book", "mc:20"),
        Row("search:80", "bot:book", "mc:20"),
        Row("policy:standard", "bot:book", "mc:20"),
        Row("search+policy:20", "bot:book", "mc:20"),
    ]
    others = {"bot:careful", "bot:sharp", "policy:standard"}
    assert {(row.agent, row.against, row.base) for row in rows[5:]} == {
        *(("bot:book", other, "") for other in others),
        *((f"search:{determinizations}", other, "bot:book") for other in others for determinizations in (20, 80)),
    }
    alone = rows_of(publication.several(game_of("backhand")), (20,))
    assert {row.against for row in alone} == {""}
    assert (alone[0].agent, alone[1].base) == ("bot:planner", "bot:planner")


def test_the_figures_are_those_of_evaluations_on_the_same_decks(game: Game) -> None:
    found = searches.searches(game, (2, 6), 32).found
    rows = {(row["agent"], row["against"]): row for row in found["rows"]}
    best = found["best"]
    assert set(rows) >= {("mc:2", best), ("search:2", best), ("search:6", best)}
    row = rows["search:2", best]
    by_hand = evaluate(game, ["search:2", best], deals=32, seed=7, space=Space.PUBLICATION)
    assert row["mean_return"] == by_hand.agents[0].mean_return.to_json()
    assert row["less"]["agent"] == "mc:2"
    assert row["less"]["lead"]["mean"] == pytest.approx(
        row["mean_return"]["mean"] - rows["mc:2", best]["mean_return"]["mean"]
    )
    assert row["milliseconds"] > 0
    assert rows["mc:2", best]["determinizations"] == 2
    assert 0 < rows["search:6", best]["determinizations"] <= 6


@pytest.mark.slow
def test_where_one_plays_alone_all_are_held_against_the_best_bot_too(game: Game) -> None:
    """Mean returns there are mostly the cards' luck: a difference on the same decks says who is better."""
    made = searches.searches("backhand", (2, 6), 32)
    found = made.found
    rows = {row["agent"]: row for row in found["rows"]}
    best = rows.pop(found["best"])
    assert "lead" not in best
    by_hand = evaluate("backhand", ["search:2", found["best"]], deals=32, seed=7, space=Space.PUBLICATION)
    lead, behind = rows["search:2"]["lead"], by_hand.differences[0]
    assert [lead["low"], lead["mean"], lead["high"]] == pytest.approx([-behind.high, -behind.mean, -behind.low])
    assert rows["mc:2"]["lead"] == rows["mc:2"]["less"]["lead"]
    assert made.table().count(f"{found['best']}: ") == len(rows)
    (chart,) = plots.of_results([found])
    assert isinstance(chart, Lines)
    assert found["best"] in chart.title
    assert sorted(point.mean for _, point in dict(chart.lines)["search"]) == sorted(
        row["lead"]["mean"] for name, row in rows.items() if name.startswith("search:")
    )


def test_it_goes_on_where_it_was_stopped(game: Game, tmp_path: Path) -> None:
    path, calls = tmp_path / "searches.json", 0
    whole = searches.searches(game, (2,), 32).found

    def stop(done: int, planned: int, words: str) -> None:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        searches.searches(game, (2,), 32, progress=stop, keep=path)  # type: ignore[arg-type]
    assert durable.unfinished_beside(path).exists()
    again = searches.searches(game, (2,), 32, keep=path).found
    for one, other in zip(whole["rows"], again["rows"], strict=True):
        assert {**one, "milliseconds": 0} == {**other, "milliseconds": 0}, "what had been counted is counted still"


def test_time_is_counted_for_decisions_with_a_choice(game: Game) -> None:
    timed = Timed(agent("mc:3", game))
    evaluate(game, [timed, "random"], deals=16)
    assert timed.spent[0] > 0
    assert timed.spent[2] == 3 * timed.spent[1] > 0
    assert cost(timed.spent)["determinizations"] == 3
    assert cost(np.zeros(3)) == {}


def test_the_command(game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backalley.game", lambda name: game)
    command = ["dev", "study", "searches", "high_card"]
    words = [*command, "--determinizations", "2", "--deals", "16", "--json", str(tmp_path), "--threads", "1"]
    done = run(*words)
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / f"searches_{game.name}.json").read_text())
    assert " --determinizations 2 --deals 16 --json " in found["command"]
    page = f"<!-- results: searches searches_{game.name} -->\n<!-- /results -->\n"
    shown = docs.with_results(page, tmp_path / "README.md", tmp_path)
    assert "| `search:2` |" in shown
    assert found["command"] in shown
    for wrong, sentence in (
        (["--determinizations", "many"], "is not a list of whole numbers"),
        (["--determinizations", "0"], "1 or more"),
    ):
        assert sentence in run(*command, *wrong).output
