"""The environment for OpenEnv. OpenEnv brings some eighty packages, so it is installed apart from the other tests'."""

from __future__ import annotations

import re
from typing import Any

import pytest

import backalley
from tests.common.cases import GAMES

pytest.importorskip("openenv.core", reason="OpenEnv (the extra `openenv`) is not installed")
from backalley.openenv import AnswerAction, CardGame, app

BY_NAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)


@BY_NAME
def test_a_whole_game_is_played(game: backalley.Game) -> None:
    env = CardGame(game.name, opponent="random", seat="random", legal=True)
    seen = env.reset(seed=4)
    assert "## §1" in seen.text
    assert env.state.seat in range(game.num_seats)
    gained, steps = seen.reward, 0
    while not seen.done:
        legal = re.search(r"Your legal actions: (.*)\.$", seen.text, re.MULTILINE)
        assert legal, seen.text
        seen = env.step(AnswerAction(answer=f'{{"action": "{legal[1].split(", ")[-1]}"}}'))
        assert not seen.refusal
        gained, steps = gained + seen.reward, steps + 1
    assert env.state.step_count == steps
    assert env.state.gained == pytest.approx(gained)
    assert seen.text.endswith(f"Your return: {env.state.gained:+g}.")


def test_the_second_unreadable_answer_in_a_row_forfeits() -> None:
    env = CardGame("pitch", opponent="random")
    first = env.reset(seed=4)  # this seat bids first
    refused = env.step(AnswerAction(answer="I could bid 2 or pass"))
    assert not refused.done
    assert refused.reward == 0
    assert "is no action of Pitch. Legal: pass" in refused.refusal
    assert refused.text in first.text, "nothing was played"
    assert not env.step(AnswerAction(answer="pass")).refusal
    assert not env.step(AnswerAction(answer="no")).done, "the count begins again"
    ended = env.step(AnswerAction(answer="no"))
    assert ended.done
    assert ended.reward == env.state.gained == -1
    assert ended.refusal.endswith("the game is forfeit.")
    with pytest.raises(backalley.BackAlleyError, match=r"call reset\(\)"):
        env.step(AnswerAction(answer="hit"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"game": "chess"}, "There is no game 'chess'"),
        ({"opponent": "tests/common/faulty.py:Fair"}, "There is no agent"),
        ({"options": {"target": 0}}, "target is 0"),
        ({"seat": 4}, "seats 0..3"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_input_is_answered_in_a_sentence_and_loses_nothing(given: dict[str, Any], says: str) -> None:
    env = CardGame("pitch")
    env.reset(seed=1)
    seat = env._seat
    with pytest.raises(backalley.BackAlleyError, match=says):
        env.reset(**given)
    assert env._seat is seat
    assert env.step(AnswerAction(answer="pass")).refusal == ""


def test_it_is_served() -> None:
    from starlette.testclient import TestClient

    with TestClient(app()).websocket_connect("/ws") as socket:
        socket.send_json({"type": "reset", "data": {"seed": 1, "game": "backhand"}})
        assert "Backhand" in socket.receive_json()["data"]["observation"]["text"]
        socket.send_json({"type": "step", "data": {"answer": "fold"}})
        assert "Legal: hit" in socket.receive_json()["data"]["observation"]["refusal"]
        socket.send_text("{")
        assert socket.receive_json()["type"] == "error"
        socket.send_json({"type": "step", "data": {"answer": "hit"}})
        assert socket.receive_json()["data"]["observation"]["refusal"] == ""
