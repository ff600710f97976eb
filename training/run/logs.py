"""The log of a run: `progress.csv`, TensorBoard and, if `run.wandb` names a project, Weights & Biases. A resumed run
continues all of them as if it had never stopped.

And its learning curve: at intervals of training time the policy, as it would be written to disk, plays the game's best
bot. Time spent there is not training time, and nothing in training depends on it. All points of a run play the same
deals."""

from __future__ import annotations

import csv
import importlib
import io
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.tensorboard import SummaryWriter

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import BotAgent, RandomAgent
from backalley.agents.policies.learned import load_policy
from backalley.agents.policies.policy_file import CURVE_FILE, CURVE_JSON, CURVE_KIND
from backalley.benchmarks.figures import results
from backalley.benchmarks.figures.result_kinds import of_game
from backalley.benchmarks.matches.report import report
from backalley.envs.core.files import durable

from ..config.config import Config
from ..config.phases import TrainingError
from ..shared.phase import Phase
from .gate import CURVE, keys_of, meet
from .run import Run

STEP = "decisions"


class CsvLog:
    """One line for each log entry. A value that is new, as in another phase, gets a column after the others."""

    def __init__(self, path: Path, start: int) -> None:
        """Drop lines after `start` decisions, which a resumed run will write again."""
        self._path, self._columns = path, list[str]()
        self.latest: int | None = None
        """The decisions of the last line."""
        if path.is_file():
            lines = path.read_text("utf-8").splitlines(keepends=True)
            kept = [line for line in lines[1:] if line.endswith("\n") and int(line.partition(",")[0]) <= start]
            if kept:
                self._columns = next(csv.reader(lines[:1]))
                self.latest = int(kept[-1].partition(",")[0])
                durable.write_file(path, "".join(lines[:1] + kept).encode())
            else:
                path.unlink()

    def write(self, values: Mapping[str, float], step: int) -> None:
        """Append one entry."""
        new = sorted(name for name in values if name not in self._columns)
        if new:
            self._widen(new)
        with open(self._path, "a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([step, *(_plain(values.get(name, "")) for name in self._columns[1:])])
        self.latest = step

    def _widen(self, new: list[str]) -> None:
        """Add columns, which are empty in earlier entries."""
        rows: list[list[str]] = []
        if self._columns:
            with open(self._path, encoding="utf-8", newline="") as file:
                rows = [[*row, *[""] * len(new)] for row in csv.reader(file)][1:]
        self._columns = [*(self._columns or [STEP]), *new]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self._columns, *rows])
        durable.write_file(self._path, text.getvalue().encode())

    def close(self) -> None:
        """Do nothing: no file is open."""


class TensorBoardLog:
    """Scalars by decisions."""

    def __init__(self, folder: Path, start: int) -> None:
        """Hide what an interrupted run logged after `start` decisions."""
        self._writer = SummaryWriter(str(folder), purge_step=start + 1 if start else None)

    def write(self, values: Mapping[str, float], step: int) -> None:
        """Write one entry."""
        for name, value in values.items():
            self._writer.add_scalar(name, float(value), step)
        self._writer.flush()

    def close(self) -> None:
        """End the file."""
        self._writer.close()


class WandbLog:
    """A run of Weights & Biases, with decisions as the step. Without a network, `WANDB_MODE=offline` keeps it in the
    run's folder. Or one of Trackio, whose runs are known by their names, and end without a summary."""

    def __init__(self, run: Run) -> None:
        """Continue the run there, or begin it. Raises TrainingError where that fails."""
        wandb = wandb_of(run.config)
        about = {"game": run.game.id, "options": run.game.option_values, "seed": run.seed, "command": run.command()}
        try:
            own = {"name": run.folder.name, "id": run.wandb_id, "dir": str(run.folder)}
            if run.config.run.wandb.library == "trackio":
                own = {"name": f"{run.folder.name}-{run.wandb_id[:8]}"}
            self._run = wandb.init(
                project=run.config.run.wandb.name,
                resume="allow",
                config={**about, **run.config.as_dict()},
                **own,
            )
        except Exception as error:  # whatever that library may raise: no key, no network, no such project
            why = " ".join(str(error).split()).rstrip(".")
            raise TrainingError(
                f"{run.config.run.wandb.library} did not take the run: {why}. Put it right, or set "
                f"WANDB_MODE=offline, then: {run.resume_command()}; or go on without it by --set run.wandb="
            ) from error

    def write(self, values: Mapping[str, float], step: int) -> None:
        """Send one entry."""
        self._run.log({name: float(value) for name, value in values.items()}, step=step)

    def conclude(self, values: Mapping[str, float]) -> None:
        """Write the final values of the run."""
        if hasattr(self._run, "summary"):
            self._run.summary.update(dict(values))
        else:
            self._run.log(dict(values))

    def close(self) -> None:
        """Send the rest."""
        self._run.finish()


def wandb_of(config: Config) -> Any:
    """Return the library of Weights & Biases, or Trackio, if the settings ask for one, else None. Raises TrainingError
    where it is not installed."""
    if not config.run.wandb.name:
        return None
    try:
        return importlib.import_module(config.run.wandb.library)
    except ModuleNotFoundError:
        given, library = config.run.wandb.written(), config.run.wandb.library
        raise TrainingError(
            f"run.wandb is {given!r}, and {library} is not installed: pip install 'backalley[{library}]'; or leave "
            "run.wandb out."
        ) from None


Board = CsvLog | TensorBoardLog | WandbLog
"""Each has `write(values, step)` and `close()`."""


def _plain(value: Any) -> Any:
    return f"{float(value):.6g}" if isinstance(value, (float, np.floating)) else value


# The learning curve ---------------------------------------------------------------------------------------------------


class Curve:
    """The points so far, in `curve.csv`."""

    def __init__(self, run: Run, decisions: int, seconds: float, also: Sequence[Board] = ()) -> None:
        """Continue from the run's present state; points after `decisions` will be made again, and also go to the
        loggers `also`. Raises OSError."""
        self.run, self._also = run, also
        self.every, self.deals = run.config.run.curve_every, run.config.run.curve_deals
        self.opponent: Agent = BotAgent(run.game) if run.game.bots else RandomAgent()
        self._log = CsvLog(run.folder / CURVE_FILE, decisions)
        self._next = self._after(seconds)

    def _after(self, seconds: float) -> float:
        """The next time for a point."""
        return (math.floor(seconds / self.every) + 1) * self.every if self.every else math.inf

    def due(self, seconds: float) -> bool:
        """Return whether it is time for a point."""
        return seconds >= self._next

    def add(
        self,
        phase: Phase,
        *,
        seconds: float,
        processor_seconds: float,
        decisions: int,
        samples: int,
        progress: Callable[[int, int], None],
    ) -> None:
        """Play a point and write it, unless the curve is off or has it already; the numbers are the run's so far.

        What `progress` raises, between batches, ends it without a point. Raises OSError, and PolicyFileError for
        weights that are not finite.
        """
        if not self.every or self._log.latest == decisions:
            return
        game, seed = self.run.game, self.run.seed
        with tempfile.TemporaryDirectory(prefix="backalley-curve-") as scratch:
            phase.save_policy(Path(scratch) / "policy", {})
            pair = [load_policy(Path(scratch) / "policy", game), self.opponent]
        sample = meet(game, pair, self.deals, keys_of(CURVE, seed), progress)
        found = report(game, pair, sample, planned=self.deals, seed=seed, about=of_game(game))
        own, (less,) = found.agents[0], found.differences
        values = {
            "phase": phase.number + 1,
            "seconds": seconds,
            "processor_seconds": processor_seconds,
            "samples": samples,
            **own.mean_return.columns("mean_return"),
            **own.win_share.columns("win_share"),
            "lead": -less.mean,
            "lead_low": -less.high,
            "lead_high": -less.low,
        }
        self._log.write(values, decisions)
        for log in self._also:
            log.write({f"curve/{name}": value for name, value in values.items()}, decisions)
        self._next = self._after(seconds)

    def finish(self, command: str) -> None:
        """Write the whole curve as `curve.json`, with its description. Raises OSError."""
        path = self.run.folder / CURVE_FILE
        if not path.is_file():
            return
        with open(path, newline="", encoding="utf-8") as file:
            points = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
        found: dict[str, Any] = {
            "kind": CURVE_KIND,
            "command": command,
            "game": self.run.game.id,
            "options": self.run.game.option_values,
            "seed": self.run.seed,
            "opponent": self.opponent.name,
            "deals": self.deals,
            "points": points,
            **self.run.stamp,
        }
        results.write(self.run.folder / CURVE_JSON, found)
