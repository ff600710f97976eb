"""Who an agent is, told by its play: corrections that were learned for a bot mean nothing beside one that plays
otherwise, while one that was reformatted, or made faster, is the same."""

from __future__ import annotations

import functools
import hashlib

import numpy as np

from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.vector import BatchEnv

from .base import Agent, view_of
from .rule_based import BotAgent, random_rows

POSITIONS = 4096
_TABLES = 64
_SEED = 0x626F74


@functools.lru_cache(maxsize=64)
def fingerprint(game: Game, bot: str) -> str:
    """The digest of a bot's play. Raises ValueError where the game has no such bot."""
    return digest_of_play(BotAgent(game, bot), game)


def digest_of_play(agent: Agent, game: Game) -> str:
    """The digest of an agent's actions on POSITIONS positions of random play, drawn from a fixed seed."""
    tables = BatchEnv(game, _TABLES, seed=_SEED)
    rows, digest = np.arange(_TABLES), hashlib.sha256()
    keys, drawn = np.empty(_TABLES, np.uint64), np.empty(_TABLES, np.int64)
    time_step = tables.reset()
    for number in range(POSITIONS // _TABLES):
        with np.errstate(over="ignore"):
            keys[:] = [rng.fork(np.uint64(_SEED), number * _TABLES + int(row)) for row in rows]
        digest.update(agent.act(view_of(tables.engine, rows, keys)).astype("<i2").tobytes())
        random_rows(time_step.action_mask, keys, drawn)
        time_step = tables.step(drawn)
    tables.close()
    return digest.hexdigest()[:32]
