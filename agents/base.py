"""What an agent is: something that, shown many tables at once, names an action for each.

An agent sees `View`s: observations, masks, seats and a random key per table. It never sees a state; a searching agent
may ask the view for determinized states, which depend on nothing that the seat could not know.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.engine import Engine
from backalley.envs.core.kernel import wrapping


class View:
    """What n tables show to the seats that are to act there.

    observation [n, O], action_mask [n, A] int8, seat [n] int64, decisions [n] int32 made so far in the episode, key [n]
    uint64: each table's own randomness for this decision. Two agents handed equal views act alike, whatever else is in
    the batch.
    """

    def __init__(self, engine: Engine, rows: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64]) -> None:
        self.game: Game = engine.game
        self.options: Any = engine.options
        self.observation: npt.NDArray[Any] = engine.batch.flat[rows]
        self.action_mask: npt.NDArray[np.int8] = engine.batch.mask[rows]
        self.seat: npt.NDArray[np.int64] = engine.batch.seat[rows].astype(np.int64)
        self.decisions: npt.NDArray[np.int32] = engine.batch.decisions[rows]
        self.key = keys
        self._engine, self._rows = engine, rows

    def __len__(self) -> int:
        return len(self._rows)

    def determinize(self, which: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64]) -> npt.NDArray[Any]:
        """For each k, a state of table `which[k]` of this view, with all that its seat cannot see redrawn by
        `keys[k]`."""
        states = self._engine.batch.state[self._rows[which]]
        self._engine.determinize(states, self.seat[which], keys)
        return states


class Agent(Protocol):
    """A player. `name` is what tables print; `act` gives a legal action for every row of the view, as int64 [n]."""

    name: str

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """One legal action for each table of the view."""
        ...


@wrapping
def decision_keys(table: npt.NDArray[np.uint64], decisions: npt.NDArray[np.int32], out: npt.NDArray[np.uint64]) -> None:
    """A key of its own for every decision of every table: `out[k]` from the table's key and the number of decisions
    made there."""
    for k in range(out.shape[0]):
        out[k] = rng.fork(table[k], int(decisions[k]))


def view_of(engine: Engine, rows: npt.NDArray[np.int64], table_keys: npt.NDArray[np.uint64]) -> View:
    """The view of the tables `rows` of an engine, keyed by each table's own key (`table_keys[row]`) and its count of
    decisions."""
    keys = np.empty(len(rows), np.uint64)
    decision_keys(table_keys[rows], engine.batch.decisions[rows], keys)
    return View(engine, rows, keys)
