"""People at a table: nobody is shown what another may see, they are shown what others did, take back, record and watch,
and ask for hints; and what a search says that every action is worth."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import backalley
from backalley.agents.base.agent import Agent, view_of
from backalley.agents.people.advice import AnalysedAction, analysis_text
from backalley.agents.people.human import play
from backalley.agents.people.terminal import LeftTable, Terminal, shown
from backalley.agents.people.watching import Turn, action_words, turns
from backalley.agents.registry import agent
from backalley.agents.search.racing import RacingAgent
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.files.playthrough import recorded, replay, save
from backalley.envs.core.game import catalogue
from backalley.envs.core.game.game import Game
from backalley.envs.core.text.reader import read_phrase
from backalley.examples.kuhn import GAME as KUHN_TYPE
from tests import ROOT
from tests.common.cases import BY_NAME
from tests.common.commands import run

KUHN = backalley.game(KUHN_TYPE)
CLEARED = "-- cleared --"


class Screen:
    """A terminal whose lines are typed beforehand, or always by `typed`, and which keeps all that it shows."""

    def __init__(self, *lines: str, hides: bool = True) -> None:
        self.lines, self.shown = list(lines), list[str]()
        self.terminal = Terminal(self.type, self.shown.append, lambda: self.shown.append(CLEARED), hides=hides)

    def type(self) -> str:
        if not self.lines:
            raise EOFError
        self.shown.append(f"> {self.lines[0]}")
        return self.lines.pop(0)


def test_the_screen_is_cleared_between_two_people_and_shows_nothing_before_they_look() -> None:
    screen = Screen("pass", "", "bet", "", "bet")
    returns = play(KUHN, [agent("human", KUHN)], seat=0, seed=1, terminal=screen.terminal)
    assert sum(returns) == 0
    parts = "\n".join(screen.shown).split(CLEARED)
    assert len(parts) == 3, "cleared before the second seat and before the first again"
    for number, (part, name) in enumerate(zip(parts, (0, 1, 0), strict=True)):
        shown = part.splitlines()
        if number:
            assert shown[1] == f"The screen is for {KUHN.seat_name(name)} alone. Press Enter to look."
            assert shown[2] == "> "
        assert all(f"(player_{name})" in line for line in shown if "seen by" in line)
        assert part.count("seen by") == 1


def test_who_plays_both_hands_may_leave_the_screen_as_it_is() -> None:
    screen = Screen("pass", "bet", "bet", hides=False)
    play(KUHN, [agent("human", KUHN)], seat=1, seed=1, terminal=screen.terminal)
    assert CLEARED not in screen.shown
    assert not any("Press Enter" in line for line in screen.shown)


def test_nothing_is_cleared_for_one_person_alone() -> None:
    screen = Screen("pass", "pass")
    play(KUHN, [agent("random", KUHN)], seat=0, seed=1, terminal=screen.terminal)
    assert CLEARED not in screen.shown


def test_leaving_in_front_of_a_cleared_screen() -> None:
    screen = Screen("pass", "q")
    with pytest.raises(LeftTable):
        play(KUHN, [agent("human", KUHN)], seat=0, seed=1, terminal=screen.terminal)


def test_a_person_may_be_one_of_an_evaluation_and_leave_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A deal is finished before the other seating of it is shown; leaving is as Ctrl-C."""
    monkeypatch.setattr("builtins.input", lambda prompt: "pass")
    assert evaluate(KUHN, ["human", "random"], deals=20).deals == 20
    shown = [bets.replace(" ", "") for bets in re.findall(r"\nbets(.*)\n", capsys.readouterr().out)]
    assert "pb" in shown, "some pass of the person's was answered by a bet"
    assert all(before == "" for before, after in itertools.pairwise(shown) if after == "pb"), shown

    def leave(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", leave)
    with pytest.raises(KeyboardInterrupt):
        evaluate(KUHN, ["human", "random"], deals=3)


@BY_NAME
def test_every_game_is_played_by_people_alone(game: backalley.Game) -> None:
    """By name, always the first legal action that the screen lists."""
    listed: list[str] = []

    def first() -> str:
        return listed.pop() if listed else "?"

    def show(text: str) -> None:
        actions = [line.split(maxsplit=1)[1] for line in text.splitlines() if re.match(r" +\d+  ", line)]
        if text.startswith("Type an action") and actions:
            listed.append(actions[0])

    terminal = Terminal(first, show, lambda: None, hides=False)
    others = [agent("human", game)] if game.num_seats > 1 else []
    returns = play(game, others, seat=0, seed=5, terminal=terminal)
    assert len(returns) == game.num_seats


def test_a_person_is_shown_what_others_did_since_their_last_action() -> None:
    pitch = backalley.game("pitch")
    screen = Screen("pass", "?")
    with pytest.raises(LeftTable):
        play(pitch, [agent("bot", pitch)], seat=0, seed=3, terminal=screen.terminal)
    first, second = [text for text in screen.shown if "seen by" in text]
    assert first.splitlines()[1:4] == ["seat 1: pass", "seat 2: bid 2", "seat 3: pass"]
    others = [line for line in second.splitlines() if line.startswith("seat 2: play")]
    assert others, "seat 2 has led"
    assert "seat 0: pass" not in second, "one's own action is no news"


def test_hidden_actions_are_counted_and_not_shown() -> None:
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


def test_others_are_shown_less_of_a_hidden_action() -> None:
    duel = backalley.game("poker_duel")
    turn = episode(duel, [agent("bot", duel)], 1)[0]
    for seat in (turn.seat, None):
        assert action_words(duel, turn.seat, turn.action, seat).startswith(f"seat {turn.seat}: slot")
    assert action_words(duel, turn.seat, turn.action, 1 - turn.seat) == f"seat {turn.seat}: assigns a card"


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
    assert "\033" not in done.output, "in a file or a pipe all tables follow each other"


@pytest.mark.skipif(sys.platform == "win32", reason="pty is for POSIX alone")
def test_watch_redraws_the_table_in_place_at_a_terminal() -> None:
    import pty

    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "backalley", "watch", "backhand", "bot", "--pause", "0", "--seed", "2"]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    given = os.environ | {"PYTHONPATH": paths, "BACKALLEY_COMPILE": "never"}  # else it may say that it compiles
    with subprocess.Popen(words, stdout=theirs, stderr=theirs, env=given):
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # how Linux says that the other end is closed
            while part := os.read(ours, 1 << 16):
                said += part
        os.close(ours)
    first, *tables = said.split(b"\033[H\033[J")
    assert not first.strip()
    assert [int(table.split(b".")[0]) for table in tables] == [*range(1, len(tables) + 1)]
    assert b"Returns: player " in tables[-1]


SEARCH = "search:24"
GAME = "missouri_city"


def choosing(seed: int = 3) -> AECEnv:
    """A table at which somebody has a choice."""
    env = backalley.make(GAME).unwrapped
    env.reset(seed=seed)
    while env.engine.batch.mask[0].sum() < 2:
        env.step(int(env.engine.batch.mask[0].argmax()))
    return env


def everything(env: Any) -> list[bytes]:
    batch = env.engine.batch
    return [array.tobytes() for array in (batch.raw, batch.stream, batch.decisions, batch.flat, batch.mask, batch.seat)]


def test_it_is_what_the_search_finds_and_changes_nothing() -> None:
    env = choosing()
    before = everything(env), env.last()[0]["observation"].tobytes()
    judged = backalley.analyse(env, SEARCH, key=5)
    assert (everything(env), env.last()[0]["observation"].tobytes()) == before
    legal = np.flatnonzero(env.engine.batch.mask[0]).tolist()
    assert sorted(one.action for one in judged) == legal
    assert [one.name for one in judged] == [env.game.action_str(one.action) for one in judged]
    assert [one.played for one in judged] == [True] + [False] * (len(legal) - 1)
    assert judged != backalley.analyse(env, SEARCH, key=6), "by another key in other determinizations"
    view = view_of(env, np.zeros(1, np.int64), np.zeros(1, np.uint64))
    search = RacingAgent(env.game, 24)
    found, of_view = search.analyse(view), backalley.analyse(view, search)
    assert of_view[0].action == found.action[0]
    for one in of_view:
        figures = (found.value[0, one.action], found.error[0, one.action], found.determinizations[0, one.action])
        assert (one.value, one.error, one.determinizations) == figures


def test_the_same_position_gets_the_same_answer_through_every_door() -> None:
    env = choosing()
    judged = backalley.analyse(env, SEARCH)
    assert backalley.analyse(env, agent(SEARCH, GAME)) == judged
    batch = backalley.make_vec(GAME, num_envs=3, seed=2, autoreset=False)  # table 1 is dealt by seed 3
    batch.reset()
    while batch.engine.batch.decisions[1] < env.engine.batch.decisions[0]:
        batch.step(batch.time_step.action_mask[[1]].argmax(1), [1])
    batch.time_step.observation[:] = 0  # a caller may write there
    assert backalley.analyse(batch, SEARCH, row=1) == judged
    seat = gymnasium.make(backalley.game(GAME).type.gymnasium_id, opponent="random")
    seat.reset(seed=1)
    assert {one.action for one in backalley.analyse(seat, SEARCH)} == set(np.flatnonzero(seat.unwrapped.action_masks()))


def test_where_nothing_can_be_asked() -> None:
    env = backalley.make(GAME)
    with pytest.raises(RuntimeError, match="Nobody is to act at this table"):
        backalley.analyse(env, SEARCH)
    env.reset(seed=3)
    for who in ("random", "bot"):
        with pytest.raises(ValueError, match=f"{who}.* does not compute the values of actions; use a search"):
            backalley.analyse(env, who)
    with pytest.raises(ValueError, match="Table 1 was asked for; there are 1, rows 0"):
        backalley.analyse(env, SEARCH, row=1)
    for wrong in ({"key": 0.5}, {"row": "first"}):
        with pytest.raises(TypeError, match="takes a whole number"):
            backalley.analyse(env, SEARCH, **wrong)
    with pytest.raises(TypeError, match="str is no table"):
        backalley.analyse(GAME, SEARCH)
    batch = backalley.make_vec(GAME, num_envs=2, seed=0, autoreset=False)
    with pytest.raises(RuntimeError, match="Nobody is to act"):
        backalley.analyse(batch, SEARCH)


# At the terminal ------------------------------------------------------------------------------------------------------


def advised(*lines: str, adviser: str = SEARCH) -> list[str]:
    """What a person is shown who types these lines and leaves."""
    screen = Screen(*lines)
    with pytest.raises(LeftTable):
        play(KUHN, [agent("random", KUHN)], seat=0, seed=1, terminal=screen.terminal, adviser=agent(adviser, KUHN))
    return screen.shown


def test_a_hint_of_a_search_has_every_action_and_its_worth() -> None:
    shown = advised("hint", " HINT ", "?")
    assert "\nhint asks search:24 what to do.\n" in shown[0]
    first, second = shown[4].splitlines(), shown[7]
    assert first[0].startswith("search:24 would play: ")
    assert {line.split()[1] for line in first[2:]} == {"pass", "bet"}
    assert all(" ± " in line and line.split()[-1].isdigit() for line in first[2:])
    assert second.splitlines() == first, "asking changes nothing"


def test_a_hint_of_another_agent_is_an_action() -> None:
    assert re.search(r"\nrandom would play: (pass \(0\)|bet \(1\))$", "\n".join(advised("hint", adviser="random")))
    with pytest.raises(ValueError, match="human is the one who asks for it"):
        advised(adviser="human")


def test_hints_on_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_registered", {"kuhn": KUHN_TYPE})
    words = ["play", "kuhn", "--opponent", "random", "--seed", "3"]
    shown = run(*words, input="hint\nq\n").output
    assert "search:96 would play: " in shown
    shown = run(*words, "--hint", "random", input="hint\nq\n").output
    assert "random would play: " in shown
    assert " --hint random " in shown.splitlines()[-1]
    assert "There is no agent 'nobody'" in run(*words, "--hint", "nobody").output


def test_lines_fit_the_screen() -> None:
    long = AnalysedAction(
        1234, "a name that goes on and on, and is longer than any table is wide", -0.5, 0.001, 1_000_000, True
    )
    untried = AnalysedAction(7, "short", math.nan, math.nan, 0, False)
    lines = analysis_text([long, untried], "search:1000000").splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].endswith(" ...  -0.5000 ± 0.0010  1,000,000")
    assert lines[3].endswith("not tried")
    assert analysis_text([untried], "search:96") == "search:96 would play: short (7); nothing else is legal"
