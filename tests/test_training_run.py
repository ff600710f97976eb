"""Whole training runs: what they leave on disk, how they are stopped, killed and resumed, and what they refuse."""

from __future__ import annotations

import csv
import json
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from backalley.agents.learned import PolicyAgent
from backalley.agents.match import Match
from backalley.agents.rule_based import RandomAgent
from backalley.benchmarks.evaluate import evaluate
from backalley.training import checkpoint, config
from backalley.training.checkpoint import CheckpointError
from backalley.training.config import ConfigError
from backalley.training.report import TrainingResult
from backalley.training.run import TrainingError
from backalley.training.train import Stopped, train
from backalley.training.trainer import Trainer
from tests import kuhn
from tests.test_training_policy import small_disk

GAME = kuhn.GAME.bind()

TINY = {
    "ppo.tables": 32,
    "ppo.steps": 8,
    "ppo.batch_size": 64,
    "network.width": 16,
    "league.share": 0.25,
    "league.snapshot_every": 500,
    "run.log_every": 2,
    "run.checkpoint_seconds": 0,
    "run.evaluation_deals": 16,
}
ROLLOUT = 32 * 8
DECISIONS = 12 * ROLLOUT


def tiny(out: Path, decisions: int = DECISIONS, **more: Any) -> Path:
    return train(GAME, out=out, decisions=decisions, config_overrides=TINY, **more).folder


def weights(run: Path) -> bytes:
    return (run / "policy" / "policy.safetensors").read_bytes()


def log_of(run: Path) -> list[dict[str, str]]:
    """The log without its times."""
    with open(run / "progress.csv", newline="") as file:
        return [
            {name: value for name, value in row.items() if not name.startswith("time/")} for row in csv.DictReader(file)
        ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run from beginning to end, to compare others with."""
    return tiny(tmp_path_factory.mktemp("whole") / "run", seed=7)


def test_a_run_leaves_everything_on_disk(whole: Path) -> None:
    names = {path.name for path in whole.iterdir()}
    assert names == {
        "checkpoints",
        "config.yaml",
        "evaluation.json",
        "league",
        "policy",
        "progress.csv",
        "run.json",
        "tensorboard",
    }
    facts = json.loads((whole / "run.json").read_bytes())
    assert (facts["game"], facts["seed"], facts["decisions"], facts["torch"]) == (
        "kuhn",
        7,
        DECISIONS,
        torch.__version__,
    )
    assert facts["command"].startswith("backalley train tests.kuhn --set ppo.tables=32 ")
    assert facts["command"].endswith(f"--seed 7 --decisions {DECISIONS}")
    assert config.parse(yaml.safe_load((whole / "config.yaml").read_text()), "file") == config.load(
        GAME, overrides=TINY
    )
    rows = log_of(whole)
    assert [int(row["decisions"]) for row in rows] == [2 * ROLLOUT * (k + 1) for k in range(6)]
    assert all(np.isfinite(float(value)) for row in rows for value in row.values())
    assert [path.name for path in checkpoint.found(whole)] == [f"{DECISIONS - ROLLOUT:012d}", f"{DECISIONS:012d}"]
    assert sorted(path.name for path in (whole / "league").iterdir())[0] == f"{2 * ROLLOUT:012d}"
    metadata = json.loads((whole / "policy" / "policy.json").read_bytes())
    assert metadata["made"]["decisions"] == DECISIONS
    assert metadata["made"]["command"] == facts["command"]


def test_it_ends_with_the_policy_against_every_bot(tmp_path: Path) -> None:
    result = train(GAME, out=tmp_path / "run", decisions=2 * ROLLOUT, config_overrides=TINY)
    assert isinstance(result, TrainingResult)
    assert (result.folder, result.policy, result.game) == (tmp_path / "run", tmp_path / "run" / "policy", GAME)
    assert (result.decisions, 0 < result.samples <= result.decisions) == (2 * ROLLOUT, True)
    assert json.loads((result.folder / "evaluation.json").read_bytes()) == json.loads(json.dumps(result.to_json()))
    again = evaluate(GAME, [PolicyAgent(result.folder, GAME), RandomAgent()], deals=16)
    assert result.reports[0].agents[0].mean_return == again.agents[0].mean_return
    text = result.table()
    assert re.search(r"^opponent +mean return +win share$", text, re.MULTILINE)
    line = re.search(r"^random +([+-][0-9.]+) ± ([0-9.]+) +([0-9.]+) ±", text, re.MULTILINE)
    assert line
    assert float(line[1]) == pytest.approx(again.agents[0].mean_return.mean, abs=1e-4)
    assert f"Strength: backalley evaluate tests.kuhn {result.folder} bot" in text


def test_it_tells_how_far_it_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[float, float, str]] = []
    said: list[str] = []
    train(
        GAME,
        out=tmp_path / "run",
        decisions=3 * ROLLOUT,
        config_overrides=TINY,
        progress=lambda *what: told.append(what),
        say=said.append,
    )
    assert [step[:2] for step in told[:3]] == [(k * ROLLOUT, 3 * ROLLOUT) for k in (1, 2, 3)]
    assert re.fullmatch(r"256 decisions, [0-9,]+ samples/s(, bot:random [0-9]+ %)?", told[0][2])
    assert told[-1][:2] == (32, 32), "deals against both opponents"
    assert told[-1][2] == "against bot:random"
    assert said == [
        f"Training kuhn-v0 in {tmp_path / 'run'} ({said[0].partition('(')[2].partition(',')[0]}, seed 0). "
        "Ctrl-C stops and keeps everything.",
        f"The same run again: {json.loads((tmp_path / 'run' / 'run.json').read_bytes())['command']}",
    ]
    assert capfd.readouterr() == ("", ""), "printing is the command line's"


def test_nothing_on_disk_can_execute_code(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suffixes = {path.suffix for path in whole.rglob("*") if path.is_file() and "tfevents" not in path.name}
    assert suffixes == {".json", ".safetensors", ".csv", ".yaml"}
    run = stopped_after(3, tmp_path / "run")
    shutil.copytree(run, tmp_path / "before")
    train(GAME, resume=tmp_path / "before")  # loads all machine code, which Numba keeps as pickles of its own

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a pickle was read")

    for module, name in ((pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (torch, "load"), (np, "load")):
        monkeypatch.setattr(module, name, refuse)
    train(GAME, resume=run)


def test_the_same_seed_gives_the_same_run(whole: Path, tmp_path: Path) -> None:
    again, other = tiny(tmp_path / "again", seed=7), tiny(tmp_path / "other", seed=8)
    assert weights(again) == weights(whole)
    assert log_of(again) == log_of(whole)
    assert weights(other) != weights(whole)


def stopped_after(steps: int, out: Path, how: Callable[[], None] | None = None) -> Path:
    """A run with seed 7 that Ctrl-C, or `how`, ends in the midst of an update."""
    step, done = Trainer.step, 0

    def interrupted(self: Trainer) -> None:
        nonlocal done
        done += 1
        if done == steps:
            (how or (lambda: signal.raise_signal(signal.SIGINT)))()
        step(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "step", interrupted)
        with pytest.raises((Stopped, Killed)) as caught:
            tiny(out, seed=7)
    if caught.type is Stopped:
        assert str(caught.value) == (
            f"Stopped after {steps * ROLLOUT:,} decisions; all is "
            f"saved. Go on with: backalley train tests.kuhn --resume {out}"
        )
    return out


class Killed(BaseException):
    """Stands for `kill -9` between two updates."""


def die() -> None:
    raise Killed


@pytest.mark.parametrize("how", [None, die], ids=["ctrl-c", "killed"])
@pytest.mark.parametrize("steps", [1, 5, 7, 11])
def test_a_resumed_run_equals_an_uninterrupted_one(
    whole: Path, tmp_path: Path, steps: int, how: Callable[[], None] | None
) -> None:
    run = stopped_after(steps, tmp_path / "run", how)
    assert train(GAME, resume=run).folder == run
    assert weights(run) == weights(whole)
    assert log_of(run) == log_of(whole)


def test_a_stopped_run_leaves_a_policy(tmp_path: Path) -> None:
    run = stopped_after(3, tmp_path / "run")
    assert PolicyAgent(run, GAME).metadata["made"]["decisions"] == 3 * ROLLOUT


def test_sigterm_is_as_polite_as_ctrl_c(tmp_path: Path) -> None:
    run = stopped_after(2, tmp_path / "run", lambda: signal.raise_signal(signal.SIGTERM))
    assert checkpoint.found(run)[-1].name == f"{2 * ROLLOUT:012d}"


@pytest.mark.parametrize("batches", [0, 1])
def test_ctrl_c_in_the_matches_at_the_end(tmp_path: Path, batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    play, played = Match.play, 0

    def interrupted(self: Match, *arrays: Any) -> Any:
        nonlocal played
        if played == batches:
            raise KeyboardInterrupt
        played += 1
        return play(self, *arrays)

    with monkeypatch.context() as patch:
        patch.setattr(Match, "play", interrupted)
        with pytest.raises(Stopped, match=r"the policy is in .*Play them again with: backalley train .* --resume "):
            train(GAME, out=tmp_path / "run", decisions=ROLLOUT, config_overrides={**TINY, "run.evaluation_deals": 64})
    assert len(train(resume=tmp_path / "run").reports) == 2


def test_a_new_budget_goes_on_from_the_end(whole: Path, tmp_path: Path) -> None:
    """A run of 6 rollouts taken on to 12 equals one of 12: nothing in training knows the budget."""
    run = tiny(tmp_path / "run", 6 * ROLLOUT, seed=7)
    assert weights(run) != weights(whole)
    train(GAME, resume=run, decisions=DECISIONS)
    assert weights(run) == weights(whole)
    assert log_of(run) == log_of(whole)


def test_a_budget_of_seconds_ends_and_says_what_it_was(tmp_path: Path) -> None:
    started = time.monotonic()
    result = train(GAME, out=tmp_path / "run", seconds=0.5, config_overrides=TINY, seed=7)
    assert time.monotonic() - started < 60
    line = re.fullmatch(r"backalley train tests.kuhn .* --decisions (\d+)", result.command)
    assert line
    again = tiny(tmp_path / "again", int(line[1]), seed=7)
    assert weights(again) == weights(result.folder)


def test_a_finished_run_resumed_only_plays_its_matches_again(whole: Path, tmp_path: Path) -> None:
    run = tiny(tmp_path / "run", 3 * ROLLOUT, seed=7)
    before = weights(run)
    train(GAME, resume=run)
    assert weights(run) == before


# What a disk may do ---------------------------------------------------------------------------------------------------


def test_a_full_disk_ends_in_a_sentence_and_keeps_the_last_checkpoint(whole: Path, tmp_path: Path) -> None:
    run, steps = tmp_path / "run", 0
    save = Trainer.save

    def tight(self: Trainer) -> Path:
        nonlocal steps
        steps += 1
        if steps < 6:  # the first is of the beginning
            return save(self)
        with small_disk(3000):
            return save(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "save", tight)
        with pytest.raises(TrainingError, match=r"could not be written on: File too large.*--resume") as caught:
            tiny(run, seed=7)
    assert str(run) in str(caught.value)
    assert checkpoint.found(run)[-1].name == f"{4 * ROLLOUT:012d}"
    assert not list(run.rglob("*.partial"))
    train(GAME, resume=run)
    assert weights(run) == weights(whole)


@pytest.mark.parametrize("cut", [0, 20, -1])
@pytest.mark.parametrize("name", [checkpoint.ARRAYS_FILE, checkpoint.FACTS_FILE])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(whole: Path, tmp_path: Path, cut: int, name: str) -> None:
    run = stopped_after(4, tmp_path / "run")
    path = checkpoint.found(run)[-1] / name
    data = path.read_bytes()
    path.write_bytes(data[:cut])
    said: list[str] = []
    train(GAME, resume=run, say=said.append)
    assert re.fullmatch(r"The checkpoint .* is damaged: .* Going on from the one before\.", said[0])
    assert weights(run) == weights(whole)


def test_without_any_sound_checkpoint_nothing_is_begun_anew(tmp_path: Path) -> None:
    run = stopped_after(4, tmp_path / "run")
    for place in checkpoint.found(run):
        (place / checkpoint.ARRAYS_FILE).write_bytes(b"")
    with pytest.raises(CheckpointError, match="is damaged"):
        train(GAME, resume=run)


def test_half_a_checkpoint_is_none(whole: Path, tmp_path: Path) -> None:
    """What a kill in the midst of writing leaves: a folder that was never renamed."""
    run = stopped_after(4, tmp_path / "run")
    last = checkpoint.found(run)[-1]
    last.rename(last.with_name(last.name + ".partial"))
    train(GAME, resume=run)
    assert weights(run) == weights(whole)


def test_a_run_has_a_checkpoint_before_its_first_update(whole: Path, tmp_path: Path) -> None:
    """So one without any has lost it, and is not taken for one that has yet to begin."""
    run = stopped_after(1, tmp_path / "run", die)
    assert [path.name for path in checkpoint.found(run)] == [f"{0:012d}"]
    train(GAME, resume=run)
    assert weights(run) == weights(whole)


def test_a_past_self_that_was_exchanged_is_noticed(tmp_path: Path) -> None:
    run = stopped_after(6, tmp_path / "run")
    first, second = sorted((run / "league").iterdir())[:2]
    for name in ("policy.json", "policy.safetensors"):
        (first / name).write_bytes((second / name).read_bytes())
    with pytest.raises(CheckpointError, match="is not the one it met"):
        train(GAME, resume=run)


# A run that has lost its checkpoints ----------------------------------------------------------------------------------


def files(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}


@pytest.mark.parametrize("finished", [True, False])
def test_without_checkpoints_a_run_is_not_begun_anew_unasked(whole: Path, tmp_path: Path, finished: bool) -> None:
    run = tmp_path / "run"
    if finished:
        shutil.copytree(whole, run)
    else:
        stopped_after(3, run)
    shutil.rmtree(run / checkpoint.FOLDER)
    before = files(run)
    with pytest.raises(TrainingError, match=r"has no checkpoints any more, .* --restart begins it anew in that folder"):
        train(GAME, resume=run)
    assert files(run) == before
    again = train(resume=run, restart=True, decisions=DECISIONS)
    assert again.folder == run
    assert weights(run) == weights(whole)
    assert log_of(run) == log_of(whole)


def test_a_restart_forgets_what_came_of_a_run(whole: Path, tmp_path: Path) -> None:
    run = stopped_after(8, tmp_path / "run")
    (run / "league" / "mine.txt").write_text("of the run before")
    train(GAME, resume=run, restart=True)
    assert weights(run) == weights(whole)
    assert not (run / "league" / "mine.txt").exists()
    assert set(files(run)) - set(files(whole)) == {path for path in files(run) if "tfevents" in path}


def test_a_restart_cut_off_is_not_gone_on_with(tmp_path: Path) -> None:
    run = stopped_after(3, tmp_path / "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "begin", lambda self: die())
        with pytest.raises(Killed):
            train(GAME, resume=run, restart=True)
    with pytest.raises(TrainingError, match="has no checkpoints any more"):
        train(GAME, resume=run)
    train(GAME, resume=run, restart=True, decisions=ROLLOUT)


def test_a_new_run_that_cannot_be_written_has_no_last_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TrainingError, match=r"^No run can begin in .*: Not a directory .*another folder with --out\.$"):
        tiny(tmp_path / "file" / "run")
    with small_disk(3000), pytest.raises(TrainingError, match=r"^No run can begin in .*: File too large") as caught:
        tiny(tmp_path / "run")
    assert "checkpoint is" not in str(caught.value)
    assert "--resume" not in str(caught.value)
    assert not list((tmp_path / "run").iterdir()), "so that it can begin there once there is room"


# A file of one's own settings, games from elsewhere, folders as text --------------------------------------------------


def test_settings_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.yaml"
    path.write_text("ppo:\n  epochs: 2\n  learning_rate: 0.003\nnetwork:\n  layers: 1\n")
    settings = {**TINY, "ppo.learning_rate": "0.004"}
    result = train(
        "tests.kuhn", out="text", decisions=2 * ROLLOUT, seed=7, config="mine.yaml", config_overrides=settings
    )
    assert result.folder == Path("text")
    written = config.parse(config.read(result.folder / "config.yaml"), "file")
    assert (written.ppo.epochs, written.ppo.learning_rate, written.network.layers) == (2, 0.004, 1)
    assert written.ppo.gamma == config.load(GAME).ppo.gamma
    line = "backalley train tests.kuhn --config {} --set ppo.tables=32 "
    assert result.command.startswith(line.format("mine.yaml"))
    path.write_text("ppo:\n  epochs: 3\n")
    resumed = train(resume="text", decisions=3 * ROLLOUT)
    assert resumed.command.startswith(line.format("text/given.yaml")), "the file says something else by now"
    again = train(GAME, out="again", decisions=3 * ROLLOUT, seed=7, config="text/given.yaml", config_overrides=settings)
    assert weights(again.folder) == weights(resumed.folder)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ppo:\n  epoch: 2", "mine.yaml: ppo has no setting 'epoch'; it has: tables, .* Did you mean ppo.epochs?"),
        ("pp:\n  epochs: 2", "mine.yaml has no section 'pp'; it has: .* Did you mean ppo?"),
        ("ppo:\n  epochs: 0", "--config: ppo option epochs is 0; it takes 1..100"),
        ("ppo:\n- epochs", r"mine.yaml: the section ppo is \['epochs'\]; it must name its settings"),
        ("options:\n  second: 1", "practice options of kuhn are wrong: .* argument 'second'.*it has: first"),
    ],
)
def test_wrong_files_end_in_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(ConfigError, match=sentence) as caught:
        train(GAME, out=tmp_path / "run", config=tmp_path / "mine.yaml")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_game_from_elsewhere_is_found_again(tmp_path: Path) -> None:
    """By its import path, which run.json keeps: neither its name nor the game itself needs to be given."""
    run = stopped_after(2, tmp_path / "run")
    result = train(resume=run, decisions=3 * ROLLOUT)
    assert result.game == GAME
    assert result.command.startswith("backalley train tests.kuhn ")
    for name in ("kuhn", "kuhn-v0", "tests.kuhn", "tests.kuhn:GAME", kuhn.GAME):
        train(name, resume=run, decisions=3 * ROLLOUT)
    with pytest.raises(TrainingError, match="learns kuhn, not high_card; leave the game out"):
        train("tests.high_card", resume=run)


# What is refused ------------------------------------------------------------------------------------------------------


def test_a_folder_with_something_in_it_is_refused(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(TrainingError, match=r"is not an empty folder; name another one with --out\.$"):
        tiny(tmp_path)
    with pytest.raises(TrainingError, match="go on with the run there by --resume"):
        tiny(whole)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        ({"seconds": 0}, TrainingError, "seconds is 0; a budget is a number greater than 0."),
        ({"decisions": "5"}, TrainingError, "decisions is '5'; a budget is a whole number greater than 0."),
        ({"seed": -1}, TrainingError, "The seed is -1"),
        ({"seed": 2**40}, TrainingError, "The seed is 1099511627776"),
        ({"seed": "7"}, TrainingError, "The seed is '7'; it must be a whole number of 0..4294967295."),
        ({"seed": True}, TrainingError, "The seed is True"),
        ({"out": 5}, TrainingError, "out is 5; it takes a path."),
        ({"out": ""}, TrainingError, "out is ''; it takes a path."),
        ({"resume": 5}, TrainingError, "resume is 5; it takes a path."),
        ({"config": 5}, TrainingError, "config is 5; it takes a path."),
        ({"config": "nowhere.yaml"}, ConfigError, "nowhere.yaml cannot be read: No such file or directory."),
        ({"config_overrides": "ppo.epochs=2"}, TrainingError, "config_overrides is 'ppo.epochs=2'; it takes settings"),
        ({"config_overrides": {5: 1}}, ConfigError, "There is no setting 5."),
        ({"config_overrides": {"ppo.lr": 1}}, ConfigError, "There is no setting 'ppo.lr'. Settings are ppo.tables"),
        (
            {"config_overrides": {"ppo.learning_rat": 1}},
            ConfigError,
            "There is no setting 'ppo.learning_rat'. Did you mean ppo.learning_rate? Settings are ",
        ),
        ({"config_overrides": {"width": 1}}, ConfigError, "There is no setting 'width'. Did you mean network.width?"),
        ({"config_overrides": {"ppo.learning_rate": "fast"}}, ConfigError, "learning_rate is 'fast'; it takes 0..1"),
        ({"config_overrides": {"ppo.epochs": 0}}, ConfigError, "epochs is 0; it takes 1..100"),
        ({"config_overrides": {"speed": 11}}, ConfigError, "There is no setting 'speed'. Settings are ppo.tables"),
        ({"config_overrides": {"options.second": 11}}, ConfigError, "The practice options of kuhn are wrong"),
        ({"device": 5}, TrainingError, "device is 5; it takes auto, cpu, cuda or cuda:N"),
        ({"device": "mps"}, TrainingError, "device is 'mps'; it takes auto, cpu, cuda or cuda:N"),
        ({"restart": True}, TrainingError, "A restart needs the folder of a run"),
        ({"device": "gpu"}, TrainingError, "device is 'gpu'; it takes auto, cpu, cuda or cuda:N"),
    ],
)
def test_wrong_arguments_end_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"out": tmp_path / "run"} if "resume" not in wrong else {}
    with pytest.raises(error, match=re.escape(sentence)):
        train(GAME, **{**given, **wrong})
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="torch finds no GPU here; leave --device out"):
        tiny(tmp_path / "run", device="cuda")


def test_what_cannot_be_resumed(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"There is no run in .*nowhere: it has no run\.json"):
        train(GAME, resume=tmp_path / "nowhere")
    for kept in (
        {"config_overrides": {"ppo.epochs": 2}},
        {"config": "any.yaml"},
        {"seed": 7},
        {"out": tmp_path},
        {"device": "cpu"},
    ):
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
        ({"options": {"second": 1}}, "under options that are none here: .* argument 'second'.*it has: first"),
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


def test_changed_settings_do_not_take_an_old_checkpoint(tmp_path: Path) -> None:
    run = stopped_after(2, tmp_path / "run")
    text = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(text.replace("width: 16", "width: 32"))
    with pytest.raises(CheckpointError, match="does not fit this run"):
        train(GAME, resume=run)
    (run / "config.yaml").write_text("ppo: [")
    with pytest.raises(ConfigError, match="cannot be read as YAML"):
        train(GAME, resume=run)


def test_two_trainers_keep_out_of_each_others_way(tmp_path: Path) -> None:
    sentences = []

    def second() -> None:
        with pytest.raises(TrainingError, match="Another process is training in") as caught:
            train(GAME, resume=tmp_path / "run")
        sentences.append(str(caught.value))
        signal.raise_signal(signal.SIGINT)

    stopped_after(2, tmp_path / "run", second)
    assert sentences


# A process of its own -------------------------------------------------------------------------------------------------

SCRIPT = """
import sys
from pathlib import Path
from backalley.training.train import Stopped, train
from tests.test_training_run import GAME, ROLLOUT, TINY
out = Path(sys.argv[1])
new = {"out": out, "decisions": 150 * ROLLOUT, "config_overrides": TINY, "seed": 7}
kind = {"resume": out} if (out / "run.json").exists() else new
try:
    train(GAME, **kind, say=lambda sentence: print(sentence, flush=True))
except Stopped as sentence:
    print(sentence)
    sys.exit(130)
"""


def process(run: Path, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    here = Path(__file__).resolve().parents[1]
    paths = os.pathsep.join([str(here / "src"), str(here), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": paths}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(run)], env=env, cwd=here, stdout=stdout, text=True)


def newest(run: Path) -> int:
    """The decisions of a run's latest checkpoint."""
    return max((int(path.name) for path in checkpoint.found(run)), default=0)


@pytest.mark.slow
def test_killed_again_and_again(tmp_path: Path) -> None:
    """`kill -9` at moments of no choosing, mid-write included (a checkpoint follows every update): the end is the same
    to the bit."""
    straight = tmp_path / "straight"
    assert process(straight).wait(600) == 0
    run, chance, kills = tmp_path / "run", random.Random(0), 0
    for _ in range(7):
        wanted = newest(run) + chance.randrange(1, 12) * ROLLOUT
        child = process(run)
        deadline = time.monotonic() + 300
        while child.poll() is None and newest(run) < wanted and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.random() / 50)
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
            kills += 1
        assert child.wait() in (-signal.SIGKILL, 0)
    assert process(run).wait(600) == 0
    assert kills >= 3
    assert weights(run) == weights(straight)
    assert log_of(run) == log_of(straight)


@pytest.mark.slow
def test_ctrl_c_in_a_terminal(tmp_path: Path) -> None:
    run = tmp_path / "run"
    child = process(run, subprocess.PIPE)
    while len(checkpoint.found(run)) < 2:
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=120)
    assert child.returncode == 130
    assert "Stopping after this update." in out
    assert f"all is saved. Go on with: backalley train tests.kuhn --resume {run}" in out
