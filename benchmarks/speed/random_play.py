"""Random legal play of many tables, as measurements of speed need it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from backalley.envs.core.api.compiled_play import random_legal
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import kernel
from backalley.envs.core.rules import rng

_LONGEST_STAGGER, _KERNEL_STEPS = 1000, 8
"""Decisions by which tables are moved apart at most, and those of a table in one call of `play_random`."""


@kernel
def draw(mask: npt.NDArray[np.int8], streams: npt.NDArray[np.uint64], out: npt.NDArray[np.int64]) -> None:
    """Draw a uniform legal action for every table [B], from each table's own stream."""
    for row in range(out.shape[0]):
        out[row] = random_legal(mask[row], streams[row])
        streams[row] = rng.advance(streams[row])


class RandomPlay:
    """B tables and actions drawn for them."""

    def __init__(self, game: Game, num_envs: int, num_threads: int, *, events: bool = False) -> None:
        self.tables = BatchEnv(game, num_envs, seed=0, num_threads=num_threads, events=events)
        self.time_step = self.tables.reset()
        self._streams: npt.NDArray[np.uint64] = np.random.default_rng(1).integers(2**64, size=num_envs, dtype=np.uint64)
        self._actions = np.zeros(num_envs, np.int64)

    def step(self) -> int:
        """Play one decision on every table."""
        self.draw()
        self.play_drawn()
        return len(self._actions)

    def draw(self) -> None:
        """Draw an action for every table."""
        draw(self.time_step.action_mask, self._streams, self._actions)

    def play_drawn(self) -> None:
        """Play the actions drawn."""
        self.tables.step(self._actions)

    def play(self) -> int:
        """Play some decisions on every table, drawn in the kernel."""
        return int(self.tables.play_random(_KERNEL_STEPS).decisions.sum())

    def stagger(self, length: int) -> None:
        """Play table i part of an episode of about `length` decisions, each table a different part."""
        ahead = np.arange(self.tables.num_envs) * min(length, _LONGEST_STAGGER) // self.tables.num_envs
        for played in range(int(ahead.max())):
            rows = np.flatnonzero(ahead > played)
            draw(self.time_step.action_mask, self._streams, self._actions)
            self.tables.step(self._actions[rows], rows)


def episode_length(game: Game) -> float:
    """Return the decisions in an episode of random play, on average over some hundred episodes."""
    play, decisions, ended = RandomPlay(game, 64, 1), 0, 0
    while ended < 256:
        decisions += play.step()
        ended += int((play.time_step.terminated | play.time_step.truncated).sum())
    return decisions / ended
