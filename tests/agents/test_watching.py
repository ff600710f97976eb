"""A table to look at: what people are told of others' actions, taking back, recording and watching."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

import backalley
from backalley.agents.base.agent import Agent
from backalley.agents.people.human import play
from backalley.agents.people.terminal import LeftTable, shown
from backalley.agents.people.watching import Turn, told, turns
from backalley.agents.registry import agent
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.files.playthrough import recorded, replay, save
from backalley.envs.core.game.game import Game
from backalley.envs.core.text.reader import read_phrase
from backalley.examples.kuhn import GAME as KUHN_TYPE
from tests.agents.test_human import Screen
from tests.common.cases import BY_NAME
from tests.common.commands import run

KUHN = backalley.game(KUHN_TYPE)


def test_a_person_is_told_what_others_did_since_their_last_action() -> None:
    pitch = backalley.game("pitch")
    screen = Screen("pass", "?")
    with pytest.raises(LeftTable):
        play(pitch, [agent("bot", pitch)], seat=0, seed=3, terminal=screen.terminal)
    first, second = [text for text in screen.shown if "seen by" in text]
    assert first.splitlines()[1:4] == ["seat 1: pass", "seat 2: bid 2", "seat 3: pass"]
    others = [line for line in second.splitlines() if line.startswith("seat 2: play")]
    assert others, "seat 2 has led"
    assert "seat 0: pass" not in second, "one's own action is no news"


def test_hidden_actions_are_counted_and_not_told() -> None:
    duel = backalley.game("poker_duel")
    screen = Screen(*["slot 1"] * 5, *["slot 2"] * 5, *["slot 3"] * 5, "stand")
    with pytest.raises(LeftTable):
        play(duel, [agent("bot", duel)], seat=0, seed=3, terminal=screen.terminal)
    text = "\n".join(screen.shown)
    assert "seat 1: assigns a card (15 times)" in text
    assert "seat 1: slot" not in text


def test_an_action_is_taken_back_with_all_that_followed(tmp_path: Path) -> None:
    """The game goes on from there as if it had never been played; the file holds what counted in the end."""
    pitch = backalley.game("pitch", mode="hand")
    path = tmp_path / "mine.json"
    screen = Screen("undo", "bid 3", "undo", "pass")
    with pytest.raises(LeftTable):
        play(pitch, [agent("bot", pitch)], seat=0, seed=3, terminal=screen.terminal, save=path)
    assert "There is nothing to take back yet." in screen.shown
    assert not path.exists(), "left before the end"
    tables = [text.partition("Pitch · ")[2] for text in screen.shown if "seen by" in text]
    assert tables[0] == tables[1] == tables[3], "before the bid, and after taking it back"
    assert "bids 3" in tables[2]
    legal = Screen()
    legal.type = lambda: first_legal(legal)  # type: ignore[method-assign]
    legal.terminal._ask = legal.type
    returns = play(pitch, [agent("bot", pitch)], seat=0, seed=3, terminal=legal.terminal, save=path)
    assert list(replay(path))[-1].startswith("Returns: ")
    assert json.loads(path.read_bytes())["returns"] == pytest.approx(returns)


def first_legal(screen: Screen) -> str:
    """The first action of the last table shown."""
    table = next(text for text in reversed(screen.shown) if "to act: " in text)
    return table.rpartition("to act: ")[2].split(",")[0].strip()


def test_two_people_take_back_their_own(tmp_path: Path) -> None:
    screen = Screen("pass", "", "undo", "bet", "", "pass")
    returns = play(KUHN, [agent("human", KUHN)], seat=0, seed=1, terminal=screen.terminal, save=tmp_path / "k.json")
    assert "There is nothing to take back yet." in screen.shown, "the other's pass is not one's own"
    assert sum(returns) == 0


def episode(game: Game, agents: list[Agent], seed: int) -> list[Turn]:
    return list(turns(AECEnv(game), agents, seed))


def test_turns_keep_the_tables_that_they_led_to() -> None:
    pitch = backalley.game("pitch", mode="hand")
    made = episode(pitch, [agent("bot", pitch)], 1)
    assert len({turn.state.tobytes() for turn in made}) == len(made)


@BY_NAME
def test_a_recorded_game_is_the_one_that_the_environment_deals(game: Game, tmp_path: Path) -> None:
    made = episode(game, [agent("random", game)], 4)
    kept = recorded(game, 4, [turn.action for turn in made])
    assert kept["returns"] == pytest.approx(np.sum([turn.rewards for turn in made], axis=0).tolist(), abs=1e-5)
    save(tmp_path / "one.json", kept)
    assert len(list(replay(tmp_path / "one.json"))) == len(made) + 2


def test_agents_sit_where_they_were_named() -> None:
    pitch = backalley.game("pitch", mode="hand")
    same, each = (episode(pitch, [agent("bot", pitch)] * count, 1) for count in (1, 4))
    assert [turn.action for turn in same] == [turn.action for turn in each]
    with pytest.raises(ValueError, match="3 agents were given; pitch has 4 seats: give one, or one for each"):
        episode(pitch, [agent("bot", pitch)] * 3, 1)


def test_others_are_told_less_of_a_hidden_action() -> None:
    duel = backalley.game("poker_duel")
    turn = episode(duel, [agent("bot", duel)], 1)[0]
    for seat in (turn.seat, None):
        assert told(duel, turn.seat, turn.action, seat).startswith(f"seat {turn.seat}: slot")
    assert told(duel, turn.seat, turn.action, 1 - turn.seat) == f"seat {turn.seat}: assigns a card"


def test_red_suits_are_red_where_colours_are_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("click.echo", print)
    shown("hand AD TC QHa 9H.2 DEAL AH-HA")
    assert capsys.readouterr().out.count("\x1b[31m") == 4
    monkeypatch.setenv("NO_COLOR", "1")
    shown("AD")
    assert capsys.readouterr().out == "AD\n"


class Tty(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("encoding", "line"), [("utf-8", "T♦ Q♠a JOKER 9♥.2"), ("ascii", "TD QSa JOKER 9H.2")])
def test_cards_have_signs_at_a_terminal_that_can_write_them(
    encoding: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", screen := Tty(written, encoding=encoding))
    shown("TD QSa JOKER 9H.2")
    screen.flush()
    assert written.getvalue().decode(encoding).rstrip() == line
    pitch = backalley.game("pitch")
    assert read_phrase(pitch, range(pitch.num_actions), "play T♦") == pitch.action_number("play TD"), "it can be typed"


# The commands ---------------------------------------------------------------------------------------------------------


def test_record_and_replay(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    done = run("record", "missouri_city", "bot", "random", "--seed", "4", "--out", str(path))
    assert done.exit_code == 0
    assert "Written to" in done.output
    assert run("replay", str(path)).exit_code == 0


def test_play_saves_what_replay_reads(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    done = run("play", "backhand", "--seed", "3", "--save", str(path), input="stand\n" * 3 + "hit\n" * 9)
    assert f"backalley replay {path}" in done.output
    assert run("replay", str(path)).exit_code == 0
    left = run("play", "backhand", "--seed", "3", "--save", str(tmp_path / "no.json"), input="q\n")
    assert "no.json was not written" in left.output
    assert not (tmp_path / "no.json").exists()


def test_watch_shows_every_turn_as_a_seat_sees_it() -> None:
    done = run("watch", "poker_duel", "bot", "--seat", "0", "--seed", "2", "--option", "num_games=1")
    assert done.exit_code == 0
    assert "seat 1: assigns a card" in done.output
    assert "seat 1: slot" not in done.output
    assert "\nReturns: seat 0 " in done.output
