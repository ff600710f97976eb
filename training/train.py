"""`backalley train GAME`: a run in a folder, from the first deal to the table of results, stoppable and resumable at
any moment.

runs/<game>-<seed>-<time>/
    run.json         game, options, seed, budget, command, versions, commit      config.yaml     every hyperparameter
    progress.csv     the log, also under tensorboard/                            checkpoints/    the two latest
    league/          the learner's past selves, each a policy                    policy/         the final policy
    evaluation.json  the final policy against every bot
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import torch
import yaml
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from backalley.agents.base import Agent
from backalley.agents.learned import PolicyAgent, one_thread
from backalley.agents.rule_based import RandomAgent
from backalley.benchmarks import results, tabular
from backalley.benchmarks.evaluate import evaluate
from backalley.benchmarks.report import Report
from backalley.benchmarks.stats import Estimate
from backalley.envs.core import durable
from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game as game_of

from . import checkpoint
from . import config as config_rules
from .config import Config
from .league import bots_of
from .logs import run_logger
from .trainer import Trainer

RUN_FILE, CONFIG_FILE, EVALUATION_FILE, POLICY_FOLDER = "run.json", "config.yaml", "evaluation.json", "policy"
_FORMAT = 1
_LINE_SECONDS = 30.0


class TrainingError(ValueError):
    """A run that cannot begin or go on; the sentence says why and what to do."""


class Stopped(Exception):
    """Ctrl-C, or a polite request to end: everything so far is on disk, and the sentence says how to go on."""


@dataclass(frozen=True)
class Budget:
    """When a run is finished: after so many seconds of training, so many decisions on the tables, or whichever comes
    first."""

    seconds: float | None = None
    decisions: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("seconds", self.seconds), ("decisions", self.decisions)):
            if value is not None and not value > 0:
                raise TrainingError(f"{name} is {value}; a budget is greater than 0.")

    def spent(self, seconds: float, decisions: int) -> float:
        """The share of the budget that is used up; 1 or more means finished."""
        shares = [
            seconds / self.seconds if self.seconds else 0.0,
            decisions / self.decisions if self.decisions else 0.0,
        ]
        return max(shares)


@dataclass
class Run:
    """What `run.json` and `config.yaml` hold: all that a run follows from."""

    folder: Path
    game: Game
    config: Config
    overrides: dict[str, Any]
    seed: int
    budget: Budget
    device: str
    precision: str = ""
    stamp: dict[str, Any] = field(default_factory=dict)

    def command(self, decisions: int | None = None) -> str:
        """The line that does this run again; with `decisions`, one that ends at exactly the same weights on the same
        machine."""
        words = ["backalley", "train", self.game.name]
        for name, value in self.game.changed_options.items():
            words += ["--option", f"{name}={_word(value)}"]
        for name, value in self.overrides.items():
            words += ["--set", f"{name}={_word(value)}"]
        words += ["--seed", str(self.seed)]
        if decisions is not None:
            words += ["--decisions", str(decisions)]
        else:
            words += ["--seconds", f"{self.budget.seconds:g}"] if self.budget.seconds else []
            words += ["--decisions", str(self.budget.decisions)] if self.budget.decisions else []
        if self.device != "cpu":
            words += ["--device", self.device]
        return shlex.join(words)

    def resume_command(self) -> str:
        """The line that goes on with this run."""
        return shlex.join(["backalley", "train", self.game.name, "--resume", str(self.folder)])

    def write(self) -> None:
        """Lay the run down; `run.json` last, so that it stands for a folder that is complete. Raises OSError."""
        head = f"# Hyperparameters of this run; {RUN_FILE} has the rest.\n"
        durable.write_file(
            self.folder / CONFIG_FILE, (head + yaml.safe_dump(self.config.as_dict(), sort_keys=False)).encode()
        )
        facts = {
            "format": _FORMAT,
            "game": self.game.name,
            "game_version": self.game.version,
            "options": self.game.changed_options,
            "overrides": self.overrides,
            "seed": self.seed,
            "seconds": self.budget.seconds,
            "decisions": self.budget.decisions,
            "device": self.device,
            "precision": self.precision,
            "command": self.command(),
            **self.stamp,
        }
        results.write(self.folder / RUN_FILE, facts)


def train(
    game: str | Game | GameType | None,
    *,
    out: Path | None = None,
    seconds: float | None = None,
    decisions: int | None = None,
    seed: int = 0,
    config_overrides: Mapping[str, Any] | None = None,
    resume: Path | None = None,
    device: str = "auto",
    quiet: bool = False,
) -> Path:
    """Train a policy and give the folder of the run; its `policy` folder is an agent's name wherever one is asked for.

    A new run takes a game, by name or bound to its options, `config_overrides` by dotted names (`{"ppo.learning_rate":
    1e-3}`), a `seed`, and a budget in `seconds` of training or `decisions` on the tables (the config's where neither is
    given). `out` must be a new or empty folder. With `resume`, the folder of a run, game and settings come from there
    (`game` may be None); a new budget may be given and counts from the run's beginning. The same seed and `decisions`
    give the same weights, bit for bit on one machine, however often the run was cut off. `device` is "auto" (the
    processor: these networks are small), "cpu", "cuda" or "cuda:N".

    Raises Stopped after Ctrl-C or SIGTERM, with everything saved; TrainingError, ConfigError, CheckpointError,
    OptionError or UnknownGame in a sentence, and nothing changed. A disk that is full, or will not be written to, ends
    the run with a TrainingError; the last checkpoint stays as it was.
    """
    budget = Budget(seconds, decisions)
    if resume is not None:
        if config_overrides:
            raise TrainingError("A resumed run keeps its options and settings; leave them out, or begin a new run.")
        run = _reopen(Path(resume), game, budget)
    elif game is None:
        raise TrainingError("Name a game to train on, or the folder of a run with --resume.")
    else:
        run = _begin(game_of(game), dict(config_overrides or {}), seed, budget, _device(device), out)
    console = Console(quiet=quiet, highlight=False, soft_wrap=True)
    with _sentences(run), _locked(run.folder), one_thread():
        trainer = _trainer(run, console)
        _learn(run, trainer, console)
        return _finish(run, trainer, console)


# Beginning and reopening a run ----------------------------------------------------------------------------------------


def _begin(
    game: Game,
    overrides: dict[str, Any],
    seed: int,
    budget: Budget,
    device: str,
    out: Path | None,
) -> Run:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise TrainingError(f"The seed is {seed!r}; it must be a whole number of 0..{2**32 - 1}.")
    config = config_rules.load(game, overrides)
    if budget == Budget():
        budget = Budget(seconds=config.run.seconds)
    folder = out if out is not None else Path("runs") / f"{game.name}-{seed}-{datetime.now():%Y%m%d-%H%M%S}"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = f"; go on with the run there by --resume {folder}" if (folder / RUN_FILE).is_file() else ""
        raise TrainingError(f"{folder} is not an empty folder; name another one with --out{hint}.")
    return Run(folder, game, config, overrides, seed, budget, device)


def _reopen(folder: Path, named: str | Game | GameType | None, budget: Budget) -> Run:
    path = folder / RUN_FILE
    if not path.is_file():
        raise TrainingError(
            f"There is no run in {folder}: it has no {RUN_FILE}. (A "
            "run killed before it began leaves none: begin anew.)"
        )
    try:
        facts = json.loads(path.read_bytes())
        if facts["format"] != _FORMAT:
            raise TrainingError(
                f"{path} is of format {facts['format']!r}; this version of Back Alley reads format {_FORMAT}."
            )
        found = game_of(facts["game"] if named is None or isinstance(named, str) else named).type
        name, version = facts["game"], facts["game_version"]
        game = found.bind(facts["options"])
        if budget == Budget():
            budget = Budget(facts["seconds"], facts["decisions"])
        kept = {name: facts[name] for name in ("overrides", "seed", "device", "precision")}
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, TrainingError):
            raise
        raise TrainingError(f"{path} is damaged, or no file of this trainer: {error}.") from None
    if name != game.name or (isinstance(named, str) and game_of(named).type is not found):
        raise TrainingError(
            f"The run in {folder} learns {name}, not "
            f"{named if isinstance(named, str) else game.name}; leave the game out."
        )
    if version != game.version:
        raise TrainingError(
            f"The run in {folder} learns {game.name}-v{version}, and the rules here are {game.id}; begin a new run."
        )
    config = config_rules.parse(config_rules.read(folder / CONFIG_FILE), str(folder / CONFIG_FILE))
    stamp = {
        name: facts[name] for name in ("version", "commit", "sources", "date", "machine", "torch") if name in facts
    }
    return Run(folder, game, config=config, budget=budget, stamp=stamp, **kept)


def _device(wanted: str) -> str:
    if wanted == "auto":
        return "cpu"
    try:
        device = torch.device(wanted)
    except RuntimeError:
        raise TrainingError(f"device is {wanted!r}; it takes auto, cpu, cuda or cuda:N.") from None
    if device.type not in ("cpu", "cuda"):
        raise TrainingError(f"device is {wanted!r}; it takes auto, cpu, cuda or cuda:N.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise TrainingError(
            f"device is {wanted!r}, but torch finds no GPU here; leave --device out to train on the processor."
        )
    return wanted


@contextlib.contextmanager
def _sentences(run: Run) -> Iterator[None]:
    """Turn what a disk may do to a run into a sentence."""
    try:
        yield
    except OSError as error:
        named = f" ({error.filename})" if error.filename else ""
        raise TrainingError(
            f"The run in {run.folder} could not be written on: "
            f"{error.strerror or error}{named}. Its last checkpoint is as it was; "
            f"make room or put it right, then: {run.resume_command()}"
        ) from error


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep a second trainer out of the folder. The system lets go of the lock when the process ends, however it
    ends."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # Windows: no lock
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TrainingError(
                f"Another process is training in {folder}; wait for it, or name another folder."
            ) from None
        yield
    finally:
        os.close(handle)


def _trainer(run: Run, console: Console) -> Trainer:
    """The trainer of a run, at its latest checkpoint."""
    trainer = Trainer(
        run.game, run.config, seed=run.seed, folder=run.folder, device=run.device, precision=run.precision
    )
    run.precision = trainer.precision
    run.stamp = run.stamp or results.stamp(__file__, run.game) | {"torch": torch.__version__}
    run.write()
    found = checkpoint.latest(run.folder)
    if found:
        arrays, facts, complaints = found
        for sentence in complaints:
            console.print(f"{sentence} Going on from the one before.")
        trainer.restore(arrays, facts)
    trainer.model.set_logger(run_logger(run.folder, trainer.decisions))
    start = f"from {trainer.decisions:,} decisions on " if trainer.decisions else ""
    console.print(
        f"Training {run.game.id} {start}in {run.folder} ({run.precision}, "
        f"seed {run.seed}). Ctrl-C stops and keeps everything."
    )
    console.print(f"The same run again: {run.command()}")
    return trainer


# Learning -------------------------------------------------------------------------------------------------------------


def _learn(run: Run, trainer: Trainer, console: Console) -> None:
    """Learn until the budget is spent. Raises Stopped."""
    settings, saved = run.config.run, trainer.seconds
    with _asked_to_stop(console) as asked, _bar(console, run.game.id) as show:
        while run.budget.spent(trainer.seconds, trainer.decisions) < 1 and not asked.is_set():
            trainer.step()
            show(run.budget.spent(trainer.seconds, trainer.decisions), _pace(trainer))
            if trainer.rollouts % settings.log_every == 0:
                trainer.log()
            if trainer.seconds - saved >= settings.checkpoint_seconds:
                trainer.save()
                saved = trainer.seconds
    trainer.save()
    trainer.model.logger.close()
    trainer.save_policy(run.folder / POLICY_FOLDER, _made(run, trainer))
    if run.budget.spent(trainer.seconds, trainer.decisions) < 1:
        raise Stopped(
            f"Stopped after {trainer.decisions:,} decisions; all is saved. Go on with: {run.resume_command()}"
        )


def _pace(trainer: Trainer) -> str:
    return (
        f"{trainer.decisions:,} decisions, "
        f"{trainer.samples / max(trainer.seconds, 1e-9):,.0f} samples/s  {trainer.summary()}"
    )


def _made(run: Run, trainer: Trainer) -> dict[str, Any]:
    return {"command": run.command(trainer.decisions), "precision": run.precision, **run.stamp}


@contextlib.contextmanager
def _asked_to_stop(console: Console) -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, so that an update is never cut in half; a second Ctrl-C does not wait."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def stop(number: int, frame: Any) -> None:
        if asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.set()
        console.print("Stopping after this update.")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _bar(console: Console, what: str) -> Iterator[Callable[[float, str], None]]:
    """Progress: call what it gives with the share done and a few words. A bar in a terminal, a line every half minute
    in a file."""
    if not console.is_terminal:
        said = time.monotonic()

        def say(share: float, words: str) -> None:
            nonlocal said
            if time.monotonic() - said >= _LINE_SECONDS:
                said = time.monotonic()
                console.print(f"{what}: {100 * min(share, 1):.0f} %  {words}")

        yield say
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[words]}"))
    with Progress(*columns, console=console, transient=True, disable=console.quiet) as progress:
        task = progress.add_task(what, total=1.0, words="")

        def show(share: float, words: str) -> None:
            progress.update(task, completed=share, words=words)

        yield show


# The end --------------------------------------------------------------------------------------------------------------


def _finish(run: Run, trainer: Trainer, console: Console) -> Path:
    """Play the final policy against every bot, and print what came of it."""
    policy = PolicyAgent(run.folder / POLICY_FOLDER, run.game)
    bots: list[Agent] = [RandomAgent(), *bots_of(run.game)]
    deals = run.config.run.evaluation_deals
    with _bar(console, "against the bots") as show:
        if trainer.env.num_seats == 1:
            reports = [evaluate(run.game, [policy, *bots], deals=deals, progress=_share(show, 0, 1, deals))]
        else:
            reports = [
                evaluate(
                    run.game,
                    [policy, bot],
                    deals=deals,
                    progress=_share(show, number, len(bots), deals),
                )
                for number, bot in enumerate(bots)
            ]
    results.write(
        run.folder / EVALUATION_FILE,
        {
            "kind": "training",
            "decisions": trainer.decisions,
            "samples": trainer.samples,
            "reports": [report.to_json() for report in reports],
        },
    )
    pace = trainer.samples / max(trainer.seconds, 1e-9)
    console.print(
        f"{trainer.decisions:,} decisions in {trainer.seconds:.0f} s of training, {pace:,.0f} samples a second."
    )
    console.print()
    console.print(results_table(reports))
    console.print()
    console.print(
        f"The policy is in {run.folder / POLICY_FOLDER}. The same weights again: {run.command(trainer.decisions)}"
    )
    return run.folder


def _share(show: Callable[[float, str], None], number: int, count: int, deals: int) -> Callable[[int, int], None]:
    return lambda done, planned: show((number + done / max(planned, deals)) / count, "")


def results_table(reports: Sequence[Report]) -> str:
    """The first agent of each report against its opponents: mean returns and win shares with 95 % intervals over the
    same decks."""
    first = reports[0]
    head = f"{first.agents[0].name} at {first.game}, {first.deals:,} deals"
    if len(first.seatings[0]) == 1:
        leads = [Estimate(-one.mean, -one.high, -one.low) for one in first.differences]
        rows = [
            [one.name, _interval(one.mean_return, 1), _interval(lead, 1)]
            for one, lead in zip(first.agents[1:], leads, strict=True)
        ]
        own = [[first.agents[0].name, _interval(first.agents[0].mean_return, 1), ""]]
        table = tabular.text(["agent", "mean return", "the policy's lead"], own + rows)
        return f"{head} played by each agent, seed {first.seed}\n\n{table}"
    head += f" in {len(first.seatings)} seatings each, seed {first.seed}"
    rows = []
    for report in reports:
        mine, other = report.agents
        rows.append([other.name, _interval(mine.mean_return, 1), _interval(mine.win_share, 100) + " %"])
    sides = len(set(first.sides))
    note = f"Win share: chance is {100 / sides:.3g} %; ties count in parts."
    return f"{head}\n\n{tabular.text(['opponent', 'mean return', 'win share'], rows)}\n\n{note}"


def _interval(estimate: Estimate, times: float) -> str:
    digits = 1 if times > 1 else 4
    return f"{times * estimate.mean:+.{digits}f} ± {times * estimate.half_width:.{digits}f}".replace(
        "+", "" if times > 1 else "+"
    )


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
