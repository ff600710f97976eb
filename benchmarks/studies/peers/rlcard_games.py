"""RLCard's games by `env.step`, which gives the next observation with its legal actions."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import rlcard

GAMES = (
    "blackjack", "leduc-holdem", "limit-holdem", "no-limit-holdem", "bridge", "gin-rummy", "doudizhu", "uno", "mahjong",
)  # fmt: skip


def maker(name: str) -> Callable[[], Callable[[], int]]:
    def make() -> Callable[[], int]:
        env, chance = rlcard.make(name, config={"seed": 0}), random.Random(0)

        def play() -> int:
            """An episode."""
            (state, _), decisions = env.reset(), 0
            while not env.is_over():
                legal = list(state["legal_actions"])
                state, _ = env.step(legal[int(chance.random() * len(legal))])
                decisions += 1
            return decisions

        return play

    return make


def games() -> Iterator[tuple[str, Callable[[], Callable[[], int]]]]:
    """Every game."""
    return ((name, maker(name)) for name in GAMES)
