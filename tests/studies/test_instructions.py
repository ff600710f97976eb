"""Counted instructions: what is compared with the kept results, and what is played."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.benchmarks.studies.play import instructions as counted
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
