"""What a decision costs: instructions that are counted, and nanoseconds of its parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.benchmarks.studies.speed import decision_parts as parts
from backalley.benchmarks.studies.speed import instructions as counted
from tests.common.commands import run

GAME = "backalley.examples.kuhn"


def rows(**instructions: float) -> list[dict[str, Any]]:
    return [{"measured": name, "instructions": number, "mispredicted": 1.5} for name, number in instructions.items()]


def test_the_command_names_what_takes_more_than_the_kept_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, made = tmp_path / "kept.json", tmp_path / "made.json"
    monkeypatch.setattr(counted, "_RESULTS", kept)
    monkeypatch.setattr(counted.shutil, "which", lambda name: name)
    monkeypatch.setattr(counted.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(counted, "_of_game", lambda game: rows(batch=100.0, loop=200.0))
    first = run("dev", "study", "instructions", GAME, "--json", str(kept))
    assert first.exit_code == 0, first.output
    monkeypatch.setattr(counted, "_of_game", lambda game: rows(batch=102.9, loop=206.1, other=9.0))
    done = run("dev", "study", "instructions", GAME, "--json", str(made))
    assert done.exit_code == 1, "the loop takes more"
    assert "Dearer than kept: kuhn-v0, loop (1.030 times)." in done.output
    assert [row["instructions"] for row in json.loads(made.read_text())["rows"]] == [102.9, 206.1, 9.0]


@pytest.mark.parametrize(("tool", "machine"), [(None, "x86_64"), ("valgrind", "arm64")])
def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tool: str | None, machine: str) -> None:
    monkeypatch.setattr(counted.shutil, "which", lambda name: tool)
    monkeypatch.setattr(counted.platform, "machine", lambda: machine)
    done = run("dev", "study", "instructions", GAME)
    assert done.exit_code != 0
    assert "counted by valgrind on an x86-64 processor" in done.output


def test_the_same_decisions_are_played_again() -> None:
    """What is counted is the second time."""
    game = backalley.game(GAME)
    for measured in ("batch of 64", "the same with events"):
        number, prepare, play = counted.PLAYS[measured](game)
        assert number == 64 * counted.STEPS
        seen = []
        for _ in range(2):
            prepare()
            seen.append(play()[-1].observation.copy())
        assert np.array_equal(*seen)
    number, prepare, play = counted.PLAYS["AEC loop"](game)
    assert counted.STEPS < number < 10 * counted.STEPS, "some turns only begin another episode"
    for _ in range(2):
        prepare()
        play()
    number, _, play = counted.PLAYS["decision of `search:8`"](game)
    assert number == len(play()) == 16


def test_a_decision_is_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts and the rest are the kernel, and Python and the kernel are the whole; steps are played again exactly."""
    monkeypatch.setattr(parts, "TABLES", {1: 20, 8: 5})
    monkeypatch.setattr(parts, "_POSITIONS", 32)
    monkeypatch.setattr(parts, "_STREAMED", 1 << 16)
    played = []

    def least(run: Any, repeats: int, before: Any = lambda: None) -> float:
        """Each takes as many nanoseconds as it is late in the order of what is timed."""
        before()
        run()
        played.append(run)
        return float(1000 * len(played))

    monkeypatch.setattr(parts, "_least", least)
    path = tmp_path / "parts.json"
    done = run("dev", "study", "parts", GAME, "--json", str(path))
    assert done.exit_code == 0, done.output
    found = json.loads(path.read_text())["rows"]
    assert [row["tables"] for row in found] == [1, 8]
    for row in found:
        kernel = sum(row[name] for name in ("step", "legal", "observe", "zero", "shuffle", "rest"))
        assert kernel + row["python"] == pytest.approx(row["together"])
        assert row["writing"] > 0
    assert "writing alone" in done.output
