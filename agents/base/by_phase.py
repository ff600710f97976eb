"""An agent made of several, one for each phase of a game: `bid=bot,play=mine.py:Mine`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.game import Game

from .action_probabilities import Probabilities
from .agent import Agent, View, answer, name_of


def phase_of(mask: npt.NDArray[np.int8], game: Game) -> npt.NDArray[np.int64]:
    """Return the number of the phase of each decision [n], of masks [n, A]: the first declared one that has a legal
    action."""
    legal = np.stack([mask[:, list(actions)].any(1) for actions in game.type.phases.values()])
    first: npt.NDArray[np.int64] = legal.argmax(0)
    return first


class PhaseAgent(Agent):
    """Plays each phase as another agent does, which sees nothing but the decisions of its phases."""

    def __init__(self, game: Game, agents: Mapping[str, Agent]) -> None:
        """`agents` holds one for every phase that the game declares."""
        self.game, self.agents = game, [agents[phase] for phase in game.type.phases]
        self.name = ",".join(f"{phase}={name_of(agents[phase])}" for phase in game.type.phases)
        self.identity = [agent.identity for agent in self.agents]
        self.reads_events = any(agent.reads_events for agent in self.agents)
        self.one_table = any(agent.one_table for agent in self.agents)
        self.hears_ends = any(agent.hears_ends for agent in self.agents)
        self.is_deterministic = all(agent.is_deterministic for agent in self.agents) or None

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """Return the actions of the agents whose phases these are."""
        actions = np.empty(len(view), np.int64)
        for rows, agent in self._by_agent(view):
            actions[rows] = answer(agent, view.only(rows))
        return actions

    def action_probabilities(self, view: View) -> Probabilities:
        """Return what the agents tell of their phases. Raises NoProbabilities where one cannot."""
        found = np.zeros(view.action_mask.shape)
        for rows, agent in self._by_agent(view):
            found[rows] = agent.action_probabilities(view.only(rows))
        return found

    def tables_ended(
        self, tables: npt.NDArray[np.uint64], seats: npt.NDArray[np.int64], gained: npt.NDArray[np.float64]
    ) -> None:
        """Tell the agents that listen."""
        for agent in self.agents:
            if agent.hears_ends:
                agent.tables_ended(tables, seats, gained)

    def close(self) -> None:
        """Close them all."""
        for agent in self.agents:
            agent.close()

    def _by_agent(self, view: View) -> list[tuple[npt.NDArray[np.int64], Agent]]:
        phases = phase_of(view.action_mask, self.game)
        return [(np.flatnonzero(phases == number), self.agents[number]) for number in np.unique(phases)]
