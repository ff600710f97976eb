"""The training loop: phase after phase, each with its gate; the log, the curve and the checkpoints of the run."""

from __future__ import annotations

import importlib
import itertools
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.base.agent import Agent
from backalley.agents.policies.learned import load_policy
from backalley.agents.policies.policy_file import read_metadata
from backalley.agents.registry import agent as agent_of
from backalley.benchmarks.figures import results
from backalley.benchmarks.matches.report import Report
from backalley.cluster.work import LOCAL, Executor
from backalley.console.errors import InvalidType, InvalidValue
from backalley.envs.core.files import durable
from backalley.envs.core.game.kernels import compile_from_now_on

from ..config.phases import KINDS, TrainingError
from ..shared import checkpoint
from ..shared.checkpoint import CheckpointError
from ..shared.phase import Finished, Phase
from .gate import ATTACK, GATE, OTHERS, Comparison, Gain, Gate, Progress, compare_at, gain_of, keys_of, play_gate
from .logs import Board, CsvLog, Curve, TensorBoardLog, WandbLog, wandb_of
from .run import LOG_FILE, POLICY_FOLDER, TENSORBOARD_FOLDER, Run

Log = Callable[[str], None]
"""Called with a sentence."""
GATE_FILE, ATTACK_FILE = "gate.json", "attack.json"
START = "start"
"""The folder, in that of a phase, of the policy that was current before any phase."""


class Outcome(NamedTuple):
    """The result of a phase."""

    kind: str
    decisions: int
    samples: int
    seconds: float
    gate: Gate | None
    """None if there was no policy before."""
    words: list[str]
    """What the phase reports at its end."""
    policy: str
    """The folder of the published policy after it, relative to the run's."""
    digest: str
    """The digest of that policy's file."""
    processor_seconds: float = 0.0
    """The processor time that it spent learning."""
    gain: Gain | None = None
    """What an attack gains."""
    comparisons: tuple[Comparison, ...] = ()
    """How the policy and the previous one fare against others, where its gate asks for that."""

    @property
    def sentences(self) -> list[str]:
        """What was measured."""
        return [one.sentence() for one in (self.gain, self.gate, *self.comparisons) if one]

    @property
    def settles(self) -> bool:
        """Whether the run need not go on: an attack on the current policy does not pay."""
        return self.gain is not None and not self.gain.pays

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Outcome:
        """What `to_json` gave."""
        gate = Gate(**kept["gate"]) if kept["gate"] else None
        gain = Gain(**kept["gain"]) if kept.get("gain") else None
        comparisons = tuple(Comparison(**one) for one in kept.get("comparisons", ()))
        return cls(**{**kept, "gate": gate, "gain": gain, "comparisons": comparisons})

    def to_json(self) -> dict[str, Any]:
        """Return it in the form that a checkpoint keeps."""
        results = {"gate": self.gate and self.gate._asdict(), "gain": self.gain and self.gain._asdict()}
        return {**self._asdict(), **results, "comparisons": [one._asdict() for one in self.comparisons]}


def kind(name: str) -> type[Phase]:
    """Return the class of a kind of phase, importing it now if it was registered by its import path. Raises TypeError
    if it is not a Phase."""
    found = KINDS[name].phase
    if isinstance(found, str):
        module, _, owner = found.partition(":")
        found = getattr(importlib.import_module(module), owner)
    if not (isinstance(found, type) and issubclass(found, Phase)):
        raise InvalidType(f"The kind of phase {name} has {found!r} as its class, which is no Phase.")
    return found


class TrainingLoop:
    """A run between its first step and its last: `done` are the finished phases, `phase` is the present one."""

    def __init__(self, run: Run, executor: Executor = LOCAL) -> None:
        """Nothing is written yet; phases share work out to `executor`. Raises ConfigError for a phase that the game or
        the settings do not allow, and TrainingError where the settings need an extra that is not installed, or where no
        phase shares anything out."""
        compile_from_now_on()  # numbers of learning as Python can differ in their last bits
        self.run, self.done, self.executor = run, list[Outcome](), executor
        kinds = [kind(name) for name in run.config.run.phases.names]
        if executor is not LOCAL and not any(one.hands_out for one in kinds):
            raise TrainingError(
                f"The phases {', '.join(run.config.run.phases.names)} learn on one machine; leave --cluster out, or "
                "make several runs on it: --seeds 0-9."
            )
        wandb_of(run.config)
        for one in kinds:
            one.check(run.game, run.config)
        if any(one.meets_strangers for one in kinds):  # a wrong name shows now, and not at the last gate
            for name in run.config.run.third_party.names:
                agent_of(name, run.game).close()

    def enter(self) -> None:
        """Set up the phase after the finished ones."""
        run, number = self.run, len(self.done)
        more: dict[str, Any] = {"history": self.history} if self.done else {}
        self.phase: Phase = kind(run.config.run.phases.names[number])(
            run.game,
            run.config,
            seed=run.seed,
            folder=run.phase_folder(number),
            device=run.device,
            precision=run.precision,
            number=number,
            before=self.before,
            **more,
        )
        self.phase.executor = self.executor
        run.precision = self.phase.precision
        self._steps, self._saved = 0, -math.inf

    # How far it is ----------------------------------------------------------------------------------------------------

    @property
    def before(self) -> Path | None:
        """The policy before the present phase began."""
        return self.run.folder / self.done[-1].policy if self.done else None

    @property
    def history(self) -> list[Finished]:
        """The phases so far."""
        return [
            Finished(self.run.phase_folder(number) / POLICY_FOLDER, self.run.folder / one.policy, one.gain is not None)
            for number, one in enumerate(self.done)
        ]

    @property
    def seconds(self) -> float:
        """Seconds of training in all."""
        return math.fsum(one.seconds for one in self.done) + self.phase.seconds

    @property
    def processor_seconds(self) -> float:
        """Processor time of training in all, in seconds."""
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
        """Whether the phase has used its share of the budget."""
        return self.run.budget.ended(self.run.config.run.phases, self.seconds, self.each, self.processor_seconds)

    @property
    def progress(self) -> tuple[float, float]:
        """How much of the run is done, and how much there is in all."""
        return self.run.budget.progress(self.seconds, self.decisions, self.processor_seconds)

    @property
    def last(self) -> bool:
        """Whether this is the last phase."""
        return len(self.done) + 1 == len(self.run.config.run.phases)

    # Learning ---------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin to learn in the present phase. Raises OSError."""
        self.phase.begin()
        self.save()

    def step(self) -> None:
        """Make a step of the phase; then write a log entry and a checkpoint where they are due. Raises OSError."""
        self.phase.timed_step()
        self._steps += 1
        if self.phase.long_steps or self._steps % self.run.config.run.log_every == 0:
            self._log()
        if self.phase.seconds - self._saved >= self.run.config.run.checkpoint_seconds:
            self.save()

    def open_logs(self) -> None:
        """Continue the log and the curve from the run's present state. Raises OSError."""
        self.boards = [WandbLog(self.run)] if self.run.config.run.wandb.name else []
        folder, start = self.run.folder, self.decisions
        own: list[Board] = [CsvLog(folder / LOG_FILE, start), TensorBoardLog(folder / TENSORBOARD_FOLDER, start)]
        self.logs = [*own, *self.boards]
        self.curve = Curve(self.run, self.decisions, self.seconds, self.boards)

    def _log(self) -> None:
        phase = self.phase
        values = {"time/seconds": self.seconds, "time/samples_per_second": phase.samples / max(phase.seconds, 1e-9)}
        values |= {"time/phase": float(phase.number + 1)} | phase.log_values()
        for log in self.logs:
            log.write(values, self.decisions)

    def add_point(self, progress: Progress) -> None:
        """Add a point of the learning curve. What `progress` raises ends it."""
        self.curve.add(
            self.phase,
            seconds=self.seconds,
            processor_seconds=self.processor_seconds,
            decisions=self.decisions,
            samples=self.samples,
            progress=progress,
        )

    # The end of a phase -----------------------------------------------------------------------------------------------

    def conclude(self, progress: Progress) -> Outcome:
        """Write the phase's policy, play the gate, and publish the better policy as the run's.

        What `progress` raises ends the gate; played again, it has the same result. Raises OSError.
        """
        run, phase = self.run, self.phase
        learned = current = phase.folder / POLICY_FOLDER
        phase.save_policy(current, self.made())
        victim = phase.attacked()
        gain: Gain | None = None
        gate: Gate | None = None
        comparisons: tuple[Comparison, ...] = ()
        words = phase.closing_words()
        if victim is not None:
            gain = self._attack(load_policy(learned, run.game), victim, progress)
            kept = phase.replaces
        else:
            gate, comparisons = self._gate(load_policy(learned, run.game), progress)
            kept = gate is None or (gate.passed and all(one.passed for one in comparisons))
        if not kept:
            words = []  # they describe a policy that does not stand
            current = self.before or phase.folder / START
            if self.before is None:
                phase.save_before(current, self.made())
        durable.write_folder(run.folder / POLICY_FOLDER, {file.name: file.read_bytes() for file in current.iterdir()})
        return Outcome(
            run.config.run.phases.names[phase.number],
            phase.decisions,
            phase.samples,
            phase.seconds,
            gate,
            words,
            current.relative_to(run.folder).as_posix(),
            _digest(current),
            phase.processor_seconds,
            gain,
            comparisons,
        )

    def _attack(self, attacker: Agent, victim: Agent, progress: Progress) -> Gain:
        """Measure what a policy gains over equality against an agent. Raises OSError."""
        run, phase = self.run, self.phase
        keys = keys_of(ATTACK, run.seed, phase.number, self.decisions)
        settings = run.config.run
        found = gain_of(run.game, attacker, victim, settings.gate_deals, keys, settings.objective, progress)
        results.write(phase.folder / ATTACK_FILE, {"kind": "attack of a run", **found._asdict(), **self._about()})
        for board in self.boards:
            board.write({"attack/gain": found.gain, "attack/low": found.low}, self.decisions)
        return found

    def _gate(self, new: Agent, progress: Progress) -> tuple[Gate | None, tuple[Comparison, ...]]:
        """Play the gate against the previous policy, if there is one, and for a policy that passes the comparisons that
        its phase asks for. Raises OSError."""
        run, phase = self.run, self.phase
        old = phase.policy_before() if self.before is None else load_policy(self.before, run.game)
        if old is None:
            return None, ()
        pair = [new, old]
        keys = keys_of(GATE, run.seed, phase.number, self.decisions)
        settings = run.config.run
        gate = play_gate(run.game, pair, settings.gate_deals, keys, settings.objective, progress)
        comparisons = self._compare(pair, progress) if gate.passed and phase.meets_strangers else ()
        more = {"comparisons": [one._asdict() for one in comparisons]} if comparisons else {}
        results.write(phase.folder / GATE_FILE, gate.to_json(**more, **self._about()))
        for board in self.boards:
            gate_values = {"gate/lead": gate.lead, "gate/sure": gate.sure, "gate/passed": float(gate.passed)}
            board.write(gate_values, self.decisions)
        return gate, comparisons

    def _compare(self, pair: Sequence[Agent], progress: Progress) -> tuple[Comparison, ...]:
        """Play the new and the previous policy against the best bot, and against a third party in fewer deals."""
        run, settings = self.run, self.run.config.run
        keys = keys_of(OTHERS, run.seed, self.phase.number, self.decisions)
        rivals = [("bot", settings.gate_deals, False)] if run.game.bots else []
        if settings.third_party.names:
            rivals += [(name, settings.third_party_deals, True) for name in settings.third_party.names]
        return tuple(
            compare_at(
                run.game, pair, agent_of(name, run.game), deals, keys, settings.objective, settings.gate_tolerance,
                progress, few=few,
            )
            for name, deals, few in rivals
        )  # fmt: skip

    def _about(self) -> dict[str, Any]:
        """What a file of results says of the run."""
        run = self.run
        about = {"game": run.game.id, "options": run.game.option_values, "command": run.command(self.each)}
        return {**about, **run.stamp}

    def enter_next(self, outcome: Outcome) -> None:
        """Begin the next phase. Raises OSError."""
        self.done.append(outcome)
        shutil.rmtree(self.run.phase_folder(len(self.done)), ignore_errors=True)
        self.phase.close()
        del self.phase  # frees its tables for the next one's
        self.enter()
        self.begin()

    def tell_result(self, reports: Sequence[Report]) -> None:
        """Log how the final policy plays each opponent, or alone in a game of one seat."""
        for board, one in itertools.product(self.boards, reports):
            own, *others = one.agents
            against = others[0].name if self.run.game.num_seats > 1 else "alone"
            both = {"mean_return": own.mean_return.mean, "win_share": own.win_share.mean}
            board.conclude({f"evaluation/{against}/{name}": value for name, value in both.items()})

    def close_logs(self) -> None:
        """End the log."""
        for log in self.logs:
            log.close()

    def save_unfinished(self) -> None:
        """If no policy is published yet, publish the current one. Raises OSError."""
        if not self.done:
            self.phase.save_policy(self.run.folder / POLICY_FOLDER, self.made())

    def made(self) -> dict[str, Any]:
        """What a policy's file says of how it was made, besides what the phase knows."""
        return {"command": self.run.command(self.each), "precision": self.run.precision, **self.run.stamp}

    # Checkpoints ------------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write a checkpoint of the run. Raises OSError, with the earlier checkpoints untouched."""
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

    def restore(self, log: Log) -> None:
        """Continue from the latest checkpoint. Raises TrainingError or CheckpointError."""
        found = checkpoint.latest(self.run.folder)
        if found is None:
            raise TrainingError(f"The run in {self.run.folder} has no checkpoint any more; --restart begins it again.")
        arrays, facts, complaints = found
        for sentence in complaints:
            log(f"{sentence} Going on from the one before.")
        try:
            self._restore(arrays, facts)
        except (KeyError, IndexError, TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise CheckpointError(
                f"The checkpoint does not fit this run, whose {self.run.game.id} or settings have changed: {error}"
            ) from error

    def _restore(self, arrays: checkpoint.Arrays, facts: dict[str, Any]) -> None:
        if facts["game"] != self.run.game.id:
            raise InvalidValue(f"it is of {facts['game']}")
        self.done = [Outcome.from_json(one) for one in facts["done"]]
        if self.done:
            if [one.kind for one in self.done] != self.run.config.run.phases.names[: len(self.done)]:
                raise InvalidValue(f"it comes after {', '.join(one.kind for one in self.done)}")
            if _digest(self.run.folder / self.done[-1].policy) != self.done[-1].digest:
                raise InvalidValue(f"the policy in {self.done[-1].policy} is not the one from which the phase began")
        self.enter()
        self._steps, self.phase.seconds = int(facts["steps"]), float(facts["seconds"])
        self.phase.processor_seconds = float(facts["processor_seconds"])
        self._saved = self.phase.seconds
        self.phase.restore(arrays, facts["phase"])


def _digest(folder: Path) -> str:
    """The digest that a policy's file has of itself. Raises PolicyFileError."""
    digest: str = read_metadata(folder)["sha256"]
    return digest
