"""The measurement of what events cost, and the memory asked for ahead, which makes them cheap."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from backalley.benchmarks.studies.speed import events_cost as measured
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.compile.memory import prefetch
from tests.common.commands import run


def test_the_command_compares_tables_with_events_and_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {False: 1.0, True: 1.25}
    monkeypatch.setattr(measured, "FLOOR_TABLES", 16)
    turns = []

    def turn(play: measured.RandomPlay) -> float:
        play.step()
        turns.append(play.tables.engine.history is not None)
        return costs[turns[-1]]

    monkeypatch.setattr(measured, "_turn", turn)
    path = tmp_path / "events.json"
    done = run("dev", "study", "events", "backalley.examples.kuhn", "--pairs", "3", "--json", str(path))
    assert done.exit_code == 0, done.output
    assert turns[: -2 * 3] == [False] * measured.WARM_UP + [True] * measured.WARM_UP
    assert turns[-2 * 3 :] == [True, False, False, True, True, False]
    (found,) = json.loads(path.read_text())["games"]
    assert found["ratio"]["mean"] == pytest.approx(0.8)
    assert "0.80" in done.output
    assert f"Again: backalley dev study events backalley.examples.kuhn --pairs 3 --json {path}" in done.output


@kernel
def ask(entries: npt.NDArray[np.int16], row: int, at: int) -> None:
    prefetch(entries, row, at)


@pytest.mark.parametrize("at", [0, -1, 10**6])
def test_memory_asked_for_ahead_stays_as_it_is(at: int) -> None:
    """Also at places that do not exist: a table's next event may be the first of a row that is yet to be made."""
    entries = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    ask(entries, 1, at)
    assert entries.tolist() == np.arange(24).reshape(2, 3, 4).tolist()
