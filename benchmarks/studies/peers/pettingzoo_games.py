"""PettingZoo's classic card games in its usual loop: `env()`, `last()`, a draw from the mask, `step()`."""

from __future__ import annotations

import importlib
import pkgutil
import random
from collections.abc import Callable, Iterator

import numpy as np
import pettingzoo.classic

CARDS = ("hanabi_v", "leduc_holdem_v", "texas_holdem_v", "texas_holdem_no_limit_v", "gin_rummy_v")


def maker(name: str) -> Callable[[], Callable[[], int]]:
    def make() -> Callable[[], int]:
        env, chance = importlib.import_module(f"pettingzoo.classic.{name}").env(), random.Random(0)
        env.reset(seed=0)

        def play() -> int:
            """An episode."""
            env.reset()
            decisions = 0
            for _ in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.step(None)
                    continue
                legal = np.flatnonzero(observation["action_mask"])
                env.step(int(legal[int(chance.random() * len(legal))]))
                decisions += 1
            return decisions

        return play

    return make


def games() -> Iterator[tuple[str, Callable[[], Callable[[], int]]]]:
    """Every card game of the installed version."""
    there = (module.name for module in pkgutil.iter_modules(pettingzoo.classic.__path__))
    return ((name.rpartition("_v")[0], maker(name)) for name in there if name.rstrip("0123456789") in CARDS)
