"""What a policy is to be good at: points, or games."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.base.rule_based import BotAgent, RandomAgent
from backalley.agents.policies.learned import PolicyAgent
from backalley.benchmarks.figures.stats import win_shares
from backalley.benchmarks.matches.sample import Sample, seatings
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.compile.kernel import kernel
from backalley.examples import kuhn
from backalley.examples.kuhn import BET, PASS
from backalley.training.config.config import Objective
from backalley.training.ppo.vec_env import SeatsVecEnv
from backalley.training.rollouts.targets import share_of_win
from backalley.training.run import gate
from backalley.training.train import train
from tests.common.tiny_runs import ROLLOUT, TINY
from tests.training.test_rollouts import TINY as ROLLOUTS
from tests.training.test_rollouts import phase
from tests.training.test_temperature import openings


@kernel
def gamble(options: Any, state: Any, action: int) -> None:
    """The first seat's bet wins four or loses one, as the unseen cards fall; whoever passes wins a half for sure. Then
    the second seat may take a quarter back, which alters no winner."""
    seat, played = int(state.seat), int(state.played)
    amount = 0.25 * action
    if not played:
        amount = 0.5
        if action == BET:
            amount = 4.0 if state.card[1 - seat] < state.rest else -1.0
    state.reward[seat] += amount
    state.reward[1 - seat] -= amount
    state.bets[played] = action + 1
    state.played = played + 1
    state.seat = OVER if played else 1 - seat


GAMBLE = dataclasses.replace(
    kuhn.GAME, kernels=kuhn.GAME.kernels._replace(step=gamble), reward_range=lambda options: (-4.25, 4.25)
).bind()


@pytest.mark.slow
@pytest.mark.parametrize("objective", list(Objective))
@pytest.mark.parametrize("kind", ["ppo", "residual"])
def test_who_gains_most_points_need_not_win_most_games(tmp_path: Path, kind: str, objective: Objective) -> None:
    """A bet gains one and a half on average, and wins every other game."""
    settings = {**TINY, "ppo.learning_rate": 0.02, "league.share": 0, "run.objective": objective.name.lower()}
    if kind != "ppo":
        settings |= {**ROLLOUTS, "run.gate_deals": 1000, "rollouts.learning_rate": 0.01}
    result = train(GAMBLE, out=tmp_path / "run", decisions=40 * ROLLOUT, config_overrides=settings)
    policy = PolicyAgent(result.policy, GAMBLE)
    assert policy.metadata["made"]["objective"] == objective.name.lower()
    wanted = BET if objective == Objective.POINTS else PASS
    if kind == "residual":
        (outcome,) = result.phases
        assert outcome.gate is not None
        assert outcome.gate.passed
        assert ("win share" in outcome.gate.sentence()) == (objective == Objective.GAMES)
        tables = GAMBLE.make_vec(200, seed=4)
        shown = tables.reset()
        played = policy.act(shown.observation, shown.action_mask, key=np.arange(200, dtype=np.uint64))
        assert (played == wanted).mean() > 0.9
    else:
        chances = policy.action_probabilities(openings(), np.ones((3, 2), np.int8))
        assert chances[:, wanted].min() > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("objective", list(Objective))
def test_a_target_of_games_is_a_share_of_the_win(tmp_path: Path, objective: Objective) -> None:
    """Of the whole episode: what the seats had gained before counts."""
    made = phase(tmp_path, GAMBLE, rollouts__target_share=1.0, run__objective=objective.name.lower())
    made.step()
    taken = made.targets.made[:, None] > np.arange(made.targets.advice.shape[1])
    shown, gain = made.targets.flat[taken], made.targets.gain[taken]
    second = shown[:, GAMBLE.observation_fields["bets"].start :].any(1)
    more = gain[:, BET] - gain[:, PASS]
    if objective == Objective.GAMES:
        assert set(more[second].tolist()) == {0.0}, "a quarter back wins nothing"
        assert set(more[~second].tolist()) == {0.0, -1.0}, "a bet wins no more games, and loses some"
    else:
        assert set(more[second].tolist()) == {0.25}
        assert set(more[~second].tolist()) == {3.5, -1.5}


def test_a_share_of_the_win_is_what_reports_say() -> None:
    random = np.random.default_rng(0)
    for sides in ([0], [0, 1], [0, 1, 2], [0, 1, 0, 1], [0, 0, 1, 2]):
        for returns in random.integers(-1, 2, (60, len(sides))) / 2:
            found = [share_of_win(returns, np.array(sides), seat) for seat in range(len(sides))]
            assert found == win_shares(returns, sides).tolist()


def test_tables_pay_the_share_of_the_win_at_the_end() -> None:
    env, plain = (SeatsVecEnv(GAMBLE, 64, seed=1, win_shares=shares) for shares in (True, False))
    for one in (env, plain):
        one.reset()
    assert env.return_spread() == 1.0
    random = np.random.default_rng(0)
    for _ in range(10):
        returns = np.zeros((64, 2))
        for last in (False, True):
            actions = random.integers(0, 2, 64)
            env.step(actions)
            plain.step(actions)
            returns += plain.reward
            assert env.ended.all() == last
            if not last:
                assert not env.reward.any()
        np.testing.assert_array_equal(env.reward, win_shares(returns) - 0.5)
    assert env.return_spread() == pytest.approx(0.5)


def sample_of(returns: npt.NDArray[np.float64]) -> Sample:
    """Deals in which the first agent gains `returns` [D] in either seat."""
    sample = Sample(seatings(GAMBLE, 2))
    first = np.stack([returns, -returns], 1)
    sample.add(np.stack([first, first[:, ::-1]], 1), 0, 0.0)
    return sample


def test_a_gate_of_games_judges_by_games() -> None:
    pair = [BotAgent(GAMBLE), RandomAgent()]
    seldom = sample_of(np.where(np.arange(400) % 4 == 0, 10.0, -1.0))
    points, games = (gate.verdict(pair, seldom, GAMBLE, objective, 400) for objective in Objective)
    assert points is not None
    assert games is not None
    assert (points.mean, points.lead, points.passed, points.objective) == (1.75, 3.5, True, "points")
    assert (games.lead, games.passed, games.objective) == (-0.5, False, "games")
    assert games.sentence().startswith(
        "Gate over 400 deals: win share 25.00 % for the new policy, 75.00 % for random; "
    )
    often = gate.verdict(pair, sample_of(np.where(np.arange(400) % 4 == 0, -10.0, 1.0)), GAMBLE, Objective.GAMES, 400)
    assert often is not None
    assert (often.lead, often.passed) == (0.5, True)
