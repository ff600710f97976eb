"""Kills, forged files and faults, at a twentieth of what `backalley dev chaos` does."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from backalley.benchmarks.matches.seeding import roots
from backalley.benchmarks.studies.play import chaos, kills
from backalley.benchmarks.studies.play.first_tables import first_tables
from backalley.benchmarks.studies.play.flood import flood
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.catalogue import game
from tests.common.commands import run


@pytest.mark.slow
def test_nothing_is_lost_run_or_disturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chaos, "has_ray", lambda: False)  # `cluster-check` is the test that starts one
    words = ["--mutations", 1000, "--kills", 10, "--faults", 4, "--clicks", 0, "--seed", 7]
    done = run("dev", "chaos", *words, "--json", tmp_path / "chaos.json")
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "chaos.json").read_bytes())
    counts = {row["did"]: row["times"] for row in found["rows"]}
    assert {
        counts[did] for did in ("kills of tasks", "errors in one thread of a pool", "forks of a process with threads")
    } == {10}
    (left_out,) = [one for one in found["left_out"] if "Ray" in one]
    assert left_out == "Kills of tasks of Ray were left out: Ray is not installed."
    assert left_out in done.output


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are never forked here")
def test_what_is_lost_in_the_middle_of_work_is_done_again(tmp_path: Path) -> None:
    """Tasks that are killed, and pools of threads of which one fails, or whose process forks."""
    found = [
        kills.kill_tasks("kills", kills.Restarted(), tmp_path / "tasks", 3, random.Random(1)),
        kills.fail_threads(6, random.Random(1)),
        kills.fork_threads(2),
    ]
    assert [(row["held"], row["times"]) for row in found] == [(3, 3), (6, 6), (2, 2)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are never forked here")
def test_results_that_a_kill_changes_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = iter([0, 1])
    monkeypatch.setattr(kills, "roots", lambda space, seed: roots(space, next(seeds)))  # other deals
    found = kills.kill_tasks("kills", kills.Restarted(), tmp_path / "tasks", 3, random.Random(1))
    assert found["held"] == 0


@pytest.mark.slow
def test_a_first_table_is_measured_with_nothing_compiled() -> None:
    pytest.importorskip("uvicorn", reason="the extra web is not installed")
    pytest.importorskip("httpx", reason="a client is needed: httpx")
    found = first_tables([game("pitch")], hints=2).to_json()
    (one,) = found["games"]
    assert one["slowest_hint"] >= one["first_hint"] > 0 < one["deal"]
    assert found["hints"] == 2


@pytest.mark.slow
def test_a_player_is_answered_while_others_flood_the_server() -> None:
    """How fast is for `dev chaos` to say, on a machine of its own."""
    pytest.importorskip("uvicorn", reason="the extra web is not installed")
    pytest.importorskip("httpx", reason="a client is needed: httpx")
    found = flood(10)
    assert found["times"] == 10
    assert not found["trouble"]


@pytest.mark.parametrize(
    ("reads", "says"),
    [
        (lambda path: 1 // 0, "ZeroDivisionError"),
        (lambda path: __import__("canary"), "canary"),
        (lambda path: Path("/nowhere/canary").write_text(""), "open"),
        (lambda path: __import__("os").system("true"), "os.system"),
    ],
)
def test_a_reader_that_does_more_than_read_is_found(reads: object, says: str, tmp_path: Path) -> None:
    def read(path: Path) -> None:
        if path.read_bytes() != b"sound":
            reads(path)  # type: ignore[operator]

    kind = chaos.Kind("file", "file.txt", b"sound", read)
    found = chaos.mutate(kind, tmp_path / "changed", 20, random.Random(1))
    assert found["held"] < 20
    assert any(says in trouble for trouble in found["trouble"]), found


def test_a_sentence_of_ours_is_enough(tmp_path: Path) -> None:
    def read(path: Path) -> None:
        if path.read_bytes() != b"sound":
            raise InvalidValue("It is damaged.")

    found = chaos.mutate(chaos.Kind("file", "file.txt", b"sound", read), tmp_path / "changed", 20, random.Random(1))
    assert found["held"] == 20
