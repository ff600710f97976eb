"""Players of a game that takes decisions in one go (`GameType.plans`): its own planner, by values of classes."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.base import Game
from backalley.envs.core.kernel import bind
from backalley.envs.core.parts import MEMORY, Planner, Plans
from backalley.envs.core.specialise import specialise, template
from backalley.envs.core.vector import BatchEnv

from .rule_based import KernelAgent, random_rows

Values = npt.NDArray[np.float32]

ROWS = 64
"""Rows of a planner's memory: tables are played one after the other, each to its end, or come anew each time."""
POSITIONS, _TABLES, _SEED = 4096, 64, 0x706C616E


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


def _unbound(*args: Any) -> None:
    raise NotImplementedError("specialise() puts a game's kernel here")


LOOK = _unbound
"""The game's kernel in `look_rows`."""


@template
def look_rows(
    options: Any, shown: npt.NDArray[Any], classes: npt.NDArray[np.int64], outcomes: npt.NDArray[np.float64]
) -> None:
    """`classes[k]` and `outcomes[k]` become those of the parts of row k."""
    for k in range(shown.shape[0]):
        LOOK(options, shown[k], classes[k], outcomes[k])


@functools.lru_cache(maxsize=64)
def classes_digest(game: Game) -> str:
    """The digest of the classes that parts have on POSITIONS positions of random play, drawn from a fixed seed: values
    of other classes mean nothing."""
    plans, tables = plans_of(game), BatchEnv(game, _TABLES, seed=_SEED)
    classes, outcomes = np.empty((_TABLES, plans.parts), np.int64), np.empty((_TABLES, plans.parts))
    shown, digest = tables.engine.batch.observation, hashlib.sha256()
    entry = bind(specialise([look_rows], {"LOOK": plans.look})["look_rows"], game.options, shown, classes, outcomes)
    drawn, keys = np.empty(_TABLES, np.int64), np.arange(_TABLES, dtype=np.uint64)
    time_step = tables.reset()
    for number in range(POSITIONS // _TABLES):
        entry(game.options, shown, classes, outcomes)
        digest.update(classes.astype("<i4").tobytes())
        random_rows(time_step.action_mask, keys + np.uint64(number * _TABLES), drawn)
        time_step = tables.step(drawn)
    tables.close()
    return digest.hexdigest()[:32]
