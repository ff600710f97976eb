"""Tables in a browser: who may do what, what a seat is sent, and what outlives the server."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.envs.core.game.game import Game
from tests.common.cases import GAMES

pytest.importorskip("starlette", reason="the extra web is not installed")
pytest.importorskip("httpx", reason="Starlette's test client needs httpx")

from starlette.testclient import TestClient

from backalley.web import table_server as table_server_module
from backalley.web.table import Chair, Table
from backalley.web.table_server import TableServer
from tests.common.web_client import Person, serving

# What a seat is sent --------------------------------------------------------------------------------------------------


def some_frames(table: Table, random: np.random.Generator, decisions: int) -> list[int]:
    """Play at random; return some frames of the game, ends of deals among them."""
    while not table.over and len(table.actions) < decisions:
        table.play(int(random.choice(table.frames[-1].state.legal_actions())))
    ended = [at for at, frame in enumerate(table.frames) if frame.ended is not None]
    on = [at for at, frame in enumerate(table.frames) if frame.ended is None and not frame.state.is_over]
    return sorted({*random.choice(on, 3).tolist(), *ended[:1]})


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_what_a_seat_is_sent_does_not_depend_on_what_it_cannot_know(game: Game) -> None:
    """Byte by byte: the picture, the words, the events and the legal actions, with the hidden cards redrawn."""
    random = np.random.default_rng(5)
    table = Table("t", game, {"seed": 3}, [Chair() for _ in range(game.num_seats)], "")
    for at in some_frames(table, random, 60):
        frame = table.frames[at]
        for seat in range(game.num_seats):
            sent = json.dumps(table._draw(at, seat, "light", 960))
            if frame.ended is not None:
                continue  # the deal is over: its record is shown by the game's own table, which others hold to this
            kept = list(table.frames)
            for key in (1, 2):  # all frames of the deal: the log and the last trick are read from those before
                for before in range(table._begun(at), at + 1):
                    one = kept[before]
                    table.frames[before] = one._replace(state=one.state.determinize(seat, key))
                table._results.clear()
                assert json.dumps(table._draw(at, seat, "light", 960)) == sent
            table.frames[:] = kept
            table._results.clear()


def test_a_person_sees_only_their_own_seat_until_the_game_is_over(client: TestClient) -> None:
    one = Person(client)
    table = one.deal("pitch", "me", "bot", "link", "bot", mode="hand")
    assert one.get(table, seat=2).status_code == 403
    assert one.get(table, seat="all").status_code == 403
    assert one.get(f"{table}/recording").status_code == 409
    other = Person(client)
    assert other.get(table).status_code == 404, "who has no chair sees nothing"
    link = one.get(table).json()["chairs"][2]["link"]
    assert other.post("/api/join", link=link).json()["seat"] == 2
    assert all(not chair["link"] for chair in other.get(table).json()["chairs"]), "links are for who made the table"
    while not one.get(table).json()["over"]:
        for person in (one, other):
            if person.get(table).json()["now"] == person.get(table).json()["mine"]:
                assert person.act(table).status_code == 200
    shown = one.get(table, seat="all", at=0).json()
    assert "--" not in shown["words"]
    assert other.get(table, seat=0, at=0).json()["seat"] == 0


def test_values_of_ones_own_decision_are_a_hint_and_others_are_not_shown(client: TestClient) -> None:
    one, other = Person(client), Person(client)
    table = one.deal("missouri_city", "me", "link")
    other.post("/api/join", link=one.get(table).json()["chairs"][1]["link"])
    first, second = (one, other) if one.get(table).json()["now"] == 0 else (other, one)
    found = first.get(f"{table}/values").json()
    assert found["by"].startswith("search:8")
    assert {row["name"] for row in found["actions"]} == {name for _, name in first.get(table).json()["actions"]}
    refused = second.get(f"{table}/values")
    assert refused.status_code == 403
    assert "when the game is over" in refused.json()["error"]


def test_a_review_is_of_ones_own_choices_when_the_game_is_over(client: TestClient, tmp_path: Path) -> None:
    one, other = Person(client), Person(client)
    table = one.deal("missouri_city", "me", "bot")
    assert one.get(f"{table}/review", at=0).status_code == 403
    while not one.until_mine(table)["over"]:
        assert one.act(table).status_code == 200
    assert other.get(f"{table}/review", at=0).status_code in (403, 404)
    found, at = [], 0
    while "at" in (judged := one.get(f"{table}/review", at=at).json()):
        found.append(judged)
        at = judged["at"] + 1
    (file := tmp_path / "game.json").write_text(json.dumps(one.get(f"{table}/recording").json()))
    alone = backalley.review(file, seat=0).decisions
    assert [judged["number"] for judged in found] == [decision.number for decision in alone]
    assert [judged["loss"] for judged in found] == [decision.loss for decision in alone], "as the command finds it"


# Play -----------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_game_is_played_saved_and_looked_back_on(client: TestClient) -> None:
    one = Person(client)
    table = one.deal("baccarat", "me", num_coups=3)
    while not one.until_mine(table)["over"]:
        assert one.act(table).status_code == 200
    found = one.get(table).json()
    assert found["ends"], "the end of the first coup is shown"
    ended = one.get(table, at=found["ends"][0]).json()
    assert ended["deal_over"]
    assert re.fullmatch(r"The deal is over\. (The (Player|Banker) hand wins|A tie), \d to \d\.", ended["turn"])
    kept = one.get(f"{table}/recording").json()
    assert kept["returns"] == pytest.approx(found["returns"], abs=1e-5)
    again = f"/api/tables/{one.post('/api/recordings', **kept).json()['id']}"
    for at in (0, found["ends"][0], found["last"]):
        assert one.get(again, at=at, seat="all").json()["words"] == one.get(table, at=at, seat="all").json()["words"]
    rows = one.get(f"{again}/values", at=0).json()["actions"]
    assert [row["name"] for row in rows if row["taken"]] == [kept["moves"][0].partition(": ")[2]]


def test_an_action_is_taken_back_when_all_people_agree(client: TestClient) -> None:
    one, other = Person(client), Person(client)
    table = one.deal("pitch", "me", "bot", "open", "bot", mode="hand", first_dealer=3)
    (chair,) = other.get("/api/tables").json()["open"]
    other.post("/api/join", link=chair["link"])
    assert one.post(f"{table}/undo", agree=True).json()["error"] == "There is nothing to take back yet."
    before = one.until_mine(table)
    one.act(table)
    other.until_mine(table)
    one.post(f"{table}/undo", agree=True)
    assert other.get(table).json()["undo"] == {"seat": 0, "agree": [0]}
    other.post(f"{table}/undo", agree=False)
    assert other.get(table).json()["undo"] is None
    other.post(f"{table}/undo", agree=False)
    one.post(f"{table}/undo", agree=True)
    other.post(f"{table}/undo", agree=True)
    after = one.until_mine(table)
    assert (after["at"], after["words"]) == (before["at"], before["words"])


def test_a_game_outlives_its_server(folder: Path) -> None:
    with serving(folder) as client:
        one = Person(client)
        table = one.deal("bezique", "me", "bot")
        one.act(table)
        before = one.until_mine(table)
    (folder / "torn.json").write_text('{"format": "backalley')
    with serving(folder) as client:
        one._client = client
        after = one.until_mine(table)
        assert after == before
        assert one.act(table).status_code == 200
        assert one.post(f"{table}/delete").status_code == 200
        assert one.get(table).status_code == 404
    assert [path.name for path in folder.glob("*.json")] == ["torn.json"], "what cannot be read is left alone"


def test_an_agent_that_fails_leaves_a_table_that_can_be_looked_at(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_server_module, "answer", lambda agent, view: 1 // 0)
    one = Person(client)
    table = one.deal("pitch", "me", "bot", "bot", "bot", mode="hand", first_dealer=3)
    one.act(table)
    found = one.get(table).json()
    while not found["trouble"]:
        found = one.get(table, after=found["version"]).json()
    assert found["trouble"].startswith("bot could not decide")


def chemin_at_the_banker(client: TestClient, five: bool) -> tuple[Person, str]:
    """A table of chemin de fer where the Banker is to act after the Player has stood: on five by choice, or by the rule
    on six or seven. The rest of the cards is the same."""
    one, other = Person(client), Person(client)
    for seed in range(1000):
        table_server_module.secrets.randbelow = lambda most, seed=seed: seed  # type: ignore[assignment]
        table = one.deal("baccarat", "link", "me", mode="chemin", decks="home")
        links = [chair["link"] for chair in one.get(table).json()["chairs"]]
        other.post("/api/join", link=links[0])
        now = other.get(table).json()
        asked = now["now"] == 0 and not now["over"]
        if asked and five:
            stand = next(action for action, name in now["actions"] if name == "stand")
            other.post(f"{table}/act", action=stand, at=now["last"])
        found = one.get(table).json()
        if asked == five and not found["over"] and found["now"] == 1 and "Player stands" in str(found["events"]):
            return one, table
        one.post(f"{table}/delete")
    raise AssertionError("no such table")


def test_a_banker_is_not_shown_whether_the_player_was_asked(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets, sent = table_server_module.secrets, []
    monkeypatch.setattr(secrets, "randbelow", secrets.randbelow)  # the table's cards are fixed: put it back
    for five in (True, False):
        one, table = chemin_at_the_banker(client, five)
        found = one.get(table).json()
        sent.append({name: found[name] for name in ("at", "last", "ends", "now", "acting", "turn", "over", "free")})
        assert one.get(table, at=found["last"] + 1).status_code == 400
    assert sent[0] == sent[1]


# Files ----------------------------------------------------------------------------------------------------------------

HOSTILE: list[tuple[str, Any]] = [
    ("game", "canary:game"), ("game", "os"), ("game", "/tmp/evil.py:game"), ("game", None), ("version", True),
    ("version", "1"), ("options", []), ("options", {"mode": {"a": 1}}), ("owner", 3), ("chairs", {}),
    ("chairs", [{"agent": "bot"}]), ("chairs", [{}, {}]), ("undo", {"seat": 99, "agree": []}), ("undo", {"seat": 0}),
    ("opening", {"seed": "x"}), ("opening", {"seed": 1, "decks": []}), ("opening", {}), ("actions", [True]),
    ("actions", ["0"]), ("actions", [-1]), ("actions", {}), ("over", 1), ("format", "backalley table 2"),
    ("more", 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), HOSTILE, ids=lambda value: str(value)[:20])
def test_a_forged_table_is_left_alone_and_disturbs_nobody(
    folder: Path, name: str, value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(folder) as client:
        one = Person(client)
        sound, forged = one.deal("bezique", "me", "bot"), one.deal("bezique", "me", "bot")
    path = folder / f"{forged.rpartition('/')[2]}.json"
    kept = json.loads(path.read_bytes())
    kept.pop("check")
    path.write_text(json.dumps({**kept, name: value}))
    with serving(folder) as client:
        one._client = client
        assert [f"/api/tables/{row['id']}" for row in one.get("/api/tables").json()["mine"]] == [sound]
        assert one.get(forged).status_code == 404
        assert one.get(sound).status_code == 200
    assert f"{path.name} is left alone: " in capsys.readouterr().err


def test_a_changed_file_is_noticed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(folder) as client:
        Person(client).deal("bezique", "me", "bot")
    (path,) = folder.glob("*.json")
    path.write_text(path.read_text().replace('"over": false', '"over": true'))
    with serving(folder):
        assert "its checksum is another" in capsys.readouterr().err


def test_an_agent_that_is_not_offered_is_never_made(folder: Path, tmp_path: Path) -> None:
    """A file names a program and a Python file as agents: its table waits, and neither runs."""
    mark, evil = tmp_path / "mark", tmp_path / "evil.py"
    evil.write_text(f"open({str(mark)!r}, 'w')\nclass Player:\n    pass\n")
    for agent in (f"{evil}:Player", f"cmd:touch {mark}", "evil:Player"):
        with serving(folder) as client:
            one = Person(client)
            table = one.deal("bezique", "bot", "me")
        path = folder / f"{table.rpartition('/')[2]}.json"
        kept = json.loads(path.read_bytes())
        kept.pop("check")
        kept |= {"actions": [], "chairs": [{**kept["chairs"][0], "agent": agent}, kept["chairs"][1]]}
        path.write_text(json.dumps(kept))
        with serving(folder) as client:
            assert Person(client).get(table).status_code == 404, "a stranger sets nothing up"
            assert not mark.exists()
            one._client = client
            found = one.get(table).json()
            while found["now"] == 0 and not found["trouble"]:
                found = one.get(table, after=found["version"]).json()
            assert not mark.exists()
            one.post(f"{table}/delete")


def test_a_folder_has_one_server(folder: Path) -> None:
    with serving(folder), pytest.raises(ValueError, match=r"Another server has the tables of .*; end it, or name"):
        TableServer(folder)
    TableServer(folder).close()
