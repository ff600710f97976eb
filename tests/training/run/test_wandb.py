"""`run.wandb`: what goes to Weights & Biases, whose library a stub stands for."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from backalley.training.run.budget import TrainingError
from backalley.training.train import train
from tests.common.tiny_runs import GAME, ROLLOUT, TINY, log_of

WATCHED = {**TINY, "run.wandb": "cards", "run.curve_every": 0.001}


class Board:
    """A run of Weights & Biases."""

    def __init__(self, **given: Any) -> None:
        self.given, self.entries, self.summary, self.ended = given, list[tuple[int, dict[str, float]]](), {}, False

    def log(self, values: dict[str, float], *, step: int) -> None:
        assert not self.ended
        self.entries.append((step, values))

    def finish(self) -> None:
        self.ended = True

    def values(self, name: str) -> list[tuple[int, float]]:
        return [(step, values[name]) for step, values in self.entries if name in values]


@pytest.fixture
def boards(monkeypatch: pytest.MonkeyPatch) -> list[Board]:
    """Every run that was begun there."""
    begun: list[Board] = []

    def init(**given: Any) -> Board:
        begun.append(Board(**given))
        return begun[-1]

    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(init=init))
    return begun


def test_log_curve_gates_settings_and_result_go_there(tmp_path: Path, boards: list[Board]) -> None:
    settings = {**WATCHED, "run.phases": "ppo,ppo"}
    result = train(GAME, out=tmp_path / "run", decisions=[2 * ROLLOUT] * 2, seed=7, config_overrides=settings)
    train(resume=result.folder)
    board, again = boards
    assert again.given["id"] == board.given["id"]
    assert again.ended
    assert (board.given["project"], board.given["name"], board.given["resume"]) == ("cards", "run", "allow")
    assert board.given["config"]["ppo"]["tables"] == 32
    assert (board.given["config"]["game"], board.given["config"]["seed"]) == ("kuhn-v0", 7)
    for row in log_of(result.folder):
        assert (int(row["decisions"]), pytest.approx(float(row["train/loss"]), rel=1e-4)) in board.values("train/loss")
    curve = json.loads((result.folder / "curve.json").read_bytes())
    shares = [(point["decisions"], point["win_share"]) for point in curve["points"]]
    assert [step for step, _ in shares] == [step for step, _ in board.values("curve/win_share")]
    gate = result.phases[1].gate
    assert gate is not None
    assert board.values("gate/lead") == [(4 * ROLLOUT, gate.lead)]
    own = result.reports[0].agents[0]
    assert board.summary["evaluation/random/win_share"] == own.win_share.mean
    assert board.ended


def test_without_its_library_nothing_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    words = (
        r"run\.wandb is 'cards', and wandb is not installed: pip install 'backalley\[wandb\]'; or leave run\.wandb out"
    )
    with pytest.raises(TrainingError, match=words):
        train(GAME, out=tmp_path / "run", decisions=ROLLOUT, config_overrides=WATCHED)
    assert not (tmp_path / "run").exists()


def test_a_board_that_refuses_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**given: Any) -> Any:
        raise RuntimeError("api_key not configured (no-tty).\nRun wandb login.")

    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(init=init))
    words = (
        r"did not take the run: api_key not configured \(no-tty\)\. Run wandb login\. Put it right, or set WANDB_MODE"
    )
    with pytest.raises(TrainingError, match=words):
        train(GAME, out=tmp_path / "run", decisions=ROLLOUT, config_overrides=WATCHED)
    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(init=Board))
    train(resume=tmp_path / "run")
