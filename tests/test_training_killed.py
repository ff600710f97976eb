"""Training in processes of their own: killed at any moment, and stopped from a terminal."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from backalley.training import checkpoint
from backalley.training.train import train
from tests.tiny_runs import GAME, ROLLOUT, TINY, log_of, weights

SETTINGS = {**TINY, "run.phases": "ppo,ppo:0.4", "run.curve_every": 0.5}
NEW: dict[str, Any] = {"decisions": 80 * ROLLOUT, "config_overrides": SETTINGS, "seed": 7}
SCRIPT = """
import sys
from pathlib import Path
from backalley.training.train import Stopped, train
from tests.test_training_killed import GAME, NEW
out = Path(sys.argv[1])
new = {"out": out, **NEW}
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
    assert f"all is saved. Go on with: backalley train tests.kuhn --resume {run}" in out
