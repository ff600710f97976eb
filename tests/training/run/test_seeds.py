"""Runs of several seeds, made and resumed together."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backalley.agents.registry import agent
from backalley.benchmarks.figures.stats import mean_interval
from backalley.training import seeds, train
from backalley.training.config.phases import TrainingError
from backalley.training.run.loop import TrainingLoop
from backalley.training.run.run import Run
from backalley.training.seeds import read_seeds, train_seeds
from backalley.training.train import Stopped
from tests.common.commands import run
from tests.common.tiny_runs import GAME, ROLLOUT, TINY, Killed, die, tiny, weights

SETTINGS = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]


@pytest.mark.parametrize(
    ("given", "found"),
    [("0-4", [0, 1, 2, 3, 4]), ("7", [7]), ("3, 1", [3, 1]), ("0-1,9", [0, 1, 9]), ([2, 5], [2, 5]), (["4"], [4])],
)
def test_seeds(given: Any, found: list[int]) -> None:
    assert read_seeds(given) == found


@pytest.mark.parametrize(
    "wrong", ["", "4-2", "a", "-1", "1,1", "0-2,1", "0-4294967296", "0-5000", "1-", [True], [1.5], 5]
)
def test_what_are_no_seeds(wrong: Any, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"seeds is .*; it takes different whole numbers of 0\.\.4294967295, with"):
        train_seeds(GAME, wrong, out=tmp_path / "runs")
    assert not list(tmp_path.iterdir())


def test_runs_of_several_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is the run that its seed alone would be; the table ends with the mean over seeds."""
    monkeypatch.chdir(tmp_path)
    done = run(
        "train", "backalley.examples.kuhn", "--seeds", "3-5", "--out", "all", "--decisions", str(ROLLOUT), *SETTINGS
    )
    assert done.exit_code == 0, done.output
    folder = tmp_path / "all"
    assert sorted(path.name for path in folder.iterdir()) == ["seed-3", "seed-4", "seed-5", "seeds.json"]
    assert len({weights(folder / f"seed-{seed}") for seed in (3, 4, 5)}) == 3
    assert weights(tiny(tmp_path / "one", ROLLOUT, seed=4)) == weights(folder / "seed-4")
    found = json.loads((folder / "seeds.json").read_bytes())
    reports = [one["reports"][0] for one in found["seeds"].values()]
    each = np.array([report["agents"][0]["win_share"]["mean"] for report in reports])
    assert found["means"]["random"]["win_share"] == pytest.approx(mean_interval(each).to_json())
    table = done.stdout.partition("kuhn-v0, 3 training seeds")[2]
    assert re.search(r"^random +3 +[+-]\d", table, re.MULTILINE)
    assert re.search(rf"^random +mean .* {100 * each.mean():.1f} ± \d", table, re.MULTILINE)
    again = shlex.split(re.search(r"The same again: backalley (.*)", table)[1])  # type: ignore[index]
    assert again[again.index("--seeds") + 1] == "3-5"
    assert run(*again, "--out", "again").exit_code == 0
    assert weights(tmp_path / "again" / "seed-5") == weights(folder / "seed-5")
    assert agent("all/seed-3", GAME).name.startswith("ppo-s3")


@pytest.mark.parametrize("how", ["ctrl-c", "killed"])
def test_they_go_on_together(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, steps, step = tmp_path / "all", 0, TrainingLoop.step

    def interrupted(self: TrainingLoop) -> None:
        nonlocal steps
        steps += 1
        if steps == 3:
            if how == "killed":
                die()
            import signal

            signal.raise_signal(signal.SIGINT)
        step(self)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingLoop, "step", interrupted)
        with pytest.raises((Stopped, Killed)) as caught:
            train_seeds(GAME, "0-2", out=folder, decisions=2 * ROLLOUT, config_overrides=TINY)
    if how == "ctrl-c":
        line = f"Go on with: backalley train {GAME.spec} --resume {folder}"
        assert str(caught.value) == f"Stopped with seed 1, 2 of 3; all is saved. {line}"
    with pytest.raises(TrainingError, match="holds runs of several seeds; name one of them, or go on with all"):
        train.train(resume=folder)
    done = run("train", "--resume", str(folder))
    assert done.exit_code == 0, done.output
    for seed in range(3):
        assert weights(folder / f"seed-{seed}") == weights(tiny(tmp_path / f"{seed}", 2 * ROLLOUT, seed=seed))
    further = train_seeds(resume=folder, decisions=3 * ROLLOUT)
    assert [result.decisions for result in further.results.values()] == [3 * ROLLOUT] * 3
    assert f"--seeds 0-2 --decisions {3 * ROLLOUT}" in further.command


def test_killed_while_they_are_laid_down_nothing_is_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, written = Run.write, 0

    def cut(self: Run) -> None:
        nonlocal written
        write(self)
        written += 1
        if written == 2:
            die()

    with monkeypatch.context() as patch:
        patch.setattr(Run, "write", cut)
        patch.setattr(seeds.shutil, "rmtree", lambda *given, **more: None)  # a kill clears nothing away
        with pytest.raises(Killed):
            train_seeds(GAME, "0-1", out=tmp_path / "all", decisions=ROLLOUT, config_overrides=TINY)
    assert [path.name for path in tmp_path.iterdir()] == ["all.partial"]
    train_seeds(GAME, "0-1", out=tmp_path / "all", decisions=ROLLOUT, config_overrides=TINY)
    assert [path.name for path in tmp_path.iterdir()] == ["all"]


def test_a_single_seed_has_no_interval_over_seeds(tmp_path: Path) -> None:
    result = train_seeds(GAME, [5], out=tmp_path / "all", decisions=ROLLOUT, config_overrides=TINY)
    assert "mean over" not in result.table()
    assert not re.search(r"^random +mean", result.table(), re.MULTILINE)
    assert "--seeds 5 " in result.command
    assert [row["seed"] for row in result.records()] == [5, 5][: len(result.records())]


def test_what_several_seeds_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TrainingError, match="is the folder that you are in; name another one"):
        train_seeds(GAME, "0-1", out=tmp_path)
    (tmp_path / "seeds.json").write_text("{")
    with pytest.raises(TrainingError, match=r"seeds\.json is damaged, or no file of this trainer"):
        train_seeds(resume=tmp_path)
