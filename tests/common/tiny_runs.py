"""Tiny training runs: how they are made, stopped and killed, and what they leave."""

from __future__ import annotations

import csv
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import backalley
from backalley.examples import kuhn
from backalley.training.config.phases import KINDS, PhaseKind, Phases
from backalley.training.run.loop import TrainingLoop
from backalley.training.train import Stopped, train
from tests import ROOT

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
    "run.gate_deals": 64,
    "run.curve_every": 0,
    "run.curve_deals": 16,
}
ROLLOUT = 32 * 8
DECISIONS = 12 * ROLLOUT


def tiny(out: Path, decisions: int = DECISIONS, **more: Any) -> Path:
    return train(GAME, out=out, decisions=decisions, config_overrides=TINY, **more).folder


def guide_phase(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PhaseKind]:
    """The module NAME of the guide to learning, in the folder worked in, registered while a test runs."""
    page = (ROOT / "docs" / "guides" / "learning.md").read_text("utf-8")
    (code,) = re.findall(rf"`{name}\.py`:\n\n```python\n(.*?)```", page, re.DOTALL)
    assert code.count("\n") < 150
    (folder / f"{name}.py").write_text(code)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before, takes = dict(KINDS), Phases.takes
    yield backalley.register_phase(name)
    KINDS.clear()
    KINDS.update(before)
    Phases.takes = takes
    sys.modules.pop(name, None)


TWO = {**TINY, "run.phases": "ppo:0.6,ppo", "run.curve_every": 1e-6}
"""Two phases, and a point of the curve after every step."""
COUNTS = [5 * ROLLOUT, 3 * ROLLOUT]


def two_phases(out: Path, counts: list[int] = COUNTS, **more: Any) -> Path:
    return train(GAME, out=out, decisions=counts, config_overrides=TWO, **more).folder


def weights(run: Path) -> bytes:
    return (run / "policy" / "policy.safetensors").read_bytes()


def log_of(run: Path) -> list[dict[str, str]]:
    """The log without its times."""
    with open(run / "progress.csv", newline="") as file:
        return [
            {name: value for name, value in row.items() if not name.startswith("time/")} for row in csv.DictReader(file)
        ]


def stopped_after(steps: int, out: Path, how: Callable[[], None] | None = None, make: Any = None) -> Path:
    """A run with seed 7, made by `make` or `tiny`, that Ctrl-C, or `how`, ends in the midst of an update."""
    step, done = TrainingLoop.step, 0

    def interrupted(self: TrainingLoop) -> None:
        nonlocal done
        done += 1
        if done == steps:
            (how or (lambda: signal.raise_signal(signal.SIGINT)))()
        step(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingLoop, "step", interrupted)
        with pytest.raises((Stopped, Killed)) as caught:
            (make or tiny)(out, seed=7)
    if caught.type is Stopped:
        assert str(caught.value) == (
            f"Stopped after {steps * ROLLOUT:,} decisions; all is "
            f"saved. Go on with: backalley train backalley.examples.kuhn --resume {out}"
        )
    return out


class Killed(BaseException):
    """Stands for `kill -9` between two updates."""


def die() -> None:
    raise Killed


def files(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}
