"""One table at which agents play, to be looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from backalley.envs.core import rng
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import Game
from backalley.envs.core.parts import OVER

from .base import Agent, answer, follow, view_of

AGENT_KEYS = 1
"""Number under which the agents' randomness is forked off a table's seed."""


def table_keys(seed: int) -> Any:
    """The key of the one table of an environment with that seed [1]: what agents there draw, they draw by it."""
    with np.errstate(over="ignore"):
        return np.array([rng.fork(rng.stream_of(seed), AGENT_KEYS)], np.uint64)


class Turn(NamedTuple):
    """One decision of an episode."""

    seat: int
    action: int
    state: Any
    """The table after it."""
    rewards: list[float]
    """What each seat gained by it."""


def episode(game: Game, agents: Sequence[Agent], *, seed: int) -> Iterator[Turn]:
    """An episode that agents play, turn by turn: one agent for every seat, or one for each. Raises ValueError for
    another number, and what an agent's bad answer does."""
    seats = game.num_seats
    if len(agents) not in (1, seats):
        raise ValueError(f"{len(agents)} agents were given; {game.name} has {seats} seats: give one, or one for each.")
    env, row, keys = AECEnv(game), np.zeros(1, np.int64), table_keys(seed)
    follow(env.engine, agents)
    env.reset(seed=seed)
    batch = env.engine.batch
    while (acting := int(batch.seat[0])) != OVER:
        action = int(answer(agents[acting % len(agents)], view_of(env.engine, row, keys))[0])
        env.step(action)
        yield Turn(acting, action, batch.state[0], batch.reward[0].tolist())


def told(game: Game, turn: Turn, seat: int | None) -> str:
    """A turn in words, as far as `seat` is told of it; None is told all."""
    words = game.action_str(turn.action) if seat in (None, turn.seat) else game.action_told(turn.action)
    return f"{game.seat_name(turn.seat)}: {words}"


def played(game: Game, agent: Agent, *, seed: int, decisions: int, **settings: Any) -> AECEnv:
    """An environment in which `agent` has made so many decisions, for every seat, or as many as there were; `settings`
    are those of `AECEnv`. Raises what that one raises, and what an agent's bad answer does."""
    env = AECEnv(game, **settings)
    follow(env.engine, [agent])
    env.reset(seed=seed)
    row, keys = np.zeros(1, np.int64), table_keys(seed)
    for _ in range(decisions):
        if int(env.engine.batch.seat[0]) == OVER:
            break
        env.step(int(answer(agent, view_of(env.engine, row, keys))[0]))
    return env
