"""PufferLib's card game in C. Written from its source (version 3); it has not been run where its build could not be
made. It has no action masks: an action that is not allowed does nothing or ends the game."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from pufferlib.ocean import env_creator

TABLES = 1024


def triple_triad() -> Callable[[], int]:
    env = env_creator("puffer_tripletriad")(num_envs=TABLES)
    env.reset(seed=0)
    chance = np.random.default_rng(0)

    def play() -> int:
        """A decision of every table."""
        env.step(chance.integers(env.single_action_space.n, size=TABLES).astype(np.int32))
        return TABLES

    return play


def games() -> Iterator[tuple[str, Callable[[], Callable[[], int]]]]:
    """Its one card game."""
    yield "triple_triad", triple_triad
