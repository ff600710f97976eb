"""What the tests of Bezique share."""

from __future__ import annotations

from typing import Any

import numpy as np

from backalley.envs.core.aec import AECEnv
from backalley.envs.core.catalogue import game as game_of

GAME = game_of("bezique")


def table(**options: Any) -> AECEnv:
    return AECEnv(GAME.bind(options))


def holding(cards: list[int], trump: int) -> Any:
    """A state in which seat 0 holds these cards."""
    state = np.zeros(1, GAME.state_dtype)[0]
    state.hand[0, : len(cards)] = sorted(cards)
    state.held[0] = len(cards)
    state.trump = trump
    return state


def redrawn(env: AECEnv, state: Any, seat: int, keys: Any) -> Any:
    states = np.repeat(state, len(keys))
    env.engine.determinize(states, np.full(len(keys), seat), np.asarray(keys, np.uint64))
    return states
