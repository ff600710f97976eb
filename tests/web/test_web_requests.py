"""Requests to a server of tables: bad ones, too many, from elsewhere; and what the page itself is."""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path
from typing import Any

import pytest

import backalley
from backalley.agents.registry import agent as agent_of
from backalley.envs.core.drawing.pictures.colours import DARK, LIGHT
from backalley.envs.core.game.game import Game

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("httpx", reason="Starlette's test client needs httpx")

from starlette.testclient import TestClient

from backalley.web import app as app_module
from backalley.web import table_server as table_server_module
from backalley.web.app import application
from backalley.web.table_server import TableServer
from tests.common.web_client import Person

REFUSED = [
    ("GET", "/api/games", {"host": "evil.example"}, b"", 421, "does not answer by that name"),
    ("POST", "/api/session", {"origin": "http://evil.example"}, b"{}", 403, "another site"),
    ("POST", "/api/session", {"origin": "null"}, b"{}", 403, "another site"),
    ("POST", "/api/session", {"origin": "http://["}, b"{}", 403, "another site"),
    ("POST", "/api/session", {}, b"{", 400, "it is not JSON"),
    ("POST", "/api/session", {}, b"[" * 60_000, 400, "nested more than 64 deep"),
    ("POST", "/api/session", {}, b"\xff", 400, "not UTF-8"),
    ("POST", "/api/session", {}, b" " * 70_000, 413, "more than 65,536 bytes"),
    ("GET", "/api/games", {"authorization": "Bearer wrong"}, b"", 401, "session is not known"),
    ("GET", "/api/games", {"authorization": ""}, b"", 401, "session is not known"),
    ("POST", "/api/tables", {}, b"[]", 400, "its game was missing"),
    ("POST", "/api/tables", {}, b'{"game": "chess", "options": {}, "seats": []}', 404, "no game 'chess'"),
    ("POST", "/api/tables", {}, b'{"game": "pitch", "options": {"x": 1}, "seats": []}', 400, "no option 'x'"),
    ("POST", "/api/tables", {}, b'{"game": "pitch", "options": {}, "seats": ["me"]}', 400, "1 seats were given"),
    ("POST", "/api/tables", {}, b'{"game": "bezique", "options": {}, "seats": ["me", "me"]}', 400, "one seat"),
    ("POST", "/api/tables", {}, b'{"game": "bezique", "options": {}, "seats": ["me", "os:x"]}', 400, "A seat takes"),
    ("POST", "/api/tables", {}, b'{"game": "bezique", "options": {}, "seats": ["me", ["bot"]]}', 400, "A seat takes"),
    ("POST", "/api/recordings", {}, b"{}", 400, "The file is no playthrough"),
    ("POST", "/api/join", {}, b'{"link": "old"}', 404, "leads nowhere"),
    ("GET", "/api/tables/nothing", {}, b"", 404, "no such table"),
    ("GET", "/api/nothing", {}, b"", 404, "nothing at this address"),
    ("DELETE", "/api/games", {}, b"", 405, "does not take DELETE"),
    ("GET", "/../pyproject.toml", {}, b"", 404, "nothing at this address"),
]


@pytest.mark.parametrize(("method", "path", "headers", "body", "status", "says"), REFUSED)
def test_bad_input_is_answered_in_a_sentence(
    client: TestClient, method: str, path: str, headers: dict[str, str], body: bytes, status: int, says: str
) -> None:
    one = Person(client)
    answer = client.request(method, path, headers={**one.headers, **headers}, content=body)
    assert answer.status_code == status, answer.text
    assert says in answer.json()["error"]
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


def test_bad_input_at_a_table_changes_nothing(client: TestClient) -> None:
    one, other = Person(client), Person(client)
    table = one.deal("bezique", "me", "link")
    link = one.get(table).json()["chairs"][1]["link"]
    assert one.post("/api/join", link=link).json()["error"].startswith("You sit at this table already")
    other.post("/api/join", link=link)
    assert other.post("/api/join", link=link).status_code == 200, "who sits there may come back"
    assert Person(client).post("/api/join", link=link).json()["error"].startswith("Somebody sits in this chair")
    before = one.get(table).json()
    mine, theirs = (one, other) if before["now"] == 0 else (other, one)
    legal, made = mine.get(table).json()["actions"][0][0], before["last"]
    for person, entries, status in (
        (theirs, {"action": legal, "at": made}, 409),
        (mine, {"action": legal, "at": made + 1}, 409),
        (mine, {"action": 10**9, "at": made}, 400),
        (mine, {"action": -1, "at": made}, 400),
        (mine, {"action": True, "at": made}, 400),
        (mine, {"action": "0", "at": made}, 400),
        (mine, {"at": made}, 400),
    ):
        answer = person.post(f"{table}/act", **entries)
        assert answer.status_code == status, entries
        assert answer.json()["error"].endswith(".")
    for query in ({"at": "1e9"}, {"at": 99999}, {"at": "x"}, {"width": 10**8}):
        assert one.get(table, **query).status_code == 400, query
    assert other.post(f"{table}/delete").status_code == 403
    assert one.get(table).json() == before


def test_a_server_that_waits_for_no_compiler_lets_quick_agents_decide_meanwhile(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = threading.Event()

    async def compiles(game: Game, more: Any) -> None:
        while not done.is_set():
            await asyncio.sleep(0.01)

    monkeypatch.setattr(table_server_module, "compile_elsewhere", compiles)
    made = list[str]()
    monkeypatch.setattr(
        table_server_module, "agent_of", lambda name, game, **k: made.append(name) or agent_of(name, game)
    )
    server = TableServer(folder, pace=0.0, adviser="search:8", compiles=False)
    with TestClient(application(server, []), base_url="http://127.0.0.1:8017") as client:
        one = Person(client)
        table = one.deal("pitch", "me", "policy", "search:48:500", "level:10")
        found = one.until_mine(table)
        assert found["compiling"]
        assert one.get(f"{table}/values").json()["by"].startswith("search:3")
        assert set(made) <= {"bot", "search:3:1500"}, "a policy is not read, and no search is long"
        assert [chair["who"] for chair in found["chairs"]] == ["", "Trained", "Thinker", "Level 10 of 10"]
        done.set()
        while found["compiling"]:
            found = one.get(table, after=found["version"]).json()
        assert one.get(f"{table}/values").json()["by"].startswith("search:8")
    monkeypatch.setattr(server, "is_compiling", lambda game: True)
    assert server._now("search:8", backalley.game("poker_duel")) == "search:1:1500", "each compares whole plans"
    bezique = backalley.game("bezique")
    levels = [server._now(name, bezique) for name in ("level:10", "level:9", "search:8")]
    assert levels == ["bot", "level:9", "search:3:1500"], "the top one is the policy itself"


def test_there_are_limits(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    one, idle = Person(client), Person(client)
    monkeypatch.setattr(table_server_module, "MOST_OWNED", 1)
    one.deal("backhand", "me")
    assert one.post("/api/tables", game="backhand", options={}, seats=["me"]).status_code == 429
    monkeypatch.setattr(table_server_module, "MOST_SESSIONS", 2)
    newest = Person(client)
    assert idle.get("/api/games").status_code == 401, "who plays nowhere makes room"
    assert one.get("/api/games").status_code == 200
    newest.deal("backhand", "me")
    assert client.post("/api/session", json={}).status_code == 503
    monkeypatch.setattr(app_module, "FILE", 100)
    assert one.post("/api/recordings", moves=["x"] * 100).status_code == 413


def test_an_address_takes_only_its_share(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Person(client)
    monkeypatch.setitem(table_server_module.MOST_OF_ADDRESS, "sessions", 5)
    monkeypatch.setitem(table_server_module.MOST_OF_ADDRESS, "tables", 2)
    table_server = client.app._app.state.table_server if hasattr(client.app, "_app") else None  # type: ignore[attr-defined]
    assert table_server is not None
    for session in list(table_server._addresses):
        table_server._addresses[session] = "10.0.0.1"
    flood = [Person(client) for _ in range(20)]
    assert honest.get("/api/games").status_code == 200, "a flood from elsewhere forgets its own sessions"
    assert flood[0].get("/api/games").status_code == 401
    for one in flood[-2:]:
        one.deal("backhand", "me")
    assert flood[-3].post("/api/tables", game="backhand", options={}, seats=["me"]).status_code == 429
    assert honest.post("/api/tables", game="backhand", options={}, seats=["me"]).status_code == 200


def test_hosts_that_are_known(client: TestClient) -> None:
    for host in ("127.0.0.1:8017", "localhost:1", "[::1]:8017", "192.168.7.7", "TABLE.example:8017"):
        assert client.get("/", headers={"host": host}).status_code == 200, host
    for host in ("", "x", "127.0.0.1.evil.example", "localhost.", "[::1", "table.example@evil.example"):
        assert client.get("/", headers={"host": host}).status_code == 421, host


def test_the_page_loads_nothing_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/page.css", "/ask.js", "/page.js"):
        text = client.get(path).text
        assert not re.search(r"(?:https?:)?//[a-z]+\.[a-z]", text), path
        assert "style=" not in text, "the policy of the page allows no styles in its elements"


def test_the_page_has_the_colours_of_its_pictures(client: TestClient) -> None:
    """Every colour is a name, which the pictures' colours give a value in both themes."""
    text, rules = client.get("/page.css").text, Path(app_module.__file__).with_name("page.css").read_text("utf-8")
    assert "#" not in rules.replace("#trouble", "")
    for theme in (LIGHT, DARK):
        assert f"--ground: {theme.ground}; " in text
        assert f"--red: {theme.signs['H']}; " in text
    given = re.findall(r"(--[a-z-]+): #[0-9a-f]{6};", text)
    assert {*re.findall(r"var\((--[a-z-]+)\)", rules)} == {*given}
    assert len(given) == 2 * len({*given})


LENGTHS = {
    "baccarat": {"num_coups"},
    "bezique": {"mode", "target"},
    "killer_bridge": {"length"},
    "missouri_city": {"num_games"},
    "pitch": {"mode", "target"},
    "poker_duel": {"num_games"},
    "twenty_one": {"episode"},
}
"""What stands beside the button that deals: how long a game is."""


@pytest.mark.parametrize("name", backalley.game_names())
def test_every_game_has_a_form(client: TestClient, name: str) -> None:
    """With each option's default as one of its choices, and its agents all accepted at a table."""
    one = Person(client)
    form = one.get("/api/setup", game=name).json()
    for option in form["options"]:
        assert option["default"] in option.get("choices", [option["default"]]), option
    assert {option["name"] for option in form["options"] if option["length"]} == LENGTHS.get(name, set())
    changed = {option["name"]: option["default"] for option in form["options"]}
    assert one.get("/api/setup", game=name, **changed).json()["seats"] == form["seats"]
    names = [agent["name"] for agent in form["agents"]]
    assert "human" not in names
    levels = [agent["words"] for agent in form["agents"] if agent["name"].startswith("level:")]
    assert levels == [f"Level {number} of {len(levels)}" for number in range(1, len(levels) + 1)]
    assert not (levels and any(name.startswith("bot:") for name in names)), "people choose by strength"
