"""What a phase of a run is: it learns a policy in its own way, step by step, from where the run stands.

`train.py` runs the list of `run.phases`; the kinds are named in `phases.py`. To add one: a class that fills in the
abstract methods here, a line in `phases.KINDS`, and a section of settings in `config.py` and `configs/default.yaml`.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from backalley.agents.base import Agent
from backalley.agents.network import BFLOAT16, FLOAT32, best_precision
from backalley.benchmarks.keys import Space, sequence
from backalley.envs.core.base import Game

from .checkpoint import Arrays
from .config import Config, Precision

_PRECISIONS = {Precision.FLOAT32: FLOAT32, Precision.BFLOAT16: BFLOAT16}


class Phase(abc.ABC):
    """One phase in memory. Between two steps, `arrays()` and `facts()` are all that what follows depends on, and
    nothing in it knows the budget: so a run can be stopped anywhere and taken further, to the same bits.
    """

    long_steps: ClassVar[bool] = False
    """Whether a step takes seconds: then each has a line of the log."""

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
    ) -> None:
        """`game` is the one to be played, `seed` the run's, `number` the phase's place in the list from 0.

        `folder` is the phase's own, for what it keeps beside its checkpoints; it need not exist. `before` is the folder
        of the policy that stands, None in the first phase. `precision` overrules the config: a run that goes on keeps
        what it began with.
        """
        self.game, self.config, self.seed, self.folder = game, config, seed, folder
        self.number, self.before = number, before
        self.device = torch.device(device)
        self.precision = precision or _PRECISIONS.get(config.network.precision) or best_precision(self.device)
        self.decisions = 0
        """Decisions made on tables so far, which every step adds to."""
        self.samples = 0
        """Decisions learned from so far."""
        self.seconds = self.processor_seconds = 0.0
        """Time spent in `step` so far, by the clock and on all cores together; the course of the run keeps them."""

    @classmethod  # noqa: B027
    def check(cls, game: Game, config: Config) -> None:
        """Raise ConfigError, in a sentence, where the game or the settings do not allow this kind of phase: asked
        before a run begins, for all of its phases."""

    def seeds(self) -> np.random.SeedSequence:
        """Where all chance in this phase comes from: another one in each phase of each run."""
        return sequence(Space.TRAINING, self.seed, self.number)

    # Learning ---------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def begin(self) -> None:
        """Begin to learn. Called once, unless `restore` is; what either needs of `before` is read there or earlier."""

    @abc.abstractmethod
    def step(self) -> None:
        """Play and learn for some seconds at most: a run is stopped between two steps. Raises OSError."""

    @abc.abstractmethod
    def save_policy(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the policy so far; `made` is added to what its file says of its making. Never alters what is learned.
        Raises OSError."""

    def about(self, algorithm: str) -> dict[str, Any]:
        """What the file of every policy says of its making."""
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
        """For a policy's name: `12k`, `3.4M`."""
        count = self.decisions
        return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count // 1000}k"

    # What it is measured against --------------------------------------------------------------------------------------

    def stands_before(self) -> Agent | None:
        """Where the phase begins from another agent's play, that agent: as a run's first phase, its policy then has to
        be better than that to stand. None for one that learns from nothing."""
        return None

    def save_before(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the policy that plays as `stands_before()` does: what is left where nothing better was learned. Only
        called for a phase that names one. Raises OSError."""
        raise NotImplementedError(f"{type(self).__name__} begins from nobody's play.")

    # What it tells ----------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def summary(self) -> str:
        """How it goes, in a few words divided by commas, the most telling first: decisions and pace, then scores."""

    @abc.abstractmethod
    def log_values(self) -> dict[str, float]:
        """What is worth a line of the log, by names such as `rollout/episodes`, counted since it was last asked."""

    def closing_words(self) -> list[str]:
        """Sentences beneath the final table, such as the share of decisions where the policy departs from a bot."""
        return []

    def counts(self) -> dict[str, int]:
        """What was done so far, by name: how much of it a second, `rates.py` measures."""
        return {"decisions": self.decisions, "samples": self.samples}

    def close(self) -> None:  # noqa: B027
        """Let go of threads, when the phase is over."""

    # Checkpoints ------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def arrays(self) -> Arrays:
        """The arrays of a checkpoint, by name."""

    @abc.abstractmethod
    def facts(self) -> dict[str, Any]:
        """The rest of it, `decisions` and `samples` among it, as JSON can hold it; equal where what follows is
        equal, so no times."""

    @abc.abstractmethod
    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Go on from what `arrays` and `facts` gave. Whatever does not fit may raise KeyError, TypeError, ValueError,
        RuntimeError or OverflowError, of which the caller makes a sentence."""
