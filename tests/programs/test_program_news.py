"""What a program is sent of a history where it asks for what is new alone."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import backalley
from backalley.agents.base.agent import read_events, view_of
from backalley.agents.programs.protocol import NEW_PARTS, PARTS, Heard, Question
from backalley.agents.registry import agent
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.envs.core.text import observation_text
from backalley.examples import kuhn
from tests.common.cases import GAMES

BY_NAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
KUHN = kuhn.GAME.bind()
PYTHON = f"{sys.executable} -I -S"


@BY_NAME
def test_what_is_new_makes_the_whole(game: Game) -> None:
    """Asked decision by decision, what a program is sent of each seat's history is all of it, and once."""
    batch, sent = BatchEnv(game, 1, seed=5, events=True), {}
    heard: dict[int, Heard] = {}
    batch.reset()
    random = np.random.default_rng(5)
    for _ in range(40):
        seat = int(batch.time_step.seat[0])
        view = view_of(batch, np.zeros(1, np.int64), np.zeros(1, np.uint64))
        question = Question(view, 0, heard.setdefault(seat, Heard()))
        found = json.loads(question.line(1, frozenset(PARTS + NEW_PARTS)))
        before = sent.setdefault(seat, [])
        assert found["events_before"] == len(before)
        before += found["new_events"]
        assert before == found["events"] == batch.events().events[0].tolist()
        assert found["text"] == observation_text(batch.position(), seat)
        assert found["new_text"].startswith("Game: ") == (len(before) == len(found["new_events"]))
        assert found["new_text"].endswith(f"{view.game_state(0, 1).table_str(seat)}\n\nIt is your turn.")
        again = json.loads(Question(view, 0, heard[seat], "no").line(2, frozenset(NEW_PARTS)))
        assert again["new_events"] == [], "what was sent before is not sent again"
        mask = batch.time_step.action_mask
        if batch.step((mask * random.random(mask.shape)).argmax(1)).terminated[0]:
            break


def test_a_request_for_what_is_new_does_not_grow() -> None:
    game = backalley.game("pitch")
    batch, heard, lengths = BatchEnv(game, 1, seed=5, events=True), {}, []
    batch.reset()
    random = np.random.default_rng(5)
    for _ in range(200):
        view = view_of(batch, np.zeros(1, np.int64), np.zeros(1, np.uint64))
        one = heard.setdefault(int(view.seat[0]), Heard())
        lengths.append([len(Question(view, 0, one).line(1, frozenset({part}))) for part in ("new_text", "text")])
        one.sent = len(view.events(0))
        mask = batch.time_step.action_mask
        assert not batch.step((mask * random.random(mask.shape)).argmax(1)).terminated[0]
    (first, _), (last, whole) = np.max(lengths[4:60], axis=0), np.max(lengths[140:], axis=0)
    assert last < 1.5 * first
    assert whole > 3 * last, "the whole text grows, so that this could fail"


def test_a_table_that_begins_again_is_shown_from_the_start() -> None:
    heard = Heard()
    for events, sent in (([[1, 0, 2]], 0), ([[1, 0, 2], [1, 1, 0]], 1), ([[1, 0, 3], [1, 1, 0]], 0), ([], 0)):
        heard.follow(np.array(events, np.int16).reshape(-1, 3))
        assert heard.sent == sent
        heard.sent = 1


NEWS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type": "hello", "protocol": 1, "wants": ["new_events", "new_text"]}', flush=True)
    elif message["type"] == "act":
        print(json.dumps(message), file=open(sys.argv[1], "a"))
        if message["events_before"] > 3 and not message.get("error"):
            sys.exit(1)
        print(json.dumps({"action": message["legal"][0]["action"]}), flush=True)
"""


def test_no_history_is_kept_for_who_wants_none(tmp_path: Path) -> None:
    program = tmp_path / "blind.py"
    for wants, reads in (("observation", False), ("new_text", True)):
        program.write_text(
            f"""print('{{"type": "hello", "protocol": 1, "wants": ["{wants}"]}}', flush=True); input()"""
        )
        player = agent(f"cmd:{PYTHON} {program}", KUHN)
        assert read_events([player], KUHN) is reads
        player.close()


def test_a_program_that_is_started_again_is_shown_all(tmp_path: Path) -> None:
    (tmp_path / "news.py").write_text(NEWS)
    game = backalley.game("missouri_city")
    report = evaluate(game, [f"cmd:{PYTHON} {tmp_path / 'news.py'} {tmp_path / 'given'}", "random"], deals=3)
    given = [json.loads(line) for line in (tmp_path / "given").read_text().splitlines()]
    assert 0 < (report.agents[0].forfeits or 0) < 6
    assert {"observation", "events", "text"}.isdisjoint(given[0])
    after = [here for last, here in itertools.pairwise(given) if last["events_before"] > 3]
    assert after
    assert all(one["events_before"] == 0 and one["new_text"].startswith("Game: ") for one in after)
