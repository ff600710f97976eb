"""Other libraries beside ours: what is installed where, what is counted, and what is said of those that are absent."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backalley.benchmarks.studies.peers import pace, peers
from backalley.benchmarks.studies.peers.peers import PEERS, Peers


def test_every_library_has_games() -> None:
    """In a file that imports nothing of ours but for our own games: its environment has no numba."""
    assert all(inspect.isgeneratorfunction(getattr(pace, name)) for name in (*PEERS, "backalley"))
    text = Path(pace.__file__).read_text("utf-8").replace(inspect.getsource(pace.backalley), "")
    assert "backalley" not in text
    assert "from ." not in text


def test_decisions_are_counted_by_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(pace.time, "process_time", lambda: now[0])
    costs = iter([9.0, *[0.1] * 10, *[0.2] * 5, *[0.05] * 20])

    def play() -> int:
        now[0] += next(costs)
        return 10

    found = pace.pace(lambda: play, 0.95)
    assert found == pytest.approx({"median": 100, "low": 50, "high": 200}, rel=0.01)


def test_one_game_that_fails_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pace.os, "sched_setaffinity", lambda *given: None, raising=False)
    pace.show(iter([("broken", lambda: lambda: 1 // 0), ("steady", lambda: lambda: 1000)]), 0.001)
    said = capsys.readouterr().out
    monkeypatch.setattr(peers.subprocess, "run", lambda words, **rest: subprocess.CompletedProcess(words, 0, said, ""))
    games, failed = peers._play(Path(sys.executable), "rlcard", 0.001)
    assert [one["game"] for one in games] == ["steady"]
    assert games[0]["median"] > 1000
    assert failed == [{"game": "broken", "failed": "ZeroDivisionError: integer division or modulo by zero"}]


def test_ours_are_played_in_both_ways() -> None:
    names = [name for name, _ in pace.backalley()]
    assert {name.split()[1] for name in names} == set(peers.OURS)
    assert len(set(names)) == len(names) >= 18
    play = dict(pace.backalley())["backhand aec"]()
    assert 0 < play() < 10


class Commands:
    """Programs as they are called, with what they print."""

    def __init__(self, broken: str = "") -> None:
        self.called: list[list[str]] = []
        self.broken = broken

    def __call__(self, words: list[str], **rest: Any) -> subprocess.CompletedProcess[str]:
        self.called.append(words)
        if "venv" in words:
            Path(words[-1]).mkdir(parents=True)
        said = "[]"
        if "list" in words:
            said = json.dumps([{"name": "RL_Card", "version": "1.2.0"}, {"name": "rlcard", "version": "1.2.0"}])
        if words[-3].endswith("pace.py"):
            said = "a warning\n" + "".join(
                json.dumps({"game": "uno", "median": median, "low": 1.0, "high": 9e9}) + "\n" for median in (5e4, 7e4)
            )
        broken = bool(self.broken) and "install" in words
        error = '  File "/somewhere/a.py"\nurllib.error.URLError: <no name /a/b>\nnote: not a problem with pip.\n'
        return subprocess.CompletedProcess(words, int(broken), said, error if broken else "")


def test_an_environment_is_made_once_and_the_best_way_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = Commands()
    monkeypatch.setattr(peers.subprocess, "run", commands)
    row = peers._measured(PEERS["rlcard"], "rlcard", tmp_path / "rlcard", 0.1)
    assert (row["version"], [one["median"] for one in row["games"]]) == ("1.2.0", [7e4])
    assert [words[-1] for words in commands.called if "install" in words] == ["rlcard"]
    again = peers._measured(PEERS["rlcard"], "rlcard", tmp_path / "rlcard", 0.1)
    assert again == row
    assert len([words for words in commands.called if "venv" in words]) == 1


def test_what_does_not_install_is_a_sentence_without_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers.subprocess, "run", Commands(broken="install"))
    row = peers._measured(PEERS["pufferlib"], "pufferlib", tmp_path / "pufferlib", 0.1)
    assert row["absent"] == "pip could not install it here (URLError: <no name (place)>)."
    assert not (tmp_path / "pufferlib" / peers._INSTALLED).exists(), "it is tried again"
    games = [{"game": "uno", "median": 7e4}, {"game": "bridge", "median": 1500.0}]
    there = {"title": "RLCard", "way": "`env.step`", "version": "1.2.0", "games": games}
    found = Peers({"kind": "peers", "command": "", "peers": [row, there]})
    text = found.table()
    assert "RLCard 1.2.0" in text
    assert "uno 70, bridge 1.5" in text
    assert "PufferLib is not in the table: pip could not install it here" in text
