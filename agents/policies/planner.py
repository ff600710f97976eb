"""Players of games with macro-actions (`GameType.plans`): the game's own planner, with values of classes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import MEMORY, Planner, Plans

from ..base.rule_based import KernelAgent
from .behaviour_digest import digest_of_features

Values = npt.NDArray[np.float32]

ROWS = 1 << 14
"""Rows of a planner's memory, a megabyte in all: thousands of tables may be played at once, step by step."""


def plans_of(game: Game) -> Plans:
    """Return a game's plans. Raises ValueError where it has none, or none under its options."""
    plans = game.type.plans
    if plans is None:
        raise InvalidValue(f"{game.name} has no plans: its decisions are made one by one; other agents play it.")
    why = plans.refuses(game.options)
    if why:
        raise InvalidValue(f"{game.name} cannot be planned under these options: {why}; other agents play it.")
    return plans


def planner(game: Game, values: Values, luck: int = 0) -> Planner:
    """Return the argument of the kernels of a game's plans, with buffers for one thread."""
    return Planner(game.options, values, np.zeros((ROWS, MEMORY), np.int64), np.uint64(luck))


class PlannerAgent(KernelAgent):
    """A game's planner, by default with its values before it learns anything."""

    is_deterministic = True

    def __init__(self, game: Game, values: Values | None = None, name: str = "plans") -> None:
        """`values` are float32 [classes]. Raises ValueError where the game has no plans."""
        plans = plans_of(game)
        super().__init__(name, plans.act, game)
        self.values = np.ascontiguousarray(plans.values(game.options) if values is None else values, np.float32)

    def plays_by(self) -> Planner:
        """Return the values, with buffers for one thread."""
        return planner(self.game, self.values)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "kernel": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self.kernel = plans_of(self.game).act


@functools.lru_cache(maxsize=64)
def classes_digest(game: Game) -> str:
    """Return the digest of a game's feature classes by what they see in play. Raises ValueError as `plans_of` does."""
    return digest_of_features(game, plans_of(game))
