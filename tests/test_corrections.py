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
from tests import kuhn

GAME = kuhn.GAME.bind()


def policy(folder: Path, margin: float | None) -> PolicyAgent:
    player = Corrections(8, 1, "random", fingerprint(GAME, "random"), margin)
    random = np.random.default_rng(5)
    arrays = {name: random.standard_normal(shape) for name, shape in player.shapes(GAME).items()}
    save_policy(folder, arrays, GAME, name="corrected", player=player, made={})
    return PolicyAgent(folder, GAME)


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
