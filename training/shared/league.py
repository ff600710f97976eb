"""The league: the learner's opponents on a share of its tables, so that it does not forget how to beat bots and its own
past.

Members are drawn by prioritised fictitious self-play (Vinyals et al. 2019, AlphaStar): the more a member scores against
the learner, the more often it is met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import BotAgent
from backalley.envs.core.game.game import Game

_MEMORY = 512
"""The approximate number of games that a member's score averages over."""
_PRIOR_GAMES = 16
"""A new member starts with this many imagined games at one half."""
_FLOOR = 0.05
"""Weight of a member whom the learner always beats: it is still met sometimes."""


def bots_of(game: Game) -> list[Agent]:
    """Return a game's bots, weakest first."""
    return [BotAgent(game, name) for name in game.bots]


@dataclass
class Member:
    """One opponent. `score` is the learner's share of the points against it: wins 1, ties one half; `games` counts all
    games."""

    agent: Agent
    past: bool
    score: float = 0.5
    games: int = 0
    retired: bool = False


class League:
    """Bots and past selves. Members keep their number (their index in `agents`) for ever; a retired one only finishes
    its present episodes."""

    def __init__(self, bots: Sequence[Agent] = (), *, keep: int = 16, per_rollout: int = 2) -> None:
        """`keep` past selves are drawn from, `per_rollout` of them during any one rollout (each costs a forward pass a
        step)."""
        self.members = [Member(agent, past=False) for agent in bots]
        self.agents: list[Agent] = list(bots)
        self.keep, self.per_rollout = keep, per_rollout
        self._meet(range(len(bots)))

    def add_past(self, agent: Agent) -> None:
        """Add a new past self. With more than `keep`, the one that the learner beats most retires."""
        self.members.append(Member(agent, past=True))
        self.agents.append(agent)
        present = [number for number, member in enumerate(self.members) if member.past and not member.retired]
        if len(present) > self.keep:
            weakest = max(present[:-1], key=lambda number: (self.members[number].score, -number))
            self.members[weakest].retired = True

    def choose(self, generator: np.random.Generator) -> None:
        """Choose the members of the rollout that begins: every bot, and `per_rollout` past selves by their weights."""
        past = [number for number, member in enumerate(self.members) if member.past and not member.retired]
        if len(past) > self.per_rollout:
            weights = self._weights(past)
            past = sorted(generator.choice(past, self.per_rollout, replace=False, p=weights).tolist())
        self._meet([number for number, member in enumerate(self.members) if not member.past] + past)

    def _meet(self, numbers: Sequence[int]) -> None:
        self.active = np.array(numbers, np.int64)
        self._edges = np.cumsum(self._weights(numbers)) if len(numbers) else np.zeros(0)

    def draw(self, generator: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
        """Draw opponents for `count` tables by the weights at the rollout's beginning: member numbers [count], all -1
        (the learner itself) while the league is empty."""
        drawn = generator.random(count)
        if not len(self.active):
            return np.full(count, -1, np.int64)
        return self.active[np.minimum(np.searchsorted(self._edges, drawn, "right"), len(self.active) - 1)]

    def _weights(self, numbers: Sequence[int]) -> npt.NDArray[np.float64]:
        weights = np.array([max(1 - self.members[number].score, _FLOOR) for number in numbers])
        shares: npt.NDArray[np.float64] = weights / weights.sum()
        return shares

    def record(self, number: int, games: int, points: float) -> None:
        """Add games against a member, and the learner's points in them: 1 for a win, one half for a tie."""
        member = self.members[number]
        member.games += games
        member.score += (points / games - member.score) * min(games / min(member.games + _PRIOR_GAMES, _MEMORY), 1.0)

    def facts(self) -> dict[str, Any]:
        """Return what a checkpoint keeps besides the members' weights, as JSON can hold it."""
        members = [
            {"name": m.agent.name, "past": m.past, "score": m.score, "games": m.games, "retired": m.retired}
            for m in self.members
        ]
        return {"members": members, "active": self.active.tolist(), "edges": self._edges.tolist()}

    def restore(self, facts: dict[str, Any], past: dict[str, Agent]) -> None:
        """Restore from `facts()`; `past` are the past selves by name. The bots must be the same as before."""
        bots = {member.agent.name: member.agent for member in self.members if not member.past}
        self.members = [
            Member(
                past[kept["name"]] if kept["past"] else bots[kept["name"]],
                kept["past"],
                kept["score"],
                kept["games"],
                kept["retired"],
            )
            for kept in facts["members"]
        ]
        self.agents = [member.agent for member in self.members]
        self.active, self._edges = np.array(facts["active"], np.int64), np.array(facts["edges"], np.float64)
