"""One phase of training against an agent, in a folder of its own: it can be stopped at any time and goes on from its
latest checkpoint, to the same bits."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from backalley.agents.base.agent import Agent
from backalley.envs.core.game.game import Game

from ..config.config import Config
from ..run.budget import Budget
from ..run.loop import kind
from ..shared import checkpoint
from ..shared.checkpoint import CheckpointError
from ..shared.phase import Phase


class Spent(NamedTuple):
    """What something took."""

    processor_seconds: float = 0.0
    seconds: float = 0.0
    decisions: int = 0
    """On the tables that were learned on."""

    def of(self, budget: Budget) -> tuple[float, float]:
        """Return how much of a budget this is, and how much there is in all, in the unit of the nearest limit."""
        return budget.progress(self.seconds, self.decisions, self.processor_seconds)


def reached(spent: Spent, budget: Budget, share: float) -> bool:
    """Return whether a share of the budget is spent."""
    done, whole = spent.of(budget)
    return done >= share * whole


class Learning:
    """The phase in memory, between checkpoints."""

    def __init__(
        self, name: str, game: Game, victim: Agent, config: Config, seed: int, folder: Path, before: Path | None
    ) -> None:
        """`name` is the kind of phase, `before` the folder of the policy that it begins from, if it does. Raises
        ConfigError, CheckpointError and OSError."""
        self.folder, self._config, self._saved = folder, config, time.monotonic()
        kind(name).check(game, config)
        self.phase: Phase = kind(name)(game, config, seed=seed, folder=folder / "files", before=before, against=victim)

    def __enter__(self) -> Self:
        found = checkpoint.latest(self.folder)
        if found is None:
            self.phase.begin()
            return self
        arrays, facts, _ = found
        self.phase.seconds, self.phase.processor_seconds = map(float, facts["spent"])
        try:
            self.phase.restore(arrays, facts["phase"])
        except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise CheckpointError(
                f"The checkpoint in {self.folder} does not fit; delete that folder: {error}"
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.phase.close()

    def until(self, budget: Budget, share: float, checked: Callable[[float, float, str], None]) -> None:
        """Learn until this share of the budget is spent, then write a checkpoint. `checked` is called between steps;
        what it raises ends the learning, after a checkpoint."""
        phase, every = self.phase, self._config.run.checkpoint_seconds
        while phase.decisions == 0 or not reached(self.spent, budget, share):
            started, used = time.perf_counter(), time.process_time()
            phase.step()
            phase.seconds += time.perf_counter() - started
            phase.processor_seconds += time.process_time() - used
            if time.monotonic() - self._saved >= every:
                self.save()
            try:
                checked(*self.spent.of(budget), phase.summary())
            except BaseException:
                self.save()
                raise
        self.save()

    @property
    def spent(self) -> Spent:
        """What learning took so far."""
        return Spent(self.phase.processor_seconds, self.phase.seconds, self.phase.decisions)

    def save(self) -> None:
        """Write a checkpoint. Raises OSError."""
        phase = self.phase
        facts = {"spent": [phase.seconds, phase.processor_seconds], "phase": phase.facts()}
        checkpoint.save(self.folder, 0, phase.decisions, phase.arrays(), facts)
        self._saved = time.monotonic()
