"""Results on disk: JSON with the machine and the sources they come from."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numba
import numpy as np

from backalley import __version__
from backalley.console.errors import InvalidType
from backalley.envs.core.compile.source_digest import with_imports
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.threads import cores

_ROOT = Path(__file__).resolve().parents[2]


def machine() -> dict[str, Any]:
    """Return what the numbers were measured on: processor, cores, system, versions."""
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
    """Return the commit of the checkout this code was loaded from, with `+changes` if files other than results differ
    from it; None for an installed package."""
    if not (_ROOT / ".git").exists():
        return None
    head = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!benchmarks/results")
    return head + ("+changes" if changes else "") if head else None


def _git(*words: str) -> str | None:
    try:
        return subprocess.run(
            ["git", *words], cwd=_ROOT, capture_output=True, text=True, check=True, timeout=30
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def stamp(measuring: str, *games: Game) -> dict[str, Any]:
    """Return the stamp of every file of results: version, commit, digest of the sources, date (UTC), machine.
    `measuring` is the `__file__` of the module that does the work."""
    return {
        "version": __version__,
        "commit": commit(),
        "sources": sources(measuring, *(game.type.module for game in games)),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
    }


@functools.cache
def sources(measuring: str, *modules: str) -> str:
    """Return a digest of the sources of a result: the file that measures it, the modules of the games, and every file
    that these import, directly or not (imports as in the kernel cache; the same on every machine).

    Two results with the same digest were made by the same code, whatever their commits; a comment counts as code.
    """
    files = [measuring, *(getattr(sys.modules[module], "__file__", None) for module in modules)]
    known = with_imports(*(Path(file).resolve() for file in files if file))  # a notebook's own game has no file
    digest = hashlib.sha256()
    for name, path in sorted((_name(path), path) for path in known):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _name(path: Path) -> str:
    """A file's path in this package; that of a game outside it goes by its folder."""
    return (path.relative_to(_ROOT if path.is_relative_to(_ROOT) else path.parents[1])).as_posix()


def write(path: Path, payload: Mapping[str, Any]) -> None:
    """Write `payload` as JSON, wholly or not at all. The unfinished work for it (`durable.Unfinished`) is deleted
    unless it says `"complete": False`. Raises OSError, and ValueError for a number that is not finite."""
    from backalley.envs.core.files import durable

    text = json.dumps(payload, indent=1, ensure_ascii=False, allow_nan=False, default=_plain)
    durable.write_file(path, text.encode() + b"\n")
    if payload.get("complete", True):
        durable.unfinished_beside(path).unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise InvalidType(f"{value!r} cannot be written as JSON.")


def check_place(path: Path) -> None:
    """Raise OSError if no file could be written at `path`: better before hours of work than after."""
    from backalley.envs.core.files import durable, reading

    path = reading.check_path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file to write the results to.")
    durable.unfinished_beside(path).exists()  # raises OSError where the name, or a folder's, is too long
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no file that could be replaced; name another one.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} to; make it first.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written; name another file or change its permissions.")
