"""A run that is stopped or killed anywhere and resumed has the weights, log, gates and curve of one that was not."""

from __future__ import annotations

import csv
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from backalley.training.run import curve, gate, loop
from backalley.training.run.loop import TrainingLoop
from backalley.training.train import Stopped, train
from tests.common.tiny_runs import COUNTS, GAME, ROLLOUT, Killed, die, log_of, two_phases, weights


def gate_of(run: Path, phase: str = "2-ppo") -> dict[str, Any]:
    """What a gate found, without the stamp and the folder's own name."""
    found: dict[str, Any] = json.loads((run / "phases" / phase / "gate.json").read_bytes())
    return {name: found[name] for name in gate.Gate._fields}


def points(run: Path) -> list[dict[str, float]]:
    with open(run / "curve.csv", newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def timeless(run: Path) -> list[dict[str, float]]:
    return [{name: value for name, value in point.items() if not name.endswith("seconds")} for point in points(run)]


def same(run: Path, other: Path, missed: int = 0) -> None:
    """`missed` is the number of the point that a run was killed in."""
    assert weights(run) == weights(other)
    for phase in ("1-ppo", "2-ppo"):
        assert weights(run / "phases" / phase) == weights(other / "phases" / phase)
    assert log_of(run) == log_of(other)
    assert gate_of(run) == gate_of(other)
    assert timeless(run) == [one for one in timeless(other) if one["decisions"] != missed * ROLLOUT]


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


@contextmanager
def struck(where: Any, name: str, call: int, how: Callable[[], None]) -> Iterator[None]:
    """A function that Ctrl-C or a kill meets in its `call`-th call."""
    whole, calls = getattr(where, name), 0

    def meets(*given: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            how()
        return whole(*given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, meets)
        with pytest.raises(Stopped if how is ctrl_c else Killed):
            yield


@pytest.mark.parametrize(
    ("where", "name", "call", "how", "missed"),
    [
        (TrainingLoop, "step", 1, die, 0),
        (TrainingLoop, "step", 3, ctrl_c, 3),
        (TrainingLoop, "step", 5, ctrl_c, 0),
        (TrainingLoop, "step", 5, die, 0),
        (TrainingLoop, "step", 6, ctrl_c, 6),
        (TrainingLoop, "step", 6, die, 0),
        (TrainingLoop, "step", 8, die, 0),
        (TrainingLoop, "conclude", 1, die, 0),
        (TrainingLoop, "enter_next", 1, die, 0),
        (TrainingLoop, "enter", 2, die, 0),
        (TrainingLoop, "begin", 2, die, 0),
        (TrainingLoop, "save", 8, die, 0),
        (loop, "play_gate", 1, die, 0),
        (loop, "play_gate", 1, ctrl_c, 0),
        (gate, "verdict", 1, die, 0),
        (curve, "meet", 1, ctrl_c, 1),
        (curve, "meet", 1, die, 1),
        (curve, "meet", 5, die, 0),
        (curve, "meet", 7, die, 7),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)).rpartition(".")[2],
)
def test_a_resumed_run_equals_an_uninterrupted_one(
    two: Path, tmp_path: Path, where: Any, name: str, call: int, how: Callable[[], None], missed: int
) -> None:
    run = tmp_path / "run"
    with struck(where, name, call, how):
        two_phases(run, seed=7)
    if name == "play_gate" and how is ctrl_c:
        assert weights(run) == weights(two / "phases" / "1-ppo"), "what stood before stands"
    with open(run / "curve.csv", "a") as file:
        file.write(f"{10 * ROLLOUT},1")  # of later, and cut off in the midst
    assert train(GAME, resume=run).folder == run
    same(run, two, missed)


@pytest.mark.parametrize("where", [None, (loop, "play_gate"), (gate, "verdict")], ids=lambda where: where and where[1])
def test_a_larger_budget_takes_the_last_phase_further(two: Path, tmp_path: Path, where: Any) -> None:
    """Also where its gate, which is played again, is killed."""
    run = two_phases(tmp_path / "run", [COUNTS[0], ROLLOUT], seed=7)
    assert weights(run / "phases" / "2-ppo") != weights(two / "phases" / "2-ppo")
    if where is not None:
        with struck(*where, 1, die):
            train(GAME, resume=run, decisions=COUNTS)
    train(GAME, resume=run, decisions=sum(COUNTS))
    same(run, two)
