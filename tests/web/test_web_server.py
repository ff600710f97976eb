"""The server as a process: a thousand requests at once, and a kill in the middle of a game."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from backalley.web.server import HEAD_SECONDS
from tests.common.commands import run
from tests.common.serving import Served

pytest.importorskip("uvicorn", reason="the extra web is not installed")
httpx = pytest.importorskip("httpx", reason="a client is needed: httpx")

from tests.common.web_client import Person  # noqa: E402


@contextmanager
def at(served: Served, one: Person | None = None) -> Iterator[Person]:
    """A session at a server: a new one, or that of `one`."""
    with httpx.Client(base_url=served.address, timeout=60) as client:
        if one is None:
            one = Person(client)
        one._client = client
        yield one


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(tmp_path_factory.mktemp("tables"))
    yield server
    server.kill()


@pytest.mark.slow
def test_a_killed_server_loses_no_game(tmp_path: Path) -> None:
    served = Served(tmp_path)
    with at(served) as one:
        table = one.deal("pitch", "me", "bot", "bot", "bot")
        for _ in range(3):
            assert one.act(table).status_code == 200
        before = one.until_mine(table)
    served.kill()
    served = Served(tmp_path)
    with at(served, one):
        after = one.until_mine(table)
    served.kill()
    assert after == before


def test_a_game_of_ones_own_is_served(tmp_path: Path) -> None:
    """By its import path; its tables wait for a server that has it."""
    own = "--game", "backalley.examples.kuhn"
    served = Served(tmp_path, *own, compiles=False)
    with at(served) as one:
        assert "kuhn" in [game["name"] for game in one.get("/api/games").json()]
        table = one.deal("kuhn", "me", "bot")
        before = one.until_mine(table)
    served.kill()
    served = Served(tmp_path, compiles=False)
    with at(served) as other:
        assert "kuhn" not in [game["name"] for game in other.get("/api/games").json()]
    served.kill()
    served = Served(tmp_path, *own, compiles=False)
    with at(served, one):
        assert one.until_mine(table) == before
    served.kill()


@pytest.mark.slow
def test_a_game_begins_in_python_and_is_compiled_by_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BACKALLEY_CACHE", str(tmp_path / "cache"))
    served = Served(tmp_path / "tables", compiles=None)
    with at(served) as one:
        table = one.deal("backhand", "me")
        found = one.get(table).json()
        assert found["compiling"]
        assert one.act(table).status_code == 200
        while found["compiling"]:
            found = one.get(table, after=found["version"]).json()
        assert one.get(f"{one.deal('backhand', 'me')}/values").json()["by"].startswith("search:96")
    served.kill()
    assert any((tmp_path / "cache").rglob("*.nbc"))


@pytest.mark.slow
def test_a_thousand_requests_at_once_are_answered_while_a_search_thinks(served: Served) -> None:
    with at(served) as one:
        one.deal("pitch", "search:192:2000", "search:192:2000", "search:192:2000", "search:192:2000")
        table = one.deal("pitch", "me", "bot", "bot", "bot")
        before = one.until_mine(table)

        async def together() -> list[Any]:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
            async with httpx.AsyncClient(
                base_url=served.address, headers=one.headers, limits=limits, timeout=300
            ) as client:
                return await asyncio.gather(*(client.get(table) for _ in range(1000)))

        answers = asyncio.run(together())
    assert [answer.status_code for answer in answers] == [200] * 1000
    assert {answer.content for answer in answers} == {answers[0].content}
    assert answers[0].json() == before


@pytest.mark.slow
def test_heads_that_never_end_are_closed_and_hold_nobody_up(served: Served) -> None:
    host, _, port = served.address.removeprefix("http://").partition(":")
    with at(served) as one:
        table = one.deal("pitch", "me", "bot", "bot", "bot")
        half = [socket.create_connection((host, int(port))) for _ in range(300)]
        for opened in half:
            opened.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1")
        assert one.until_mine(table)["now"] == 0
    for opened in half:
        opened.settimeout(2 * HEAD_SECONDS)
        assert opened.recv(10) == b"", "the server ends it"
        opened.close()


@pytest.mark.slow
def test_ctrl_c_ends_polls_without_a_trace(tmp_path: Path) -> None:
    """With a page that waits for news, and after a client that has left in the middle of its request."""
    served = Served(tmp_path, errors=subprocess.PIPE)
    host, _, port = served.address.removeprefix("http://").partition(":")
    with at(served) as one:
        table = one.deal("pitch", "me", "bot", "bot", "bot")
        found = one.until_mine(table)
        with socket.create_connection((host, int(port))) as leaving:
            head = f"POST /api/session HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 100\r\n\r\n{{"
            leaving.sendall(head.encode())
        with ThreadPoolExecutor(1) as waiting:
            answer = waiting.submit(one.get, table, after=found["version"])
            time.sleep(1)
            served.process.send_signal(signal.SIGINT)
            assert answer.result(10).json()["version"] == found["version"]
    _, said = served.process.communicate(timeout=10)
    assert "Traceback" not in said, said
    assert "Cancel" not in said, said


def test_bad_input_on_the_command_line_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "file" in run("serve", "--folder", tmp_path / "file" / "tables").output
    assert "Error" in run("serve", "--folder", tmp_path, "--host", "nowhere.invalid", "--network").output
    assert "--host is empty" in run("serve", "--folder", tmp_path, "--host", "").output
    assert "add --network if you mean that" in run("serve", "--folder", tmp_path, "--host", "0.0.0.0").output
    assert (
        "--agent nosuch: There is no agent 'nosuch'" in run("serve", "--folder", tmp_path, "--agent", "nosuch").output
    )
    assert "--hint bot: it does not value actions" in run("serve", "--folder", tmp_path, "--hint", "bot").output
