"""Training learns: short runs that have to end well above where they began."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from backalley.agents.base.rule_based import RandomAgent
from backalley.agents.policies.learned import PolicyAgent
from backalley.benchmarks.exact.exploit import exploitability
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.envs.core.game.catalogue import game as game_of
from backalley.examples import kuhn
from backalley.training.train import train

GAME = kuhn.GAME.bind()


@pytest.mark.slow
@pytest.mark.release
def test_kuhn_poker_is_nearly_solved(tmp_path: Path) -> None:
    """Self-play alone ends near equilibrium where entropy keeps it from cycling and the weights are averaged.

    A single policy still goes around it, now nearer, now further, and other rounding finds it elsewhere on its way; so
    three seeds count together. (Exploitability is convex: who draws one of them before each game loses no more than
    their mean.) *Measured*, on two sets of processor instructions: 0.029 to 0.056 for one policy.
    """
    settings = {"ppo.entropy": 0.1, "ppo.averaging": 2, "network.width": 64, "league.share": 0}
    settings |= {"run.curve_every": 0, "run.evaluation_deals": 2}
    losses = []
    for seed in range(3):
        made = train(GAME, decisions=1_600_000, seed=seed, out=tmp_path / f"run-{seed}", config_overrides=settings)
        losses.append(exploitability(GAME, [PolicyAgent(made.folder, GAME)]).agents[0].mean_loss)
    assert np.mean(losses) < 0.06


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "errors"), [("missouri_city-v0", 8), ("backalley/PokerDuel-v0", 20), ("buffalo-bayou", 5)]
)
def test_a_short_run_beats_random_by_many_standard_errors(tmp_path: Path, name: str, errors: float) -> None:
    run = train(name, out=tmp_path / "run", decisions=300_000).folder
    found = game_of(name)
    report = evaluate(found, [RandomAgent(), PolicyAgent(run, found)], deals=1024, seed=1)
    lead = report.differences[0]
    assert lead.mean / (lead.half_width / 1.96) > errors
