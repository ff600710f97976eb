"""Upper bounds of what anybody gains against an agent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import backalley
from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import BotAgent, RandomAgent
from backalley.benchmarks.exact.exploit import exploitability
from backalley.benchmarks.figures.stats import Estimate, mean_interval
from backalley.benchmarks.studies.strength.certificate import best_in_worlds
from backalley.examples import kuhn

TINY = backalley.game("poker_duel", preset="tiny")


KUHN = kuhn.GAME.bind()


def bound(game: Any, agent: Agent, worlds: int, deals: int) -> Estimate:
    gains = [
        [best_in_worlds(game, agent, seat, worlds, np.random.default_rng([deal, seat])) for seat in range(2)]
        for deal in range(deals)
    ]
    return mean_interval(np.mean(gains, 1))


@pytest.mark.parametrize(("game", "agent"), [(KUHN, RandomAgent()), (TINY, BotAgent(TINY, "greedy"))], ids=str)
def test_the_bound_comes_down_to_what_a_best_response_gains(game: Any, agent: Agent) -> None:
    low, high = exploitability(game, [agent]).agents[0].held
    found = bound(game, agent, 128, 60)
    assert found.high > (high - low) / 2 > found.low - 0.02


def test_who_knows_all_cards_gains_clearly_more() -> None:
    low, high = exploitability(KUHN, [RandomAgent()]).agents[0].held
    assert bound(KUHN, RandomAgent(), 1, 200).low > (high - low) / 2
