"""A run on disk: everything that determines it is in `run.json`; `config.yaml` is a copy of its settings, to read.

`run.json` is the first file written, in one go: whatever else a kill leaves undone, the folder is a run. Until there is
a checkpoint it says that the run has not begun, and resuming begins it.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import torch

from backalley.agents.policies.policy_file import CURVE_FILE, CURVE_JSON, EVALUATION_FILE, RUN_FILE
from backalley.agents.registry import runs_code
from backalley.benchmarks.figures import results
from backalley.console.errors import InvalidType, one_line
from backalley.envs.core.files import durable
from backalley.envs.core.files.reading import check_path, read_json
from backalley.envs.core.game.arguments import whole
from backalley.envs.core.game.catalogue import game_names, game_type
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.rules.options import OptionError, typed

from ..config import config as config_rules
from ..config.config import Config
from ..config.phases import Budget, TrainingError, modules_of, register_missing
from ..config.yaml_files import as_yaml
from ..shared import checkpoint

CONFIG_FILE = "config.yaml"
SEEDS_FILE = "seeds.json"
"""In a folder of runs of several seeds."""
LOG_FILE = "progress.csv"
POLICY_FOLDER, PHASES_FOLDER, TENSORBOARD_FOLDER = "policy", "phases", "tensorboard"
_FORMAT = 3
_LEFT_OVER = RUN_FILE + durable.PARTIAL
"""The only files that a kill during a run's first write leaves."""


@dataclass
class Run:
    """Everything that determines a run."""

    folder: Path
    game: Game
    config: Config
    overrides: dict[str, Any]
    """The settings that the user gave, in a file or one by one, by dotted names; they override the game's."""
    seed: int
    budget: Budget
    device: str
    precision: str = ""
    stamp: dict[str, Any] = field(default_factory=dict)
    begun: bool = False
    """Whether there is, or was, a checkpoint on disk."""
    wandb_id: str = field(default_factory=lambda: secrets.token_hex(8))
    """The run's id at Weights & Biases."""

    def phase_folder(self, number: int) -> Path:
        """The folder of a phase, by its number from 0."""
        return self.folder / PHASES_FOLDER / f"{number + 1}-{self.config.run.phases.names[number]}"

    @property
    def phase_modules(self) -> list[str]:
        """The modules of those kinds of phases from outside this package that its settings name."""
        return modules_of({*(name.partition(".")[0] for name in self.overrides), *self.config.run.phases.names})

    @property
    def own_agents(self) -> list[str]:
        """The agents of programs, servers and modules outside this package that its settings name."""
        return [name for name in self.config.agents if runs_code(name)]

    def command(self, decisions: Sequence[int] = ()) -> str:
        """Return the command that does this run again; with the `decisions` of its phases, or of its first ones, the
        command that ends at exactly the same weights on the same machine."""
        decisions = [count for count in decisions if count]
        words = ["backalley", "train", self.game.spec, *self.game.option_words]
        words += _each("--phase-module", self.phase_modules)
        phases, overrides = self.config.run.phases, dict(self.overrides)
        if 0 < len(decisions) < len(phases):
            overrides["run.phases"] = phases.names[: len(decisions)]
        words += [*_sets(overrides), "--seed", str(self.seed)]
        words += (Budget(decisions=tuple(decisions)) if decisions else self.budget).words()
        if self.device != "cpu":
            words += ["--device", self.device]
        return shlex.join(words)

    def resume_command(self) -> str:
        """Return the command that resumes this run."""
        return resume_line(self.folder, self.game.spec, self.phase_modules, self.own_agents)

    def evaluation_command(self) -> str:
        """Return the command that plays the final policy against the game's best bot."""
        words = ["backalley", "evaluate", self.game.spec, str(self.folder), "bot"]
        return shlex.join([*words, *self.game.option_words])

    def write(self) -> None:
        """Write the run. Raises OSError."""
        facts = {
            "format": _FORMAT,
            "begun": self.begun,
            "game": self.game.name,
            "game_version": self.game.version,
            "found_by": self.game.spec,
            "options": self.game.changed_options,
            "overrides": self.overrides,
            "phase_modules": self.phase_modules,
            "own_agents": self.own_agents,
            "config": self.config.as_dict(),
            "wandb_id": self.wandb_id,
            "seed": self.seed,
            "seconds": self.budget.seconds,
            "decisions": self.budget.decisions,
            "processor_seconds": self.budget.processor_seconds,
            "device": self.device,
            "precision": self.precision,
            "command": self.command(),
            **self.stamp,
        }
        results.write(self.folder / RUN_FILE, facts)
        copy = as_yaml(self.config.as_dict(), f"Hyperparameters of this run, to read; {RUN_FILE} is what counts.")
        durable.write_file(self.folder / CONFIG_FILE, copy)

    def clear(self) -> None:
        """Delete everything that the run produced, its checkpoints first: a half-cleared run is not resumed. Raises
        OSError."""
        for name in (checkpoint.FOLDER, PHASES_FOLDER, POLICY_FOLDER, TENSORBOARD_FOLDER):
            if (self.folder / name).exists():
                shutil.rmtree(self.folder / name)
        for name in (LOG_FILE, CURVE_FILE, CURVE_JSON, EVALUATION_FILE):
            (self.folder / name).unlink(missing_ok=True)

    def forget(self) -> None:
        """Delete a run that could not begin. Raises OSError."""
        self.clear()
        for name in (CONFIG_FILE, RUN_FILE):
            (self.folder / name).unlink(missing_ok=True)


def resume_line(
    folder: Path, game: str, modules: Sequence[Any] = (), agents: Sequence[str] = (), cluster: str | None = None
) -> str:
    """Return the command that resumes the run, or the runs, in a folder."""
    named = [*_each("--phase-module", map(str, modules)), *_each("--agent", agents)]
    named += [] if cluster is None else ["--cluster", cluster]
    return shlex.join(["backalley", "train", game, *named, "--resume", str(folder)])


def _sets(settings: Mapping[str, Any]) -> list[str]:
    """Settings as options of the command line."""
    return _each("--set", (f"{name}={typed(value)}" for name, value in settings.items()))


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


# Beginning and reopening a run ----------------------------------------------------------------------------------------


def begin(
    game: Game,
    *,
    out: str | Path | None,
    config: str | Path | None,
    overrides: Mapping[str, Any] | None,
    seed: int | None,
    budget: Budget,
    device: str,
) -> Run:
    """Return a new run; nothing is written yet. Raises TrainingError or ConfigError."""
    seed = _seed(0 if seed is None else seed)
    if overrides is not None and not isinstance(overrides, Mapping):
        raise TrainingError(f"config_overrides is {overrides!r}; it takes settings by name: {{'ppo.epochs': 2}}.")
    given = {} if config is None else config_rules.read(path_of("config", config))
    settings = config_rules.load(game, given, overrides)
    named = {**config_rules.by_name(given, settings), **(overrides or {})}
    if budget == Budget():
        budget = Budget(seconds=settings.run.seconds)
    budget.check(settings.run.phases)
    new = Path("runs") / f"{game.name}-{seed}-{datetime.now():%Y%m%d-%H%M%S}"
    folder = new_folder(out, new, RUN_FILE)
    return Run(folder, game, settings, named, seed, budget, _device(device))


def new_folder(out: str | Path | None, default: Path, file: str) -> Path:
    """Return the folder of a new run, or of several, whose `file` says what they are. Raises TrainingError where it is
    not empty."""
    folder = default if out is None else path_of("out", out)
    if folder.exists() and (not folder.is_dir() or any(path.name != _LEFT_OVER for path in folder.iterdir())):
        hint = f"; go on with what is there by --resume {folder}" if (folder / file).is_file() else ""
        raise TrainingError(f"{folder} is not an empty folder; name another one with --out{hint}.")
    return folder


def reopen(
    folder: Path,
    named: str | Game | GameType | None,
    budget: Budget,
    *,
    agents: Sequence[str] = (),
    restart: bool = False,
) -> Run:
    """Return the run in `folder`, with another budget if one is given; with `restart`, without what it produced. A run
    interrupted before it began is not `begun`. `agents` are those of the settings that may run code.

    Raises TrainingError or ConfigError.
    """
    facts = _read(folder)
    game = _game_of(folder, facts, named)
    for module in facts["phase_modules"]:
        _hold_known(folder, facts, "a kind of phase", module)
    register_missing(facts["phase_modules"])
    if budget == Budget():
        budget = _budget(facts)
    if facts["begun"] and not restart and not checkpoint.found(folder):
        raise TrainingError(
            f"The run in {folder} has no {checkpoint.FOLDER} any more, so it cannot be resumed. --restart "
            "begins it again in that folder, and its policy and log are lost."
        )
    settings = config_rules.parse(facts["config"], str(folder / RUN_FILE))
    budget.check(settings.run.phases)
    # Version 1.0.0 kept the settings of a file apart.
    given = {**config_rules.by_name(facts.get("given", {}), settings), **facts["overrides"]}
    run = Run(folder, game, settings, given, facts["seed"], budget, facts["device"])
    run.begun, run.wandb_id = facts["begun"], facts["wandb_id"]
    unnamed = [name for name in run.own_agents if name not in agents]
    if unnamed:
        raise TrainingError(
            f"The settings of the run in {folder} name the agent {one_line(repr(unnamed[0]))[:80]}, which runs code or "
            f"asks a server and was not named here. If you trust it, name it: {one_line(run.resume_command())}"
        )
    if run.begun and not restart:
        stamped = ("version", "commit", "sources", "date", "machine", "torch")
        run.stamp = {name: facts[name] for name in stamped if name in facts}
        run.precision = facts["precision"]
    return run


def _read(folder: Path) -> dict[str, Any]:
    """The contents of `run.json`. Raises TrainingError."""
    path = folder / RUN_FILE
    if not path.is_file() and (folder / SEEDS_FILE).is_file():
        raise TrainingError(
            f"{folder} holds runs of several seeds; name one of them, or go on with all by the command."
        )
    if not path.is_file():
        raise TrainingError(
            f"There is no run in {folder}: it has no {RUN_FILE}. (A run killed before it began has none: begin again.)"
        )
    kinds = {"game": str, "game_version": int, "found_by": str, "options": dict, "overrides": dict, "seed": int}
    kinds |= {"device": str, "precision": str, "phase_modules": list, "begun": bool, "config": dict, "wandb_id": str}
    try:
        facts = read_json(path)
        if facts["format"] != _FORMAT:
            raise TrainingError(
                f"{path} is of format {facts['format']!r}; this version of Back Alley reads format {_FORMAT}."
            )
        wrong = [name for name, kind in kinds.items() if not isinstance(facts[name], kind)]
        if wrong:
            raise InvalidType(f"{wrong[0]} is {facts[wrong[0]]!r}")
        _seed(facts["seed"])
        _budget(facts).progress(0, 0)
    except OSError as error:
        raise TrainingError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, TrainingError) and "is of format" in str(error):
            raise
        raise TrainingError(f"{path} is damaged, or no file of this trainer: {str(error).rstrip('.')}.") from None
    found: dict[str, Any] = facts
    return found


def _budget(facts: Mapping[str, Any]) -> Budget:
    """The budget in `run.json`."""
    return Budget(facts["seconds"], facts["decisions"], facts["processor_seconds"])


def _hold_known(folder: Path, facts: Mapping[str, Any], what: str, name: Any) -> None:
    """Raise TrainingError for code that the caller has neither named nor imported, the examples of this package apart:
    opening a folder imports nothing that only its files name, not even a program of ours."""
    module = str(name).partition(":")[0]
    if module in sys.modules or module in game_names() or module.startswith("backalley.examples."):
        return
    line = one_line(resume_line(folder, str(facts["found_by"]), facts["phase_modules"]))
    raise TrainingError(
        f"The run in {folder} has {what} of {one_line(repr(name))[:80]}, a module that was not named here. "
        f"If you trust it, name it: {line}"
    )


def _game_of(folder: Path, facts: Mapping[str, Any], named: str | Game | GameType | None) -> Game:
    """The game that a run learns, under its options; `named` may name it, too. Raises TrainingError."""
    name, version = facts["game"], facts["game_version"]
    if named is None or named in (name, f"{name}-v{version}"):
        _hold_known(folder, facts, "a game", facts["found_by"])
        found = game_type(facts["found_by"])
    elif isinstance(named, (Game, GameType)):
        found = named.type if isinstance(named, Game) else named
    else:
        found = game_type(named)
    if found.name != name:
        raise TrainingError(f"The run in {folder} learns {name}, not {found.name}; leave the game out.")
    if found.version != version:
        raise TrainingError(
            f"The run in {folder} learns {name}-v{version}, and the rules here are {found.id}; begin a new run."
        )
    try:
        game = found.bind(facts["options"])
    except OptionError as error:
        raise TrainingError(f"The run in {folder} plays under options that are none here: {error}") from None
    if isinstance(named, Game) and named.changed_options and named != game:
        raise TrainingError(
            f"A resumed run keeps its options and settings, and the one in {folder} learns {game!r}; leave the options "
            "out, or begin a new run."
        )
    return game


# Arguments ------------------------------------------------------------------------------------------------------------


def path_of(what: str, given: Any) -> Path:
    """A path from a string or a Path. Raises TrainingError."""
    if not isinstance(given, (str, os.PathLike)) or not os.fspath(given):
        raise TrainingError(f"{what} is {given!r}; it takes a path.")
    path = Path(os.fsdecode(given))
    try:
        check_path(path)
    except OSError:
        raise TrainingError(f"{what} is {given!r}, and no file can have such a name.") from None
    return path


def _seed(given: Any) -> int:
    seed = whole(given)
    if seed is None or not 0 <= seed < 2**32:
        raise TrainingError(f"The seed is {given!r}; it must be a whole number of 0..{2**32 - 1}.")
    return seed


def _device(wanted: Any) -> str:
    if isinstance(wanted, str) and wanted == "auto":
        return "cpu"
    try:
        device = torch.device(wanted)
    except (RuntimeError, TypeError, ValueError):
        raise TrainingError(f"device is {wanted!r}; it takes auto, cpu, cuda or cuda:N.") from None
    if device.type not in ("cpu", "cuda"):
        raise TrainingError(f"device is {wanted!r}; it takes auto, cpu, cuda or cuda:N.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise TrainingError(
            f"device is {wanted!r}, but torch finds no GPU here; leave --device out to train on the processor."
        )
    return str(device)


# Errors ---------------------------------------------------------------------------------------------------------------


@contextmanager
def sentences(run: Run) -> Iterator[None]:
    """Turn errors of the disk into a TrainingError."""
    try:
        yield
    except OSError as error:
        named = f" ({error.filename})" if error.filename else ""
        why = f"{error.strerror or error}{named}"
        if not run.begun:
            raise TrainingError(
                f"No run can begin in {run.folder}: {why}. Make room or put it right, or name another folder with "
                "--out."
            ) from error
        raise TrainingError(
            f"The run in {run.folder} could not be written on: {why}. Its last checkpoint is as it was; make room or "
            f"put it right, then: {run.resume_command()}"
        ) from error


# Signals, and the lock of a run --------------------------------------------------------------------------------------


@contextmanager
def asked_to_stop(log: Callable[[str], None]) -> Iterator[threading.Event]:
    """Return an event that Ctrl-C and SIGTERM set, so that an update is never interrupted; a second Ctrl-C does not
    wait.

    Only a process's main thread receives signals; elsewhere the event is never set.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def stop(number: int, frame: Any) -> None:
        if asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.set()
        log("Stopping after this update.")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second trainer out of the folder, which is made if needed, and deleted again if nothing was written to it.
    The system releases the lock when the process ends, however it ends. Raises TrainingError where another process has
    it."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _lock(folder):
            yield
    finally:
        with suppress(OSError):  # it is not empty
            folder.rmdir()


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
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
