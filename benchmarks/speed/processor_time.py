"""The cost of agents: processor time of a decision, all cores together, and the determinizations of a search."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent, View

from ..figures.stats import Floats


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


def cost(spent: Floats) -> dict[str, float]:
    """Return the cost of a decision from `Timed`: `milliseconds` of processor time, and `determinizations` if there
    were any."""
    seconds, decisions, determinizations = (float(number) for number in spent)
    if not decisions:
        return {}
    found = {"milliseconds": round(1000 * seconds / decisions, 4)}
    return found | ({"determinizations": round(determinizations / decisions, 2)} if determinizations else {})
