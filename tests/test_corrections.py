"""Bots with learned corrections, as they are played."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from backalley.agents.base import Agent
from backalley.agents.fingerprint import fingerprint
from backalley.agents.learned import PolicyAgent
from backalley.agents.match import Match
from backalley.agents.players import Corrections
from backalley.agents.policy_file import save_policy
from backalley.agents.rule_based import BotAgent, RandomAgent
from backalley.envs.core.base import Game
from backalley.envs.core.vector import BatchEnv
from tests import kuhn
from tests.cases import GAMES

GAME = kuhn.GAME.bind()


def policy(folder: Path, margin: float | None) -> PolicyAgent:
    player = Corrections(8, 1, "random", fingerprint(GAME, "random"), margin)
    random = np.random.default_rng(5)
    arrays = {name: random.standard_normal(shape) for name, shape in player.shapes(GAME).items()}
    save_policy(folder, arrays, GAME, name="corrected", player=player, made={})
    return PolicyAgent(folder, GAME)


@pytest.mark.parametrize("one", [game for game in GAMES if game.advice_bot and game.advice_bot.solves], ids=str)
def test_a_bot_plays_as_its_fast_stand_in_where_it_does_not_solve(one: Game) -> None:
    """What is learned there by the stand-in's playouts corrects what the bot itself does."""
    bot, stand_in, options = one.advice_bot, one.playout_bot, one.options
    assert bot is not None
    assert bot.solves is not None
    assert stand_in is not None
    tables, random, solved, left = BatchEnv(one, 16, seed=3), np.random.default_rng(3), 0, 0
    step = tables.reset()
    for number in range(150):
        shown = tables.engine.batch.observation
        for row in range(16):
            key = np.uint64(number * 16 + row)
            if bot.solves(options, shown[row]):
                solved += 1
                continue
            left += 1
            assert bot.act(options, shown[row], step.action_mask[row], key) == stand_in.act(
                options, shown[row], step.action_mask[row], key
            )
        step = tables.step((random.random(step.action_mask.shape) * step.action_mask).argmax(1))
    assert min(solved, left) > 100


def test_what_learning_corrects_is_the_best_bot_that_is_fast_or_solves() -> None:
    found = {one.name: one.advice_bot.name for one in GAMES if one.advice_bot}
    expected = {"bezique": "strong", "killer_bridge": "weigh", "pitch": "book", "twenty_one": "dp"}
    assert {name: found[name] for name in expected if name in found} == {
        name: bot for name, bot in expected.items() if name in found
    }


class Mute(Agent):
    """Never asked; a match in which it might be is not compiled."""


@pytest.mark.parametrize("margin", [0.0, None])
def test_matches_run_them_in_machine_code(tmp_path: Path, margin: float | None) -> None:
    """What the compiled match plays is what views play; without a margin it is what the bot plays."""
    one, seatings = policy(tmp_path / "policy", margin), np.array([[0, 1], [1, 0]])
    again: Agent = pickle.loads(pickle.dumps(one))
    streams, keys = np.arange(60, dtype=np.uint64), np.arange(120, dtype=np.uint64).reshape(60, 2)
    played = []
    for agents in ([one, RandomAgent()], [again, RandomAgent(), Mute()], [BotAgent(GAME), RandomAgent()]):
        match = Match(GAME, agents, seatings)
        assert match.compiled == (len(agents) == 2)
        played.append(match.play(streams, keys))
        match.close()
    for found, expected in zip(played[0], played[1], strict=True):
        np.testing.assert_array_equal(found, expected)
    assert np.array_equal(played[0][0], played[2][0]) == (margin is None)
