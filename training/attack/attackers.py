"""The attackers: each looks for a response to an agent in its own way, and offers what it has found from time to time.

| name | what it does |
|---|---|
| `rollouts` | the phase `attack`: rollouts in which the agent plays its sides, from its own weights where it has some |
| `plans` | the game's planner learns the values of its classes with the agent in all other seats |
| `model` | the game's model of its plans reckons the best response from the hands that the agent shows |
| `search`, `search:N` | a search whose rollouts the agent itself plays, where it has a kernel; it learns nothing |
| `table` | counts where each action led after each observation, and reckons the best response: small games alone |
| `ppo` | PPO with the agent on all other sides, from its own network where it is a plain one |
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.base.agent import Agent, name_of
from backalley.agents.base.rule_based import BotAgent
from backalley.agents.policies.learned import PolicyAgent, load_policy
from backalley.agents.policies.policy_kinds import NetworkPlayer
from backalley.agents.search.determinizations import MOST_DETERMINIZATIONS
from backalley.agents.search.racing import RacingAgent
from backalley.envs.core.game.game import Game

from ..config import config as config_rules
from ..config.config import Config, ConfigError
from ..config.phases import Budget
from ..run.loop import kind
from ..shared import checkpoint
from ..shared.checkpoint import CheckpointError
from ..shared.phase import Phase
from .table import Table

POINTS = 4
"""Responses that a learning attacker offers along its budget."""
SIZES = (8, 24, 96)
"""Determinizations of the searches that `search` tries; `search:N` is one of N."""


class Spent(NamedTuple):
    """What something took."""

    processor_seconds: float = 0.0
    seconds: float = 0.0
    decisions: int = 0
    """On the tables that were learned on."""

    def of(self, budget: Budget) -> tuple[float, float]:
        """Return how much of a budget this is, and how much there is in all, in the unit of the nearest limit."""
        return budget.progress(self.seconds, self.decisions, self.processor_seconds)

    def reaches(self, budget: Budget, share: float) -> bool:
        """Return whether that share of the budget is spent."""
        done, whole = self.of(budget)
        return done >= share * whole


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


@dataclass(frozen=True)
class Learner:
    """An attacker that learns, by a phase of training."""

    name: str
    phase: str | type[Phase]
    """The phase, or its kind."""
    settings: Mapping[str, Any]
    """Its settings by dotted names, over those of the game."""
    compiled: bool
    """Whether it plays in machine code, and so only against an agent that has a kernel."""
    begins: Callable[[Agent], tuple[Path, Mapping[str, Any]] | None] = lambda victim: None
    """Returns the folder of the policy that it begins from, with the settings that this takes, or None."""
    offers = POINTS
    """How many responses it offers."""

    def refuses(self, game: Game, victim: Agent) -> str:
        """Return why it cannot attack this agent, in a sentence; empty where it can."""
        if self.compiled and victim.kernel is None:
            return f"{self.name} plays in machine code, and {name_of(victim)} has no kernel."
        try:
            self._made.check(game, config_rules.load(game, None, self.settings))
        except ConfigError as error:
            return str(error)
        return ""

    def responses(self, task: Task, done: int) -> Iterator[Response]:
        """Yield responses, without the first `done`, which an earlier run of the same task has yielded."""
        if done == POINTS:
            return
        before, more = self.begins(task.victim) or (None, {})
        config = config_rules.load(task.game, None, {**self.settings, **more, **task.overrides})
        with contextlib.closing(self._begun(task, config, before)) as phase:
            for number in range(done, POINTS):
                spent = _learn(phase, task, (number + 1) / POINTS)
                place = self._place(task, number)
                phase.save_policy(place, task.made)
                yield Response(self.again(task, number), place.relative_to(task.folder).as_posix(), spent)

    def again(self, task: Task, number: int) -> Agent:
        """Return the agent of a response that was offered before."""
        return load_policy(self._place(task, number), task.game)

    @property
    def _made(self) -> type[Phase]:
        return kind(self.phase) if isinstance(self.phase, str) else self.phase

    def _place(self, task: Task, number: int) -> Path:
        return task.folder / "policies" / str(number + 1)

    def _begun(self, task: Task, config: Config, before: Path | None) -> Phase:
        """Its phase, at its beginning or at its latest checkpoint. Raises ConfigError, CheckpointError and OSError."""
        made, folder = self._made, task.folder
        made.check(task.game, config)
        phase = made(task.game, config, seed=task.seed, folder=folder / "files", before=before, against=task.victim)
        found = checkpoint.latest(folder)
        if found is None:
            phase.begin()
            return phase
        arrays, facts, _ = found
        phase.seconds, phase.processor_seconds = map(float, facts["spent"])
        try:
            phase.restore(arrays, facts["phase"])
        except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise CheckpointError(f"The checkpoint in {folder} does not fit; delete that folder: {error}") from error
        return phase


def _learn(phase: Phase, task: Task, share: float) -> Spent:
    """Learn until this share of the budget is spent, then write a checkpoint; return what learning took so far. What
    `task.checked` raises ends it, after a checkpoint, too."""
    saved = time.monotonic()
    while phase.decisions == 0 or not _spent(phase).reaches(task.budget, share):
        phase.timed_step()
        if time.monotonic() - saved >= phase.config.run.checkpoint_seconds:
            _save(phase, task.folder)
            saved = time.monotonic()
        try:
            task.checked(*_spent(phase).of(task.budget), phase.summary())
        except BaseException:
            _save(phase, task.folder)
            raise
    _save(phase, task.folder)
    return _spent(phase)


def _spent(phase: Phase) -> Spent:
    return Spent(phase.processor_seconds, phase.seconds, phase.decisions)


def _save(phase: Phase, folder: Path) -> None:
    facts = {"spent": [phase.seconds, phase.processor_seconds], "phase": phase.facts()}
    checkpoint.save(folder, 0, phase.decisions, phase.arrays(), facts)


class Search:
    """An attacker that searches with the agent as the model of everybody: determinizations are drawn by what its seat
    may know, as in any search, and the agent plays their rollouts (`model_of`). Its methods are those of Learner."""

    def __init__(self, *sizes: int) -> None:
        self.sizes, self.offers = sizes, len(sizes)
        self.name = "search" if self.offers > 1 else f"search:{sizes[0]}"

    def refuses(self, game: Game, victim: Agent) -> str:
        """It attacks anybody."""
        return ""

    def responses(self, task: Task, done: int) -> Iterator[Response]:
        """Yield a search of each size."""
        for number in range(done, self.offers):
            yield Response(self.again(task, number))

    def again(self, task: Task, number: int) -> Agent:
        """Return the search of that size."""
        return RacingAgent(task.game, self.sizes[number], player=model_of(task.victim))


def model_of(victim: Agent) -> Agent | None:
    """Return who plays the rollouts of a search against an agent: the agent itself, or None, for the game's best bot,
    where it has no kernel, or is a bot too slow for rollouts, for which that one is taken."""
    slow = isinstance(victim, BotAgent) and not victim.bot.plays_rollouts
    return None if slow or victim.kernel is None else victim


def _own_network(victim: Agent) -> tuple[Path, Mapping[str, Any]] | None:
    """The agent's own policy where it is a plain network, with its size."""
    if not isinstance(victim, PolicyAgent) or not isinstance(victim.player, NetworkPlayer):
        return None
    return victim.folder, {"network.width": victim.player.width, "network.layers": victim.player.layers}


def _own_gains(victim: Agent) -> tuple[Path, Mapping[str, Any]] | None:
    """The agent's own policy where it is a network of gains, as one from nothing is, whose learning then goes on."""
    if not isinstance(victim, PolicyAgent) or not victim.plays_gains:
        return None
    return victim.folder, {"rollouts.base": config_rules.SELF.source}


ATTACKERS: dict[str, Learner | Search] = {
    one.name: one
    for one in (
        Learner("rollouts", "attack", {}, compiled=True, begins=_own_gains),
        Learner("plans", "plans", {}, compiled=True),
        Learner("model", "fictitious_play", {}, compiled=True),
        Search(*SIZES),
        Learner("table", Table, {}, compiled=False),
        Learner("ppo", "ppo", {"run.greedy": True, "ppo.epochs": 4}, compiled=False, begins=_own_network),
    )
}
"""All attackers by their names, in the order in which they attack."""


def attacker_named(name: str) -> Learner | Search | None:
    """Return an attacker by its name, None where there is none."""
    kind, _, size = name.partition(":")
    alone = kind == "search" and size.isdecimal() and 0 < int(size) <= MOST_DETERMINIZATIONS
    return Search(int(size)) if alone else ATTACKERS.get(name)
