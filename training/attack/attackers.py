"""The attackers: each looks for a response to an agent in its own way, and offers what it has found from time to time.

| name | what it does |
|---|---|
| `rollouts` | the phase `attack`: rollouts in which the agent plays its sides, from its own weights where it has some |
| `plans` | the game's planner learns the values of its classes with the agent in all other seats |
| `search` | a search whose rollouts the agent itself plays, where it has a kernel; it learns nothing |
| `ppo` | PPO with the agent on all other sides, from its own network where it is a plain one |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from backalley.agents.base.agent import Agent, name_of
from backalley.agents.base.rule_based import BotAgent
from backalley.agents.policies.learned import PolicyAgent, load_policy
from backalley.agents.policies.policy_kinds import NetworkPlayer
from backalley.agents.search.racing import RacingAgent
from backalley.envs.core.game.game import Game

from ..config import config as config_rules
from ..config.config import ConfigError
from ..run.budget import Budget
from ..run.loop import kind
from .learning import Learning, Spent

SIZES = (8, 24, 96)
"""Determinizations of the searches that are tried."""


@dataclass(frozen=True)
class Task:
    """What an attacker works on."""

    game: Game
    victim: Agent
    seed: int
    folder: Path
    """Its own folder."""
    budget: Budget
    """What it may spend."""
    points: int
    """How many responses it should offer along its budget."""
    overrides: Mapping[str, Any]
    """Settings of training by dotted names, over its own."""
    made: Mapping[str, Any]
    """What the files of its policies say of how they were made."""
    checked: Callable[[float, float, str], None]
    """Called between steps with the work done, all work and some words; it raises to stop, and all is saved before."""


class Response(NamedTuple):
    """What an attacker offers against the agent."""

    agent: Agent
    policy: str = ""
    """The folder of its policy in the attacker's own; empty for a search."""
    spent: Spent | None = None
    """What learning it took so far; None for a search, which spends its budget on play."""


class Attacker(Protocol):
    """One way to look for a response."""

    @property
    def name(self) -> str:
        """Its name in tables and folders."""

    def refuses(self, game: Game, victim: Agent) -> str:
        """Return why it cannot attack this agent, in a sentence; empty where it can."""

    def responses(self, task: Task, done: int) -> Iterator[Response]:
        """Yield responses, without the first `done`, which an earlier run of the same task has yielded."""

    def again(self, task: Task, number: int) -> Agent:
        """Return the agent of a response that was offered before."""


@dataclass(frozen=True)
class Learner:
    """An attacker that learns, by a phase of training."""

    name: str
    phase: str
    """The kind of phase."""
    settings: Mapping[str, Any]
    """Its settings by dotted names, over those of the game."""
    compiled: bool
    """Whether it plays in machine code, and so only against an agent that has a kernel."""
    begins: Callable[[Agent], tuple[Path, Mapping[str, Any]] | None] = lambda victim: None
    """Returns the folder of the policy that it begins from, with the settings that this takes, or None."""

    def refuses(self, game: Game, victim: Agent) -> str:
        """See `Attacker`."""
        if self.compiled and victim.kernel is None:
            return f"{self.name} plays in machine code, and {name_of(victim)} has no kernel."
        try:
            kind(self.phase).check(game, config_rules.load(game, None, self.settings))
        except ConfigError as error:
            return str(error)
        return ""

    def responses(self, task: Task, done: int) -> Iterator[Response]:
        """See `Attacker`."""
        if done == task.points:
            return
        before, more = self.begins(task.victim) or (None, {})
        settings = config_rules.load(task.game, None, {**self.settings, **more, **task.overrides})
        with Learning(self.phase, task.game, task.victim, settings, task.seed, task.folder, before) as learning:
            for number in range(done, task.points):
                learning.until(task.budget, (number + 1) / task.points, task.checked)
                place = self._place(task, number)
                learning.phase.save_policy(place, task.made)
                policy = place.relative_to(task.folder).as_posix()
                yield Response(self.again(task, number), policy, learning.spent)

    def again(self, task: Task, number: int) -> Agent:
        """See `Attacker`."""
        return load_policy(self._place(task, number), task.game)

    def _place(self, task: Task, number: int) -> Path:
        return task.folder / "policies" / str(number + 1)


class Search:
    """An attacker that searches with the agent as the model of everybody: determinizations are drawn by what its seat
    may know, as in any search, and the agent plays their rollouts (`model_of`)."""

    name = "search"

    def refuses(self, game: Game, victim: Agent) -> str:
        """See `Attacker`."""
        return ""

    def responses(self, task: Task, done: int) -> Iterator[Response]:
        """Yield a search of each size."""
        for number in range(done, len(SIZES)):
            yield Response(self.again(task, number))

    def again(self, task: Task, number: int) -> Agent:
        """See `Attacker`."""
        return RacingAgent(task.game, SIZES[number], player=model_of(task.victim))


def model_of(victim: Agent) -> Agent | None:
    """Return who plays the rollouts of a search against an agent: the agent itself, or None, for the game's best bot,
    where it has no kernel, or is a bot too slow for rollouts, for which that one stands."""
    slow = isinstance(victim, BotAgent) and not victim.bot.fast
    return None if slow or victim.kernel is None else victim


def _own_network(victim: Agent) -> tuple[Path, Mapping[str, Any]] | None:
    """The agent's own policy where it is a plain network, with its size."""
    if not isinstance(victim, PolicyAgent) or not isinstance(victim.player, NetworkPlayer):
        return None
    return victim.folder, {"network.width": victim.player.width, "network.layers": victim.player.layers}


ATTACKERS: dict[str, Attacker] = {
    one.name: one
    for one in (
        Learner("rollouts", "attack", {}, compiled=True),
        Learner("plans", "plans", {}, compiled=True),
        Search(),
        Learner("ppo", "ppo", {"run.greedy": True, "ppo.epochs": 4}, compiled=False, begins=_own_network),
    )
}
"""All attackers by their names, in the order in which they attack."""
