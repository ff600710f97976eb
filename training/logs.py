"""The log of a run: `progress.csv` and TensorBoard, both of which a resumed run continues as if it had never
stopped."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.logger import KVWriter, Logger
from torch.utils.tensorboard import SummaryWriter

from backalley.envs.core import durable

from .run import LOG_FILE, TENSORBOARD_FOLDER

STEP = "decisions"


class CsvLog(KVWriter):
    """One line a log entry. What an entry has for the first time, as in another phase, gets a column behind the
    others."""

    def __init__(self, path: Path, start: int) -> None:
        """Lines after `start` decisions, which a resumed run will write again, are dropped."""
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

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Append one entry."""
        new = sorted(name for name in key_values if name not in self._columns)
        if new:
            self._widen(new)
        with open(self._path, "a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([step, *(_plain(key_values.get(name, "")) for name in self._columns[1:])])
        self.latest = step

    def _widen(self, new: list[str]) -> None:
        """Add columns, which former entries have nothing in."""
        rows: list[list[str]] = []
        if self._columns:
            with open(self._path, encoding="utf-8", newline="") as file:
                rows = [[*row, *[""] * len(new)] for row in csv.reader(file)][1:]
        self._columns = [*(self._columns or [STEP]), *new]
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self._columns, *rows])
        durable.write_file(self._path, text.getvalue().encode())

    def close(self) -> None:
        """Nothing is held open."""


class TensorBoardLog(KVWriter):
    """Scalars by decisions."""

    def __init__(self, folder: Path, start: int) -> None:
        """What was logged after `start` decisions by a run that was cut off is hidden."""
        self._writer = SummaryWriter(str(folder), purge_step=start + 1 if start else None)

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Write one entry."""
        for name, value in key_values.items():
            self._writer.add_scalar(name, float(value), step)
        self._writer.flush()

    def close(self) -> None:
        """End the file."""
        self._writer.close()


def run_logger(run: Path, start: int) -> Logger:
    """The logger of a run that begins, or goes on, at `start` decisions."""
    return Logger(str(run), [CsvLog(run / LOG_FILE, start), TensorBoardLog(run / TENSORBOARD_FOLDER, start)])


def record(logger: Logger, values: Mapping[str, float]) -> None:
    """Note several values for the next entry."""
    for name, value in values.items():
        logger.record(name, value)


def _plain(value: Any) -> Any:
    return f"{float(value):.6g}" if isinstance(value, (float, np.floating)) else value
