"""Programs at the table: what they are shown, what they answer, and what becomes of those that fail."""

from __future__ import annotations

import functools
import gc
import http.server
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.base.agent import View, read_events, view_of
from backalley.agents.people.watching import turns
from backalley.agents.programs import program_agent
from backalley.agents.programs.process import Process, ProgramFailed
from backalley.agents.programs.program_agent import ProgramAgent
from backalley.agents.programs.protocol import NEW_PARTS, PARTS, Question, hello, read_hello, read_line
from backalley.agents.registry import agent
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.report import Report
from backalley.benchmarks.matches.tournament import tournament
from backalley.benchmarks.studies.play.faults.run import PROGRAM as FAULTY
from backalley.console.errors import InvalidValue
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.game_state import _known
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.envs.core.text import observation_text
from backalley.examples import kuhn
from tests.common.cases import GAMES
from tests.common.commands import ROOT, run

BY_NAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
KUHN = kuhn.GAME.bind()
EXAMPLES = ROOT / "docs" / "guides" / "programs"
PYTHON = f"{sys.executable} -I -S"


def faulty(what: str, until: int = 1, at_once: int = 1, file: object = "") -> str:
    return f"cmd:{PYTHON} {FAULTY} {what!r} {until} {at_once} {file}"


def played(spec: Any, deals: int = 8) -> Report:
    return evaluate(KUHN, [spec, "random"], deals=deals)


class At:
    """Plays the first or the last legal action, as two of the examples do."""

    name = "at"

    def __init__(self, last: bool) -> None:
        self.last = last

    def act(self, view: View) -> npt.NDArray[np.int64]:
        mask = view.action_mask
        return mask.shape[1] - 1 - mask[:, ::-1].argmax(1) if self.last else mask.argmax(1)


# What is said --------------------------------------------------------------------------------------------------------


def some_way_in(game: Game, tables: int) -> BatchEnv:
    """Tables with their histories, at different points of random play."""
    batch = BatchEnv(game, tables, seed=3, events=True)
    batch.reset()
    for step in range(4 * tables):
        rows = np.arange(step // 4, tables)
        mask = batch.time_step.action_mask[rows]
        batch.step((mask * np.random.default_rng(step).random(mask.shape)).argmax(1), rows)
    return batch


def all_lines(batch: BatchEnv) -> list[bytes]:
    rows = np.arange(batch.num_envs)
    view = view_of(batch, rows, rows.astype(np.uint64))
    return [Question(view, int(row)).line(1, frozenset(PARTS + NEW_PARTS)) for row in rows]


@BY_NAME
def test_no_byte_depends_on_what_a_seat_cannot_see(game: Game) -> None:
    batch = some_way_in(game, 6)
    before, engine = all_lines(batch), batch.engine
    state, seats = engine.batch.state, batch.time_step.seat.astype(np.int64)
    truth = state.copy()
    engine.determinize(state, seats, np.arange(10, 16, dtype=np.uint64))
    assert (state != truth).any() or game.num_seats == 1, "nothing was hidden, so nothing was tested"
    history = engine.history
    assert history is not None
    for row, seat in enumerate(seats.tolist()):
        kept = np.frombuffer(
            _known(history.seen_as, history.entries[row, : history.filled[row]].tobytes(), seat), np.int16
        )
        history.filled[row] = len(kept) // 4
        history.entries[row, : len(kept) // 4] = kept.reshape(-1, 4)
    assert all_lines(batch) == before


@BY_NAME
def test_a_request_is_the_seats_observation_and_mask(game: Game) -> None:
    batch = some_way_in(game, 2)
    for row, line in enumerate(all_lines(batch)):
        found = json.loads(line)
        flat = [number for field in found["observation"].values() for number in np.array(field).reshape(-1).tolist()]
        assert np.array_equal(flat, batch.time_step.observation[row])
        assert [one["action"] for one in found["legal"]] == np.flatnonzero(batch.time_step.action_mask[row]).tolist()
        assert found["text"] == observation_text(batch.position(row), found["seat"])
        assert found["events"] == batch.events(rows=[row]).events[0].tolist()
        assert (found["events_before"], found["new_events"], found["new_text"]) == (0, found["events"], found["text"])
    about = json.loads(hello(game))
    assert len(about["actions"]) == game.num_actions
    assert list(about["observation"]) == list(found["observation"])


def test_a_program_learns_of_its_tables_and_their_ends(tmp_path: Path) -> None:
    file = tmp_path / "messages"
    report = played(faulty("plays", 1, 4, file))
    messages = [json.loads(line) for line in file.read_text().splitlines()]
    acts, ends = ([one for one in messages if one["type"] == kind] for kind in ("act", "end"))
    assert len(ends) == len({one["table"] for one in ends}) == 16
    assert {one["table"] for one in acts} <= {one["table"] for one in ends}
    assert np.mean([one["return"] for one in ends]) == pytest.approx(report.agents[0].mean_return.mean)
    assert report.agents[0].forfeits == 0
    assert "forfeited no game" in report.table()


def test_equal_matches_ask_for_the_same_whatever_is_open_at_once(tmp_path: Path) -> None:
    found = []
    for at_once in (1, 16):
        file = tmp_path / str(at_once)
        played(faulty("plays", 1, at_once, file))
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        found.append(sorted(json.dumps(line | {"id": 0}) for line in lines))
    assert found[0] == found[1]


# What is answered ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"type": "hello", "protocol": 2}', "speaks protocol 2; .* is 1"),
        (b'{"type": "hello", "protocol": true}', "protocol True"),
        (b'{"type": "hi", "protocol": 1}', "first line is .*hi"),
        (b"hello", "no JSON"),
        (b"[1]", "no JSON object"),
        (b"\xff\xfe", "no JSON"),
        (b'{"type": "hello", "protocol": 1, "wants": ["state"]}', "wants .*state"),
        (b'{"type": "hello", "protocol": 1, "wants": [["text"]]}', "wants"),
        (b'{"type": "hello", "protocol": 1, "at_once": 0}', "at_once 0"),
        (b'{"type": "hello", "protocol": 1, "name": "a\\u001b[2Jb"}', "name"),
        (b'{"type": "hello", "protocol": 1, "name": 7}', "name"),
    ],
)
def test_a_wrong_hello_is_refused_in_a_sentence(line: bytes, why: str) -> None:
    with pytest.raises(ProgramFailed, match=why):
        read_hello(line)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{}", "takes .action."),
        (b'{"action": null}', "takes .action."),
        (b'{"action": 1.5}', "takes .action."),
        (b'{"id": "1", "action": 1}', "id 1"),
        (b'{"action": ' + b"[" * 5000 + b"]" * 5000 + b"}", "."),
        (b'{"action": 1' + b"0" * 5000 + b"}", "no JSON"),
    ],
)
def test_what_is_no_answer_is_refused_in_a_sentence(line: bytes, why: str) -> None:
    with pytest.raises(ProgramFailed, match=why):
        read_line(line)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("cmd:", "form cmd:PROGRAM"),
        ("cmd:'./mine", "quot"),
        ("cmd:30s:", "names no program"),
        ("cmd:./there-is-no-such-program", r"cannot be started: No such file or directory\.$"),
        (faulty("is of another version"), "speaks protocol 2"),
        *[
            (f"cmd:{wrong}:true", f"limit of a decision is {wrong}")
            for wrong in ("0s", "-1s", "nans", "infs", "86401s")
        ],
        ("cmd:86401s:true", "The limit of a decision is 86401s; it takes more than 0s and at most"),
        ("llm:http://127.0.0.1:9/v1#none", r"http://127\.0\.0\.1:9/v1 does not answer .*refused"),
        ("llm:localhost:8000#model", "address of a server"),
        ("llm:http://localhost:8000/v1", "address of a server"),
    ],
)
def test_what_cannot_be_started_is_refused_before_anything_is_played(spec: str, why: str) -> None:
    with pytest.raises(InvalidValue, match=why):
        agent(spec, KUHN)


def test_a_time_limit_stands_before_the_command() -> None:
    found = agent(f"cmd:7.5s:{PYTHON} {FAULTY} plays 1", KUHN)
    assert isinstance(found, ProgramAgent)
    assert found.seconds == 7.5
    assert found.name.startswith("cmd:7.5s:")
    found.close()


# Forfeits ------------------------------------------------------------------------------------------------------------


def test_one_that_fails_forfeits_and_the_match_goes_on(capfd: pytest.CaptureFixture[str]) -> None:
    """What else may fail is in the table that `test_faults.py` goes through."""
    report = played(faulty("answers another", 6, 2))
    assert report.complete
    assert 0 < (report.agents[0].forfeits or 0) < 16
    assert "forfeits" in capfd.readouterr().err
    assert report.measured()["agents"][0]["forfeits"] == report.agents[0].forfeits
    assert f"forfeited {report.agents[0].forfeits} games" in report.table()


def test_from_its_forfeit_on_a_seat_plays_at_random(capfd: pytest.CaptureFixture[str]) -> None:
    """Decision by decision as the agent `random` with the same keys: nobody else's return is touched."""
    report, random = played(faulty("crashes")), played("random")
    assert report.agents[0].mean_return == random.agents[0].mean_return
    assert report.agents[0].forfeits == 16
    said = capfd.readouterr().err
    assert "exit status 1 after saying: no more" in said
    assert "5 times in a row" in said


def test_silence_is_a_forfeit_after_the_time_limit(capfd: pytest.CaptureFixture[str]) -> None:
    silent = agent(faulty("is silent", 1, 16), KUHN)
    assert isinstance(silent, ProgramAgent)
    silent.seconds = 0.05  # from here on: a slow machine takes longer to start it
    assert played(silent, 2).agents[0].forfeits == 4
    silent.close()
    assert "gave no answer for 0.05 s" in capfd.readouterr().err


def test_an_illegal_action_is_explained_once() -> None:
    assert played(faulty("mends itself")).agents[0].forfeits == 0


@pytest.mark.slow
def test_a_tournament_says_who_forfeited() -> None:
    ranking = tournament(KUHN, ["random", faulty("crashes"), "random"], deals=2)
    assert ranking.forfeits == [None, 8, None]
    assert [one.get("forfeits") for one in ranking.measured()["agents"]] == [None, 8, None]
    assert "forfeited 8 games" in ranking.table()


# Its process ---------------------------------------------------------------------------------------------------------


def test_a_program_ends_with_its_agent() -> None:
    for ends in (ProgramAgent.close, lambda made: None):
        made = agent(faulty("plays"), KUHN)
        assert isinstance(made, ProgramAgent)
        assert made._process is not None
        running = made._process._popen
        ends(made)
        del made
        gc.collect()
        assert running.returncode is not None


def test_a_program_plays_in_a_gymnasium_environment_and_in_its_copies(tmp_path: Path) -> None:
    file = tmp_path / "messages"
    env = gymnasium.make("backalley/PokerDuel-v0", opponent=faulty("plays", 1, 1, file))
    _, info = env.reset(seed=0)
    before = len([line for line in file.read_text().splitlines() if '"act"' in line])
    for played_on in (env, pickle.loads(pickle.dumps(env.unwrapped))):
        over, mask = False, info["action_mask"]
        while not over:
            _, _, over, _, step_info = played_on.step(int(mask.argmax()))
            mask = step_info["action_mask"]
        played_on.unwrapped._seats.agents[0].close()  # which waits until it has read all
    messages = [json.loads(line) for line in file.read_text().splitlines()]
    asked = [one | {"id": 0} for one in messages if one["type"] == "act"]
    assert len(asked) > before
    del asked[:before]
    assert asked[: len(asked) // 2] == asked[len(asked) // 2 :]  # the copy's program is asked the same
    assert [one["return"] for one in messages if one["type"] == "end"] == [None, None]


def test_after_ctrl_c_nothing_is_left_of_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(process: Process, seconds: float) -> None:
        raise KeyboardInterrupt

    player = agent(faulty("plays", 1, 4), KUHN)
    with monkeypatch.context() as patched:
        patched.setattr(Process, "receive", stopped)
        with pytest.raises(KeyboardInterrupt):
            played(player)
    assert played(player).agents[0].forfeits == 0
    player.close()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there are no signals between processes")
def test_ctrl_c_ends_the_program_too(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import json, os, sys, time\n"
        "open('pid', 'w').write(str(os.getpid()))\n"
        "for line in sys.stdin:\n"
        '    if \'hello\' in line[:20]: print(\'{"type": "hello", "protocol": 1}\', flush=True)\n'
        "    else: open('asked', 'w').close(); time.sleep(600)\n"
    )
    (tmp_path / "main.py").write_text(
        "import signal, backalley.cli\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored where tests run in the background
        "backalley.cli.main()\n"
    )
    words = [sys.executable, "main.py", "evaluate", "missouri_city", f"cmd:{PYTHON} slow.py", "random"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = subprocess.Popen(words, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (tmp_path / "asked").exists():
        assert command.poll() is None
        time.sleep(0.05)
    command.send_signal(signal.SIGINT)
    command.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


# The examples --------------------------------------------------------------------------------------------------------


@functools.cache
def last_player(folder: Path) -> str:
    """The C example, compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler (cc, gcc or clang)")
    made = folder / "last_player"
    source = EXAMPLES / "last_player.c"
    subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", made, source], check=True)
    return str(made)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.mark.slow
@pytest.mark.parametrize("language", ["Python", "C", "JavaScript"])
@BY_NAME
def test_the_examples_play_every_game(game: Game, language: str, compiled: Path) -> None:
    node = shutil.which("node")
    if language == "JavaScript" and node is None:
        pytest.skip("there is no Node.js")
    words = {
        "Python": lambda: f"{PYTHON} {EXAMPLES / 'random_player.py'}",
        "C": lambda: last_player(compiled),
        "JavaScript": lambda: f"{node} {EXAMPLES / 'first_player.js'}",
    }
    player = agent(f"cmd:{words[language]()}", game)
    env = AECEnv(game, events=read_events([player], game))
    actions = [turn.action for turn in turns(env, [player], 5)]
    player.close()
    assert player.forfeits == 0
    if language != "Python":
        reference = agent(At(language == "C"), game)
        assert actions == [turn.action for turn in turns(AECEnv(game), [reference], 5)]


# Language models -----------------------------------------------------------------------------------------------------


class Stub(http.server.BaseHTTPRequestHandler):
    """A server of chat completions that plays the first legal action, in prose; every other first answer is illegal."""

    seen: list[dict[str, Any]]
    stubborn = False

    def do_POST(self) -> None:
        assert self.path == "/v1/chat/completions"
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = "ready" if len(asked["messages"]) == 1 else self.move(asked)
        body = json.dumps({"choices": [{"message": {"content": answer}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def move(self, asked: dict[str, Any]) -> str:
        self.seen.append(asked)
        legal = asked["messages"][1]["content"].split("Legal actions: ")[1].rstrip(".").split(", ")
        again = len(asked["messages"]) > 2
        action = legal[0] if not self.stubborn and (again or len(self.seen) % 2) else "fold everything"
        return f"I could play {legal[-1]}.\n\n{json.dumps({'action': action})}"

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[tuple[type[Stub], str]]:
    kind = type("Served", (Stub,), {"seen": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) as served:
        thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield kind, f"llm:http://127.0.0.1:{served.server_port}/v1#stub"
        served.shutdown()
        thread.join()


def test_a_language_model_plays_and_is_shown_once_what_was_wrong(server: tuple[type[Stub], str]) -> None:
    kind, spec = server
    report = played(spec, 4)
    assert report.agents[0].forfeits == 0
    assert report.agents[0].name == spec
    assert {one["model"] for one in kind.seen} == {"stub"}
    again = [one["messages"] for one in kind.seen if len(one["messages"]) > 2]
    assert again
    assert all(one[2]["role"] == "assistant" and "fold everything" in one[3]["content"] for one in again)
    assert report.agents[0].mean_return == played(At(False), 4).agents[0].mean_return


def test_a_model_that_insists_forfeits(server: tuple[type[Stub], str]) -> None:
    kind, spec = server
    kind.stubborn = True
    assert played(spec, 2).agents[0].forfeits == 4
    assert len(kind.seen) == 8


def test_results_of_the_command_name_forfeits(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    shown = run("evaluate", "missouri_city", faulty("plays"), "random", "--deals", 2, "--json", file)
    assert shown.exit_code == 0
    assert json.loads(file.read_text())["agents"][0]["forfeits"] == 0
    assert program_agent.SECONDS == 60  # as the guide says
