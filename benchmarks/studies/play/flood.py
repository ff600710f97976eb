"""A server of tables that some try to use up, beside one player who plays.

The flood comes from several addresses of this machine (127.0.0.2 and so on). Each has a session that sets up tables
until the server refuses more, asks for sessions and lists without pause, and holds heads of requests half sent.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game

ADDRESSES, HALF_OPEN, TABLES = 10, 1000, 500
CLICKS = 12
"""Clicks that a game of Pitch has at least."""
SLOWEST = 0.3
"""Seconds within which every click of the player has to be answered."""


@contextmanager
def serving(**env: str) -> Iterator[tuple[int, str, int]]:
    """Serve the tables of a new folder in a process of its own, with more variables of its environment: its number, its
    host and its port."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", "backalley", "serve", "--port", "0", "--folder", folder, "--pace", "0"]
        server = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, env=os.environ | env)
        try:
            assert server.stdout is not None
            address = re.search(r"http://(\S+?):(\d+)", server.stdout.readline())
            assert address is not None
            yield server.pid, address[1], int(address[2])
        finally:
            server.terminate()  # with a process that compiles for it
            server.communicate()


def sign_in(player: Any) -> None:
    """Make a session."""
    player.headers["authorization"] = f"Bearer {player.post('/api/session', json={}).json()['token']}"


def flood(clicks: int) -> dict[str, Any]:
    """Let one player click so often while the flood goes on."""
    import httpx

    times, trouble = list[float](), list[str]()
    with serving() as (_, host, port):
        spawn = multiprocessing.get_context("spawn")
        full, made = spawn.Event(), cast(Any, spawn.Array("i", ADDRESSES))
        others = spawn.Process(target=_use_up, args=(host, port, full, made), daemon=True)
        with httpx.Client(base_url=f"http://{host}:{port}", timeout=60) as player:
            sign_in(player)
            tables = [
                dealt(player, game_of("pitch").bind(), ["me", "bot", "bot", "bot"]) for _ in range(2 + clicks // CLICKS)
            ]  # before there is no room any more
            others.start()
            full.wait(120)
            while len(times) < clicks:
                found = my_turn(player, tables[0])
                if found["over"]:
                    tables.pop(0)
                    continue
                began = time.monotonic()
                action = {"action": found["actions"][0][0], "at": found["last"]}
                answer = player.post(f"{tables[0]}/act", json=action)
                times.append(time.monotonic() - began)
                trouble += [] if answer.status_code == 200 else [f"{answer.status_code}: {answer.text[:80]}"]
        others.kill()
        others.join()
    held = sum(waited < SLOWEST for waited in times) - len(trouble)
    return {
        "did": f"clicks of a player beside {sum(made)} tables and lists without end by {ADDRESSES} sessions, and "
        f"{HALF_OPEN:,} heads half sent; answered within {SLOWEST} s",
        "times": len(times),
        "held": held,
        "trouble": sorted(set(trouble)),
    }


def dealt(player: Any, game: Game, seats: Sequence[str]) -> str:
    """The address of a new table of a game, with these in its seats."""
    given = {"game": game.name, "options": game.changed_options, "seats": seats}
    return f"/api/tables/{player.post('/api/tables', json=given).json()['id']}"


def my_turn(player: Any, table: str) -> Any:
    """What the player sees of a table once it is their turn there, or it is over."""
    found = player.get(table).json()
    while found["now"] != found["mine"] and not found["over"]:
        found = player.get(table, params={"after": found["version"]}).json()
    return found


# The flood ------------------------------------------------------------------------------------------------------------


def _use_up(host: str, port: int, full: Any, made: Any) -> None:
    """Everything at once, until this process is killed."""
    threading.Thread(target=_hold_heads, args=(host, port), daemon=True).start()
    for number in range(ADDRESSES):
        threading.Thread(target=_fill, args=(host, port, number, made), daemon=True).start()
    began = time.monotonic()
    while sum(made) < TABLES - 2 and time.monotonic() - began < 60:
        time.sleep(0.2)
    full.set()
    threading.Event().wait()


def _fill(host: str, port: int, number: int, made: Any) -> None:
    """The session of one address: tables as long as there is room, then sessions and lists without end."""
    import httpx

    transport = httpx.HTTPTransport(local_address=f"127.0.0.{number + 2}")
    with httpx.Client(base_url=f"http://{host}:{port}", timeout=60, transport=transport) as one:
        while True:
            with suppress(httpx.HTTPError, KeyError):
                sign_in(one)
                given = {"game": "pitch", "options": {}, "seats": ["me", "bot", "bot", "open"]}
                while one.post("/api/tables", json=given).status_code == 200:
                    made[number] += 1
                one.get("/api/tables")
            time.sleep(0.05)


def _hold_heads(host: str, port: int) -> None:
    """So many heads of requests half sent; the ones that the server closes are begun again."""
    waiting = selectors.DefaultSelector()
    held = 0
    while True:
        with suppress(OSError):
            while held < HALF_OPEN:
                source = (f"127.0.1.{held % 250 + 1}", 0)
                opened = socket.create_connection((host, port), timeout=5, source_address=source)
                opened.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1")
                waiting.register(opened, selectors.EVENT_READ)
                held += 1
        for key, _ in waiting.select(1):
            waiting.unregister(key.fileobj)
            with suppress(OSError):
                key.fileobj.close()  # type: ignore[union-attr]
            held -= 1
