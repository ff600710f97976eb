"""Watch agents play at one table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.drawing.render import table_svg
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import OVER
from backalley.envs.core.rules import rng

from ..base.agent import Agent, answer, view_of
from ..base.keys import agent_keys


class Turn(NamedTuple):
    """One decision of an episode."""

    seat: int
    action: int
    state: Any
    """The table after it, as a copy."""
    rewards: list[float]
    """What each seat gained by it."""


def turns(env: AECEnv, agents: Sequence[Agent], seed: int) -> Iterator[Turn]:
    """Yield an episode that agents play at a table, turn by turn: one agent for every seat, or one for each. Raises
    ValueError for another number, and the errors of an agent's bad answer."""
    game, table = env.game, env.arrays
    if len(agents) not in (1, game.num_seats):
        raise InvalidValue(
            f"{len(agents)} agents were given; {game.name} has {game.num_seats} seats: give one, or one for each."
        )
    env.reset(seed=seed)
    row, keys = np.zeros(1, np.int64), agent_keys([rng.stream_of(seed)])
    while (acting := int(table.seat[0])) != OVER:
        action = int(answer(agents[acting % len(agents)], view_of(env, row, keys))[0])
        env.step(action)
        yield Turn(acting, action, table.state.copy()[0], table.reward[0].tolist())


def action_words(game: Game, who: int, action: int, seat: int | None) -> str:
    """Return what somebody did, in words, as far as `seat` may know; everything for None."""
    words = game.action_str(action) if seat in (None, who) else game.action_told(action)
    return f"{game.seat_name(who)}: {words}"


def picture(game: Game, agent: Agent, *, seed: int, decisions: int, seat: int | None = None, **look: Any) -> str:
    """Return the table as SVG after that many decisions of `agent`, in every seat, or at the end if there are fewer; as
    `seat` sees it, by default the one to act. `look` is what `render.table_svg` takes. Raises what `turns` and `AECEnv`
    raise."""
    env = AECEnv(game, render_seat=seat)
    env.reset(seed=seed)  # for a picture before the first decision
    for _ in itertools.islice(turns(env, [agent], seed), decisions):
        pass
    return table_svg(env, 0, seat, **look)
