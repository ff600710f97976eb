"""Hyperparameters, phases, budgets, the league, the log; and what a training run is given and what it refuses."""

from __future__ import annotations

import csv
import functools
import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO

from backalley.agents.base.rule_based import RandomAgent
from backalley.agents.policies.policy_file import observation_layout
from backalley.benchmarks.studies.learning import throughput
from backalley.envs.core.game.catalogue import game, game_names
from backalley.examples import kuhn
from backalley.training.config import config
from backalley.training.config.phases import Budget, Phases, TrainingError
from backalley.training.ppo.seats import League
from backalley.training.run.logs import CsvLog
from backalley.training.shared.checkpoint import CheckpointError
from backalley.training.train import train
from tests.common.tiny_runs import GAME, ROLLOUT, TINY, files, stopped_after, tiny, weights


@pytest.mark.parametrize("name", game_names())
def test_every_game_has_its_own_file_and_practises_what_it_plays(name: str) -> None:
    found = game(name)
    assert (config.CONFIGS / f"{name}.yaml").is_file()
    settings = config.load(found)
    assert observation_layout(found.bind(settings.options)) == observation_layout(found)
    if found.num_seats == 1:
        assert settings.league.share == 0


# Phases ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "written", "ends"),
    [
        ("ppo", ["ppo"], [1]),
        (["ppo"], ["ppo"], [1]),
        ("[ppo]", ["ppo"], [1]),
        ("plans, ppo:0.3", ["plans", {"ppo": 0.3}], [0.7, 1]),
        (["plans", {"ppo": 0.3}, "ppo"], ["plans", {"ppo": 0.3}, "ppo"], [0.35, 0.65, 1]),
        ([{"plans": "0.25"}, {"ppo": 0.75}], [{"plans": 0.25}, {"ppo": 0.75}], [0.25, 1]),
    ],
)
def test_a_list_of_phases(given: Any, written: list[Any], ends: list[float]) -> None:
    phases = Phases.read(given)
    assert phases.written() == written
    assert phases.ends == pytest.approx(ends)
    assert phases.ends[-1] == 1
    assert Phases.read(phases.written()) == phases
    settings = config.load(GAME, overrides={"run.phases": given})
    assert settings.run.phases == phases
    assert config.parse(settings.as_dict(), "again") == settings


# Budgets --------------------------------------------------------------------------------------------------------------


def test_budgets() -> None:
    one, two = Phases.read("ppo"), Phases.read("ppo,ppo:0.75")
    assert Budget(seconds=10).progress(5, 10**9) == (5, 10)
    assert Budget(decisions=100).progress(1e9, 50) == (50, 100)
    both = Budget(seconds=10, decisions=100)
    assert both.progress(9, 80) == (9, 10)
    assert both.progress(7, 80) == (80, 100)
    assert both.ended(one, 9, [100])
    assert both.ended(one, 10, [9])
    assert not both.ended(one, 9.9, [99])
    assert not both.ended(one, 11, [0]), "no phase ends before its first step"
    assert both.ended(two, 2.5, [1])
    assert both.ended(two, 0, [25])
    assert not both.ended(two, 2.4, [24])
    assert not both.ended(two, 9, [25, 74]), "budgets are of the whole run"
    assert both.ended(two, 9, [25, 75])
    assert Budget(np.float32(2), np.int64(3)) == Budget(2.0, 3)
    work = Budget(seconds=10, processor_seconds=8)
    assert work.progress(5, 10**9, 6) == (6, 8)
    assert work.ended(two, 0, [1], 2)
    assert work.ended(two, 2.5, [1], 1)
    assert not work.ended(two, 2.4, [1], 1.9)
    assert not work.ended(two, 0, [0], 9)
    assert work.words() == ["--seconds", "10", "--processor-seconds", "8"]


def test_decisions_of_each_phase() -> None:
    two = Phases.read("ppo:0.9,ppo")
    budget = Budget(decisions=[30, 50])  # type: ignore[arg-type]
    assert budget == Budget(decisions=(30, 50))
    assert budget.progress(0, 40) == (40, 80)
    assert not budget.ended(two, 0, [29])
    assert budget.ended(two, 0, [30])
    assert not budget.ended(two, 0, [40, 49])
    assert budget.ended(two, 0, [30, 50])
    assert Budget(decisions=(5,)) == Budget(decisions=5)
    assert budget.words() == ["--decisions", "30,50"]
    budget.check(two)
    sentence = "decisions is 30,50, and the run has 1 phase (ppo); give a number for each, or one for all."
    with pytest.raises(TrainingError, match=re.escape(sentence)):
        budget.check(Phases.read("ppo"))


def test_the_league_meets_more_often_whom_it_beats_less() -> None:
    league = League([RandomAgent(), RandomAgent()])
    league.record(0, 1000, 900.0)
    league.record(1, 1000, 300.0)
    assert league.members[0].score == pytest.approx(0.9, abs=0.02)
    assert league.members[1].score == pytest.approx(0.3, abs=0.02)
    generator = np.random.default_rng(0)
    league.choose(generator)
    shares = np.bincount(league.draw(generator, 20_000), minlength=2) / 20_000
    assert shares[1] == pytest.approx(0.7 / 0.8, abs=0.03)


def test_the_league_keeps_no_more_past_selves_than_it_may() -> None:
    league = League([RandomAgent()], keep=3, per_rollout=2)
    for number in range(5):
        league.add_past(RandomAgent())
        league.record(number + 1, 100, 90.0 if number == 1 else 50.0)
    present = [number for number, member in enumerate(league.members) if member.past and not member.retired]
    assert len(present) == 3
    assert 2 not in present, "the one whom the learner beats most"
    assert 5 in present, "the newest"
    generator = np.random.default_rng(0)
    for _ in range(20):
        league.choose(generator)
        assert league.active[0] == 0
        assert len(league.active) == 3
        assert set(league.active[1:].tolist()) < set(present)


def test_an_empty_league_leaves_the_tables_to_the_learner() -> None:
    assert (League().draw(np.random.default_rng(0), 5) == -1).all()


def test_the_log_drops_what_a_resumed_run_writes_again(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    log = CsvLog(path, 0)
    for step in (10, 20, 30):
        log.write({"a": step / 3, "b": 1}, step)
    with open(path, "a") as file:
        file.write("40,1")  # cut off in the midst of a line
    log = CsvLog(path, 20)
    log.write({"a": 5.0, "b": 2, "later": 9}, 30)
    with open(path, newline="") as file:
        assert list(csv.reader(file)) == [
            ["decisions", "a", "b", "later"],
            ["10", "3.33333", "1", ""],
            ["20", "6.66667", "1", ""],
            ["30", "5", "2", "9"],
        ]


@pytest.mark.slow
def test_throughput_beside_sb3_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are timed; which is faster is for the study to say."""
    monkeypatch.setattr("backalley.benchmarks.studies.learning.throughput._TURNS", 2)
    # An eighth of its rollout, and so of its update: as many samples a second, but an iteration takes no half minute.
    monkeypatch.setattr("sb3_contrib.MaskablePPO", functools.partial(MaskablePPO, n_steps=256))
    found = throughput.throughput("missouri_city", ["ppo", "sb3"], seconds=4).found
    samples = {row["phase"]: row["per_second"]["samples"] for row in found["rows"]}
    assert list(samples) == ["ppo", "sb3"]
    assert all(pace > 0 for pace in samples.values())


@pytest.mark.slow
def test_throughput_of_phases_on_one_thread_and_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backalley.benchmarks.studies.learning.throughput._TURNS", 2)
    small = {**TINY, "rollouts.tables": 32, "rollouts.targets": 4, "rollouts.held_out": 4, "rollouts.batch_size": 32}
    measure = functools.partial(throughput.throughput, kuhn.GAME.bind(), config_overrides=small)
    made = measure(["ppo", "rollouts"], (1, 2), 0.5)
    found = made.found
    assert found["config"]["ppo"]["tables"] == small["ppo.tables"]
    assert [(row["phase"], row["threads"]) for row in found["rows"]] == [
        ("ppo", 1),
        ("ppo", 2),
        ("rollouts", 1),
        ("rollouts", 2),
    ]
    assert set(found["rows"][0]["per_second"]) == {"decisions", "samples"}
    assert set(found["rows"][2]["per_second"]) == set(throughput.COUNTED)
    assert found["same_weights"] == {"ppo": True, "rollouts": True}
    for row in found["rows"]:
        assert ("serial_share" in row) == (row["threads"] == 2)
        if row["threads"] == 2 and 0 < row["serial_share"] < 1:
            serial = row["serial_share"]
            assert row["times_one_thread"] == pytest.approx(1 / (serial + (1 - serial) / 2))
            assert row["predicted"]["16"] == pytest.approx(1 / (serial + (1 - serial) / 16))
    assert all(pace > 0 for row in found["rows"] for pace in row["per_second"].values())
    assert re.search(r"rollouts +2 ", made.table())
    with pytest.raises(ValueError, match=r"guesses is no kind of phase; there are: .*, sb3"):
        measure(["ppo", "guesses"])


# What a run is given --------------------------------------------------------------------------------------------------


def test_settings_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.yaml"
    path.write_text("ppo:\n  epochs: 2\n  learning_rate: 0.003\nnetwork:\n  layers: 1\n")
    settings = {**TINY, "ppo.learning_rate": "0.004"}
    result = train(
        "backalley.examples.kuhn",
        out="text",
        decisions=2 * ROLLOUT,
        seed=7,
        config="mine.yaml",
        config_overrides=settings,
    )
    assert result.folder == Path("text")
    written = config.parse(config.read(result.folder / "config.yaml"), "file")
    assert (written.ppo.epochs, written.ppo.learning_rate, written.network.layers) == (2, 0.004, 1)
    assert written.ppo.gamma == config.load(GAME).ppo.gamma
    line = "backalley train backalley.examples.kuhn --set ppo.epochs=2 --set ppo.learning_rate=0.004 "
    assert result.command.startswith(line)
    path.write_text("ppo:\n  epochs: 3\n")
    resumed = train(resume="text", decisions=3 * ROLLOUT)
    assert resumed.command.startswith(line), "whatever the file says by now"
    named = {**settings, "ppo.epochs": 2, "network.layers": 1}
    again = train(GAME, out="again", decisions=3 * ROLLOUT, seed=7, config_overrides=named)
    assert weights(again.folder) == weights(resumed.folder)


def test_the_settings_of_a_file_hold_where_a_policy_improves_itself(tmp_path: Path) -> None:
    """What it has under from_nothing is in the line that makes the run again, too, if it holds."""
    path = tmp_path / "mine.yaml"
    path.write_text("rollouts:\n  reuse: 2\nfrom_nothing:\n  rollouts:\n    reuse: 3\noptions:\n")
    given = config.read(path)
    for base, reuse in (("self", 3), ("bot", 2)):
        settings = config.load(GAME, given, {"rollouts.base": base})
        assert config.by_name(given, settings) == {"rollouts.reuse": reuse}
        assert config.load(GAME, None, {**config.by_name(given, settings), "rollouts.base": base}) == settings


def test_a_run_of_version_1_0_0_keeps_the_settings_of_its_file(tmp_path: Path) -> None:
    """They were apart in run.json."""
    run = tiny(tmp_path / "run", ROLLOUT)
    facts = json.loads((run / "run.json").read_bytes())
    facts |= {"given": {"ppo": {"epochs": 1}}, "config_file": "mine.yaml"}
    (run / "run.json").write_text(json.dumps(facts))
    assert "--set ppo.epochs=1 " in train(resume=run).command


def test_a_game_from_elsewhere_is_found_again(tmp_path: Path) -> None:
    """By its import path, which run.json keeps: neither its name nor the game itself needs to be given."""
    run = stopped_after(2, tmp_path / "run")
    result = train(resume=run, decisions=3 * ROLLOUT)
    assert result.game == GAME
    assert result.command.startswith("backalley train backalley.examples.kuhn ")
    for name in ("kuhn", "kuhn-v0", "backalley.examples.kuhn", "backalley.examples.kuhn:GAME", kuhn.GAME):
        train(name, resume=run, decisions=3 * ROLLOUT)
    with pytest.raises(TrainingError, match="learns kuhn, not high_card; leave the game out"):
        train("tests.common.high_card", resume=run)


# What is refused ------------------------------------------------------------------------------------------------------


def test_a_folder_with_something_in_it_is_refused(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(TrainingError, match=r"is not an empty folder; name another one with --out\.$"):
        tiny(tmp_path)
    with pytest.raises(TrainingError, match="go on with what is there by --resume"):
        tiny(whole)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="torch finds no GPU here; leave --device out"):
        tiny(tmp_path / "run", device="cuda")


def test_what_cannot_be_resumed(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"There is no run in .*nowhere: it has no run\.json"):
        train(GAME, resume=tmp_path / "nowhere")
    other = {"config_overrides": {"ppo.epochs": 2}}
    for kept in ({"config": "any.yaml"}, other, {"seed": 7}, {"out": tmp_path}, {"device": "cpu"}):
        with pytest.raises(TrainingError, match="A resumed run keeps its seed, options, settings, folder and device"):
            train(GAME, resume=whole, **kept)
    with pytest.raises(TrainingError, match=r"keeps its options .*; leave the options out, or begin a new run\."):
        train(GAME.bind(first=1), resume=whole)
    with pytest.raises(TrainingError, match="Name a game to train on"):
        train()
    run = stopped_after(2, tmp_path / "run")
    facts = json.loads((run / "run.json").read_bytes())
    for change, sentence in (
        ({"game_version": 3}, "learns kuhn-v3, and the rules here are kuhn-v0"),
        ({"game": "whist"}, "learns whist, not kuhn"),
        ({"options": {"second": 1}}, "under options that are none here: kuhn has no option 'second'; it has: first"),
        ({"seed": "7"}, "is damaged, or no file of this trainer: seed is '7'"),
        ({"decisions": None}, "is damaged, or no file of this trainer"),
        ({"format": 9}, "is of format 9"),
    ):
        (run / "run.json").write_text(json.dumps(facts | change))
        with pytest.raises(TrainingError, match=sentence):
            train(GAME, resume=run)
    for text in ("", "{", "[]", "{}"):
        (run / "run.json").write_text(text)
        with pytest.raises(TrainingError, match="is damaged, or no file of this trainer"):
            train(GAME, resume=run)


@pytest.mark.parametrize("module", ["evil.game", "backalley.__main__"])
def test_a_module_that_only_the_folder_names_is_not_imported(module: str, tmp_path: Path) -> None:
    run = stopped_after(2, tmp_path / "run")
    facts = json.loads((run / "run.json").read_bytes())
    for changes, what in (({"found_by": module}, "a game"), ({"phase_modules": [module]}, "a kind of phase")):
        (run / "run.json").write_text(json.dumps(facts | changes))
        with pytest.raises(TrainingError, match=f"has {what} of '{module}', a module that was not named here"):
            train(resume=run)
    assert module not in sys.modules


def test_what_a_checkpoint_does_not_fit(tmp_path: Path) -> None:
    run = stopped_after(2, tmp_path / "run")
    facts = json.loads((run / "run.json").read_bytes())
    for section, changed in (("network", {"width": 32}), ("run", {"phases": ["rollouts"]})):
        settings = {**facts["config"], section: {**facts["config"][section], **changed}}
        (run / "run.json").write_text(json.dumps({**facts, "config": settings}))
        before = files(run)
        with pytest.raises(CheckpointError, match="does not fit this run"):
            train(GAME, resume=run)
        assert files(run) == before


def test_copies_of_settings_are_to_read(whole: Path, tmp_path: Path) -> None:
    """What counts is in run.json: copies that were edited, or are gone, are written again."""
    run = stopped_after(3, tmp_path / "run")
    (run / "config.yaml").write_text("ppo: [")
    train(GAME, resume=run)
    assert weights(run) == weights(whole)
    assert (run / "config.yaml").read_bytes() == (whole / "config.yaml").read_bytes()


def test_two_trainers_keep_out_of_each_others_way(tmp_path: Path) -> None:
    sentences = []

    def second() -> None:
        with pytest.raises(TrainingError, match="Another process is training in") as caught:
            train(GAME, resume=tmp_path / "run")
        sentences.append(str(caught.value))
        signal.raise_signal(signal.SIGINT)

    stopped_after(2, tmp_path / "run", second)
    assert sentences
