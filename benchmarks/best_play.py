"""What every action is worth at a table of a game that `exact.solve` can take: best play, decision by decision."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.judging import view_at
from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game as game_of

from .enumeration import FULL, linked_worths, memory
from .exact import SMALLEST, check_solvable, larger


class BestPlay:
    """Exact values of actions, one table after another; positions solved for one are remembered for the next."""

    def __init__(self, game: str | GameType | Game) -> None:
        """Raises Unsolvable in a sentence for a game with hidden cards."""
        self.game = game_of(game)
        check_solvable(self.game)
        self._store = memory(self.game, SMALLEST)
        self._entry = linked_worths(self.game, self._store)

    def values(self, table: Any, *, row: int = 0) -> npt.NDArray[np.float64]:
        """What the seat to act gains on average from here on by each action [A], everybody playing best afterwards, in
        the game's rewards; NaN where an action is not legal.

        `table` is an environment, or a View, as `backalley.judge` takes it. Raises as that does; ValueError for a table
        of another game, Unsolvable where there are too many positions ahead.
        """
        view = view_at(table, row)
        if view.game != self.game:
            raise ValueError(f"The table is of {view.game!r}; what is solved here is {self.game!r}.")
        # Any world will do: what is hidden is the order of the cards to come, and all orders are gone through.
        state = view.determinize(np.zeros(1, np.int64), view.key)[0]
        out = np.zeros(self.game.num_actions)
        while not self._solved(state, out):
            self._store = larger(self.game, self._store)
        return out if view.seat[0] == 0 else -out

    def _solved(self, state: Any, out: npt.NDArray[np.float64]) -> bool:
        self._store.state[0] = state
        self._entry(self.game.options, self._store, out)
        return int(self._store.used[0]) != FULL
