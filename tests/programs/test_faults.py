"""Faults of programs and of language models' servers: each is answered in time, and in a sentence."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from backalley.agents.programs.process import Process, ProgramFailed
from backalley.agents.registry import agent
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.rules_to_code.programs import Player
from backalley.benchmarks.studies.play.faults import FAULTS, Fault, drawn, run_faults, try_fault
from backalley.benchmarks.studies.play.faults.run import PROGRAM
from backalley.benchmarks.studies.play.faults.server import FaultyServer
from backalley.console.errors import InvalidValue
from backalley.examples import kuhn

KUHN = kuhn.GAME.bind()


def fault(side: str, name: str) -> Fault:
    return next(one for one in FAULTS if (one.side, one.name) == (side, name))


@pytest.mark.slow
def test_every_fault_is_answered_in_time() -> None:
    found = run_faults(1)
    assert len({(one.fault.side, one.fault.name) for one in found}) == len(FAULTS) >= 60
    assert [one for one in found if one.trouble] == []


def test_faults_follow_from_the_seed() -> None:
    few = [drawn(seed, 3) for seed in (1, 1, 2)]
    assert few[0] == few[1] != few[2]
    assert len({one for one, _, _ in drawn(3, len(FAULTS) + 2)}) == len(FAULTS)


@pytest.mark.parametrize(
    ("side", "name", "at"),
    [
        ("cmd", "wants many tables", 0),
        ("cmd", "leaves a daemon", 1),
        ("cmd", "writes UTF-16", 1),
        ("llm", "knows no such address", 0),
        ("llm", "hangs up in the body", 1),
        ("llm", "nests", 1),
        ("llm", "sends blanks first", 0),
    ],
)
def test_a_fault_is_answered(side: str, name: str, at: int) -> None:
    assert try_fault(fault(side, name), at=at, tables=2, limit=5.0).trouble == ""


def test_what_is_wrong_with_a_fault_is_found() -> None:
    """Where other things happen than the table says, the outcome has it."""
    harmless, wrong = fault("cmd", "mends itself"), fault("cmd", "is illegal")
    assert "were forfeited" in try_fault(wrong._replace(when="harmless")).trouble
    assert "were forfeited" in try_fault(harmless._replace(when="play")).trouble
    assert "nothing was said" in try_fault(wrong._replace(said="else")).trouble
    assert "was refused" in try_fault(fault("cmd", "wants many tables")._replace(when="play")).trouble


# Programs ------------------------------------------------------------------------------------------------------------

DAEMON = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if (pid := os.fork()) == 0:
        import time
        time.sleep(60)
    open(sys.argv[1], "w").write(str(pid))
    os._exit(0)
os.wait()
print("{}", flush=True)
"""
posix = pytest.mark.skipif(os.name != "posix", reason="there are no daemons")


@posix
def test_nobody_waits_for_a_daemon(tmp_path: Path) -> None:
    """It holds all our pipes when its program has ended, and still does when we have gone on."""
    file = tmp_path / "pid"
    words = [sys.executable, "-I", "-S", "-c", DAEMON, str(file)]
    process = Process(words, "daemon")
    assert process.receive(20) == b"{}"
    with pytest.raises(ProgramFailed, match="ended with exit status 0"):
        process.receive(60)
    process.close()
    os.kill(int(file.read_text()), signal.SIGKILL)  # which would raise if it were gone
    candidate = Player(words, "candidate", 20.0)  # as `score-rules` asks one
    assert candidate.ask({}) == {}
    candidate.close()
    os.kill(int(file.read_text()), signal.SIGKILL)


@pytest.mark.slow
@posix
def test_a_match_ends_though_a_daemon_is_left(tmp_path: Path) -> None:
    report = evaluate(KUHN, [f"cmd:{sys.executable} -I -S {PROGRAM} 'leaves a daemon and ends' 1 8", "random"], deals=2)
    assert report.agents[0].forfeits == 4


@posix
def test_what_a_program_says_last_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    process = Process([sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read(); sys.exit('bye')"], "mine")
    process.close()
    assert "mine: bye" in capfd.readouterr().err


# Servers of language models -------------------------------------------------------------------------------------------


def test_a_key_goes_to_no_other_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    refused = pytest.raises(InvalidValue, match="redirects are not followed")
    with FaultyServer("points elsewhere", 0) as server, refused:
        agent(f"llm:{server.url}#model", KUHN)
    assert server.elsewhere == 0


@pytest.mark.parametrize(
    ("key", "url", "why"),
    [
        ("sk-mine", "http://models.example/v1", "models.example over http, .* https, or to this machine"),
        ("sk-mine\n", "https://models.example/v1", "a character that no key has"),
        ("", "http://127.0.0.1:9/v1 x", "does not answer .* control characters"),
        ("", "http://[::1/v1", "does not answer"),
    ],
)
def test_an_address_or_a_key_that_is_wrong_is_an_error_before_play(
    monkeypatch: pytest.MonkeyPatch, key: str, url: str, why: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(InvalidValue, match=why) as error:
        agent(f"llm:{url}#model", KUHN)
    assert "sk-mine" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["drips its head", "drips its body", "drips a chunk's size", "always says continue"])
def test_an_answer_that_has_begun_must_end_soon(name: str) -> None:
    """However long a decision may take."""
    outcome = try_fault(fault("llm", name), at=0, limit=60.0)
    assert outcome.trouble == ""
    assert "began and did not end within 4 s" in outcome.said[0]


@pytest.mark.slow
def test_a_server_that_thinks_long_is_waited_for() -> None:
    assert "no answer for 4.5 s" in try_fault(fault("llm", "is silent in the body"), at=1, limit=4.5).said[0]
