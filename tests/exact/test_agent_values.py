"""What agents are worth by enumeration: independent figures, lots, and what is refused."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.base.action_probabilities import NoProbabilities
from backalley.agents.base.rule_based import KernelAgent, RandomAgent
from backalley.agents.registry import agent
from backalley.benchmarks.exact.agent_values import AgentValues, agent_values, read_solution
from backalley.benchmarks.exact.exact import Solution, Unsolvable
from backalley.benchmarks.figures import results
from backalley.benchmarks.figures.result_kinds import of_game
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import rng
from backalley.examples.kuhn import GAME as KUHN
from tests.common.toy import DRAW, STOP, TOY, by_hand

ALONE = dataclasses.replace(TOY, enumeration_split=2).bind(seats=1)


ABOUT = {**of_game(ALONE), "changed": {}, "stamp": {"machine": "this"}}
SOLUTION = Solution(float(by_hand(1, best=True)), float(by_hand(1)), 9, 1, 0.1, **ABOUT)


@kernel
def draws_to_three(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    return DRAW if mask[DRAW] and observation.total[0] <= 3 else STOP


@kernel
def now_and_then(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    return DRAW if mask[DRAW] and rng.below(key, 4)[1] < observation.total[0] - 1 else STOP


@kernel
def its_chances(options: Any, observation: Any, mask: npt.NDArray[np.int8], out: npt.NDArray[np.float64]) -> None:
    out[:] = 0.0
    out[DRAW] = min(max(int(observation.total[0]) - 1, 0), 4) / 4 if mask[DRAW] else 0.0
    out[STOP] = 1.0 - out[DRAW]


@kernel
def beyond(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    return 2


def player(act: Callable[..., int], game: Game = ALONE, chances: Callable[..., None] | None = None) -> KernelAgent:
    made = KernelAgent(act.__name__, act, game)
    made.chances, made.is_deterministic = chances, chances is None
    return made


def values(*agents: Any, **settings: Any) -> AgentValues:
    return agent_values(ALONE, agents, SOLUTION, **settings)


@pytest.mark.parametrize("threads", [1, 2])
def test_agents_have_the_values_that_fractions_give(threads: int) -> None:
    agents = player(draws_to_three), player(now_and_then, chances=its_chances), RandomAgent()
    found = values(*agents, num_threads=threads)
    by_fractions = (
        by_hand(1, lambda total: Fraction(total <= 3)),
        by_hand(1, lambda total: Fraction(min(max(total - 1, 0), 4), 4)),
        by_hand(1),
    )
    assert [one.mean_return for one in found.agents] == pytest.approx([float(one) for one in by_fractions], abs=1e-12)
    assert found.agents[2].mean_return == pytest.approx(found.random_return, abs=1e-12)
    assert all(one.error == 0 for one in found.agents)
    assert found.gap(found.agents[0]) == pytest.approx(float(by_hand(1, best=True) - by_fractions[0]), abs=1e-12)


def test_lots_keep_the_mean_and_say_how_far_off_they_may_be() -> None:
    exact = values(RandomAgent()).agents[0]
    at_random = values(RandomAgent(), least=0.2).agents[0]
    assert 0 < at_random.error < 0.2
    assert abs(at_random.mean_return - exact.mean_return) < 4 * at_random.error
    assert at_random.positions < exact.positions
    assert values(RandomAgent(), least=0.2, num_threads=2).agents[0][:5] == at_random[:5]


def test_what_cannot_be_enumerated_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="now_and_then says that it is deterministic, and answers two keys"):
        values(player(now_and_then))
    with pytest.raises(ValueError, match="beyond has no probabilities: it chooses an action that is not legal"):
        values(player(beyond))
    with pytest.raises(NoProbabilities, match="silent does not tell the probabilities of its actions"):
        values(KernelAgent("silent", now_and_then, ALONE))
    with pytest.raises(NoProbabilities, match="mc:5 cannot be asked at every position: it has to see a table"):
        values(agent("mc:5", ALONE))
    with pytest.raises(ValueError, match="least is 1"):
        values(RandomAgent(), least=1)
    with pytest.raises(Unsolvable, match="kuhn is no game of one seat"):
        agent_values(KUHN, [RandomAgent()], SOLUTION)
    with pytest.raises(Unsolvable, match="toy is no game of one seat"):
        agent_values(ALONE.bind(seats=2), [RandomAgent()], SOLUTION)


def test_a_solution_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    results.write(path, SOLUTION.to_json())
    assert read_solution(path, ALONE).best_return == SOLUTION.best_return
    with pytest.raises(ValueError, match="holds the solution of toy-v0 under"):
        read_solution(path, ALONE.bind(seats=2))
    for damaged in ("{", "[]", json.dumps({"kind": "speed"})):
        path.write_text(damaged, "utf-8")
        with pytest.raises(ValueError, match="holds no solution"):
            read_solution(path, ALONE)


def test_the_table_tells_gaps_and_lots() -> None:
    plain, at_random = values(RandomAgent()), values(RandomAgent(), least=0.2)
    assert "exactly" in plain.table()
    assert "standard error" not in plain.table()
    assert "were sampled" in at_random.table()
    assert at_random.records()[0]["gap"] == pytest.approx(at_random.best_return - at_random.agents[0].mean_return)
    assert json.loads(json.dumps(at_random.to_json(), default=str))["agents"][0]["name"] == "random"
