"""The course of a run in memory: the phase it is in, its log and its checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable

from . import checkpoint
from .checkpoint import CheckpointError
from .logs import record, run_logger
from .phases import kind
from .run import Run, TrainingError

Say = Callable[[str], None]
"""Called with a sentence."""


class Course:
    """A run between its first step and its last."""

    def __init__(self, run: Run) -> None:
        self.run = run
        phases = run.config.run.phases
        if len(phases) > 1:
            raise TrainingError(f"A run has one phase so far, and run.phases names {len(phases)}.")
        self.phase = kind(phases.names[0])(
            run.game, run.config, seed=run.seed, folder=run.folder, device=run.device, precision=run.precision
        )
        run.precision = self.phase.precision
        self.steps = 0

    def begin(self) -> None:
        """Begin to learn. Raises OSError."""
        self.phase.begin()
        self.save()

    def step(self) -> None:
        """A step of the phase, and a line of the log where one is due. Raises OSError."""
        started = time.perf_counter()
        self.phase.step()
        self.phase.seconds += time.perf_counter() - started
        self.steps += 1
        if self.steps % self.run.config.run.log_every == 0:
            self._log()

    def open_log(self) -> None:
        """Go on with the log from where the run stands. Raises OSError."""
        self.logger = run_logger(self.run.folder, self.phase.decisions)

    def _log(self) -> None:
        phase = self.phase
        values = {"time/seconds": phase.seconds, "time/samples_per_second": phase.samples / max(phase.seconds, 1e-9)}
        record(self.logger, values | phase.log_values())
        self.logger.dump(phase.decisions)

    def save(self) -> None:
        """Lay the run down in a checkpoint. Raises OSError, with the former checkpoints untouched."""
        facts = {
            "game": self.run.game.id,
            "steps": self.steps,
            "seconds": self.phase.seconds,
            "phase": self.phase.facts(),
        }
        checkpoint.save(self.run.folder, self.phase.decisions, self.phase.arrays(), facts)

    def restore(self, say: Say) -> None:
        """Go on from the latest checkpoint. Raises TrainingError or CheckpointError."""
        found = checkpoint.latest(self.run.folder)
        if found is None:
            raise TrainingError(f"The run in {self.run.folder} has no checkpoint any more; --restart begins it anew.")
        arrays, facts, complaints = found
        for sentence in complaints:
            say(f"{sentence} Going on from the one before.")
        try:
            if facts["game"] != self.run.game.id:
                raise ValueError(f"it is of {facts['game']}")
            self.steps, self.phase.seconds = int(facts["steps"]), float(facts["seconds"])
            self.phase.restore(arrays, facts["phase"])
        except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise CheckpointError(
                f"The checkpoint does not fit this run, whose {self.run.game.id} or settings have changed: {error}"
            ) from error
