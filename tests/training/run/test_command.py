"""`backalley train`: what it hands on, what it prints, how it is stopped."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from backalley.training.config import config
from backalley.training.config.phases import TrainingError
from backalley.training.train import train
from tests.common.commands import process, run
from tests.common.tiny_runs import GAME, ROLLOUT, TINY, log_of

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

    def output_of(*words: str) -> str:
        done = process(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    output_of("train", "backalley.examples.kuhn", "--out", "run", "--decisions", "512", *SETTINGS)
    assert "from 512 decisions on in run" in output_of("train", "--resume", "run", "--decisions", "1024")
    facts = json.loads((tmp_path / "run" / "policy" / "policy.json").read_bytes())
    assert facts["made"]["decisions"] == 1024
    assert facts["name"] in output_of("evaluate", "backalley.examples.kuhn", "run", "random", "--deals", "16")


# Weights & Biases, whose library a stub stands for --------------------------------------------------------------------

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


class LocalBoard:
    """A run of Trackio, which has no summary."""

    def __init__(self, *, project: str, name: str, resume: str, config: dict[str, Any]) -> None:
        self.given, self.entries, self.ended = (
            (project, name, resume),
            list[tuple[int | None, dict[str, float]]](),
            False,
        )

    def log(self, values: dict[str, float], step: int | None = None) -> None:
        self.entries.append((step, values))

    def finish(self) -> None:
        self.ended = True


def test_trackio_takes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[LocalBoard] = []

    def init(**given: Any) -> LocalBoard:
        begun.append(LocalBoard(**given))
        return begun[-1]

    monkeypatch.setitem(sys.modules, "trackio", types.SimpleNamespace(init=init))
    result = train(
        GAME, out=tmp_path / "run", decisions=ROLLOUT, config_overrides={**WATCHED, "run.wandb": "trackio:cards"}
    )
    train(resume=result.folder)
    first, again = begun
    assert first.given == again.given
    assert (first.given[0], first.given[1][:4], first.given[2]) == ("cards", "run-", "allow")
    assert any("curve/win_share" in values for _, values in first.entries)
    assert any(name.startswith("evaluation/") for name in first.entries[-1][1])
    assert first.ended
    monkeypatch.setitem(sys.modules, "trackio", None)
    with pytest.raises(
        TrainingError, match=r"run.wandb is 'trackio:cards', and trackio is not installed: pip install 'back"
    ):
        train(
            GAME, out=tmp_path / "other", decisions=ROLLOUT, config_overrides={**WATCHED, "run.wandb": "trackio:cards"}
        )


def test_without_its_library_nothing_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    words = (
        r"run\.wandb is 'cards', and wandb is not installed: pip install 'backalley\[wandb\]'; or leave run\.wandb out"
    )
    with pytest.raises(TrainingError, match=words):
        train(GAME, out=tmp_path / "run", decisions=ROLLOUT, config_overrides=WATCHED)
    assert not (tmp_path / "run").exists()


def test_a_board_that_refuses_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
