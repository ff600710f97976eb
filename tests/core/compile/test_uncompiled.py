"""The process beside, in which tests are played uncompiled: whatever goes wrong there goes wrong here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from backalley.envs.core.compile.kernel import COMPILED
from tests import ROOT
from tests.common.uncompiled import Beside

TESTS = """
import os, sys, time, warnings
import pytest

met = []

def test_good(tmp_path):
    assert os.environ["NUMBA_DISABLE_JIT"] == "1"
    assert tmp_path.is_dir()
    met.append(os.getpid())

@pytest.mark.parametrize("number", [1, 2])
def test_same(number):
    assert len(set(met)) == 1, "another process, or the module again"

def test_bad():
    found = ["deuce", "trey"]
    assert found == ["deuce", "four"], "the pack is short"

def test_warns():
    warnings.warn("a doubtful deal")

def test_skips():
    pytest.skip("no cards")

@pytest.fixture
def broken():
    raise RuntimeError("the table fell over")

def test_without_a_table(broken):
    pass

@pytest.fixture
def left():
    yield
    raise RuntimeError("cards left on the floor")

def test_untidy(left):
    pass

def test_dies():
    os._exit(7)

def test_hangs():
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    root = tmp_path_factory.mktemp("beside")
    (root / "test_some.py").write_text(TESTS)
    (root / "test_wrong.py").write_text("def test_it():\n    pass\n\nraise RuntimeError('no such game')\n")
    (root / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    made = Beside(root)
    yield made
    made.close()


def test_what_passes_there_passes_here_and_the_process_stays(beside: Beside) -> None:
    for name in ("test_good", "test_same[1]", "test_good", "test_same[2]"):
        beside.run(f"test_some.py::{name}")


@pytest.mark.parametrize(
    ("name", "sentences"),
    [
        ("test_some.py::test_bad", ["the pack is short", "At index 1 diff: 'trey' != 'four'", "test_some.py:18"]),
        ("test_some.py::test_warns", ["UserWarning: a doubtful deal"]),
        ("test_some.py::test_without_a_table", ["RuntimeError: the table fell over"]),
        ("test_some.py::test_untidy", ["RuntimeError: cards left on the floor"]),
        ("test_some.py::test_missing", ["has no test test_some.py::test_missing"]),
        ("test_wrong.py::test_it", ["RuntimeError: no such game"]),
    ],
)
def test_what_fails_there_fails_here_in_the_same_words(beside: Beside, name: str, sentences: list[str]) -> None:
    with pytest.raises(pytest.fail.Exception) as failure:
        beside.run(name)
    for words in sentences:
        assert words in str(failure.value)
    beside.run("test_some.py::test_good")


def test_what_is_skipped_there_is_skipped_here(beside: Beside) -> None:
    with pytest.raises(pytest.skip.Exception, match="no cards"):
        beside.run("test_some.py::test_skips")


def test_a_death_fails_the_test_that_died_and_the_next_has_a_new_process(beside: Beside) -> None:
    beside.run("test_some.py::test_good")
    with pytest.raises(pytest.fail.Exception, match="killed its process, which ended with status 7"):
        beside.run("test_some.py::test_dies")
    beside.run("test_some.py::test_good")


def test_a_test_that_hangs_is_ended(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    beside.run("test_some.py::test_good")
    monkeypatch.setattr(beside, "longest", 0.2)
    with pytest.raises(pytest.fail.Exception, match=r"not over after 0\.2 seconds"):
        beside.run("test_some.py::test_hangs")
    monkeypatch.undo()
    beside.run("test_some.py::test_good")


@pytest.mark.uncompiled
def test_a_mark_is_enough() -> None:
    assert not COMPILED


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="every test is played here then")
def test_a_marked_test_that_fails_is_counted_as_failed(tmp_path: Path) -> None:
    """From the mark to pytest's last line."""
    (tmp_path / "test_doomed.py").write_text(
        "import pytest\nfrom backalley.envs.core.compile.kernel import COMPILED\n\n"
        "@pytest.mark.uncompiled\n@pytest.mark.parametrize('wanted', [True, False])\n"
        "def test_it(wanted):\n    assert COMPILED == wanted, 'so it is'\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", ROOT / "pyproject.toml"]
    options = ["-o", "addopts=", "--rootdir", tmp_path, "-p", "no:cacheprovider", tmp_path]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    done = subprocess.run([*command, *options], capture_output=True, text=True, env=env, cwd=tmp_path, check=False)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stderr
    assert "AssertionError: so it is" in done.stdout, done.stdout
    assert "1 failed, 1 passed" in done.stdout
