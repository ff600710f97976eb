"""`@kernel`: compiled rules, and the only place that names Numba's flags.

A kernel is plain Python over records and arrays. Numba compiles it on its first call and keeps the machine code on
disk (`kernel_cache.py`); with `NUMBA_DISABLE_JIT=1` the same text runs line by line under a debugger or a coverage
tool.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np

from . import patience
from .kernel_cache import KernelCache
from .numba_repair import repair

P = ParamSpec("P")
R = TypeVar("R")

COMPILED: bool = not numba.config.DISABLE_JIT
"""False when `NUMBA_DISABLE_JIT=1` makes every kernel an ordinary Python function."""

repair()


def uncompiled(function: Callable[..., Any]) -> FunctionType:
    """The Python function under a kernel."""
    found: FunctionType = inspect.unwrap(getattr(function, "py_func", function))
    return found


def source(function: Callable[..., Any]) -> Path:
    """The file in which a function, compiled or not, was written; there may be none for one typed at a prompt."""
    return Path(uncompiled(function).__code__.co_filename).resolve()


def sources_of(function: Callable[..., Any]) -> tuple[Path, ...]:
    """All files that the machine code of a function follows from: for one that `specialise` made, the kernels' too."""
    found: tuple[Path, ...] = getattr(uncompiled(function), "sources", (source(function),))
    return found


def compiled(function: Callable[P, R], *sources: Path, keep: bool = True, arrays: bool = True) -> Callable[P, R]:
    """Compile on first use, without the interpreter lock, and keep the machine code on disk for the present text of
    `sources`.

    Nobody calls a kernel through C, so no door for that is compiled (*measured*: an eighth of the time that compiling
    Twenty-One takes). `arrays` says that the function may make arrays, which needs Numba's count of references. It is
    said of every function, since one compiled on the way into another would take over that one's choice.
    """
    flags: dict[str, Any] = {"nogil": True, "_nrt": arrays, "no_cfunc_wrapper": True}
    made: Callable[P, R] = numba.njit(**flags)(function)
    if keep and all(path.is_file() for path in sources):  # a function typed at a prompt has no file to watch
        made._cache = KernelCache(function, *sources)  # type: ignore[attr-defined]
    return made


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first use, without the interpreter lock, and keep the machine code on disk."""
    return compiled(function, source(function)) if COMPILED else function


def passing(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that takes options or records of any game. It is compiled into what calls it and not kept by itself:
    Numba would keep every game's types in one file, which cannot be read where one of those games cannot be
    imported."""
    return compiled(function, keep=False) if COMPILED else function


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel whose text is set into its callers' before they are compiled: it may give a tuple that holds a record,
    which Numba's functions cannot hand back."""
    return numba.njit(inline="always")(function) if COMPILED else function


def wrapping(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel whose 64-bit arithmetic is meant to wrap around; uncompiled, NumPy would warn of each overflow."""
    if COMPILED:
        return kernel(function)
    quiet: Callable[P, R] = np.errstate(over="ignore")(function)
    return quiet


def bind(function: Callable[..., R], *example: Any) -> Callable[..., R]:
    """The machine code of a kernel for arguments of exactly the types of `example`, without Numba's dispatch.

    *Measured*: 0.2 against 43 microseconds a call for a kernel that takes a tuple of arrays. Nothing checks later
    arguments: callers pass arrays they own, of the types they bound. Compiles, and does not run.
    """
    if not COMPILED:
        return function
    signature = tuple(numba.typeof(value) for value in example)
    with patience.told():
        function.compile(signature)  # type: ignore[attr-defined]
    entry: Callable[..., R] = function.overloads[signature].entry_point  # type: ignore[attr-defined]
    return entry
