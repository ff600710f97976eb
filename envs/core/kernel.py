"""`@kernel`: compiled rules, and the only place that names Numba's flags.

A kernel is plain Python over records and arrays. Numba compiles it on its first call and keeps the machine code on disk; with
`NUMBA_DISABLE_JIT=1` the same text runs line by line under a debugger or a coverage tool.

Numba's own cache looks only at the file a function stands in: edit `tricks.py`, and the cached kernels of a game that calls it would
keep running the old rule. So the cache folder of a kernel is named after a digest of its file and of all files of this package that
it imports, directly or not.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

COMPILED: bool = not numba.config.DISABLE_JIT
"""False when `NUMBA_DISABLE_JIT=1` makes every kernel an ordinary Python function."""

_PACKAGE = Path(__file__).resolve().parents[2]
_KEPT_DAYS = 30
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(backalley[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+(backalley[\w.]*))", re.MULTILINE)


@functools.cache
def _imports(path: Path) -> tuple[Path, ...]:
    """The files of this package that a file imports by its text."""
    found = []
    for module, names, whole in _IMPORT.findall(path.read_text("utf-8")):
        owner = module or whole
        for dotted in [owner, *(f"{owner}.{name}" for name in re.findall(r"\w+", names))]:
            place = _PACKAGE.joinpath(*dotted.split(".")[1:])
            found += [file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()]
    return tuple(found)


@functools.cache
def source_digest(path: Path) -> str:
    """A digest of a source file, of all files of this package that it imports, directly or not, and of Numba's and NumPy's versions."""
    known, waiting = {path, Path(__file__).resolve()}, [path]
    while waiting:
        new = set(_imports(waiting.pop())) - known
        known |= new
        waiting += new
    digest = hashlib.sha256(f"numba {numba.__version__} numpy {np.__version__}".encode())
    for file in sorted(known):
        digest.update(str(file).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """The folder that holds the caches: `$BACKALLEY_CACHE`, or `backalley` in the user's cache folder."""
    named = os.environ.get("BACKALLEY_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "backalley"


@functools.cache
def _writable_root() -> Path:
    """`cache_root()`, rid of caches that nobody has used for a month; a temporary folder where it cannot be written."""
    root = cache_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        if not os.access(root, os.W_OK):
            raise PermissionError(root)
        for folder in root.iterdir():
            if folder.is_dir() and time.time() - folder.stat().st_mtime > _KEPT_DAYS * 86400:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="backalley-kernels-"))
    return root


@functools.cache
def cache_folder(path: Path) -> str:
    """Where the machine code of the kernels of one source file is kept, for the present text of all that they are made of."""
    folder = _writable_root() / source_digest(path)
    folder.mkdir(exist_ok=True)
    os.utime(folder)
    return str(folder)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first use, without the interpreter lock, and keep the machine code on disk."""
    if not COMPILED:
        return function
    path = Path(function.__code__.co_filename)  # type: ignore[attr-defined]
    if not path.is_file():
        uncached: Callable[P, R] = numba.njit(nogil=True, _nrt=True)(function)
        return uncached  # typed at a prompt: there is no file to watch
    # `_nrt`: a kernel may make arrays. Said aloud, because what is compiled on the way into a driver would take over the driver's choice.
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = cache_folder(path.resolve())
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, _nrt=True)(function)
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
    """A kernel that takes other kernels as arguments. It is linked anew in each process (a fraction of a second), never cached.

    It works in arrays that its caller holds and makes none itself, so it goes without Numba's count of references. (*Measured*: handing
    a batch's arrays from function to function under that count took nine tenths of the time of a small game.)
    """
    if not COMPILED:
        return function
    linked: Callable[P, R] = numba.njit(nogil=True, _nrt=False)(function)
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
