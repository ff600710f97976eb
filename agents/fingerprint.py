"""Who an agent is, told by its play: corrections that were learned for a bot mean nothing beside one that plays
otherwise, while one that was reformatted, or made faster, is the same. And likewise what the classes of plans are."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.kernel import bind
from backalley.envs.core.parts import Plans
from backalley.envs.core.specialise import specialise, template, unbound
from backalley.envs.core.vector import BatchEnv

from .base import Agent, view_of
from .rule_based import BotAgent, random_rows

POSITIONS = 4096
_TABLES = 64
_SEED = 0x626F74
_DIGITS = 32


@functools.lru_cache(maxsize=64)
def fingerprint(game: Game, bot: str) -> str:
    """The digest of a bot's play. Raises ValueError where the game has no such bot."""
    return digest_of_play(BotAgent(game, bot), game)


def digest_of_play(agent: Agent, game: Game) -> str:
    """The digest of an agent's actions on POSITIONS positions of random play, drawn from a fixed seed."""
    digest = hashlib.sha256()
    for tables, keys in random_positions(game):
        digest.update(agent.act(view_of(tables.engine, np.arange(_TABLES), keys)).astype("<i2").tobytes())
    return digest.hexdigest()[:_DIGITS]


def digest_of_classes(game: Game, plans: Plans) -> str:
    """The digest of the classes that a game's plans see on those positions: values of other classes mean nothing."""
    classes, outcomes = np.empty((_TABLES, plans.parts), np.int64), np.empty((_TABLES, plans.parts))
    entry, digest = None, hashlib.sha256()
    for tables, _ in random_positions(game):
        args = game.options, tables.engine.batch.observation, classes, outcomes
        entry = entry or bind(specialise([look_rows], {"LOOK": plans.look})["look_rows"], *args)
        entry(*args)
        digest.update(classes.astype("<i4").tobytes())
    return digest.hexdigest()[:_DIGITS]


def random_positions(game: Game) -> Iterator[tuple[BatchEnv, npt.NDArray[np.uint64]]]:
    """Tables with a key each, time and again: POSITIONS positions in all, the same every time."""
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
    """`classes[k]` and `outcomes[k]` become those of the parts of row k."""
    for k in range(shown.shape[0]):
        LOOK(options, shown[k], classes[k], outcomes[k])
