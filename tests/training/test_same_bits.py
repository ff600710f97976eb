"""Every kind of phase: the same seed gives the same bits, on any number of threads and however often it is stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from backalley.envs.core.game.catalogue import game as game_of
from backalley.examples.kuhn import BET, PASS
from backalley.training.config import config
from backalley.training.rollouts import window
from backalley.training.run.loop import kind
from backalley.training.shared.phase import Phase
from tests.common.tiny_runs import GAME, TINY
from tests.training.test_features import GAME as FEATURES
from tests.training.test_plans import TINY as PLANS
from tests.training.test_rollouts import TINY as ROLLOUTS
from tests.training.test_rounds import SMALL, fixed
from tests.training.test_temperature import MIXING

__all__ = ["fixed"]  # a fixture
PPO = {**TINY, "ppo.tables": 128, "ppo.batch_size": 512, "league.snapshot_every": 500}
MMD = {"network.width": 32, "mmd.tables": 128, "mmd.batch_size": 256}
WINDOW = {"rollouts.noise": 0.05, "rollouts.window": 0.25}
PHASES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "ppo": ("ppo", GAME, PPO),
    "ppo, float32": ("ppo", GAME, {**PPO, "network.precision": "float32"}),
    "ppo for games": ("ppo", GAME, {**PPO, "run.objective": "games"}),
    "ppo with suits renamed": ("ppo", game_of("pitch", mode="hand"), PPO),
    "ppo with suits as they are": ("ppo", game_of("pitch", mode="hand"), {**PPO, "ppo.symmetry": False}),
    "ppo by features": ("ppo", FEATURES, {**PPO, "network.features": True}),
    "mmd": ("mmd", GAME, MMD),
    "mmd by features": ("mmd", FEATURES, {**MMD, "network.features": True}),
    "rollouts": ("rollouts", GAME, ROLLOUTS),
    "rollouts for games": ("rollouts", GAME, {**ROLLOUTS, "run.objective": "games"}),
    "rollouts of partners": ("rollouts", game_of("pitch"), ROLLOUTS),
    "rollouts from nothing": ("rollouts", GAME, {**ROLLOUTS, **MIXING, **WINDOW}),
    "generation": ("generation", GAME, {**SMALL, "generation.begins": "anew"}),
    "plans": ("plans", game_of("poker_duel"), PLANS),
}
SLOW = {"rollouts for games", "rollouts of partners", "ppo with suits renamed", "ppo with suits as they are"}
STEPS = 4


def bits(made: Phase) -> tuple[dict[str, bytes], str]:
    """All that a phase's next step depends on, as a checkpoint keeps it: arrays and facts."""
    return {name: array.tobytes() for name, array in made.arrays().items()}, json.dumps(made.facts())


@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.slow] * (one in SLOW)) for one in PHASES])
def test_a_phase_goes_on_to_the_same_bits(
    name: str, fixed: dict[int, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a window that drops targets already, and with agents that it meets by turns, too."""
    monkeypatch.setattr(window, "FEWEST", 600)
    of, game, settings = PHASES[name]
    against = {"generation.against": f"{fixed[PASS]},{fixed[BET]}"} if of == "generation" else {}
    loaded = config.load(game, overrides={**settings, **against})

    def begun(threads: int, seed: int = 3) -> Any:
        more = {} if of == "mmd" else {"num_threads": threads}
        made = kind(of)(game, loaded, seed=seed, folder=tmp_path / str(seed), **more)
        made.begin()
        np.random.rand(seed)  # noqa: NPY002 (whatever else draws from the global generators must not matter)
        torch.rand(seed)
        return made

    found, kept = [], None
    for threads, seed in ((1, 3), (3, 3), (1, 4)):
        made = begun(threads, seed)
        for step in range(STEPS):
            if (threads, step) == (3, STEPS // 2):
                kept = {key: array.copy() for key, array in made.arrays().items()}, json.loads(bits(made)[1])
            made.step()
        found.append(bits(made))
        assert min(made.decisions, made.samples) > 0
        made.close()
    assert found[0] == found[1]
    assert found[0][0] != found[2][0]
    again = begun(1)
    again.step()  # what it did before does not matter
    again.restore(*kept)
    for _ in range(STEPS - STEPS // 2):
        again.step()
    assert bits(again) == found[0]
    again.close()
