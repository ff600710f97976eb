"""Records of self-play: what is written is what is played, and what is read back is what the rules give."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.agents.base.agent import Agent
from backalley.agents.people.watching import turns
from backalley.agents.registry import agent
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.game.game import Game
from backalley.records import play, read_record, record_games
from backalley.records.columns import COLUMNS
from backalley.records.reading import RecordError
from tests import ROOT
from tests.common.cases import GAMES
from tests.common.commands import run
from tests.common.high_card import GAME as HIGH_CARD

MISSOURI = backalley.game("missouri_city")
BY_NAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six games with everything in their rows."""
    path = tmp_path_factory.mktemp("records") / "kept.jsonl"
    extra = ["text", "observation", "legal_names"]
    record_games(MISSOURI, ["bot", "random"], path, games=6, seed=3, extra=extra, values="search:4")
    return path


def test_what_is_read_is_what_was_written(kept: Path) -> None:
    head, *rows = lines(kept)
    assert list(read_record(kept)) == rows
    assert head["columns"] == list(COLUMNS) == list(rows[0])
    assert [row["game"] for row in rows] == sorted(row["game"] for row in rows)
    assert {row["game"] for row in rows} == set(range(6))


def test_a_game_is_that_of_its_seed_whatever_is_played_beside_it(kept: Path) -> None:
    players = [agent(name, MISSOURI) for name in ("bot", "random")]
    _, *rows = lines(kept)
    for number in range(6):
        mine = [row for row in rows if row["game"] == number]
        alone = list(turns(AECEnv(MISSOURI), players, 3 + number))
        assert [(row["seat"], row["action"]) for row in mine] == [(turn.seat, turn.action) for turn in alone]
        assert mine[0]["returns"] == np.sum([turn.rewards for turn in alone], 0).tolist()


def test_the_bytes_depend_neither_on_threads_nor_on_the_batch(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "TABLES_WITH_TEXT", 4)
    extra, other = ["text", "observation", "legal_names"], tmp_path / "other.jsonl"
    given = {"games": 6, "seed": 3, "extra": extra, "values": "search:4"}
    record_games(MISSOURI, ["bot", "random"], other, num_threads=2, **given)  # type: ignore[arg-type]
    assert other.read_bytes() == kept.read_bytes()


def test_probabilities_and_values_are_those_of_the_agents(kept: Path) -> None:
    _, *rows = lines(kept)
    for row in rows:
        chances = row["probabilities"]
        if row["agent"] == "random":
            assert chances == pytest.approx([1 / len(chances)] * len(chances), abs=1e-6)
        else:
            assert chances[row["legal"].index(row["action"])] == 1
        assert len(row["values"]) == len(row["errors"]) == len(row["legal"])
    assert any(value is not None for row in rows for value in row["values"])


def test_an_agent_that_tells_no_probabilities_has_none(tmp_path: Path) -> None:
    record_games(MISSOURI, "search:4", tmp_path / "kept.jsonl", games=1)
    assert all(row["probabilities"] is None for row in read_record(tmp_path / "kept.jsonl"))


@pytest.mark.slow
@BY_NAME
def test_every_game_can_be_recorded_and_replayed(game: Game, tmp_path: Path) -> None:
    for path in (tmp_path / "kept.jsonl", tmp_path / "kept.parquet"):
        if path.suffix == ".parquet":
            pytest.importorskip("pyarrow", reason="needs the extra parquet")
        extra = ["text", "observation"]
        number = record_games(game, "bot" if game.bots else "random", path, games=1, seed=1, extra=extra)
        assert sum(1 for _ in read_record(path)) == number > 0


def test_parquet_holds_the_same_rows(kept: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra parquet")
    path = tmp_path / "kept.parquet"
    record_games(
        MISSOURI, ["bot", "random"], path, games=6, seed=3, extra=["text", "observation", "legal_names"],
        values="search:4",
    )  # fmt: skip
    assert list(read_record(path)) == lines(kept)[1:]
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(RecordError, match="no whole Parquet file"):
        list(read_record(path))


def test_a_row_shows_nothing_that_its_seat_cannot_know() -> None:
    """All that the seat to act cannot see is redrawn, and its row stays the same but for what is played after it."""
    game, players = MISSOURI, [agent("bot", MISSOURI)] * 2
    head = play.Head(game.name, 0, {}, ["bot", "bot"], 0, 8, None, [*COLUMNS])
    tables = backalley.BatchEnv(game, 8, seed=5, autoreset=False, events=True)
    tables.reset()
    rows, keys = np.arange(8), np.arange(8, dtype=np.uint64)
    for _ in range(4):
        seen = play._decide(tables, players, head, rows, keys, None)
        seats = tables.engine.batch.seat[rows].astype(np.int64)
        true = tables.engine.batch.state.copy()
        tables.engine.determinize(tables.engine.batch.state, seats, keys + np.uint64(99))
        assert tables.engine.batch.state.tobytes() != true.tobytes()
        tables.engine.batch.flat[:] = tables.observe(seats, rows)
        assert play._decide(tables, players, head, rows, keys, None) == seen
        tables.engine.batch.state[:] = true
        tables.step(np.array([row["action"] for row in seen]), rows)
        rows = rows[tables.engine.batch.seat[rows] >= 0]
        if len(rows) < 8:
            break


# Files that are not what was written ----------------------------------------------------------------------------------


def _changed(name: str, value: Any) -> Callable[[list[Any]], None]:
    def change(found: list[Any]) -> None:
        found[4][name] = value

    return change


def _head(name: str, value: Any) -> Callable[[list[Any]], None]:
    def change(found: list[Any]) -> None:
        found[0][name] = value

    return change


DAMAGED: dict[str, tuple[Callable[[list[Any]], Any], str]] = {
    "action": (_changed("action", 3), "line 5: the action 3 is not legal"),
    "name": (_changed("name", "stand"), "line 5: the action"),
    "seat": (_changed("seat", 7), "line 5: seat is 7"),
    "legal": (_changed("legal", [0, 1, 2, 3]), "line 5: legal is"),
    "text": (_changed("text", "nothing"), "line 5: text is"),
    "observation": (_changed("observation", [0]), "line 5: observation is"),
    "reward": (_changed("reward", [1.0, -1.0, 0.0]), "line 5: reward is"),
    "returns": (_changed("returns", [9.0, -9.0]), "line 5: returns is"),
    "nan": (_changed("reward", [float("nan"), 0.0]), "line 5: reward is"),
    "probabilities": (_changed("probabilities", [2.0]), "line 5: the probabilities"),
    "values": (_changed("values", ["much"]), "line 5: the values"),
    "kind": (_changed("decision", "3"), "line 5: decision is '3'; it takes int"),
    "true": (_changed("seat", True), "line 5: seat is 'True'; it takes int"),
    "column": (_changed("more", 1), "line 5: a row has the columns"),
    "no row": (lambda found: found.__setitem__(4, [1]), "line 5: a row has"),
    "a row fewer": (lambda found: found.pop(3), "line 4: "),
    "a row twice": (lambda found: found.insert(3, found[3]), "line 5: "),
    "a game fewer": (
        lambda found: found.__delitem__(slice(-1, None)),
        "its end: 6 games were recorded, and 5 are whole",
    ),
    "format": (_head("format", "backalley record 9"), "line 1: .* its format is 'backalley record 9'"),
    "version": (_head("version", 9), "line 1: .* version 9"),
    "game": (_head("game", "os.path"), "line 1: the head: There is no game 'os.path' that is known here"),
    "options": (_head("options", {"colour": "red"}), "colour"),
    "agents": (_head("agents", []), "line 1: the head: it names 0 agents, and the game has "),
    "seed": (_head("seed", -1), "line 1: the head: seed is -1"),
    "columns": (_head("columns", ["game", "cards"]), "line 1: the head: entry 1 of columns is 'cards'"),
    "a list as column": (_head("columns", [[]]), r"line 1: the head: entry 0 of columns is \[\]"),
    "fewer columns": (_head("columns", ["game"]), "line 1: the head names no column decision"),
    "head": (lambda found: found.__setitem__(0, 3), "line 1: this is no record"),
    "nothing": (lambda found: found.clear(), "line 1: this is no record"),
}


@pytest.mark.parametrize("harm", DAMAGED)
def test_a_changed_record_is_a_sentence_with_its_line(harm: str, kept: Path, tmp_path: Path) -> None:
    change, says = DAMAGED[harm]
    found, path = lines(kept), tmp_path / "damaged.jsonl"
    change(found)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in found))
    with pytest.raises(RecordError, match=says):
        list(read_record(path))


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (b'{"game": 0', "line 4 is cut off"),
        (b"not json\n", "line 4: it is not JSON"),
        (b"\xff\n", "line 4 is not UTF-8"),
        (b"[" * 9000 + b"\n", "line 4: it is nested"),
        (b'{"game": ' + b"9" * 5000 + b"}\n", "line 4: a number"),
        (b'"' + b"x" * (17 << 20), "line 4 has more than 16 MiB"),
    ],
    ids=["cut", "garbage", "bytes", "deep", "digits", "long"],
)
def test_a_line_that_is_none_is_a_sentence_with_its_number(end: bytes, says: str, kept: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(b"".join(kept.read_bytes().splitlines(keepends=True)[:3]) + end)
    with pytest.raises(RecordError, match=says):
        list(read_record(path))


class Breaks(Agent):
    """Plays as the bot does, until it is interrupted."""

    name = "breaks"

    def __init__(self, after: int) -> None:
        self._bot, self._left, self.asked = agent("bot", MISSOURI), after, 0

    def act(self, view: Any) -> Any:
        self.asked += len(view)
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        return self._bot.act(view)


def test_an_interrupted_record_leaves_the_earlier_file_and_no_half_one(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    path.write_text("the earlier one")
    with pytest.raises(KeyboardInterrupt):
        record_games(MISSOURI, Breaks(3), path, games=4)
    assert [file.name for file in tmp_path.iterdir()] == ["kept.jsonl"]
    assert path.read_text() == "the earlier one"


def test_rows_are_given_before_all_games_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    """So memory does not grow with their number."""
    monkeypatch.setattr(play, "TABLES", 2)
    player = Breaks(10**6)
    head = play.Head(MISSOURI.name, 0, {}, ["breaks"] * 2, 0, 1000, None, ["game", "action"])
    rows = play.played(MISSOURI, [player], head)
    next(rows)
    assert 0 < player.asked < 300
    rows.close()  # type: ignore[attr-defined]


def test_the_commands(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    made = run("record", "missouri_city", "bot", "--games", 2, "--jsonl", path, "--names", "--seed", 4)
    assert "Again: backalley record missouri_city bot" in made.output
    assert "2 games" in run("replay", path).output
    piped = run("record", "missouri_city", "bot", "--games", 2, "--jsonl", "-", "--names", "--seed", 4)
    assert piped.stdout_bytes == path.read_bytes()


def test_the_guide_has_every_column() -> None:
    page = (ROOT / "docs" / "guides" / "data.md").read_text("utf-8")
    for name, column in COLUMNS.items():
        assert f"| `{name}` | {column.kind} | {column.meaning} |" in page


def test_a_game_without_events_has_the_table_as_its_text(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    record_games(HIGH_CARD.bind(), "random", path, games=2, extra=["text"])
    _, *rows = lines(path)
    assert all("What happened" not in row["text"] and "The table as you see it" in row["text"] for row in rows)
