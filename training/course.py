"""The course of a run in memory: phase after phase, each with its gate; its log, its curve, its checkpoints."""

from __future__ import annotations

import itertools
import math
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.learned import PolicyAgent
from backalley.agents.policy_file import read_metadata
from backalley.benchmarks import results
from backalley.benchmarks.report import Report
from backalley.envs.core import durable

from . import checkpoint
from .budget import TrainingError
from .checkpoint import CheckpointError
from .curve import Curve
from .gate import Gate, gate_json, gate_keys, meet, verdict
from .logs import WandbLog, record, run_logger, wandb_of
from .phase import Phase
from .phases import kind
from .run import POLICY_FOLDER, Run

Say = Callable[[str], None]
"""Called with a sentence."""
Tell = Callable[[int, int], None]
"""Called with the deals played and the deals planned; what it raises ends the play."""
GATE_FILE = "gate.json"
_START = "start"


class Outcome(NamedTuple):
    """What came of a phase."""

    kind: str
    decisions: int
    samples: int
    seconds: float
    gate: Gate | None
    """None where nothing stood before."""
    words: list[str]
    """What the phase says at its end."""
    policy: str
    """The folder of the policy that stands after it, from the run's."""
    digest: str
    """The digest of that policy's file."""
    processor_seconds: float = 0.0
    """The time that all cores together spent learning in it."""

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Outcome:
        """What `to_json` gave."""
        return cls(**{**kept, "gate": Gate(**kept["gate"]) if kept["gate"] else None})

    def to_json(self) -> dict[str, Any]:
        """As a checkpoint keeps it."""
        return {**self._asdict(), "gate": self.gate and self.gate._asdict()}


class Course:
    """A run between its first step and its last: `done` are the phases behind it, `phase` is the one it is in."""

    def __init__(self, run: Run) -> None:
        """Nothing is written yet. Raises ConfigError for a phase that the game or the settings do not allow, and
        TrainingError where the settings want an extra that is not installed."""
        self.run, self.done = run, list[Outcome]()
        wandb_of(run.config)
        for name in run.config.run.phases.names:
            kind(name).check(run.game, run.config)

    def enter(self) -> None:
        """Set up the phase after those that are done."""
        run, number = self.run, len(self.done)
        self.phase: Phase = kind(run.config.run.phases.names[number])(
            run.game,
            run.config,
            seed=run.seed,
            folder=run.phase_folder(number),
            device=run.device,
            precision=run.precision,
            number=number,
            before=self.before,
        )
        run.precision = self.phase.precision
        self._steps, self._saved = 0, -math.inf

    # How far it is ----------------------------------------------------------------------------------------------------

    @property
    def before(self) -> Path | None:
        """The policy that stood when the phase began."""
        return self.run.folder / self.done[-1].policy if self.done else None

    @property
    def seconds(self) -> float:
        """Seconds of training in all."""
        return math.fsum(one.seconds for one in self.done) + self.phase.seconds

    @property
    def processor_seconds(self) -> float:
        """Seconds of training of all cores together."""
        return math.fsum(one.processor_seconds for one in self.done) + self.phase.processor_seconds

    @property
    def samples(self) -> int:
        """Decisions learned from in all."""
        return sum(one.samples for one in self.done) + self.phase.samples

    @property
    def each(self) -> list[int]:
        """The decisions of each phase so far."""
        return [*(one.decisions for one in self.done), self.phase.decisions]

    @property
    def decisions(self) -> int:
        """Decisions on the tables in all."""
        return sum(self.each)

    @property
    def ended(self) -> bool:
        """Whether the phase has had its share of the budget."""
        return self.run.budget.ended(self.run.config.run.phases, self.seconds, self.each, self.processor_seconds)

    @property
    def progress(self) -> tuple[float, float]:
        """How much of the run is done, and how much is to do."""
        return self.run.budget.progress(self.seconds, self.decisions, self.processor_seconds)

    @property
    def last(self) -> bool:
        """Whether no phase comes after this one."""
        return len(self.done) + 1 == len(self.run.config.run.phases)

    # Learning ---------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin to learn in the phase that was entered. Raises OSError."""
        self.phase.begin()
        self.save()

    def begin_anew(self) -> None:
        """Begin the phase again that has made no step yet, under settings that were changed; one that has, goes on.
        Raises OSError."""
        if self.phase.decisions == 0:
            shutil.rmtree(self.phase.folder, ignore_errors=True)
            self.phase.close()
            self.enter()
            self.begin()

    def step(self) -> None:
        """A step of the phase; then a line of the log and a checkpoint, where they are due. Raises OSError."""
        started, used = time.perf_counter(), time.process_time()
        self.phase.step()
        self.phase.seconds += time.perf_counter() - started
        self.phase.processor_seconds += time.process_time() - used
        self._steps += 1
        if self.phase.long_steps or self._steps % self.run.config.run.log_every == 0:
            self._log()
        if self.phase.seconds - self._saved >= self.run.config.run.checkpoint_seconds:
            self.save()

    def open_logs(self) -> None:
        """Go on with the log and the curve from where the run stands. Raises OSError."""
        self.boards = [WandbLog(self.run)] if self.run.config.run.wandb.name else []
        self.logger = run_logger(self.run, self.decisions, self.boards)
        self.curve = Curve(self.run, self.decisions, self.seconds, self.boards)

    def _log(self) -> None:
        phase = self.phase
        values = {"time/seconds": self.seconds, "time/samples_per_second": phase.samples / max(phase.seconds, 1e-9)}
        record(self.logger, values | {"time/phase": float(phase.number + 1)} | phase.log_values())
        self.logger.dump(self.decisions)

    def add_point(self, progress: Tell) -> None:
        """A point of the learning curve. What `progress` raises ends it."""
        self.curve.add(
            self.phase,
            seconds=self.seconds,
            processor_seconds=self.processor_seconds,
            decisions=self.decisions,
            samples=self.samples,
            progress=progress,
        )

    # The end of a phase -----------------------------------------------------------------------------------------------

    def conclude(self, progress: Tell) -> Outcome:
        """Write the phase's policy, play the gate, and put the policy that stands where the run's is.

        What `progress` raises ends the gate; played again, it comes to the same. Raises OSError.
        """
        run, phase = self.run, self.phase
        stands = phase.folder / POLICY_FOLDER
        phase.save_policy(stands, self.made())
        old = phase.stands_before() if self.before is None else PolicyAgent(self.before, run.game)
        gate, words = None, phase.closing_words()
        if old is not None:
            pair = [PolicyAgent(stands, run.game), old]
            keys = gate_keys(run.seed, phase.number, self.decisions)
            sample = meet(run.game, pair, run.config.run.gate_deals, keys, progress)
            gate = verdict(pair, sample, run.game, run.config.run.objective)
            about = {"game": run.game.id, "options": run.game.option_values, "command": run.command(self.each)}
            results.write(phase.folder / GATE_FILE, gate_json(gate, **about, **run.stamp))
            for board in self.boards:
                told = {"gate/lead": gate.lead, "gate/sure": gate.sure, "gate/passed": float(gate.passed)}
                board.write(told, {}, self.decisions)
            if not gate.passed:
                words = []  # they are of a policy that is left
                stands = self.before or phase.folder / _START
                if self.before is None:
                    phase.save_before(stands, self.made())
        durable.write_folder(run.folder / POLICY_FOLDER, {file.name: file.read_bytes() for file in stands.iterdir()})
        return Outcome(
            run.config.run.phases.names[phase.number],
            phase.decisions,
            phase.samples,
            phase.seconds,
            gate,
            words,
            stands.relative_to(run.folder).as_posix(),
            _digest(stands),
            phase.processor_seconds,
        )

    def enter_next(self, outcome: Outcome) -> None:
        """Begin the next phase. Raises OSError."""
        self.done.append(outcome)
        shutil.rmtree(self.run.phase_folder(len(self.done)), ignore_errors=True)
        self.phase.close()
        del self.phase  # its tables make room for the next one's
        self.enter()
        self.begin()

    def tell_result(self, reports: Sequence[Report]) -> None:
        """Say on the boards how the final policy plays each opponent, or alone in a game of one seat."""
        for board, one in itertools.product(self.boards, reports):
            own, *others = one.agents
            against = others[0].name if self.run.game.num_seats > 1 else "alone"
            both = {"mean_return": own.mean_return.mean, "win_share": own.win_share.mean}
            board.conclude({f"evaluation/{against}/{name}": value for name, value in both.items()})

    def close_logs(self) -> None:
        """End the log."""
        self.logger.close()

    def save_unfinished(self) -> None:
        """Where no policy stands yet, put the one so far where the run's is. Raises OSError."""
        if not self.done:
            self.phase.save_policy(self.run.folder / POLICY_FOLDER, self.made())

    def made(self) -> dict[str, Any]:
        """What a policy's file says of its making, beside what the phase knows."""
        return {"command": self.run.command(self.each), "precision": self.run.precision, **self.run.stamp}

    # Checkpoints ------------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Lay the run down in a checkpoint. Raises OSError, with the former checkpoints untouched."""
        facts = {
            "game": self.run.game.id,
            "done": [one.to_json() for one in self.done],
            "steps": self._steps,
            "seconds": self.phase.seconds,
            "processor_seconds": self.phase.processor_seconds,
            "phase": self.phase.facts(),
        }
        checkpoint.save(self.run.folder, self.phase.number, self.decisions, self.phase.arrays(), facts)
        self._saved = self.phase.seconds

    def restore(self, say: Say) -> None:
        """Go on from the latest checkpoint. Raises TrainingError or CheckpointError."""
        found = checkpoint.latest(self.run.folder)
        if found is None:
            raise TrainingError(f"The run in {self.run.folder} has no checkpoint any more; --restart begins it anew.")
        arrays, facts, complaints = found
        for sentence in complaints:
            say(f"{sentence} Going on from the one before.")
        try:
            self._restore(arrays, facts)
        except (KeyError, IndexError, TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise CheckpointError(
                f"The checkpoint does not fit this run, whose {self.run.game.id} or settings have changed: {error}"
            ) from error

    def _restore(self, arrays: checkpoint.Arrays, facts: dict[str, Any]) -> None:
        if facts["game"] != self.run.game.id:
            raise ValueError(f"it is of {facts['game']}")
        self.done = [Outcome.from_json(one) for one in facts["done"]]
        if self.done:
            if [one.kind for one in self.done] != self.run.config.run.phases.names[: len(self.done)]:
                raise ValueError(f"it comes after {', '.join(one.kind for one in self.done)}")
            if _digest(self.run.folder / self.done[-1].policy) != self.done[-1].digest:
                raise ValueError(f"the policy in {self.done[-1].policy} is not the one that stood when the phase began")
        self.enter()
        self._steps, self.phase.seconds = int(facts["steps"]), float(facts["seconds"])
        self.phase.processor_seconds = float(facts.get("processor_seconds", 0))
        self._saved = self.phase.seconds
        self.phase.restore(arrays, facts["phase"])


def _digest(folder: Path) -> str:
    """The digest that a policy's file carries of itself. Raises PolicyFileError."""
    digest: str = read_metadata(folder)["sha256"]
    return digest
