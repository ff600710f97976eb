"""The log of a run: `progress.csv` and TensorBoard, both of which a resumed run continues as if it had never
stopped."""

from __future__ import annotations

import csv
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
    """One line a log entry. The columns are those of the first entry; what later entries have besides is left to
    TensorBoard."""

    def __init__(self, path: Path, start: int) -> None:
        """Lines after `start` decisions, which a resumed run will write again, are dropped."""
        self._path, self._columns = path, list[str]()
        if path.is_file():
            lines = path.read_text("utf-8").splitlines(keepends=True)
            kept = [line for line in lines[1:] if line.endswith("\n") and int(line.partition(",")[0]) <= start]
            if kept:
                self._columns = next(csv.reader(lines[:1]))
                durable.write_file(path, "".join(lines[:1] + kept).encode())
            else:
                path.unlink()

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Append one entry."""
        with open(self._path, "a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if not self._columns:
                self._columns = [STEP, *sorted(key_values)]
                writer.writerow(self._columns)
            writer.writerow([step, *(_plain(key_values.get(name, "")) for name in self._columns[1:])])

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
