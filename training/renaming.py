"""The names that suits go by for each seat: where the rules do not notice a renaming, the learner meets every game
under any names, and what it learns of one suit it has learned of all.

A seat keeps its names for a whole episode, so to the learner that episode is one of the same game, and samples stay
those of its policy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.base import Game
from backalley.envs.core.kernel import kernel


@kernel
def reorder(
    values: npt.NDArray[Any], orders: npt.NDArray[np.int32], which: npt.NDArray[np.int64], out: npt.NDArray[Any]
) -> None:
    """`out[k]` becomes row k of `values` in the order `orders[which[k]]`."""
    for row in range(values.shape[0]):
        order = orders[which[row]]
        for place in range(values.shape[1]):
            out[row, place] = values[row, order[place]]


class SuitNames:
    """Which of the game's renamings each seat of B tables plays under."""

    def __init__(self, game: Game, num_envs: int, *, renamed: bool) -> None:
        """Not `renamed`, everything keeps its own name."""
        found = game.symmetries if renamed else game.symmetries[:1]
        self.plain = len(found) == 1
        """Whether there is nothing to rename."""
        self.number = np.zeros((num_envs, game.num_seats), np.int64)
        """[B, N] in the order of `Game.symmetries`; 0 keeps all names."""
        self.generator = np.random.default_rng(0)
        self._observation = np.stack([one.observation for one in found]).astype(np.int32)
        self._chosen = np.stack([one.chosen for one in found]).astype(np.int32)
        self._called = np.stack([one.actions for one in found]).astype(np.int32)

    def draw(self, rows: npt.NDArray[np.int64], learner: npt.NDArray[np.bool_]) -> None:
        """New names for the episodes that begin on some tables, by lot, and at the seats of the `learner` [rows, N]
        alone."""
        if not self.plain and len(rows):
            drawn = self.generator.integers(len(self._chosen), size=learner.shape)
            self.number[rows] = np.where(learner, drawn, 0)

    def observations(self, values: npt.NDArray[Any], which: npt.NDArray[np.int64], out: npt.NDArray[Any]) -> None:
        """Observations [n, O] as they are seen under the renamings `which` [n]."""
        if self.plain:
            np.copyto(out, values)
        else:
            reorder(values, self._observation, which, out)

    def masks(self, values: npt.NDArray[np.int8], which: npt.NDArray[np.int64], out: npt.NDArray[np.int8]) -> None:
        """Masks [n, A], likewise."""
        if self.plain:
            np.copyto(out, values)
        else:
            reorder(values, self._chosen, which, out)

    def actions(self, chosen: npt.NDArray[np.int64], which: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What was chosen under the renamings `which` [n], by its own name."""
        return chosen if self.plain else self._chosen[which, chosen].astype(np.int64)

    def seen(self, actions: npt.NDArray[Any], which: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What actions are called under the renamings `which` [n]: the way back from `actions`."""
        return actions.astype(np.int64) if self.plain else self._called[which, actions].astype(np.int64)

    @property
    def count(self) -> int:
        """How many renamings there are, that which changes nothing among them."""
        return len(self._chosen)
