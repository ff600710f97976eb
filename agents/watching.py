"""One table at which agents play, to be looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from backalley.envs.core import rng
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import Game
from backalley.envs.core.parts import OVER

from .base import Agent, answer, view_of

AGENT_KEYS = 1
"""Number under which the agents' randomness is forked off a table's seed."""


def table_keys(seed: int) -> Any:
    """The key of the one table of an environment with that seed [1]: what agents there draw, they draw by it."""
    with np.errstate(over="ignore"):
        return np.array([rng.fork(rng.stream_of(seed), AGENT_KEYS)], np.uint64)


def played(game: Game, agent: Agent, *, seed: int, decisions: int, **settings: Any) -> AECEnv:
    """An environment in which `agent` has made so many decisions, for every seat, or as many as there were; `settings`
    are those of `AECEnv`. Raises what that one raises, and what an agent's bad answer does."""
    env = AECEnv(game, **settings)
    env.reset(seed=seed)
    row, keys = np.zeros(1, np.int64), table_keys(seed)
    for _ in range(decisions):
        if int(env.engine.batch.seat[0]) == OVER:
            break
        env.step(int(answer(agent, view_of(env.engine, row, keys))[0]))
    return env
