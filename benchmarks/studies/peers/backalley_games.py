"""Our own games for the comparison, in two of the ways in which others are used: a batch, and PettingZoo's loop."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from backalley.envs.core.game.catalogue import games as all_games
from backalley.envs.core.game.game import Game

from ...speed.random_play import RandomPlay
from ...speed.speed import FLOOR_TABLES, episode_at_random

Way = Callable[[Game], Callable[[], int]]


def batch(game: Game) -> Callable[[], int]:
    """Many tables in one call, on one thread."""
    return RandomPlay(game, FLOOR_TABLES, 1).step


def aec(game: Game) -> Callable[[], int]:
    """One table."""
    env, chance = game.make(), random.Random(0)
    env.reset(seed=0)
    return lambda: episode_at_random(env, chance)


def games() -> Iterator[tuple[str, Callable[[], Callable[[], int]]]]:
    """Every game, each name followed by the way."""
    ways: dict[str, Way] = {"batch": batch, "aec": aec}
    return ((f"{game.name} {name}", partial(way, game)) for name, way in ways.items() for game in all_games())
