"""A run from the first deal to the table of results, stoppable and resumable at any moment: `backalley train GAME`, or
`train(game)`.

runs/<game>-<seed>-<time>/
    run.json         game, options, seed, budget, command, versions, commit      config.yaml     every hyperparameter
    progress.csv     the log, also under tensorboard/                            given.yaml      what --config gave
    league/          the learner's past selves, each a policy                    checkpoints/    the two latest
    evaluation.json  the final policy against every bot                          policy/         the final policy
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from backalley.agents.base import Agent
from backalley.agents.learned import PolicyAgent
from backalley.agents.network_agent import one_thread
from backalley.agents.rule_based import RandomAgent
from backalley.benchmarks import results
from backalley.benchmarks.evaluate import evaluate
from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game as game_of

from .course import Course, Say
from .league import bots_of
from .report import TrainingResult
from .run import EVALUATION_FILE, POLICY_FOLDER, Budget, Run, TrainingError, begin, locked, path_of, reopen, sentences
from .signals import asked_to_stop

Progress = Callable[[float, float, str], None]
"""Called with the work done, all work (seconds or decisions; deals at the end) and a few words."""


class Stopped(Exception):
    """Ctrl-C, or a polite request to end: everything so far is on disk, and the sentence says how to go on."""


def train(
    game: str | Game | GameType | None = None,
    *,
    out: str | Path | None = None,
    seconds: float | None = None,
    decisions: int | None = None,
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
    a budget in `seconds` of training or `decisions` on the tables (the settings' where neither is given). `out` must be
    a new or empty folder, by default one under runs/. `device` is "auto" (the processor: these networks are small),
    "cpu", "cuda" or "cuda:N".

    With `resume`, the folder of a run, all of that comes from there; a new budget may be given and counts from the
    run's beginning. `restart` begins the run of that folder anew, in its place: its policy and log are lost. The same
    seed and `decisions` give the same weights, bit for bit on one machine, however often the run was cut off.

    `progress` is called after every update and between the matches at the end, `say` with sentences for a person.

    Raises Stopped after Ctrl-C or SIGTERM, with everything saved; TrainingError, ConfigError, CheckpointError,
    OptionError or UnknownGame in a sentence, and nothing changed. A disk that is full, or will not be written to, ends
    the run with a TrainingError; the last checkpoint stays as it was.
    """
    budget = Budget(seconds, decisions)
    if resume is not None:
        if config_overrides or config is not None or seed is not None or out is not None or device != "auto":
            raise TrainingError("A resumed run keeps its seed, options, settings, folder and device; leave them out.")
        run = reopen(path_of("resume", resume), game, budget, restart=restart)
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
        course = _course(run, say, anew=resume is None or restart)
        _learn(course, progress, say)
        return _finish(course, progress)


def _course(run: Run, say: Say, *, anew: bool) -> Course:
    """The course of a run, at its beginning or at its latest checkpoint.

    A run has a checkpoint from its beginning on: one without any has lost it.
    """
    course = Course(run)
    run.stamp = run.stamp or results.stamp(__file__, run.game) | {"torch": torch.__version__}
    if anew:
        _begin(run, course)
    else:
        course.restore(say)
        run.write()
    course.open_log()
    decisions = course.phase.decisions
    start = f"from {decisions:,} decisions on " if decisions else ""
    say(
        f"Training {run.game.id} {start}in {run.folder} ({run.precision}, seed {run.seed}). "
        "Ctrl-C stops and keeps everything."
    )
    say(f"The same run again: {run.command()}")
    return course


def _begin(run: Run, course: Course) -> None:
    run.clear()
    try:
        course.begin()
        run.write()
    except BaseException:
        if not run.begun:
            run.clear()
        raise


def _learn(course: Course, progress: Progress, say: Say) -> None:
    """Learn until the budget is spent. Raises Stopped."""
    run, phase = course.run, course.phase
    settings, saved = run.config.run, phase.seconds
    with asked_to_stop(say) as asked:
        while not run.budget.spent(phase.seconds, phase.decisions) and not asked.is_set():
            course.step()
            progress(*run.budget.progress(phase.seconds, phase.decisions), phase.summary())
            if phase.seconds - saved >= settings.checkpoint_seconds:
                course.save()
                saved = phase.seconds
        course.save()
        course.logger.close()
        made = {"command": run.command(phase.decisions), "precision": run.precision, **run.stamp}
        phase.save_policy(run.folder / POLICY_FOLDER, made)
    if not run.budget.spent(phase.seconds, phase.decisions):
        raise Stopped(f"Stopped after {phase.decisions:,} decisions; all is saved. Go on with: {run.resume_command()}")


def _finish(course: Course, progress: Progress) -> TrainingResult:
    """Play the final policy against every bot. Raises Stopped."""
    run, phase = course.run, course.phase
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
            report = evaluate(run.game, [policy, *others], deals=deals, progress=tell)
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
        decisions=phase.decisions,
        samples=phase.samples,
        seconds=phase.seconds,
        reports=reports,
        command=run.command(phase.decisions),
        evaluation_command=run.evaluation_command(),
    )
    results.write(run.folder / EVALUATION_FILE, result.to_json())
    return result
