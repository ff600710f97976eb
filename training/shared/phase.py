"""The interface of a phase: it learns a policy step by step, from the run's present policy.

`train.py` runs the phases of `run.phases`. A new kind is a module with a class that defines the abstract methods here,
its settings, and `PHASE = PhaseKind(name, settings, class)`; `register_phase` (`phases.py`) lets runs name it.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from backalley.agents.base.agent import Agent
from backalley.agents.policies.network import BFLOAT16, FLOAT32, best_precision
from backalley.agents.policies.policy_file import observation_layout
from backalley.benchmarks.matches.seeding import Space, sequence
from backalley.cluster.work import LOCAL, Executor
from backalley.console.errors import MissingMethod
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import ActionFeatures, times

from ..config.config import Config, ConfigError, Precision
from .checkpoint import Arrays

_PRECISIONS = {Precision.FLOAT32: FLOAT32, Precision.BFLOAT16: BFLOAT16}


class Finished(NamedTuple):
    """An earlier phase of a run."""

    learned: Path
    """The folder of the policy that it learned, kept or not."""
    current: Path
    """The folder of the current policy after it."""
    attacks: bool
    """Whether what it learned was to attack a policy, not to replace it."""


class Phase(abc.ABC):
    """One phase in memory. Between two steps, `arrays()` and `facts()` hold everything that the next step depends on,
    and nothing depends on the budget: so a run can be stopped anywhere and continued, to the same bits.
    """

    hands_out: ClassVar[bool] = False
    """Whether it lets `executor` do part of its work."""
    executor: Executor = LOCAL
    """Who does work that can be done elsewhere: this process, or a cluster."""
    long_steps: ClassVar[bool] = False
    """Whether a step takes seconds; if so, each has a line in the log."""
    reads_features: ClassVar[bool] = False
    """Whether its network can rate actions by their features; otherwise it reads the observation whatever
    `network.features` says."""

    def __init__(
        self,
        game: Game,
        config: Config,
        *,
        seed: int,
        folder: Path,
        device: str = "cpu",
        precision: str = "",
        number: int = 0,
        before: Path | None = None,
        history: Sequence[Finished] = (),
        against: Agent | None = None,
    ) -> None:
        """`game` is the one to be played, `seed` the run's, `number` the phase's place in the list from 0.

        `folder` is the phase's own, for files besides its checkpoints; it need not exist. `before` is the folder of the
        previous policy, None in the first phase; `history` are all phases so far. `precision` overrides the config: a
        resumed run keeps the precision it began with. With `against`, an agent that never changes plays all sides but
        one at every table, and the phase learns a response to it.
        """
        self.game, self.config, self.seed, self.folder = game, config, seed, folder
        self.number, self.before, self.history, self.against = number, before, history, against
        self.device = torch.device(device)
        self.precision = precision or _PRECISIONS.get(config.network.precision) or best_precision(self.device)
        self.decisions = 0
        """Decisions made on tables so far, which every step adds to."""
        self.samples = 0
        """Decisions learned from so far."""
        self.seconds = self.processor_seconds = 0.0
        """Time spent in `step` so far, by the clock and as processor time; see `timed_step`."""

    @classmethod  # noqa: B027
    def check(cls, game: Game, config: Config) -> None:
        """Raise ConfigError where the game or the settings do not allow this kind of phase: called before a run begins,
        for all of its phases."""

    @classmethod
    def action_features(cls, game: Game, config: Config) -> ActionFeatures | None:
        """Return the features that its network is to read in place of the observation, if any. Raises ConfigError where
        the settings want some and the game has none."""
        if not (cls.reads_features and config.network.features):
            return None
        if game.type.action_features is None:
            raise ConfigError(
                f"network.features is true, and {game.name} declares no features of actions "
                "(`GameType.action_features`); leave it at false."
            )
        return game.type.action_features

    def seeds(self) -> np.random.SeedSequence:
        """Return the seeds of all randomness in this phase, different in each phase of each run."""
        return sequence(Space.TRAINING, self.seed, self.number)

    # Learning ---------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def begin(self) -> None:
        """Begin to learn. Called once, unless `restore` is called; what either needs of `before` is read there or
        earlier."""

    @abc.abstractmethod
    def step(self) -> None:
        """Play and learn for a few seconds at most: a run is stopped between two steps. Raises OSError."""

    def timed_step(self) -> None:
        """Make a step, and count what it takes but for compiling."""
        began = times()
        self.step()
        ended = times()
        self.seconds += ended.seconds - began.seconds
        self.processor_seconds += ended.processor_seconds - began.processor_seconds

    @abc.abstractmethod
    def save_policy(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the current policy; `made` is added to what its file says of how it was made. Never changes what is
        learned. Raises OSError."""

    def about(self, algorithm: str) -> dict[str, Any]:
        """Return what the file of every policy says of how it was made."""
        return {
            "seed": self.seed,
            "decisions": self.decisions,
            "samples": self.samples,
            "seconds": round(self.seconds, 1),
            "algorithm": algorithm,
            "objective": self.config.run.objective.name.lower(),
            "config": self.config.as_dict(),
        }

    @property
    def decisions_in_short(self) -> str:
        """The decisions for a policy's name: `12k`, `3.4M`."""
        count = self.decisions
        return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count // 1000}k"

    # The previous policy ----------------------------------------------------------------------------------------------

    def policy_before(self) -> Agent | None:
        """Return the agent that the phase starts from, if any: as a run's first phase, its policy then has to beat this
        agent in the gate. None for a phase that learns from random weights."""
        return None

    def save_before(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the policy that plays as `policy_before()` does: it is kept if nothing better was learned. Only called
        for a phase that has one. Raises OSError."""
        raise MissingMethod(f"{type(self).__name__} begins from nobody's play.")

    def attacked(self) -> Agent | None:
        """Return the agent to which the phase seeks a best response, if it is an attack: instead of a gate, what it
        gains over equality against this agent is measured."""
        return None

    replaces: bool = True
    """Whether its policy may take the place of the current one; an attack leaves that where it is."""
    meets_strangers: ClassVar[bool] = False
    """Whether its gate also asks how the policy fares against the best bot and a third party, who must not do better
    against it than against the previous one."""

    # Log --------------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def summary(self) -> str:
        """Return progress in a few words separated by commas, the most important first: decisions and speed, then
        scores."""

    @abc.abstractmethod
    def log_values(self) -> dict[str, float]:
        """Return values for a line of the log, by names such as `rollout/episodes`, counted since the last call."""

    def closing_words(self) -> list[str]:
        """Return sentences for below the final table, such as the share of decisions where the policy departs from a
        bot."""
        return []

    def counts(self) -> dict[str, int]:
        """Return what was done so far, by name; `backalley dev study throughput` measures how much of it a second."""
        return {"decisions": self.decisions, "samples": self.samples}

    def close(self) -> None:  # noqa: B027
        """Release threads, when the phase is over."""

    # Checkpoints ------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def arrays(self) -> Arrays:
        """Return the arrays of a checkpoint, by name."""

    @abc.abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return the rest of it, including `decisions` and `samples`, as JSON can hold it; equal where the next step is
        equal, so no times."""

    @abc.abstractmethod
    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Continue from what `arrays` and `facts` returned. Where they do not fit it may raise KeyError, TypeError,
        ValueError, RuntimeError or OverflowError, from which the caller makes a message."""


def training_game(game: Game, config: Config) -> Game:
    """Return the game of the training tables: the one to be played, under the options that the settings have for
    training. Raises OptionError, or ConfigError where its observation layout differs from that of the game itself."""
    training = game.type.bind({**config.options, **game.changed_options})
    if observation_layout(game) != observation_layout(training):
        raise ConfigError(
            f"With the training options {config.options} the observation of {game.id} has another layout than in the "
            "game itself; use options that leave it unchanged."
        )
    return training
