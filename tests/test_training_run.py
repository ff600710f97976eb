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
from backalley.agents.rule_based import RandomAgent
from backalley.benchmarks.evaluate import evaluate
from backalley.envs.core.options import OptionError
from backalley.training import checkpoint, config
from backalley.training.checkpoint import CheckpointError
from backalley.training.config import ConfigError
from backalley.training.train import Stopped, TrainingError, train
from backalley.training.trainer import Trainer
from tests.kuhn import GAME
from tests.test_training_policy import small_disk

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
    return train(GAME, out=out, decisions=decisions, config_overrides=TINY, quiet=True, **more)


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
    assert facts["command"].startswith("backalley train kuhn --set ppo.tables=32 ")
    assert facts["command"].endswith(f"--seed 7 --decisions {DECISIONS}")
    assert config.parse(yaml.safe_load((whole / "config.yaml").read_text()), "file") == config.load(GAME, TINY)
    rows = log_of(whole)
    assert [int(row["decisions"]) for row in rows] == [2 * ROLLOUT * (k + 1) for k in range(6)]
    assert all(np.isfinite(float(value)) for row in rows for value in row.values())
    assert [path.name for path in checkpoint.found(whole)] == [f"{DECISIONS - ROLLOUT:012d}", f"{DECISIONS:012d}"]
    assert sorted(path.name for path in (whole / "league").iterdir())[0] == f"{2 * ROLLOUT:012d}"
    metadata = json.loads((whole / "policy" / "policy.json").read_bytes())
    assert metadata["made"]["decisions"] == DECISIONS
    assert metadata["made"]["command"] == facts["command"]


def test_it_ends_with_the_table_of_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = train(GAME, out=tmp_path / "run", decisions=2 * ROLLOUT, config_overrides=TINY)
    text = capsys.readouterr().out
    assert re.search(r"^opponent +mean return +win share$", text, re.MULTILINE)
    line = re.search(r"^random +([+-][0-9.]+) ± ([0-9.]+) +([0-9.]+) ±", text, re.MULTILINE)
    assert line
    report = json.loads((run / "evaluation.json").read_bytes())["reports"][0]
    game = GAME.bind()
    again = evaluate(game, [PolicyAgent(run, game), RandomAgent()], deals=16)
    assert report["agents"][0]["mean_return"] == again.agents[0].mean_return.to_json()
    assert float(line[1]) == pytest.approx(again.agents[0].mean_return.mean, abs=1e-4)
    assert "backalley train kuhn --set ppo.tables=32" in text


def test_nothing_on_disk_can_execute_code(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suffixes = {path.suffix for path in whole.rglob("*") if path.is_file() and "tfevents" not in path.name}
    assert suffixes == {".json", ".safetensors", ".csv", ".yaml"}
    run = stopped_after(3, tmp_path / "run")
    shutil.copytree(run, tmp_path / "before")
    train(
        GAME, resume=tmp_path / "before", quiet=True
    )  # loads all machine code, which Numba keeps as pickles of its own

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a pickle was read")

    for module, name in ((pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (torch, "load"), (np, "load")):
        monkeypatch.setattr(module, name, refuse)
    train(GAME, resume=run, quiet=True)


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
            f"saved. Go on with: backalley train kuhn --resume {out}"
        )
    return out


class Killed(BaseException):
    """Stands for `kill -9` between two updates."""


def die() -> None:
    raise Killed


@pytest.mark.parametrize("how", [None, die], ids=["ctrl-c", "killed"])
@pytest.mark.parametrize("steps", [1, 5, 11])
def test_a_resumed_run_equals_an_uninterrupted_one(
    whole: Path, tmp_path: Path, steps: int, how: Callable[[], None] | None
) -> None:
    run = stopped_after(steps, tmp_path / "run", how)
    assert train(GAME, resume=run, quiet=True) == run
    assert weights(run) == weights(whole)
    assert log_of(run) == log_of(whole)


def test_a_stopped_run_leaves_a_policy(tmp_path: Path) -> None:
    run = stopped_after(3, tmp_path / "run")
    assert PolicyAgent(run, GAME.bind()).metadata["made"]["decisions"] == 3 * ROLLOUT


def test_sigterm_is_as_polite_as_ctrl_c(tmp_path: Path) -> None:
    run = stopped_after(2, tmp_path / "run", lambda: signal.raise_signal(signal.SIGTERM))
    assert checkpoint.found(run)[-1].name == f"{2 * ROLLOUT:012d}"


def test_a_new_budget_goes_on_from_the_end(whole: Path, tmp_path: Path) -> None:
    """A run of 6 rollouts taken on to 12 equals one of 12: nothing in training knows the budget."""
    run = tiny(tmp_path / "run", 6 * ROLLOUT, seed=7)
    assert weights(run) != weights(whole)
    train(GAME, resume=run, decisions=DECISIONS, quiet=True)
    assert weights(run) == weights(whole)
    assert log_of(run) == log_of(whole)


def test_a_budget_of_seconds_ends_and_says_what_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started = time.monotonic()
    run = train(GAME, out=tmp_path / "run", seconds=0.5, config_overrides=TINY, seed=7)
    assert time.monotonic() - started < 60
    line = re.search(r"The same weights again: backalley train kuhn .* --decisions (\d+)", capsys.readouterr().out)
    assert line
    again = tiny(tmp_path / "again", int(line[1]), seed=7)
    assert weights(again) == weights(run)


def test_a_finished_run_resumed_only_plays_its_matches_again(whole: Path, tmp_path: Path) -> None:
    run = tiny(tmp_path / "run", 3 * ROLLOUT, seed=7)
    before = weights(run)
    train(GAME, resume=run, quiet=True)
    assert weights(run) == before


# What a disk may do ---------------------------------------------------------------------------------------------------


def test_a_full_disk_ends_in_a_sentence_and_keeps_the_last_checkpoint(whole: Path, tmp_path: Path) -> None:
    run, steps = tmp_path / "run", 0
    save = Trainer.save

    def tight(self: Trainer) -> Path:
        nonlocal steps
        steps += 1
        if steps < 5:
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
    train(GAME, resume=run, quiet=True)
    assert weights(run) == weights(whole)


@pytest.mark.parametrize("cut", [0, 20, -1])
@pytest.mark.parametrize("name", [checkpoint.ARRAYS_FILE, checkpoint.FACTS_FILE])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(
    whole: Path, tmp_path: Path, cut: int, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = stopped_after(4, tmp_path / "run")
    path = checkpoint.found(run)[-1] / name
    data = path.read_bytes()
    path.write_bytes(data[:cut])
    train(GAME, resume=run)
    assert re.search(r"The checkpoint .* is damaged: .* Going on from the one before\.", capsys.readouterr().out)
    assert weights(run) == weights(whole)


def test_without_any_sound_checkpoint_nothing_is_begun_anew(tmp_path: Path) -> None:
    run = stopped_after(4, tmp_path / "run")
    for place in checkpoint.found(run):
        (place / checkpoint.ARRAYS_FILE).write_bytes(b"")
    with pytest.raises(CheckpointError, match="is damaged"):
        train(GAME, resume=run, quiet=True)


def test_half_a_checkpoint_is_none(whole: Path, tmp_path: Path) -> None:
    """What a kill in the midst of writing leaves: a folder that was never renamed."""
    run = stopped_after(4, tmp_path / "run")
    last = checkpoint.found(run)[-1]
    last.rename(last.with_name(last.name + ".partial"))
    train(GAME, resume=run, quiet=True)
    assert weights(run) == weights(whole)


def test_a_run_killed_before_its_first_checkpoint_begins_again(whole: Path, tmp_path: Path) -> None:
    run = stopped_after(1, tmp_path / "run", die)
    assert not checkpoint.found(run)
    train(GAME, resume=run, quiet=True)
    assert weights(run) == weights(whole)


def test_a_past_self_that_was_exchanged_is_noticed(tmp_path: Path) -> None:
    run = stopped_after(6, tmp_path / "run")
    first, second = sorted((run / "league").iterdir())[:2]
    for name in ("policy.json", "policy.safetensors"):
        (first / name).write_bytes((second / name).read_bytes())
    with pytest.raises(CheckpointError, match="is not the one it met"):
        train(GAME, resume=run, quiet=True)


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
        ({"seconds": 0}, TrainingError, "seconds is 0; a budget is greater than 0"),
        ({"decisions": -5}, TrainingError, "decisions is -5; a budget is greater than 0"),
        ({"seconds": float("nan")}, TrainingError, "seconds is nan"),
        ({"seed": -1}, TrainingError, "The seed is -1"),
        ({"seed": 2**40}, TrainingError, "The seed is 1099511627776"),
        ({"options": {"second": 1}}, OptionError, "kuhn has no option 'second'; it has: first"),
        ({"config_overrides": {"ppo.lr": 1}}, ConfigError, "ppo has no option 'lr'; it has: tables"),
        ({"config_overrides": {"ppo.learning_rate": "fast"}}, ConfigError, "learning_rate is 'fast'; it takes 0..1"),
        ({"config_overrides": {"ppo.epochs": 0}}, ConfigError, "epochs is 0; it takes 1..100"),
        ({"config_overrides": {"speed": 11}}, ConfigError, "There is no setting 'speed'; settings are ppo.tables"),
        ({"config_overrides": {"options.second": 11}}, ConfigError, "The practice options of kuhn are wrong"),
        ({"device": "gpu"}, TrainingError, "device is 'gpu'; it takes auto, cpu, cuda or cuda:N"),
    ],
)
def test_wrong_arguments_end_in_a_sentence(
    tmp_path: Path, wrong: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=re.escape(sentence)):
        train(GAME, out=tmp_path / "run", quiet=True, **wrong)
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="torch finds no GPU here; leave --device out"):
        tiny(tmp_path / "run", device="cuda")


def test_what_cannot_be_resumed(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"There is no run in .*nowhere: it has no run\.json"):
        train(GAME, resume=tmp_path / "nowhere", quiet=True)
    with pytest.raises(TrainingError, match="A resumed run keeps its options and settings"):
        train(GAME, resume=whole, config_overrides={"ppo.epochs": 2}, quiet=True)
    with pytest.raises(TrainingError, match="Name a game to train on"):
        train(None, quiet=True)
    run = stopped_after(2, tmp_path / "run")
    facts = json.loads((run / "run.json").read_bytes())
    for change, sentence in (
        ({"game_version": 3}, "learns kuhn-v3, and the rules here are kuhn-v0"),
        ({"game": "whist"}, "learns whist, not kuhn"),
        ({"format": 9}, "is of format 9"),
    ):
        (run / "run.json").write_text(json.dumps(facts | change))
        with pytest.raises(TrainingError, match=sentence):
            train(GAME, resume=run, quiet=True)
    for text in ("", "{", "[]", "{}"):
        (run / "run.json").write_text(text)
        with pytest.raises(TrainingError, match="is damaged, or no file of this trainer"):
            train(GAME, resume=run, quiet=True)


def test_changed_settings_do_not_take_an_old_checkpoint(tmp_path: Path) -> None:
    run = stopped_after(2, tmp_path / "run")
    text = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(text.replace("width: 16", "width: 32"))
    with pytest.raises(CheckpointError, match="does not fit this run"):
        train(GAME, resume=run, quiet=True)
    (run / "config.yaml").write_text("ppo: [")
    with pytest.raises(ConfigError, match="cannot be read as YAML"):
        train(GAME, resume=run, quiet=True)


def test_two_trainers_keep_out_of_each_others_way(tmp_path: Path) -> None:
    sentences = []

    def second() -> None:
        with pytest.raises(TrainingError, match="Another process is training in") as caught:
            train(GAME, resume=tmp_path / "run", quiet=True)
        sentences.append(str(caught.value))
        signal.raise_signal(signal.SIGINT)

    stopped_after(2, tmp_path / "run", second)
    assert sentences


# A process of its own -------------------------------------------------------------------------------------------------

SCRIPT = """
import sys
from pathlib import Path
from backalley.training.train import Stopped, train
from tests.kuhn import GAME
from tests.test_training_run import ROLLOUT, TINY
out = Path(sys.argv[1])
new = {"out": out, "decisions": 150 * ROLLOUT, "config_overrides": TINY, "seed": 7}
kind = {"resume": out} if (out / "run.json").exists() else new
try:
    train(GAME, **kind)
except Stopped as sentence:
    print(sentence)
    sys.exit(130)
"""


def process(run: Path, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    here = Path(__file__).resolve().parents[1]
    paths = os.pathsep.join([str(here / "src"), str(here), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": paths}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(run)], env=env, cwd=here, stdout=stdout, text=True)


@pytest.mark.slow
def test_killed_again_and_again(tmp_path: Path) -> None:
    """`kill -9` at moments of no choosing, mid-write included (a checkpoint follows every update): the end is the same
    to the bit."""
    straight = tmp_path / "straight"
    assert process(straight).wait(600) == 0
    run, chance, kills = tmp_path / "run", random.Random(0), 0
    for _ in range(40):
        child = process(run)
        seen = max((int(path.name) for path in checkpoint.found(run)), default=0)
        deadline = time.monotonic() + 300
        while child.poll() is None and time.monotonic() < deadline:
            newest = max((int(path.name) for path in checkpoint.found(run)), default=0)
            if newest > seen and chance.random() < 0.05:
                break
            time.sleep(0.02)
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
            kills += 1
        if child.wait() == 0:
            break
    assert kills >= 3
    assert weights(run) == weights(straight)
    assert log_of(run) == log_of(straight)


@pytest.mark.slow
def test_ctrl_c_in_a_terminal(tmp_path: Path) -> None:
    run = tmp_path / "run"
    child = process(run, subprocess.PIPE)
    while not checkpoint.found(run):
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=120)
    assert child.returncode == 130
    assert "Stopping after this update." in out
    assert f"all is saved. Go on with: backalley train kuhn --resume {run}" in out
