"""Players of a game that takes decisions in one go (`GameType.plans`): its own planner, by values of classes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.base import Game
from backalley.envs.core.parts import MEMORY, Planner, Plans

from .fingerprint import digest_of_classes
from .rule_based import KernelAgent

Values = npt.NDArray[np.float32]

ROWS = 64
"""Rows of a planner's memory: tables are played one after the other, each to its end, or come anew each time."""


def plans_of(game: Game) -> Plans:
    """What a game declares. Raises ValueError in a sentence where it plans nothing, or not under its options."""
    plans = game.type.plans
    if plans is None:
        raise ValueError(f"{game.name} has no plans: its decisions are taken one by one; other agents play it.")
    why = plans.refuses(game.options)
    if why:
        raise ValueError(f"{game.name} cannot be planned under these options: {why}; other agents play it.")
    return plans


def planner(game: Game, values: Values, luck: int = 0) -> Planner:
    """What the kernels of a game's plans play by, with room for one thread."""
    return Planner(game.options, values, np.zeros((ROWS, MEMORY), np.int64), np.uint64(luck))


class PlannerAgent(KernelAgent):
    """A game's planner, by default with the values that it has before it learns anything."""

    def __init__(self, game: Game, values: Values | None = None, name: str = "plans") -> None:
        """`values` are float32 [classes]. Raises ValueError in a sentence where the game plans nothing."""
        plans = plans_of(game)
        super().__init__(name, plans.act, game)
        self.values = np.ascontiguousarray(plans.values(game.options) if values is None else values, np.float32)

    def plays_by(self) -> Planner:
        """The values, with room for one thread."""
        return planner(self.game, self.values)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "kernel": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self.kernel = plans_of(self.game).act


@functools.lru_cache(maxsize=64)
def classes_digest(game: Game) -> str:
    """What the classes of a game's plans are, told by how they see play. Raises ValueError as `plans_of` does."""
    return digest_of_classes(game, plans_of(game))
