"""The server as a process: a thousand requests at once, and a kill in the middle of a game."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from backalley.web.server import HEAD_SECONDS
from tests.common.commands import run
from tests.common.serving import Served

pytest.importorskip("uvicorn", reason="the extra web is not installed")
httpx = pytest.importorskip("httpx", reason="a client is needed: httpx")


class Caller:
    """A session at a server."""

    def __init__(self, served: Served) -> None:
        self.at(served)
        token = self.client.post("/api/session", json={}).json()["token"]
        self.client.headers["authorization"] = f"Bearer {token}"

    def at(self, served: Served) -> None:
        """Turn to this server, as who one is."""
        headers = self.client.headers if hasattr(self, "client") else None
        self.close()
        self.client = httpx.Client(base_url=served.address, headers=headers, timeout=60)

    def close(self) -> None:
        """Leave the server."""
        if hasattr(self, "client"):
            self.client.close()

    def deal(self, game: str, *seats: str) -> str:
        made = self.client.post("/api/tables", json={"game": game, "options": {}, "seats": seats}).json()
        return f"/api/tables/{made['id']}"

    def until_mine(self, table: str) -> Any:
        found = self.client.get(table).json()
        while found["now"] != found["mine"]:
            found = self.client.get(table, params={"after": found["version"]}).json()
        return found


@pytest.mark.slow
def test_a_killed_server_loses_no_game(tmp_path: Path) -> None:
    served = Served(tmp_path)
    one = Caller(served)
    table = one.deal("pitch", "me", "bot", "bot", "bot")
    for _ in range(3):
        found = one.until_mine(table)
        action = {"action": found["actions"][0][0], "at": found["last"]}
        assert one.client.post(f"{table}/act", json=action).status_code == 200
    before = one.until_mine(table)
    served.kill()
    served = Served(tmp_path)
    one.at(served)
    after = one.until_mine(table)
    served.kill()
    one.close()
    assert after == before


@pytest.mark.slow
def test_a_thousand_requests_at_once_are_answered_while_a_search_thinks(tmp_path: Path) -> None:
    served = Served(tmp_path)
    one = Caller(served)
    one.deal("pitch", "search:192:2000", "search:192:2000", "search:192:2000", "search:192:2000")
    table = one.deal("pitch", "me", "bot", "bot", "bot")
    before = one.until_mine(table)

    async def together() -> list[Any]:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx.AsyncClient(
            base_url=served.address, headers=one.client.headers, limits=limits, timeout=300
        ) as client:
            return await asyncio.gather(*(client.get(table) for _ in range(1000)))

    answers = asyncio.run(together())
    served.kill()
    one.close()
    assert [answer.status_code for answer in answers] == [200] * 1000
    assert {answer.content for answer in answers} == {answers[0].content}
    assert answers[0].json() == before


@pytest.mark.slow
def test_heads_that_never_end_are_closed_and_hold_nobody_up(tmp_path: Path) -> None:
    served = Served(tmp_path)
    one = Caller(served)
    table = one.deal("pitch", "me", "bot", "bot", "bot")
    host, _, port = served.address.removeprefix("http://").partition(":")
    half = [socket.create_connection((host, int(port))) for _ in range(300)]
    for opened in half:
        opened.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1")
    assert one.until_mine(table)["now"] == 0
    for opened in half:
        opened.settimeout(2 * HEAD_SECONDS)
        assert opened.recv(10) == b"", "the server ends it"
        opened.close()
    served.kill()
    one.close()


@pytest.mark.slow
def test_ctrl_c_ends_polls_without_a_trace(tmp_path: Path) -> None:
    """With a page that waits for news, and after a client that has left in the middle of its request."""
    served = Served(tmp_path, errors=subprocess.PIPE)
    one = Caller(served)
    table = one.deal("pitch", "me", "bot", "bot", "bot")
    found = one.until_mine(table)
    host, _, port = served.address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as leaving:
        head = f"POST /api/session HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 100\r\n\r\n{{"
        leaving.sendall(head.encode())
    with ThreadPoolExecutor(1) as waiting:
        answer = waiting.submit(one.client.get, table, params={"after": found["version"]})
        time.sleep(1)
        served.process.send_signal(signal.SIGINT)
        assert answer.result(10).json()["version"] == found["version"]
    _, said = served.process.communicate(timeout=10)
    one.close()
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
