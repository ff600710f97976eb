"""Agents made of several, one for each phase of a game, and what each phase gains."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import backalley
from backalley.agents.base.agent import view_of
from backalley.agents.base.by_phase import phase_of
from backalley.agents.registry import runs_code
from backalley.benchmarks.matches.by_phase import Phases, by_phase, phases
from backalley.cli import main

PITCH = backalley.game("pitch", mode="hand")


def test_each_phase_is_played_by_its_agent() -> None:
    mixed, bot, careful = (backalley.agent(name, PITCH) for name in ("bid=bot:careful,play=bot", "bot", "bot:careful"))
    assert mixed.name == "bid=bot:careful,play=bot:book"
    tables = PITCH.make_vec(64, seed=3)
    tables.reset()
    seen, rows, keys = set(), np.arange(64), np.arange(64, dtype=np.uint64)
    for _ in range(12):
        view = view_of(tables, rows, keys)
        phases = phase_of(view.action_mask, PITCH)
        expected = np.where(phases == 0, careful.act(view), bot.act(view))
        played = mixed.act(view)
        np.testing.assert_array_equal(played, expected)
        np.testing.assert_array_equal(mixed.action_probabilities(view).argmax(1), expected)
        assert ((played < 5) == (phases == 0)).all()
        seen |= set(phases.tolist())
        tables.step(played)
    assert seen == {0, 1}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("bid=bot", "bid=AGENT,play=AGENT"),
        ("bid=bot,play=", "bid=AGENT,play=AGENT"),
        ("bid=bot,bid=bot,play=bot", "bid=AGENT,play=AGENT"),
        ("bid=bot,cards=bot", "bid=AGENT,play=AGENT"),
        ("bid=bot,play=boot", "There is no agent 'boot'"),
    ],
)
def test_a_name_that_does_not_fit_is_a_sentence(spec: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        backalley.agent(spec, PITCH)


def test_a_game_without_phases_takes_none() -> None:
    with pytest.raises(ValueError, match="declares none"):
        backalley.agent("bid=bot,play=bot", "missouri_city")
    with pytest.raises(ValueError, match="declares no phases"):
        by_phase("missouri_city", "bot", "random", deals=2)


def test_a_part_that_runs_code_makes_the_whole_run_code() -> None:
    assert runs_code("bid=bot,play=cmd:./mine")
    assert not runs_code("bid=bot,play=random")


def test_every_action_has_one_phase() -> None:
    for name in backalley.game_names():
        game = backalley.game(name)
        actions = [action for group in game.type.phases.values() for action in group]
        assert not actions or sorted(actions) == list(range(game.num_actions)), name


def test_the_phases_that_are_equal_gain_nothing() -> None:
    found = by_phase(PITCH, "bid=bot,play=random", "bot", deals=40)
    assert list(found) == ["bid", "play", "all"]
    assert found["bid"].agents[0].mean_return.mean == 0.0
    assert found["play"].agents[0].mean_return.mean == found["all"].agents[0].mean_return.mean < 0


def test_the_command_writes_a_row_for_each_phase(tmp_path: Path) -> None:
    words = ["evaluate", "pitch", "random", "bot", "--option", "mode=hand", "--deals", "4", "--by-phase"]
    shown = CliRunner().invoke(main, [*words, "--json", str(tmp_path / "phases.json")])
    assert shown.exit_code == 0, shown.output
    found = json.loads((tmp_path / "phases.json").read_text("utf-8"))
    assert [row["phase"] for row in found["rows"]] == ["bid", "play", "all"]
    assert (found["kind"], found["agents"]) == ("phases", ["random", "bot:book"])
    assert "--by-phase" in found["command"]
    assert [line["phase"] for line in Phases.tables["phases"]([found])] == ["bid", "play", "all"]  # type: ignore[union-attr,index]
    assert CliRunner().invoke(main, ["evaluate", "pitch", "bot", "--by-phase"]).exit_code == 2


def test_a_page_names_the_options_that_are_not_the_defaults() -> None:
    for options, named in (({}, ""), ({"target": 3}, "`target=3`")):
        found = phases(by_phase(backalley.game("pitch", **options), "random", "random", deals=2))
        assert {line["options"] for line in Phases.tables["phases"]([found.to_json()])} == {named}
