"""Asking a search what every action is worth, and agents for hints at the terminal: the answer is the search's own,
nothing at the table changes by it, and what cannot be asked is a sentence."""

from __future__ import annotations

import math
import re
from typing import Any

import gymnasium
import numpy as np
import pytest

import backalley
from backalley.agents.base.agent import view_of
from backalley.agents.people.advice import AnalysedAction, analysis_text
from backalley.agents.people.human import play
from backalley.agents.people.terminal import LeftTable
from backalley.agents.registry import agent
from backalley.agents.search.racing import RacingAgent
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.game import catalogue
from backalley.examples import kuhn
from tests.agents.test_human import Screen
from tests.common.commands import run

KUHN = backalley.game(kuhn.GAME)
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
    monkeypatch.setattr(catalogue, "_registered", {"kuhn": kuhn.GAME})
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
