"""The progress of long commands: it fits a terminal, breaks no word, and says little in a file."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from backalley.console import progress as shown
from backalley.console.progress import Progress, cut, progress_bar

WORDS = "1,234,567,890 decisions, 123,456 samples/s, bot:exceptionally_long_name 61 %, bot:b 99 %"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(shown.time, "monotonic", lambda: now[0])
    return now


def lines(progress: Progress, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None, force_terminal=True).print(progress)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("what", ["deals", "killer_bridge-v0"])
@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_it_fits_and_breaks_no_word(clock: list[float], what: str, width: int) -> None:
    progress = Progress(what)
    progress(100, 1000, WORDS)
    clock[0] += 10
    progress(450, 1000, WORDS)
    (line,) = lines(progress, width)
    assert len(line) <= width
    assert " 45 %" in line
    assert "0:00:16 left" in line, "550 at 35 a second"
    assert "━" in line
    rest = line.partition("left")[2].split()
    assert rest == WORDS.split()[: len(rest)] or rest[-1] + "," == WORDS.split()[len(rest) - 1]
    if width >= 80:
        assert line.startswith(what)
        assert "1,234,567,890 decisions" in line
    if width == 200:
        assert line.endswith("99 %")


def test_it_says_that_it_compiles_until_it_is_called(clock: list[float]) -> None:
    progress = Progress("deals")
    clock[0] += 12
    assert lines(progress, 80) == ["deals 0:00:12 compiling what is not compiled yet"]


def test_compiling_does_not_count_in_the_time_left(clock: list[float]) -> None:
    progress = Progress("deals")
    clock[0] += 1000
    progress(0, 100)
    assert progress.left == "-:--:-- left"
    clock[0] += 1
    progress(50, 100)
    assert progress.left == "0:00:01 left"
    assert progress.words == "50 of 100"
    progress(120, 100)
    assert (progress.left, progress.share) == ("0:00:00 left", 1.0), "an update may go beyond the budget"


def test_work_that_starts_over_is_timed_anew(clock: list[float]) -> None:
    progress = Progress("kuhn-v0")
    progress(0, 10)
    clock[0] += 100
    progress(10, 10)
    progress(0, 4, "against the bots")
    clock[0] += 1
    progress(1, 4, "against the bots")
    assert progress.left == "0:00:03 left"


def test_deals_between_do_not_count_as_training(clock: list[float]) -> None:
    """500 deals of a learning curve come between 600 and 610 of 1,500 seconds of training."""
    progress = Progress("pitch")
    for done, total in ((0, 1500), (600, 1500), (0, 500), (500, 500), (600, 1500), (610, 1500)):
        clock[0] += 10
        progress(done, total)
    assert progress.left == "0:14:50 left", "890 at 1 a second"


def test_a_file_gets_a_line_now_and_then(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("deals") as progress:
        for done in range(0, 101):
            clock[0] += 1
            progress(done, 100)
    assert capsys.readouterr().err.splitlines() == [
        "deals: 29 %, 0:01:11 left, 29 of 100",
        "deals: 59 %, 0:00:41 left, 59 of 100",
        "deals: 89 %, 0:00:11 left, 89 of 100",
    ]


def test_quiet_is_quiet(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("deals", quiet=True) as progress:
        clock[0] += 1000
        progress(1, 2)
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal")
def test_in_a_terminal_of_80_columns() -> None:
    pexpect = pytest.importorskip("pexpect")
    code = (
        "import time; from backalley.console.progress import progress_bar\n"
        "long = 'Again: backalley ' + 30 * '--set a=b '\n"
        "with progress_bar('killer_bridge-v0') as progress:\n"
        f"    for done in range(4): progress(done, 4, {WORDS!r}); progress.log(long); time.sleep(0.3)\n"
        "print('the end')\n"
    )
    child = pexpect.spawn(
        sys.executable, ["-W", "error", "-c", code], dimensions=(24, 80), timeout=60, encoding="utf-8"
    )
    out = child.read()
    assert child.wait() == 0
    assert "killer_bridge-v0" in out
    assert " 75 %" in out
    assert out.count("Again: backalley " + (30 * "--set a=b ").strip()) == 4, "in one piece"
    assert out.rstrip().endswith("the end")


@pytest.mark.parametrize(
    ("room", "kept"), [(-3, ""), (3, ""), (5, "some"), (6, "some"), (10, "some words"), (99, "some words here")]
)
def test_whole_words(room: int, kept: str) -> None:
    assert cut("some words here", room) == kept


@pytest.mark.parametrize(
    ("room", "kept"), [(7, "12"), (8, "12 deals"), (20, "12 deals"), (21, "12 deals, 45 a second")]
)
def test_what_stands_between_commas_stays_whole(room: int, kept: str) -> None:
    text = "12 deals, 45 a second, bot"
    assert cut(text, room) == kept
