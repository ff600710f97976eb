"""What a disk and a kill may do to a training run, and a run that has lost its checkpoints."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from backalley.agents.policies.network import weights_of
from backalley.agents.policies.policy_file import read_policy, save_policy
from backalley.envs.core.files import durable
from backalley.training.config.phases import TrainingError
from backalley.training.run.loop import TrainingLoop
from backalley.training.shared import checkpoint
from backalley.training.shared.checkpoint import CheckpointError
from backalley.training.train import train
from tests import ROOT
from tests.common.tiny_runs import (
    DECISIONS,
    GAME,
    ROLLOUT,
    TINY,
    Killed,
    die,
    files,
    log_of,
    stopped_after,
    tiny,
    weights,
)
from tests.training.test_policy import GAME as KUHN
from tests.training.test_policy import NETWORK, network

LEAGUE = "phases/1-ppo/league"


@contextmanager
def small_disk(limit: int) -> Iterator[None]:
    """No file may grow beyond `limit` bytes: a write that would fails halfway, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def saved(folder: Path, name: str) -> None:
    """Save a policy of this name."""
    save_policy(folder, weights_of(network(len(name))), KUHN, name=name, player=NETWORK, made={})


def test_a_full_disk_leaves_the_former_policy_and_file(tmp_path: Path) -> None:
    saved(tmp_path / "policy", "former")
    (tmp_path / "file").write_bytes(b"first")
    with small_disk(1000), pytest.raises(OSError, match="too large"):
        saved(tmp_path / "policy", "newer")
    with small_disk(100), pytest.raises(OSError, match="too large"):
        durable.write_file(tmp_path / "file", b"x" * 1000)
    assert read_policy(tmp_path / "policy", KUHN)[1]["name"] == "former"
    assert (tmp_path / "file").read_bytes() == b"first"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "policy"]


def test_a_full_disk_ends_in_a_sentence_and_keeps_the_last_checkpoint(whole: Path, tmp_path: Path) -> None:
    run, steps = tmp_path / "run", 0
    save = TrainingLoop.save

    def tight(self: TrainingLoop) -> None:
        nonlocal steps
        steps += 1
        if steps < 6:  # the first is of the beginning
            return save(self)
        with small_disk(3000):
            return save(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingLoop, "save", tight)
        with pytest.raises(TrainingError, match=r"could not be written on: File too large.*--resume") as caught:
            tiny(run, seed=7)
    assert str(run) in str(caught.value)
    assert checkpoint.found(run)[-1].name == f"01-{4 * ROLLOUT:012d}"
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
    train(GAME, resume=run, log=said.append)
    assert re.fullmatch(r"The checkpoint .* is damaged: .* Going on from the one before\.", said[0])
    assert weights(run) == weights(whole)


def test_without_any_sound_checkpoint_nothing_is_begun_anew(tmp_path: Path) -> None:
    run = stopped_after(4, tmp_path / "run")
    for place in checkpoint.found(run):
        (place / checkpoint.ARRAYS_FILE).write_bytes(b"")
    with pytest.raises(CheckpointError, match="is damaged"):
        train(GAME, resume=run)


def test_a_past_self_that_was_exchanged_is_noticed(tmp_path: Path) -> None:
    run = stopped_after(6, tmp_path / "run")
    first, second = sorted((run / LEAGUE).iterdir())[:2]
    for name in ("policy.json", "policy.safetensors"):
        (first / name).write_bytes((second / name).read_bytes())
    with pytest.raises(CheckpointError, match="is not the one it met"):
        train(GAME, resume=run)


# A run that has lost its checkpoints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("finished", [True, False])
def test_without_checkpoints_a_run_is_not_begun_anew_unasked(whole: Path, tmp_path: Path, finished: bool) -> None:
    run = tmp_path / "run"
    if finished:
        shutil.copytree(whole, run)
    else:
        stopped_after(3, run)
    shutil.rmtree(run / checkpoint.FOLDER)
    before = files(run)
    with pytest.raises(
        TrainingError, match=r"has no checkpoints any more, .* --restart begins it again in that folder"
    ):
        train(GAME, resume=run)
    assert files(run) == before
    again = train(resume=run, restart=True, decisions=DECISIONS)
    assert again.folder == run
    assert weights(run) == weights(whole)
    assert log_of(run) == log_of(whole)


def test_a_restart_forgets_what_came_of_a_run(whole: Path, tmp_path: Path) -> None:
    run = stopped_after(8, tmp_path / "run")
    (run / LEAGUE / "mine.txt").write_text("of the run before")
    train(GAME, resume=run, restart=True)
    assert weights(run) == weights(whole)
    assert not (run / LEAGUE / "mine.txt").exists()
    assert set(files(run)) - set(files(whole)) == {path for path in files(run) if "tfevents" in path}


def test_a_restart_cut_off_is_not_gone_on_with(tmp_path: Path) -> None:
    run = stopped_after(3, tmp_path / "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingLoop, "begin", lambda self: die())
        with pytest.raises(Killed):
            train(GAME, resume=run, restart=True)
    with pytest.raises(TrainingError, match="has no checkpoints any more"):
        train(GAME, resume=run)
    train(GAME, resume=run, restart=True, decisions=ROLLOUT)


class Disk:
    """A disk under a process that is killed at its `last` change of it, counted from 0: half of what it was writing is
    there, and nothing that comes after."""

    def __init__(self, patch: pytest.MonkeyPatch, last: int) -> None:
        self.left = last
        for name in ("mkdir", "replace", "rename", "unlink", "rmdir"):
            patch.setattr(os, name, self.mortal(getattr(os, name)))
        write = durable._write

        def written(path: Path, data: bytes) -> None:
            if self.left == 0:
                path.write_bytes(data[: len(data) // 2])
            self.change()
            write(path, data)

        patch.setattr(durable, "_write", written)

    def change(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def mortal(self, change: Any) -> Any:
        def changed(*args: Any, **kwargs: Any) -> Any:
            self.change()
            return change(*args, **kwargs)

        return changed


def test_a_policy_whose_writing_is_killed_is_the_former_or_the_new_one(tmp_path: Path) -> None:
    names = set()
    for last in range(1000):
        folder = tmp_path / str(last) / "policy"
        saved(folder, "former")
        with pytest.MonkeyPatch.context() as patch, suppress(Killed):
            disk = Disk(patch, last)
            saved(folder, "newer")
        if disk.left >= 0:
            break
        names.add(read_policy(folder, KUHN)[1]["name"])
        saved(folder, "third")
        assert read_policy(folder, KUHN)[1]["name"] == "third"
        assert [path.name for path in folder.parent.iterdir()] == ["policy"]
    assert names == {"former", "newer"}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["out", "resume"])
def test_a_run_killed_while_it_begins_can_begin(tmp_path: Path, how: str) -> None:
    """At every change of the disk until the first step: what is there is a run to go on with, or nothing in the way of
    a new one."""
    (tmp_path / "mine.yaml").write_text("ppo:\n  epochs: 2\n")
    given: dict[str, Any] = {"seed": 7, "config": tmp_path / "mine.yaml"}
    wanted = weights(tiny(tmp_path / "straight", ROLLOUT, **given))
    outcomes = set()
    for last in range(1000):
        run = tmp_path / f"run{last}"
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, last)
            patch.setattr(TrainingLoop, "step", lambda self: die())
            with pytest.raises(Killed):
                tiny(run, ROLLOUT, **given)
        if disk.left >= 0:
            break
        resumes = (run / "run.json").is_file()
        outcomes.add(resumes)
        if not resumes:
            with pytest.raises(TrainingError, match="There is no run in"):
                train(resume=run)
            tiny(run, ROLLOUT, **given)
        elif how == "resume":
            train(resume=run)
        else:
            with pytest.raises(TrainingError, match="go on with what is there by --resume"):
                tiny(run, ROLLOUT, **given)
            train(resume=run, restart=True)
        assert weights(run) == wanted
        assert not list(run.glob("*.partial"))
    assert outcomes == {False, True}
    assert last > 12


@pytest.mark.slow
def test_a_run_killed_while_it_goes_on_can_go_on(whole: Path, tmp_path: Path) -> None:
    begun = stopped_after(3, tmp_path / "begun")
    for last in range(1000):
        run = shutil.copytree(begun, tmp_path / f"run{last}")
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, last)
            patch.setattr(TrainingLoop, "step", lambda self: die())
            with pytest.raises(Killed):
                train(resume=run)
        if disk.left >= 0:
            break
        train(resume=run)
        assert weights(run) == weights(whole)
    assert last > 4


def test_a_new_run_that_cannot_be_written_has_no_last_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TrainingError, match=r"^No run can begin in .*: Not a directory .*another folder with --out\.$"):
        tiny(tmp_path / "file" / "run")
    with small_disk(3000), pytest.raises(TrainingError, match=r"^No run can begin in .*: File too large") as caught:
        tiny(tmp_path / "run")
    assert "checkpoint is" not in str(caught.value)
    assert "--resume" not in str(caught.value)
    assert not (tmp_path / "run").exists(), "so that it can begin there once there is room"


# Processes of their own, killed at any moment and stopped from a terminal ---------------------------------------------

SETTINGS = {**TINY, "run.phases": "ppo,ppo:0.4", "run.curve_every": 0.5}
NEW: dict[str, Any] = {"decisions": 80 * ROLLOUT, "config_overrides": SETTINGS, "seed": 7}
SCRIPT = """
import sys
from pathlib import Path
from backalley.training.train import Stopped, train
from tests.training.run.test_disk import GAME, NEW
out = Path(sys.argv[1])
new = {"out": out, **NEW}
kind = {"resume": out} if (out / "run.json").exists() else new
try:
    train(GAME, **kind, log=lambda sentence: print(sentence, flush=True))
except Stopped as sentence:
    print(sentence)
    sys.exit(130)
"""


def process(run: Path, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    here = ROOT
    paths = os.pathsep.join([str(here / "src"), str(here), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": paths}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(run)], env=env, cwd=here, stdout=stdout, text=True)


def newest(run: Path) -> int:
    """The decisions of a run's latest checkpoint."""
    return max((int(path.name.partition("-")[2]) for path in checkpoint.found(run)), default=0)


@pytest.mark.slow
def test_killed_again_and_again(tmp_path: Path) -> None:
    """`kill -9` at moments of no choosing, mid-write, between phases and in points of the curve included (a checkpoint
    follows every update): the end is the same to the bit."""
    straight = train(GAME, out=tmp_path / "straight", **NEW).folder
    run, chance, kills = tmp_path / "run", random.Random(0), 0
    for _ in range(5):
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
    assert f"all is saved. Go on with: backalley train backalley.examples.kuhn --resume {run}" in out
