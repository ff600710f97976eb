"""Numbers on disk: JSON with the machine and the commit they come from, and unfinished work that a later run goes on
with."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import platform
import subprocess
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

import backalley
from backalley.envs.core import durable
from backalley.envs.core.workers import cores

_ROOT = Path(__file__).resolve().parents[1]
_WIDTH = 160
_SAVE_SECONDS = 20.0


def machine() -> dict[str, Any]:
    """What the numbers were measured on: processor, cores, system, versions."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@functools.cache
def commit() -> str | None:
    """The commit of the checkout this code was loaded from, with `+changes` where files differ from it; None for an
    installed package."""
    if not (_ROOT / ".git").exists():
        return None
    head = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return head + ("+changes" if changes else "") if head else None


def _git(*words: str) -> str | None:
    try:
        return subprocess.run(
            ["git", *words], cwd=_ROOT, capture_output=True, text=True, check=True, timeout=30
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def stamp() -> dict[str, Any]:
    """What every file of results carries: version, commit, date (UTC), machine."""
    return {
        "version": backalley.__version__,
        "commit": commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
    }


def write(path: Path, payload: Mapping[str, Any]) -> None:
    """Write `payload` as JSON, wholly or not at all. Raises OSError, and ValueError for a number that is not finite."""
    text = json.dumps(payload, indent=1, ensure_ascii=False, allow_nan=False, default=_plain)
    durable.write_file(path, text.encode() + b"\n")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be written as JSON.")


def check_place(path: Path) -> None:
    """Raise OSError in a sentence if no file could be written at `path`: better before hours of work than after."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file to write the results to.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} to; make it first.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written; name another file or change its permissions.")


def _sources() -> str:
    """A digest of all code that could decide what is played."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in ("envs", "agents", "benchmarks") for path in (_ROOT / folder).rglob("*.py")):
        digest.update(str(path.relative_to(_ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class Unfinished:
    """What a long command has done so far, in a file beside the one it is going to write.

    `task` says what is being done, as JSON can hold it; work of any other task, or by other sources, is left aside.
    Without a `path` nothing is kept.
    """

    def __init__(self, path: Path | None, task: Mapping[str, Any]) -> None:
        self.path = None if path is None else path.with_name(path.name + ".unfinished")
        self._task = "" if path is None else json.dumps({**task, "sources": _sources()}, sort_keys=True)
        self._saved = time.monotonic()

    def load(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of the last `save` for this same task, or none."""
        if self.path is None:
            return {}
        try:
            with open(self.path, "rb") as file, np.load(file, allow_pickle=False) as kept:
                if str(kept["task"]) != self._task:
                    return {}
                return {name: kept[name] for name in kept.files if name != "task"}
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return {}

    def save(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Keep these arrays. Raises OSError."""
        if self.path is not None:
            buffer = io.BytesIO()
            np.savez(buffer, allow_pickle=False, **{**arrays, "task": np.array(self._task)})
            durable.write_file(self.path, buffer.getvalue())
        self._saved = time.monotonic()

    def save_at_times(self, arrays: Callable[[], Mapping[str, npt.NDArray[Any]]]) -> None:
        """Keep what `arrays()` gives, if the last time is long enough ago."""
        if self.path is not None and time.monotonic() - self._saved > _SAVE_SECONDS:
            self.save(arrays())

    def drop(self) -> None:
        """The work is finished."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def table_text(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A table as plain text; the first `left` columns stand to the left, the numbers to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for number, name in enumerate(head):
        table.add_column(name, justify="left" if number < left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    out = io.StringIO()
    Console(file=out, width=_WIDTH, color_system=None, markup=False, highlight=False).print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
