"""Train a policy, from an empty folder to the table of results: `backalley train GAME`, or `train(game)`. A run can be
stopped and resumed at any moment.

runs/<game>-<seed>-<time>/
    run.json         game, options, seed, budget, command, versions, commit      config.yaml     every hyperparameter
    progress.csv     the log, also under tensorboard/                            checkpoints/    the two latest
    curve.csv        the learning curve, at the end also as curve.json           policy/         the published policy
    phases/1-ppo/    each phase's policy, its gate and its own files
    evaluation.json  the final policy against every bot
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import RandomAgent, bots_of
from backalley.agents.policies.learned import load_policy
from backalley.agents.policies.network import one_thread
from backalley.agents.policies.policy_file import EVALUATION_FILE
from backalley.benchmarks.figures import results
from backalley.benchmarks.figures.formatting import Figures, Tabular
from backalley.benchmarks.figures.stats import Estimate
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.benchmarks.matches.report import Report
from backalley.benchmarks.matches.seeding import Space
from backalley.cluster import machines
from backalley.cluster.work import Executor
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import compile_time

from .config import config as config_rules
from .config.phases import Budget, TrainingError
from .run.gate import Progress as DealsProgress
from .run.loop import START, Log, Outcome, TrainingLoop
from .run.run import POLICY_FOLDER, Run, asked_to_stop, begin, locked, path_of, reopen, sentences

Progress = Callable[[float, float, str], None]
"""Called with the work done, all work (seconds or decisions; deals at the end) and a few words."""


class Stopped(Exception):
    """Ctrl-C or SIGTERM: everything so far is on disk, and the message says how to continue."""


class _Interrupted(Exception):
    """A gate, or a point of the curve, was interrupted."""


def train(
    game: str | Game | GameType | None = None,
    *,
    out: str | Path | None = None,
    seconds: float | None = None,
    decisions: int | Sequence[int] | None = None,
    processor_seconds: float | None = None,
    seed: int | None = None,
    config: str | Path | None = None,
    config_overrides: Mapping[str, Any] | None = None,
    against: str | Path | None = None,
    begins: str | Path | None = None,
    resume: str | Path | None = None,
    agents: Sequence[str] = (),
    restart: bool = False,
    device: str = "auto",
    cluster: str | None = None,
    progress: Progress = lambda done, total, words: None,
    log: Log = lambda sentence: None,
) -> TrainingResult:
    """Train a policy. The result names the folder of the run and the policy in it, and holds the final evaluation.

    A new run takes a game, by name or bound to its options; settings over the game's own, in a YAML file `config` and
    in `config_overrides` by dotted names (`{"ppo.learning_rate": 1e-3}`), which override the file; a `seed`, by default
    0; and a budget in `seconds` of training, `decisions` on the tables, in all or in a list for each phase, or
    `processor_seconds`, the processor time of all cores together (by default the settings' seconds). `out` must be a
    new or empty folder, by default one under runs/. `device` is "auto" (the processor: these networks are small),
    "cpu", "cuda" or "cuda:N".

    The run goes through the phases that the setting `run.phases` lists. After each phase the new policy has to beat the
    previous one, if there is one, in a gate; otherwise the previous one is kept.

    `against` names an agent to attack: a bot, a policy, or the folder of one. The run is then one phase `attack`, which
    seeks a best response to that agent at all other seats, and its result says what it gains over equality. `begins`
    is the folder of a policy or run whose learning the first phase goes on with; both are settings (`attack.against`,
    `rollouts.begins`).

    With `resume`, the folder of a run, all of that comes from there. A new budget may be given: it counts from the
    run's beginning and extends the phase that the run is in. Agents in its settings that are programs, servers or
    modules of your own (`cmd:PROGRAM`, `module:Class`) are named again in `agents`, since a folder that somebody else
    made could name any. `restart` begins the run of that folder again, in the same
    folder: its policy and log are lost. The same seed and `decisions` give the same weights, bit for bit on one
    machine, however often the run was interrupted.

    `cluster` is the address of a Ray cluster that makes the targets of phases of rollouts (`auto`, or that of its
    head), while this machine learns; the weights are the same. It is for targets that take much longer to make than to
    learn from: otherwise one machine is faster.

    `progress` is called after every update and between the matches at the end, `log` with sentences for the user.

    Raises Stopped after Ctrl-C or SIGTERM, with everything saved; TrainingError, ConfigError, CheckpointError,
    OptionError or UnknownGame, with nothing changed. A disk that is full or read-only ends the run with a
    TrainingError; the last checkpoint is unchanged.
    """
    budget = Budget(seconds, decisions, processor_seconds)  # type: ignore[arg-type]  # it checks what it is given
    if resume is not None:
        new = (config, config_overrides or None, seed, out, against, begins)
        if any(given is not None for given in new) or device != "auto":
            raise TrainingError(
                "A resumed run keeps its seed, options, settings, folder and device; leave them out. (A new run goes "
                "on from its policy under other settings: --from FOLDER --set NAME=VALUE.)"
            )
        run = reopen(path_of("resume", resume), game, budget, agents=agents, restart=restart)
    elif agents:
        raise TrainingError("agents are for a run to be resumed; a new one names them in its settings alone.")
    elif restart:
        raise TrainingError("A restart needs the folder of a run: --resume FOLDER --restart.")
    elif game is None:
        raise TrainingError("Name a game to train on, or the folder of a run with --resume.")
    else:
        run = begin(
            game_of(game),
            out=out,
            config=config,
            overrides=naming(game, config, config_overrides, against=against, begins=begins),
            seed=seed,
            budget=budget,
            device=device,
        )
    with machines(cluster) as executor, sentences(run), locked(run.folder), one_thread():
        loop = _loop(run, executor, log, from_beginning=not run.begun or restart)
        try:
            outcome = _learn(loop, progress, log)
            return _finish(loop, outcome, progress)
        finally:
            loop.close_logs()


def naming(
    game: str | Game | GameType,
    config: str | Path | None,
    overrides: Mapping[str, Any] | None,
    *,
    against: str | Path | None = None,
    begins: str | Path | None = None,
) -> Mapping[str, Any] | None:
    """Return the settings `overrides` with those that `against` and `begins` of `train` stand for. Raises
    TrainingError or ConfigError."""
    if against is None and begins is None:
        return overrides
    found = dict(overrides or {})
    if against is not None:
        if {"run.phases", "attack.against"} & {*found}:
            raise TrainingError(
                "An attack on an agent is a run of one phase; leave run.phases and attack.against out, or leave out "
                "the agent and set both."
            )
        if not isinstance(against, str | Path):
            raise TrainingError(f"against is {against!r}; it takes an agent's name or the folder of a policy.")
        found |= {"run.phases": "attack", "attack.against": str(against)}
    if begins is not None:
        given = config_rules.read(path_of("config", config)) if config is not None else {}
        first = config_rules.load(game_of(game), given, found).run.phases.names[0]
        if f"{first}.begins" not in config_rules.names():
            raise TrainingError(f"The first phase is {first}, which does not go on from another policy.")
        found[f"{first}.begins"] = str(path_of("begins", begins))
    return found


def _loop(run: Run, executor: Executor, log: Log, *, from_beginning: bool) -> TrainingLoop:
    """Return the training loop of a run, at its beginning or at its latest checkpoint.

    A run has a checkpoint from its beginning on: one without any has lost it.
    """
    loop = TrainingLoop(run, executor)
    run.stamp = run.stamp or results.stamp(__file__, run.game) | {"torch": torch.__version__}
    if from_beginning:
        loop.enter()
        _begin(run, loop)
    else:
        loop.restore(log)
        run.write()
    loop.open_logs()
    start = f"from {loop.decisions:,} decisions on " if loop.decisions else ""
    log(
        f"Training {run.game.id} {start}in {run.folder} ({run.precision}, seed {run.seed}). "
        "Ctrl-C stops and keeps everything."
    )
    log(f"The same run again: {run.command()}")
    return loop


def _begin(run: Run, loop: TrainingLoop) -> None:
    """Write the run and a checkpoint of its beginning, all or nothing. After a kill in between, resuming begins the
    run."""
    run.clear()
    try:
        run.write()
        loop.begin()
        run.begun = True
        run.write()
    except BaseException:
        if not run.begun:
            run.forget()
        raise


def _learn(loop: TrainingLoop, progress: Progress, log: Log) -> Outcome:
    """Learn, phase after phase, until the budget is spent; return the outcome of the last one. Raises Stopped."""
    run, count = loop.run, len(loop.run.config.run.phases)
    with asked_to_stop(log) as asked:

        def progress_of(what: str) -> DealsProgress:
            def callback(done: int, planned: int) -> None:
                if asked.is_set():
                    raise _Interrupted
                progress(done, planned, f"{done:,} of {planned:,} deals {what}")

            return callback

        while True:
            if count > 1:
                log(f"Phase {loop.phase.number + 1} of {count}: {run.config.run.phases.names[loop.phase.number]}.")
            while not loop.ended and not asked.is_set():
                loop.step()
                progress(*loop.progress, loop.phase.summary())
                if loop.curve.due(loop.seconds):
                    with suppress(_Interrupted):
                        loop.add_point(progress_of("of the learning curve"))
            loop.save()
            where = ""
            with suppress(_Interrupted):
                if loop.ended:
                    where = ", in the deals that judge them, which are played again"
                    loop.add_point(progress_of("of the learning curve"))
                    outcome = loop.conclude(progress_of("of the gate"))
                    for sentence in outcome.sentences:
                        log(sentence)
                    if loop.last:
                        break
                    if outcome.settles:
                        log("The attack does not pay, so the policy stays and the run ends before its other phases.")
                        break
                    loop.enter_next(outcome)
                    continue
            loop.save_unfinished()
            raise Stopped(
                f"Stopped after {loop.decisions:,} decisions{where}; all is saved. Go on with: {run.resume_command()}"
            )
    loop.phase.close()
    loop.curve.finish(run.command(loop.each))
    return outcome


def _finish(loop: TrainingLoop, outcome: Outcome, progress: Progress) -> TrainingResult:
    """Play the final policy against every bot. Raises Stopped."""
    run = loop.run
    policy = load_policy(run.folder / POLICY_FOLDER, run.game)
    bots: list[Agent] = [RandomAgent(), *bots_of(run.game)]
    deals = run.config.run.evaluation_deals
    matches = [bots] if run.game.num_seats == 1 else [[bot] for bot in bots]
    reports = []
    for number, others in enumerate(matches):

        def callback(done: int, planned: int, before: int = number, against: list[Agent] = others) -> None:
            names = ", ".join(bot.name for bot in against)
            progress(before * deals + done, len(matches) * deals, f"against {names}")

        report = None
        with suppress(KeyboardInterrupt):
            report = evaluate(
                run.game, [policy, *others], deals=deals, num_threads=0, progress=callback, space=Space.TABLES
            )
        if report is None or not report.complete:
            raise Stopped(
                f"Stopped in the matches at the end; the policy is in {run.folder / POLICY_FOLDER}. Play them again "
                f"with: {run.resume_command()}"
            )
        reports.append(report)
    result = TrainingResult(
        game=run.game,
        folder=run.folder,
        policy=run.folder / POLICY_FOLDER,
        decisions=loop.decisions,
        samples=loop.samples,
        seconds=loop.seconds,
        phases=[*loop.done, outcome],
        reports=reports,
        command=run.command(loop.each),
        evaluation_command=run.evaluation_command(),
    )
    results.write(run.folder / EVALUATION_FILE, result.to_json())
    loop.tell_result(result.reports)
    return result


# The result -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrainingResult(Tabular):
    """The result of `train`. Both `folder` and `policy` can be used as an agent's name."""

    game: Game
    folder: Path
    """The run: settings, log, checkpoints."""
    policy: Path
    """The final policy."""
    decisions: int
    """Decisions made on the tables."""
    samples: int
    """Those of them that were learned from: all except those of league members."""
    seconds: float
    """Seconds of training, including the compilation of the rules."""
    phases: Sequence[Outcome]
    """The outcome of each phase."""
    reports: Sequence[Report]
    """The final policy against random play and every bot, weakest first; in a game of one seat a single report of
    all."""
    command: str
    """The command that trains the same weights again, to the bit on one machine."""
    evaluation_command: str
    """The command that plays the policy against the game's best bot."""

    def to_json(self) -> dict[str, Any]:
        """Return the result in the form that `results.write` takes."""
        return {
            "kind": "training",
            "command": self.command,
            "decisions": self.decisions,
            "samples": self.samples,
            "seconds": self.seconds,
            "phases": [outcome.to_json() for outcome in self.phases],
            "reports": [report.to_json() for report in self.reports],
        }

    def records(self) -> list[dict[str, Any]]:
        """A row for each agent of each report."""
        return [row for report in self.reports for row in report.records()]

    def figures(self) -> Figures:
        """Return mean returns and win shares of the policy against each opponent, over the same decks."""
        pace = self.samples / max(self.seconds, 1e-9)
        besides = f"; {compiled:.0f} s of compiling are not in it" if (compiled := compile_time().seconds) >= 1 else ""
        notes = [
            *self._loop(),
            f"{self.decisions:,} decisions in {self.seconds:.0f} s of training, {pace:,.0f} samples a second{besides}.",
            f"The policy is in {self.policy}. The same weights again: {self.command}",
            f"Strength: {self.evaluation_command}",
        ]
        first = self.reports[0]
        title = f"{first.agents[0].name} at {first.game}, {first.deals:,} deals that nothing else plays"
        if self.game.num_seats == 1:
            title += ", each agent alone"
            return Figures(title, ["agent", "mean return", "the policy's lead"], _alone(first), notes)
        title += f", in {len(first.seatings)} seatings each"
        chance = f"Win share: chance is {100 / self.game.num_sides:.3g} %; ties count in parts."
        rows = [
            [other.name, points(mine.mean_return), share(mine.win_share)]
            for mine, other in (report.agents for report in self.reports)
        ]
        return Figures(title, ["opponent", "mean return", "win share"], rows, [chance, *notes])

    def _loop(self) -> list[str]:
        """What the phases report, under their names where there are several."""
        found = []
        for number, one in enumerate(self.phases, start=1):
            said = one.sentences
            if len(self.phases) > 1:
                said.insert(0, f"Phase {number}, {one.kind}: {one.decisions:,} decisions in {one.seconds:.0f} s.")
            found += [" ".join(said)] if said else []
            found += one.words
        return [*found, *self._whose()]

    def _whose(self) -> list[str]:
        """Which phase's weights the final policy has, where they are not the last one's."""
        folder = Path(self.phases[-1].policy)
        if folder.name == START:
            return ["No gate changed the policy: it has the weights that the run began with."]
        number = int(folder.parent.name.partition("-")[0])
        if number == len(self.phases):
            return []
        kind = self.phases[number - 1].kind
        return [f"No later phase changed the policy: it has the weights of phase {number}, {kind}."]


def _alone(report: Report) -> list[list[str]]:
    """The rows of a game of one seat: the policy, and its lead over each other agent."""
    own, *others = report.agents
    rows = [[own.name, points(own.mean_return), ""]]
    for other, less in zip(others, report.differences, strict=True):
        rows.append([other.name, points(other.mean_return), points(Estimate(-less.mean, -less.high, -less.low))])
    return rows


def points(estimate: Estimate) -> str:
    """Return a mean return with its interval, for a table."""
    return f"{estimate.mean:+.4f} {estimate.spread(4, '+')}"


def share(estimate: Estimate) -> str:
    """Return a share of wins with its interval, in per cent."""
    return f"{estimate.percent.mean:.1f} {estimate.percent.spread(1)} %"
