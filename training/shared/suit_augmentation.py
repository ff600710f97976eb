"""Suit augmentation: each seat of the learner plays under a random suit permutation that the rules do not notice, so
what it learns of one suit it learns of all.

A seat keeps its permutation for a whole episode, so to the learner that episode is one of the same game, and samples
remain samples of its policy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import kernel


@kernel
def reorder(
    values: npt.NDArray[Any], orders: npt.NDArray[np.int32], which: npt.NDArray[np.int64], out: npt.NDArray[Any]
) -> None:
    """Set `out[k]` to row k of `values` in the order `orders[which[k]]`."""
    for row in range(values.shape[0]):
        order = orders[which[row]]
        for place in range(values.shape[1]):
            out[row, place] = values[row, order[place]]


class SuitNames:
    """Which suit permutation each seat of B tables plays under."""

    def __init__(self, game: Game, num_envs: int, *, permuted: bool) -> None:
        """If not `permuted`, every suit stays as it is."""
        found = game.symmetries if permuted else game.symmetries[:1]
        self.plain = len(found) == 1
        """Whether there is nothing to permute."""
        self.number = np.zeros((num_envs, game.num_seats), np.int64)
        """[B, N] in the order of `Game.symmetries`; 0 is the identity."""
        self.generator = np.random.default_rng(0)
        self._observation = np.stack([one.observation for one in found]).astype(np.int32)
        self._chosen = np.stack([one.chosen for one in found]).astype(np.int32)
        self._called = np.stack([one.actions for one in found]).astype(np.int32)

    def draw(self, rows: npt.NDArray[np.int64], learner: npt.NDArray[np.bool_]) -> None:
        """Draw new permutations for the episodes that begin on some tables, only for the seats of the `learner` [rows,
        N]."""
        if not self.plain and len(rows):
            drawn = self.generator.integers(len(self._chosen), size=learner.shape)
            self.number[rows] = np.where(learner, drawn, 0)

    def observations(self, values: npt.NDArray[Any], which: npt.NDArray[np.int64], out: npt.NDArray[Any]) -> None:
        """Return observations [n, O] as they are seen under the suit permutations `which` [n]."""
        if self.plain:
            np.copyto(out, values)
        else:
            reorder(values, self._observation, which, out)

    def masks(self, values: npt.NDArray[Any], which: npt.NDArray[np.int64], out: npt.NDArray[Any]) -> None:
        """Return masks, or other values of actions, [n, A], likewise."""
        if self.plain:
            np.copyto(out, values)
        else:
            reorder(values, self._chosen, which, out)

    def actions(self, chosen: npt.NDArray[np.int64], which: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return actions chosen under the suit permutations `which` [n] in true suits."""
        return chosen if self.plain else self._chosen[which, chosen].astype(np.int64)

    def seen(self, actions: npt.NDArray[Any], which: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return true actions under the suit permutations `which` [n]: the inverse of `actions`."""
        return actions.astype(np.int64) if self.plain else self._called[which, actions].astype(np.int64)

    @property
    def count(self) -> int:
        """How many suit permutations there are, including the identity."""
        return len(self._chosen)
