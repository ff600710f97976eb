"""Behaviour digests: identify an agent by its play. A residual learned for one bot is useless for a bot that plays
differently, but still valid for one that was only reformatted or made faster. The same holds for the feature classes of
plans."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import Bound, Plans, specialise, template, unbound
from backalley.envs.core.rules import rng

from ..base.agent import Agent, View
from ..base.rule_based import BotAgent, random_rows

POSITIONS = 4096
_TABLES = 64
_SEED = 0x626F74
_DIGITS = 32


@functools.lru_cache(maxsize=64)
def behaviour_digest(game: Game, bot: str) -> str:
    """Return the digest of a bot's play. Raises ValueError where the game has no such bot."""
    return digest_of_play(BotAgent(game, bot), game)


def digest_of_play(agent: Agent, game: Game) -> str:
    """Return the digest of an agent's actions on POSITIONS positions of random play, drawn from a fixed seed."""
    digest = hashlib.sha256()
    for tables, keys in random_positions(game):
        with np.errstate(over="ignore"):  # by its own keys: digests of 1.0.0 stay what they are
            own = [rng.fork(key, int(made)) for key, made in zip(keys, tables.arrays.decisions, strict=True)]
        view = View(tables, np.arange(_TABLES), np.array(own, np.uint64))
        digest.update(agent.act(view).astype("<i2").tobytes())
    return digest.hexdigest()[:_DIGITS]


def digest_of_features(game: Game, plans: Plans) -> str:
    """Return the digest of the classes that a game's plans see on those positions: values belong to these classes
    only."""
    classes, outcomes = np.empty((_TABLES, plans.parts), np.int64), np.empty((_TABLES, plans.parts))
    look, digest = Bound(lambda: specialise([look_rows], {"LOOK": plans.look})["look_rows"]), hashlib.sha256()
    for tables, _ in random_positions(game):
        look(game.options, tables.arrays.observation, classes, outcomes)
        digest.update(classes.astype("<i4").tobytes())
    return digest.hexdigest()[:_DIGITS]


def random_positions(game: Game) -> Iterator[tuple[BatchEnv, npt.NDArray[np.uint64]]]:
    """Yield tables with a key each: POSITIONS positions in all, the same every time."""
    tables = BatchEnv(game, _TABLES, seed=_SEED)
    keys, drawn = np.empty(_TABLES, np.uint64), np.empty(_TABLES, np.int64)
    time_step = tables.reset()
    for number in range(POSITIONS // _TABLES):
        with np.errstate(over="ignore"):
            keys[:] = [rng.fork(np.uint64(_SEED), number * _TABLES + row) for row in range(_TABLES)]
        yield tables, keys
        random_rows(time_step.action_mask, keys, drawn)
        time_step = tables.step(drawn)
    tables.close()


LOOK = unbound
"""The game's kernel in `look_rows`."""


@template
def look_rows(
    options: Any, shown: npt.NDArray[Any], classes: npt.NDArray[np.int64], outcomes: npt.NDArray[np.float64]
) -> None:
    """Write the classes and outcomes of the parts of row k to `classes[k]` and `outcomes[k]`."""
    for k in range(shown.shape[0]):
        LOOK(options, shown[k], classes[k], outcomes[k])
