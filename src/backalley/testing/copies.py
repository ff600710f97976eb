"""Checks of copies: of one table, and of a batch."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np

from backalley.console.errors import BrokenPromise
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game

from .aec import COPIES, STEPS_OF_COPIES, check_aec_copies
from .seeds import random_actions


def snapshot(env: AECEnv) -> AECEnv:
    """Return a copy made from a snapshot in a file. It does not have the rewards of the latest action, which were
    reported already."""
    file, twin = io.BytesIO(), AECEnv(env.game)
    np.save(file, env.snapshot())
    file.seek(0)
    twin.restore(np.load(file, allow_pickle=False))
    twin.rewards = dict(env.rewards)
    return twin


def check_copies(game: Game, *, seed: int = 0, steps: int = STEPS_OF_COPIES) -> str:
    """Check that copies in mid-game by deepcopy, pickle and snapshot play identically, also of a batch."""
    said = check_aec_copies(lambda: AECEnv(game), {**COPIES, "snapshot": snapshot}, seed=seed, steps=steps)
    batch, random = BatchEnv(game, 7, seed=seed), np.random.default_rng(seed)
    time_step = batch.reset()
    for _ in range(9):
        time_step = batch.step(random_actions(time_step.action_mask, random))
    twins = {"pickle": pickle.loads(pickle.dumps(batch)), "deepcopy": copy.deepcopy(batch)}
    for number in range(40):
        actions = random_actions(time_step.action_mask, random)
        time_step = batch.step(actions)
        for name, twin in twins.items():
            if not all(map(np.array_equal, time_step, twin.step(actions))):
                raise BrokenPromise(
                    f"{game!r}, seed {seed}, step {9 + number}: a batch copied by {name} plays otherwise."
                )
    return f"{said} A batch copied by pickle and deepcopy did so, too."
