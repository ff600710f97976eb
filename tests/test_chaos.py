"""Kills, forged files and faults, at a twentieth of what `backalley dev chaos` does."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from backalley.benchmarks.studies.play import chaos
from backalley.benchmarks.studies.play.flood import flood
from backalley.console.errors import InvalidValue
from tests.commands import run


@pytest.mark.slow
def test_nothing_is_lost_run_or_disturbed() -> None:
    done = run("dev", "chaos", "--mutations", 1000, "--kills", 10, "--faults", 4, "--clicks", 0, "--seed", 7)
    assert done.exit_code == 0, done.output


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
