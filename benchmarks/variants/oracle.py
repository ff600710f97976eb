"""What a variant is worth, and an agent that knows: exactly where it can be solved, else by the best bot."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent, View
from backalley.agents.registry import agent
from backalley.envs.core.game.game import Game

from ..analyse import bounds
from ..exact.best_play import BestPlay
from ..exact.equilibrium import WITHIN
from ..exact.exact import check_solvable
from ..exact.solver import Solver
from ..matches.evaluate import evaluate

MOST_SETS = 1_000_000
"""Information sets of a variant whose equilibrium is looked for."""
_DEALS = 256


class Value(NamedTuple):
    """What seat 0 gains, in the game's rewards."""

    low: float
    high: float
    """Bounds; for `exact` both are the value."""
    by: str
    """`exact`: of best play, or in `equilibrium`; `floor`: what the best bot gains against random players, with the
    95 % interval of that mean."""
    processor_seconds: float
    """With what had to be compiled."""


def value_of(game: Game, most: int = MOST_SETS) -> Value:
    """Return what a game is worth: exactly where that takes seconds, by bounds of its equilibrium where it has up to
    `most` information sets, or else the best known floor."""
    began = time.process_time()
    low, high, by = _value(game, most)
    return Value(low, high, by, time.process_time() - began)


def _value(game: Game, most: int) -> tuple[float, float, str]:
    try:
        return *bounds.value_of(game, most=most), "exact" if game.num_seats == 1 else "equilibrium"
    except bounds.NOT_EXACT:
        players = ["bot" if game.bots else "random"]
        gains = evaluate(game, [*players, *["random"][: game.num_sides - 1]], deals=_DEALS).agents[0].mean_return
        return gains.low, gains.high, "floor"


def oracle(game: Game, most: int = MOST_SETS) -> Agent:
    """Return the agent that plays by the value: best play, an equilibrium, or the best bot."""
    try:
        if game.num_seats > 1:
            return Equilibrated(Solver(game, bounds.no_more_than(most)))
        check_solvable(game, whole=True)
        return BestPlayer(game)
    except bounds.NOT_EXACT:
        return agent("bot" if game.bots else "random", game)


class BestPlayer(Agent):
    """Plays an action of the highest exact value."""

    is_deterministic = True

    def __init__(self, game: Game) -> None:
        self._best, self.name = BestPlay(game), "oracle"

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Return the best action at each table."""
        return np.array([np.nanargmax(self._best.values(view, row=k)) for k in range(len(view))], np.int64)


class Equilibrated(Agent):
    """Plays each action by its probability in an equilibrium."""

    is_deterministic, reads_events = False, True

    def __init__(self, solver: Solver) -> None:
        self.name, self._shown = "oracle", list[bytes]()
        asked = solver.ask_with_events(self._number)
        plays = solver.equilibrium(WITHIN * (solver.span[1] - solver.span[0])).probabilities
        self._plays = {self._shown[number]: row for number, row in zip(asked.max(1).astype(int), plays, strict=True)}

    def _number(self, view: View) -> npt.NDArray[np.float64]:
        """Keep what is shown at each table, and answer with its number in place of probabilities."""
        first = len(self._shown)
        self._shown += _knowledge(view)
        return np.repeat(np.arange(first, len(self._shown), dtype=np.float64)[:, None], view.action_mask.shape[1], 1)

    def action_probabilities(self, view: View) -> npt.NDArray[np.float64]:
        """Return the probabilities [n, A]; where one action alone is legal it has all."""
        only = view.action_mask.astype(np.float64)
        return np.stack([self._plays.get(one, only[k]) for k, one in enumerate(_knowledge(view))])

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Draw an action by its probability, from the view's key."""
        sums = self.action_probabilities(view).cumsum(1)
        at = (view.key >> np.uint64(11)).astype(np.float64) / 2**53 * sums[:, -1]
        chosen: npt.NDArray[np.int64] = (sums <= at[:, None]).sum(1)
        return chosen


def _knowledge(view: View) -> list[bytes]:
    """What the seat to act at each table has been shown."""
    events: Any = view.events()
    return [
        seen[seen[:, 0] != 0].tobytes() + shown.tobytes()
        for seen, shown in zip(events[0], view.observation, strict=True)
    ]
