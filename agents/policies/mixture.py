"""Mixtures of plans: a game's planner, with a table of values for each plan drawn by a hash of the seat's own cards."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.declaration import PlanModel
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import MEMORY, Planner, specialise, template, unbound
from backalley.envs.core.rules import rng

from ..base.rule_based import KernelAgent
from .planner import ROWS, Values, plans_of
from .policy_kinds import Arrays

_RANGE = 1 << 24


class Mixture(NamedTuple):
    """What the kernel of a mixture needs, for one thread."""

    options: Any
    values: Any
    """Of all classes, for decisions that are no part of a plan: float32 [classes]."""
    tables: Any
    """Table after table, of the classes that decide plans: float32 [tables * planned]."""
    upto: Any
    """The shares of the tables, added up: float32 [tables], the last 1."""
    memory: Any
    """As in Planner."""


PLAN = KEY = unbound


@template
def act_mixed(by: Mixture, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Carry out the plan of the table that is drawn, or answer another decision."""
    own = KEY(observation)
    if own == 0:
        return int(PLAN(Planner(by.options, by.values, by.memory, np.uint64(0)), observation, mask, key))
    _, drawn = rng.below(rng.fork(own, 1), _RANGE)
    table, size = 0, len(by.tables) // len(by.upto)
    while table < len(by.upto) - 1 and drawn >= by.upto[table] * _RANGE:
        table += 1
    values = by.tables[table * size : (table + 1) * size]
    return int(PLAN(Planner(by.options, values, by.memory, np.uint64(0)), observation, mask, key))


def model_of(game: Game) -> PlanModel:
    """Return a game's model of plans. Raises ValueError where it has none, or no plans under its options."""
    plans_of(game)
    if game.type.plan_model is None:
        raise InvalidValue(f"{game.name} has no model of its plans; the phase plans learns them.")
    return game.type.plan_model


@functools.cache
def mixed_kernel(game: GameType) -> Callable[..., int]:
    """Return `act_mixed` for a game that declares a model of its plans."""
    assert game.plans is not None
    assert game.plan_model is not None
    names = {"PLAN": game.plans.act, "KEY": game.plan_model.key}
    return specialise([act_mixed], names)["act_mixed"]


class MixtureAgent(KernelAgent):
    """A mixture of plans."""

    is_deterministic = True

    def __init__(self, game: Game, arrays: Arrays, field: float, name: str = "mixture") -> None:
        """`arrays` are those of `MixturePlayer.shapes`, `field` the share of the first table. Raises ValueError where
        the game has no model of its plans."""
        model_of(game)
        super().__init__(name, mixed_kernel(game.type), game)
        self.values, tables = (np.ascontiguousarray(arrays[name], np.float32) for name in ("values", "tables"))
        self.tables: Values = tables.reshape(-1)
        self.upto = shares_upto(np.asarray(arrays["shares"]), field)

    def plays_by(self) -> Mixture:
        """Return the tables, with buffers for one thread."""
        return Mixture(self.game.options, self.values, self.tables, self.upto, np.zeros((ROWS, MEMORY), np.int64))

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "kernel": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self.kernel = mixed_kernel(self.game.type)


def shares_upto(shares: npt.NDArray[Any], field: float) -> Values:
    """Return the shares of all tables, added up [tables]: `field` for the first, the rest as `shares` [tables - 1]
    are to each other. Raises ValueError for shares that are none."""
    total = float(shares.sum(dtype=np.float64))
    if not total > 0 or (shares < 0).any():
        raise InvalidValue("The shares of a mixture's tables are numbers from 0 up, not all of them 0.")
    upto = field + (1 - field) * np.cumsum(shares, dtype=np.float64) / total
    return np.array([field, *upto[:-1], 1.0], np.float32)
