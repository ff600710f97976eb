"""The cost of agents: processor time of a decision, all cores together, and the determinizations of a search."""

from __future__ import annotations

import time
from contextlib import closing

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent, View
from backalley.agents.match import Match
from backalley.envs.core.game.game import Game

from ..figures.stats import Floats

_DEALS = 512
"""Deals of `cost_of`, all on one batch's tables: fewer would time the calls, not the decisions."""


class Timed(Agent):
    """A wrapper of an agent. `spent` [3] counts its processor seconds, its decisions with a choice, and the
    determinizations for them; not at the first call, which finds machine code, unless it is the only one."""

    def __init__(self, player: Agent, spent: Floats | None = None) -> None:
        self.player, self.name, self.identity, self.note = player, player.name, player.identity, player.note
        self.spent = np.zeros(3) if spent is None else spent
        self._first: Floats | None = None

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Return the wrapped agent's actions."""
        before, determinizations = time.process_time(), self._determinizations()
        found = self.player.act(view)
        seconds, choices = time.process_time() - before, int((view.action_mask.sum(1) > 1).sum())
        # Racing knows how many it drew; other searches draw equally many for every decision.
        drawn = self._determinizations()
        of_all = (
            choices * getattr(self.player, "determinizations", 0) if drawn is None else drawn - (determinizations or 0)
        )
        counted = np.array([seconds, choices, of_all])
        self.spent += counted if self._first is None else counted - self._first
        self._first = counted if self._first is None else np.zeros(3)
        return found

    def _determinizations(self) -> int | None:
        return getattr(self.player, "determinizations_drawn", None)

    def close(self) -> None:
        """Close the wrapped agent."""
        self.player.close()


def cost_of(player: Agent, game: Game) -> dict[str, float]:
    """Return the cost of a decision of an agent that plays so fast that it may play some deals for this alone, at every
    seat."""
    timed, deals = Timed(player), np.arange(_DEALS, dtype=np.uint64)
    with closing(Match(game, [timed], np.zeros((1, game.num_seats), np.int64))) as match:
        match.play(deals, deals[:, None])
    return cost(timed.spent)


def cost(spent: Floats) -> dict[str, float]:
    """Return the cost of a decision from `Timed`: `milliseconds` of processor time, and `determinizations` if there
    were any."""
    seconds, decisions, determinizations = (float(number) for number in spent)
    if not decisions:
        return {}
    found = {"milliseconds": float(f"{1000 * seconds / decisions:.4g}")}
    return found | ({"determinizations": round(determinizations / decisions, 2)} if determinizations else {})
