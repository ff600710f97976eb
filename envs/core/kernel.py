"""`@kernel`: compiled rules, and the only place that names Numba's flags.

A kernel is plain Python over records and arrays. Numba compiles it on its first call and keeps the machine code on disk; with
`NUMBA_DISABLE_JIT=1` the same text runs line by line under a debugger or a coverage tool.

Numba's own cache looks only at the file a function stands in: edit `tricks.py`, and the cached kernels of a game that calls it would
keep running the old rule. So the cache folder is named after a digest of every source file that can take part in a kernel.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

COMPILED: bool = not numba.config.DISABLE_JIT
"""False when `NUMBA_DISABLE_JIT=1` makes every kernel an ordinary Python function."""

_KEPT_CACHES = 8
_PACKAGE = Path(__file__).resolve().parents[2]


def source_digest(root: Path) -> str:
    """A digest of every Python file below `root` that holds a kernel or lies in the games' folder, and of Numba's and NumPy's versions."""
    digest = hashlib.sha256(f"numba {numba.__version__} numpy {np.__version__}".encode())
    games = root / "envs"
    folders = [root / name for name in ("envs", "agents", "training", "benchmarks")]
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        text = path.read_bytes()
        if b"kernel" in text or path.is_relative_to(games):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + text + b"\0")
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """The folder that holds one cache per state of the sources: `$BACKALLEY_CACHE`, or `backalley` in the user's cache folder."""
    named = os.environ.get("BACKALLEY_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "backalley"


@functools.cache
def cache_folder() -> str:
    """This process's cache folder, made on first use; a temporary one where the user's cannot be written."""
    root = cache_root()
    folder = root / source_digest(_PACKAGE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        _drop_old(root, folder)
        if not os.access(folder, os.W_OK):
            raise PermissionError(folder)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="backalley-kernels-"))
    return str(folder)


def _drop_old(root: Path, current: Path) -> None:
    others = sorted((path for path in root.iterdir() if path.is_dir() and path != current), key=lambda path: path.stat().st_mtime)
    for path in others[: max(0, len(others) - _KEPT_CACHES + 1)]:
        shutil.rmtree(path, ignore_errors=True)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first use, without the interpreter lock, and keep the machine code on disk."""
    if not COMPILED:
        return function
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = cache_folder()
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=True)(function)
    finally:
        numba.config.CACHE_DIR = previous
    return compiled


def wrapping(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel whose 64-bit arithmetic is meant to wrap around; uncompiled, NumPy would warn of each overflow."""
    if COMPILED:
        return kernel(function)
    quiet: Callable[P, R] = np.errstate(over="ignore")(function)
    return quiet


def driver(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that takes other kernels as arguments. It is linked anew in each process (a fraction of a second), never cached."""
    if not COMPILED:
        return function
    linked: Callable[P, R] = numba.njit(nogil=True)(function)
    return linked


def bind(function: Callable[..., R], *example: Any) -> Callable[..., R]:
    """The machine code of a driver for arguments of exactly the types of `example`, without Numba's dispatch (*measured*: 0.2
    against 43 microseconds a call for a driver that takes a tuple of kernels).

    Nothing checks later arguments: callers pass arrays they own, of the types they bound. Compiles, and does not run.
    """
    if not COMPILED:
        return function
    signature = tuple(numba.typeof(value) for value in example)
    function.compile(signature)  # type: ignore[attr-defined]
    overload = function.overloads[signature]  # type: ignore[attr-defined]
    entry: Callable[..., R] = overload.entry_point
    return entry
