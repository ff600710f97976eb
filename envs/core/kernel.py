"""`@kernel`: compiled rules, and the only place that names Numba's flags.

A kernel is plain Python over records and arrays. Numba compiles it on its first call and keeps the machine code on
disk; with `NUMBA_DISABLE_JIT=1` the same text runs line by line under a debugger or a coverage tool.

Numba's own cache looks only at the file a function stands in: edit `tricks.py`, and the cached kernels of a game that
calls it would keep running the old rule. So the cache folder of a kernel is named after a digest of its file and of all
files of this package that it imports, directly or not.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

COMPILED: bool = not numba.config.DISABLE_JIT
"""False when `NUMBA_DISABLE_JIT=1` makes every kernel an ordinary Python function."""

_PACKAGE = Path(__file__).resolve().parents[2]
_KEPT_DAYS = 30
_IMPORT = re.compile(
    r"^\s*(?:from\s+(backalley[\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+(backalley[\w.]*))", re.MULTILINE
)


def _symbol(record: Any) -> tuple[str, tuple[str]]:
    """What the symbols of machine code call a record type: a digest of its fields.

    Numba's own name is a number that counts types in the order a process meets them. So code kept by two processes
    could use one symbol for different records, and a third process, loading both, ran the one in the other's place
    (seen: cards dealt to the offsets of another table's state).
    """
    return "Record", (hashlib.sha256(record.name.encode()).hexdigest()[:16],)


numba.types.Record.mangling_args = property(_symbol)


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
def source_digest(*paths: Path) -> str:
    """A digest of source files, of all files of this package that they import, directly or not, and of Numba's and
    NumPy's versions."""
    known, waiting = {*paths, Path(__file__).resolve()}, [*paths]
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
def cache_folder(*paths: Path) -> str:
    """Where the machine code of kernels of these source files is kept, for the present text of all that they are made
    of."""
    folder = _writable_root() / source_digest(*paths)
    folder.mkdir(exist_ok=True)
    os.utime(folder)
    return str(folder)


def plain(function: Callable[..., Any]) -> FunctionType:
    """The Python function under a kernel."""
    found: FunctionType = inspect.unwrap(getattr(function, "py_func", function))
    return found


def _source(function: Callable[..., Any]) -> Path:
    """The file in which a function, compiled or not, was written; there may be none for one typed at a prompt."""
    return Path(plain(function).__code__.co_filename).resolve()


def _compiled(function: Callable[P, R], *sources: Path, keep: bool = True, arrays: bool = True) -> Callable[P, R]:
    """Compile on first use, without the interpreter lock, and keep the machine code on disk for the present text of
    `sources`.

    `arrays` says that the function may make arrays, which needs Numba's count of references. It is said of every
    function, since one compiled on the way into another would take over that one's choice.
    """
    if not keep or not all(path.is_file() for path in sources):  # a function typed at a prompt has no file to watch
        return numba.njit(nogil=True, _nrt=arrays)(function)  # type: ignore[no-any-return]
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = cache_folder(*sources)
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, _nrt=arrays)(function)
    finally:
        numba.config.CACHE_DIR = previous
    return compiled


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first use, without the interpreter lock, and keep the machine code on disk."""
    return _compiled(function, _source(function)) if COMPILED else function


def passing(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that takes options or records of any game. It is compiled into what calls it and not kept by itself:
    Numba would keep every game's types in one file, which cannot be read where one of those games cannot be
    imported."""
    return _compiled(function, keep=False) if COMPILED else function


def wrapping(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel whose 64-bit arithmetic is meant to wrap around; uncompiled, NumPy would warn of each overflow."""
    if COMPILED:
        return kernel(function)
    quiet: Callable[P, R] = np.errstate(over="ignore")(function)
    return quiet


def template(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function that calls kernels by names which `specialise` has yet to fill in. By itself it cannot be
    called."""
    return function


def specialise(
    templates: Sequence[Callable[..., Any]], names: Mapping[str, Callable[..., Any]], *, keep: bool = True
) -> dict[str, Callable[..., Any]]:
    """The templates compiled with the kernels `names` in the places of those names, by the templates' own names.

    Templates work in arrays that their callers hold and make none, so they go without Numba's count of references
    (*measured*: handing a batch's arrays from function to function under that count took nine tenths of a small game's
    time). They may call one another. Their machine code is kept on disk like any kernel's, since the kernels are part
    of it (*measured*: hundredths of a second to load, against seconds to link a game's kernels anew in each process).
    Templates that call each other in a circle need `keep=False`: Numba keeps each function apart, and such code was
    seen to crash when only a part of it was still kept.
    """
    kernels = sorted(names.items())
    words = " ".join(f"{name}={plain(kernel).__module__}.{plain(kernel).__qualname__}" for name, kernel in kernels)
    mark = hashlib.sha256(words.encode()).hexdigest()[:12]
    sources = sorted({_source(part) for part in [*templates, *names.values()]})
    scope: dict[str, Any] = {}
    for part in templates:
        scope |= part.__globals__
    scope |= names
    made = {}
    for part in templates:
        copy = FunctionType(part.__code__, scope, part.__name__)
        # Of a name that no other choice of kernels has, or machine code of two choices could be mistaken for one
        # another.
        copy.__qualname__ = f"{part.__name__}_{mark}"
        copy.__module__ = __name__
        made[part.__name__] = scope[part.__name__] = (
            _compiled(copy, *sources, keep=keep, arrays=False) if COMPILED else copy
        )
    return made


def bind(function: Callable[..., R], *example: Any) -> Callable[..., R]:
    """The machine code of a kernel for arguments of exactly the types of `example`, without Numba's dispatch.

    *Measured*: 0.2 against 43 microseconds a call for a kernel that takes a tuple of arrays. Nothing checks later
    arguments: callers pass arrays they own, of the types they bound. Compiles, and does not run.
    """
    if not COMPILED:
        return function
    signature = tuple(numba.typeof(value) for value in example)
    function.compile(signature)  # type: ignore[attr-defined]
    entry: Callable[..., R] = function.overloads[signature].entry_point  # type: ignore[attr-defined]
    return entry
