"""A run from the first deal to the table of results, stoppable and resumable at any moment: `backalley train GAME`, or
`train(game)`.

runs/<game>-<seed>-<time>/
    run.json         game, options, seed, budget, command, versions, commit      config.yaml     every hyperparameter
    progress.csv     the log, also under tensorboard/                            given.yaml      what --config gave
    curve.csv        the learning curve, at the end also as curve.json           checkpoints/    the two latest
    phases/1-ppo/    each phase's policy, its gate, what it keeps                policy/         the policy that stands
    evaluation.json  the final policy against every bot
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from backalley.agents.base import Agent
from backalley.agents.learned import PolicyAgent
from backalley.agents.network_agent import one_thread
from backalley.agents.rule_based import RandomAgent
from backalley.benchmarks import results
from backalley.benchmarks.curves import EVALUATION_FILE
from backalley.benchmarks.evaluate import evaluate
from backalley.benchmarks.keys import Space
from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game as game_of

from .budget import Budget, TrainingError
from .course import Course, Outcome, Say, Tell
from .league import bots_of
from .report import TrainingResult
from .run import POLICY_FOLDER, Run, begin, locked, path_of, reopen, sentences
from .signals import asked_to_stop

Progress = Callable[[float, float, str], None]
"""Called with the work done, all work (seconds or decisions; deals at the end) and a few words."""


class Stopped(Exception):
    """Ctrl-C, or a polite request to end: everything so far is on disk, and the sentence says how to go on."""


class _Interrupted(Exception):
    """A gate, or a point of the curve, was cut off."""


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
    resume: str | Path | None = None,
    restart: bool = False,
    device: str = "auto",
    progress: Progress = lambda done, total, words: None,
    say: Say = lambda sentence: None,
) -> TrainingResult:
    """Train a policy; what it gives names the folder of the run, the policy in it, and how it plays the game's bots.

    A new run takes a game, by name or bound to its options; settings over the game's own, in a YAML file `config` and
    in `config_overrides` by dotted names (`{"ppo.learning_rate": 1e-3}`), which come last; a `seed`, by default 0; and
    a budget in `seconds` of training, `decisions` on the tables, in all or in a list for each phase, or
    `processor_seconds`, which all cores together spend on training (the settings' seconds where none is given). `out`
    must be a new or empty folder, by default one under runs/. `device` is "auto" (the processor: these networks are
    small), "cpu", "cuda" or "cuda:N".

    The run goes through the phases that the setting `run.phases` lists. After each one the new policy has to beat the
    one that stood before, where there is one, or that one stays.

    With `resume`, the folder of a run, all of that comes from there; a new budget may be given, which counts from the
    run's beginning and takes the phase it is in further, and settings in `config_overrides`, which hold from there on
    and are noted: the line for the same weights again then has a part for each change. `restart` begins the run of that
    folder anew, in its place: its policy and log are lost. The same seed and `decisions` give the same weights, bit for
    bit on one machine, however often the run was cut off.

    `progress` is called after every update and between the matches at the end, `say` with sentences for a person.

    Raises Stopped after Ctrl-C or SIGTERM, with everything saved; TrainingError, ConfigError, CheckpointError,
    OptionError or UnknownGame in a sentence, and nothing changed. A disk that is full, or will not be written to, ends
    the run with a TrainingError; the last checkpoint stays as it was.
    """
    budget = Budget(seconds, decisions, processor_seconds)  # type: ignore[arg-type]  # it checks what it is given
    if resume is not None:
        if config is not None or seed is not None or out is not None or device != "auto":
            raise TrainingError(
                "A resumed run keeps its seed, options, settings, folder and device; leave them out. (Single settings "
                "are changed from where it stands by --set NAME=VALUE.)"
            )
        run = reopen(path_of("resume", resume), game, budget, restart=restart, overrides=config_overrides)
    elif restart:
        raise TrainingError("A restart needs the folder of a run: --resume FOLDER --restart.")
    elif game is None:
        raise TrainingError("Name a game to train on, or the folder of a run with --resume.")
    else:
        run = begin(
            game_of(game),
            out=out,
            config=config,
            overrides=config_overrides,
            seed=seed,
            budget=budget,
            device=device,
        )
    with sentences(run), locked(run.folder), one_thread():
        course = _course(run, say, anew=not run.begun or restart)
        try:
            outcome = _learn(course, progress, say)
            return _finish(course, outcome, progress)
        finally:
            course.close_logs()


def _course(run: Run, say: Say, *, anew: bool) -> Course:
    """The course of a run, at its beginning or at its latest checkpoint.

    A run has a checkpoint from its beginning on: one without any has lost it.
    """
    course = Course(run)
    run.stamp = run.stamp or results.stamp(__file__, run.game) | {"torch": torch.__version__}
    if anew:
        course.enter()
        _begin(run, course)
    else:
        course.restore(say)
        run.stands_at(course.each)
        run.write()
        if run.changes and run.changes[-1].after == course.each:
            course.begin_anew()
    course.open_logs()
    start = f"from {course.decisions:,} decisions on " if course.decisions else ""
    say(
        f"Training {run.game.id} {start}in {run.folder} ({run.precision}, seed {run.seed}). "
        "Ctrl-C stops and keeps everything."
    )
    say(f"The same run again: {run.command()}")
    if run.words:
        say(f"From here on {run.words}.")
    return course


def _begin(run: Run, course: Course) -> None:
    """Lay the run down, and a checkpoint of its beginning; it is all or nothing, but for a kill, after which going on
    begins it."""
    run.clear()
    try:
        run.write()
        course.begin()
        run.begun = True
        run.write()
    except BaseException:
        if not run.begun:
            run.forget()
        raise


def _learn(course: Course, progress: Progress, say: Say) -> Outcome:
    """Learn, phase after phase, until the budget is spent; gives what came of the last one. Raises Stopped."""
    run, count = course.run, len(course.run.config.run.phases)
    with asked_to_stop(say) as asked:

        def tell(what: str) -> Tell:
            def told(done: int, planned: int) -> None:
                if asked.is_set():
                    raise _Interrupted
                progress(done, planned, f"{done:,} of {planned:,} deals {what}")

            return told

        while True:
            if count > 1:
                say(f"Phase {course.phase.number + 1} of {count}: {run.config.run.phases.names[course.phase.number]}.")
            while not course.ended and not asked.is_set():
                course.step()
                progress(*course.progress, course.phase.summary())
                if course.curve.due(course.seconds):
                    with suppress(_Interrupted):
                        course.add_point(tell("of the learning curve"))
            course.save()
            where = ""
            with suppress(_Interrupted):
                if course.ended:
                    where = ", in the deals that judge them, which are played again"
                    course.add_point(tell("of the learning curve"))
                    outcome = course.conclude(tell("of the gate"))
                    if outcome.gate:
                        say(outcome.gate.sentence())
                    if course.last:
                        break
                    course.enter_next(outcome)
                    continue
            course.save_unfinished()
            raise Stopped(
                f"Stopped after {course.decisions:,} decisions{where}; all is saved. Go on with: {run.resume_command()}"
            )
    course.phase.close()
    course.curve.finish(run.command(course.each))
    return outcome


def _finish(course: Course, outcome: Outcome, progress: Progress) -> TrainingResult:
    """Play the final policy against every bot. Raises Stopped."""
    run = course.run
    policy = PolicyAgent(run.folder / POLICY_FOLDER, run.game)
    bots: list[Agent] = [RandomAgent(), *bots_of(run.game)]
    deals = run.config.run.evaluation_deals
    matches = [bots] if run.game.num_seats == 1 else [[bot] for bot in bots]
    reports = []
    for number, others in enumerate(matches):

        def tell(done: int, planned: int, before: int = number, against: list[Agent] = others) -> None:
            names = ", ".join(bot.name for bot in against)
            progress(before * deals + done, len(matches) * deals, f"against {names}")

        report = None
        with suppress(KeyboardInterrupt):
            report = evaluate(
                run.game, [policy, *others], deals=deals, num_threads=0, progress=tell, space=Space.TABLES
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
        decisions=course.decisions,
        samples=course.samples,
        seconds=course.seconds,
        phases=[*course.done, outcome],
        reports=reports,
        command=run.command(course.each),
        evaluation_command=run.evaluation_command(),
    )
    results.write(run.folder / EVALUATION_FILE, result.to_json())
    course.tell_result(result.reports)
    return result
