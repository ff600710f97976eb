"""One table at which agents play, to be looked at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from backalley.envs.core import rng
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import Game
from backalley.envs.core.parts import OVER
from backalley.envs.core.render import table_svg

from .base import Agent, agent_keys, answer, view_of


class Turn(NamedTuple):
    """One decision of an episode."""

    seat: int
    action: int
    state: Any
    """The table after it, as a copy."""
    rewards: list[float]
    """What each seat gained by it."""


def check_seat(game: Game, seat: int) -> None:
    """Raise ValueError in a sentence for a seat that the game has not."""
    if not 0 <= seat < game.num_seats:
        raise ValueError(f"The seat is {seat}; {game.name} has seats 0 to {game.num_seats - 1} under these options.")


def turns(env: AECEnv, agents: Sequence[Agent], seed: int) -> Iterator[Turn]:
    """An episode that agents play at a table, turn by turn: one agent for every seat, or one for each. Raises
    ValueError for another number, and what an agent's bad answer does."""
    game, batch = env.game, env.engine.batch
    if len(agents) not in (1, game.num_seats):
        raise ValueError(
            f"{len(agents)} agents were given; {game.name} has {game.num_seats} seats: give one, or one for each."
        )
    env.reset(seed=seed)
    row, keys = np.zeros(1, np.int64), agent_keys([rng.stream_of(seed)])
    while (acting := int(batch.seat[0])) != OVER:
        action = int(answer(agents[acting % len(agents)], view_of(env.engine, row, keys))[0])
        env.step(action)
        yield Turn(acting, action, batch.state.copy()[0], batch.reward[0].tolist())


def told(game: Game, who: int, action: int, seat: int | None) -> str:
    """What somebody did, in words, as far as `seat` is told of it; None is told all."""
    words = game.action_str(action) if seat in (None, who) else game.action_told(action)
    return f"{game.seat_name(who)}: {words}"


def picture(game: Game, agent: Agent, *, seed: int, decisions: int, seat: int | None = None, **look: Any) -> str:
    """The table as SVG after so many decisions of `agent`, in every seat, or as many as there were; as `seat` sees it,
    by default the one to act. `look` is what `render.table_svg` takes. Raises what `turns` and `AECEnv` do."""
    env = AECEnv(game, render_seat=seat)
    env.reset(seed=seed)  # for a picture before the first decision
    for _ in itertools.islice(turns(env, [agent], seed), decisions):
        pass
    return table_svg(env.engine, 0, seat, **look)
