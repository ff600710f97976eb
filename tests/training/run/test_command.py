"""`backalley train`: what it hands on, what it prints, how it is stopped."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from backalley.training.config import config
from tests.common.commands import process, run
from tests.common.tiny_runs import TINY

SETTINGS = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]


class Halt(Exception):
    """Stands for the trainer's own."""


def trainer(monkeypatch: pytest.MonkeyPatch, train: Any) -> None:
    """Put another function in the place of the trainer, whose module would need torch."""
    monkeypatch.setitem(sys.modules, "backalley.training.train", types.SimpleNamespace(train=train, Stopped=Halt))


def test_everything_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def train(game: Any, **rest: Any) -> Any:
        asked.update(game=game, **rest)
        return types.SimpleNamespace(table=lambda: "the table")

    trainer(monkeypatch, train)
    result = run(
        "train", "backalley.examples.kuhn", "--seconds", "5", "--processor-seconds", "8",
        "--config", "a.yaml", "--set", "ppo.entropy=0.1", "--set", "lr=1e-3",
        "--option", "first=1", "--quiet",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert asked["game"].changed_options == {"first": 1}
    assert asked["processor_seconds"] == 8.0
    assert asked["config_overrides"] == {"ppo.entropy": "0.1", "lr": "1e-3"}
    assert (asked["seconds"], asked["seed"], asked["config"], asked["resume"]) == (5.0, None, Path("a.yaml"), None)
    assert result.stdout == "\nthe table\n"
    assert run("train", "--resume", "runs/one", "--restart", "--seed", "3").exit_code == 0
    assert (asked["game"], asked["seed"], asked["restart"], asked["resume"]) == (None, 3, True, Path("runs/one"))


def test_stopped_training_and_missing_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*given: Any, **rest: Any) -> Any:
        raise Halt("Stopped; go on with --resume runs/one.")

    def lack(*given: Any, **rest: Any) -> Any:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    trainer(monkeypatch, stop)
    stopped = run("train", "backalley.examples.kuhn")
    assert (stopped.exit_code, stopped.stderr) == (130, "Stopped; go on with --resume runs/one.\n")
    trainer(monkeypatch, lack)
    lacking = run("train", "backalley.examples.kuhn")
    assert lacking.exit_code == 2
    assert lacking.stderr == "Error: This needs torch, which is not installed: pip install 'backalley[train]'\n"


def test_help_names_every_setting() -> None:
    shown = run("train", "--help").output
    lines = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    for name, meaning in config.settings():
        assert name in lines
        assert meaning in " ".join(shown.split()), "no word broken, none left out"
    assert "Adam's step size: 0..1" in lines["ppo.learning_rate"]
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.slow
def test_processes_of_their_own(tmp_path: Path) -> None:
    """A game from outside the package, by its import path alone: trained, taken further, evaluated."""

    def told(*words: str) -> str:
        done = process(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    told("train", "backalley.examples.kuhn", "--out", "run", "--decisions", "512", *SETTINGS)
    assert "from 512 decisions on in run" in told("train", "--resume", "run", "--decisions", "1024")
    facts = json.loads((tmp_path / "run" / "policy" / "policy.json").read_bytes())
    assert facts["made"]["decisions"] == 1024
    assert facts["name"] in told("evaluate", "backalley.examples.kuhn", "run", "random", "--deals", "16")
