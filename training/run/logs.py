"""The log of a run: `progress.csv`, TensorBoard and, if `run.wandb` names a project, Weights & Biases. A resumed run
continues all of them as if it had never stopped."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch.utils.tensorboard import SummaryWriter

from backalley.envs.core.files import durable

from ..config.config import Config
from .budget import TrainingError
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
    run's folder."""

    def __init__(self, run: Run) -> None:
        """Continue the run there, or begin it. Raises TrainingError where that fails."""
        wandb = wandb_of(run.config)
        about = {"game": run.game.id, "options": run.game.option_values, "seed": run.seed, "command": run.command()}
        try:
            self._run = wandb.init(
                project=run.config.run.wandb.name,
                id=run.wandb_id,
                resume="allow",
                name=run.folder.name,
                dir=str(run.folder),
                config={**about, **run.config.as_dict()},
            )
        except Exception as error:  # whatever that library may raise: no key, no network, no such project
            why = " ".join(str(error).split()).rstrip(".")
            raise TrainingError(
                f"Weights & Biases did not take the run: {why}. Put it right, or set WANDB_MODE=offline, then: "
                f"{run.resume_command()}; or go on without it by --set run.wandb="
            ) from error

    def write(self, values: Mapping[str, float], step: int) -> None:
        """Send one entry."""
        self._run.log({name: float(value) for name, value in values.items()}, step=step)

    def conclude(self, values: Mapping[str, float]) -> None:
        """Write the final values of the run."""
        self._run.summary.update(dict(values))

    def close(self) -> None:
        """Send the rest."""
        self._run.finish()


def wandb_of(config: Config) -> Any:
    """Return the library of Weights & Biases if the settings ask for it, else None. Raises TrainingError where it is
    not installed."""
    if not config.run.wandb.name:
        return None
    try:
        return importlib.import_module("wandb")
    except ModuleNotFoundError:
        raise TrainingError(
            f"run.wandb is {config.run.wandb.name!r}, and wandb is not installed: pip install 'backalley[wandb]'; or "
            "leave run.wandb out."
        ) from None


Board = CsvLog | TensorBoardLog | WandbLog
"""Each has `write(values, step)` and `close()`."""


def _plain(value: Any) -> Any:
    return f"{float(value):.6g}" if isinstance(value, (float, np.floating)) else value
