"""`@kernel`: compiled rules, and the only place that names Numba's flags; and templates, functions that call a game's
kernels by names filled in for each game.

A kernel is plain Python over records and arrays. Numba compiles it on its first call and keeps the machine code on
disk (`kernel_cache.py`); with `NUMBA_DISABLE_JIT=1` the same text runs line by line under a debugger or a coverage
tool.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import numba
import numpy as np

from backalley.console.errors import InvalidType

from . import tiering
from .kernel_cache import KernelCache, code_digest, name_records_by_fields
from .tiering import Interpreted, TookTooLong, explaining
from .whole_program import POSSIBLE, WholeProgramDispatcher

P = ParamSpec("P")
R = TypeVar("R")

COMPILED: bool = not numba.config.DISABLE_JIT
"""False when `NUMBA_DISABLE_JIT=1` makes every kernel an ordinary Python function."""

name_records_by_fields()


def uncompiled(function: Callable[..., Any]) -> FunctionType:
    """Return the Python function inside a kernel."""
    found: FunctionType = inspect.unwrap(getattr(function, "py_func", function))
    return found


def source(function: Callable[..., Any]) -> Path:
    """Return the file in which a function, compiled or not, was written; none may exist for one typed at a prompt."""
    return Path(uncompiled(function).__code__.co_filename).resolve()


def sources_of(function: Callable[..., Any]) -> tuple[Path, ...]:
    """Return all files that a function's machine code depends on; for a filled-in template, its kernels' files too."""
    found: tuple[Path, ...] = getattr(uncompiled(function), "sources", (source(function),))
    return found


def compiled(function: Callable[P, R], *sources: Path, keep: bool = True, arrays: bool = True) -> Callable[P, R]:
    """Compile on first use, without the interpreter lock, and cache the machine code on disk for the present text of
    `sources`.

    No C entry point is compiled, since nobody calls a kernel from C (*measured*: that would take an eighth of the time
    of compiling Twenty-One). `arrays` says that the function may create arrays, which needs Numba's reference counts.
    Every function has to say it: one that is compiled while compiling another would otherwise use the other's choice.
    """
    flags: dict[str, Any] = {"nogil": True, "_nrt": arrays, "no_cfunc_wrapper": True}
    # A function typed at a prompt has no file to watch.
    cache = KernelCache(function, *sources) if keep and all(path.is_file() for path in sources) else None
    made: Any
    if POSSIBLE:
        made = WholeProgramDispatcher(function, {}, {"nopython": True, "boundscheck": None, **flags}, cache)
    else:
        made = numba.njit(**flags)(function)
        if cache is not None:
            made._cache = cache
    return made  # type: ignore[no-any-return]


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on first use, without the interpreter lock, and cache the machine code on disk."""
    return compiled(function, source(function)) if COMPILED else function


def bounded(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel whose loops and indices follow from the sizes of its arrays, whatever numbers they hold. It is safe for
    arguments from outside as it is (`guarded.py`)."""
    function.is_bounded = True  # type: ignore[attr-defined]
    return kernel(function)


def passing(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that takes options or records of any game. It is compiled into its callers and has no cache of its own:
    Numba would keep every game's types in one file, which cannot be read where one of those games cannot be
    imported."""
    return compiled(function, keep=False) if COMPILED else function


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that is inlined into its callers before they are compiled. It may return a tuple that holds a record,
    which Numba's functions cannot."""
    return numba.njit(inline="always")(function) if COMPILED else function


def wrapping(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel whose 64-bit arithmetic is meant to wrap around; uncompiled, NumPy would warn of each overflow."""
    if COMPILED:
        return kernel(function)
    quiet: Callable[P, R] = np.errstate(over="ignore")(function)
    return quiet


def bind(function: Callable[..., R], *example: Any, at_once: bool = True) -> Callable[..., R]:
    """Return the machine code of a kernel for arguments of exactly the types of `example`, without Numba's dispatch.

    *Measured*: 0.2 instead of 43 microseconds a call for a kernel that takes a tuple of arrays. Later arguments are not
    checked: callers pass arrays they own, of the types they bound. This compiles the kernel and does not run it. With
    `at_once=False`, for calls that are short, the result may be an `Interpreted` instead; whoever gets one binds again
    at the next call (see `tiering.py`).
    """
    if not COMPILED:
        return explaining()(function)
    code = machine_code(function, example, at_once)
    if code is None:
        return Interpreted(function)
    entry: Callable[..., R] = code.entry_point
    return entry


def machine_code(function: Callable[..., Any], example: Sequence[Any], at_once: bool) -> Any:
    """Return Numba's result of compiling a kernel for arguments of the types of `example`; None where it runs as
    Python."""
    if not COMPILED or tiering.MODE == "never":
        return None
    kinds = tuple(numba.typeof(value) for value in example)
    if not isinstance(function, WholeProgramDispatcher):
        with tiering.announced():
            function.compile(kinds)  # type: ignore[attr-defined]
        return function.overloads[kinds]  # type: ignore[attr-defined]
    if function.found(kinds) is None:
        if tiering.runs_as_python(at_once):
            return None
        with tiering.announced():
            function.entry(kinds)
    return function.entries[kinds]


class Player(NamedTuple):
    """A kernel that others call by its address: `kernel(by: Kept, shown: Kept, row, key) -> int64`."""

    find: Callable[..., Any]
    """Finds its `Address`, or an `Interpreted`; called with `at_once=`. The address 0 is nobody's."""
    by: Any
    """A `Kept`."""


class Bound(Generic[R]):
    """A kernel that is looked up, and bound to the types of its arguments (see `bind`), at its first call; and the
    players that it calls by their addresses, if any. All run as machine code, or all as Python."""

    def __init__(
        self, find: Callable[[], Callable[..., R]], players: Sequence[Player] = (), *, at_once: bool = True
    ) -> None:
        """Where there are `players`, the kernel's first two arguments are arrays [n]: their addresses, and those of
        what they play by."""
        self._find, self._players, self._at_once = find, players, at_once
        self._entry: Callable[..., R] | None = None

    def link(self, *args: Any) -> bool:
        """Bind it; return whether it runs as machine code."""
        if self._entry is not None:
            return True
        acts, by = [one.find(at_once=self._at_once) for one in self._players], [one.by for one in self._players]
        players: list[Any] = [acts, by] if acts else []
        if not any(isinstance(one, Interpreted) for one in acts):
            arrays = [np.array(one, np.int64) for one in players]
            entry = bind(self._find(), *arrays, *args, at_once=self._at_once)
            if not isinstance(entry, Interpreted):
                self._entry = functools.partial(entry, *arrays) if arrays else entry
                return True
        self._slow = functools.partial(Interpreted(self._find()), *players)
        return False

    def __call__(self, *args: Any) -> R:
        """Call it, with all arguments but its players."""
        if self._entry is None and not self.link(*args):
            try:
                found: R = self._slow(*args)
                return found
            except TookTooLong:
                tiering.compile_from_now_on()
                self._at_once = True
                if not self.link(*args):
                    raise
        assert self._entry is not None
        return self._entry(*args)


# Templates ------------------------------------------------------------------------------------------------------------


def template(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that calls kernels by names which `specialise` fills in. It cannot be called before that."""
    return function


def unbound(*args: Any) -> Any:
    """The value of each name in a template's module until `specialise` fills it in."""
    raise NotImplementedError("A template calls kernels by names that specialise() has yet to fill in.")


def specialise(
    templates: Sequence[Callable[..., Any]], names: Mapping[str, Callable[..., Any]], *, circular: bool = False
) -> dict[str, Callable[..., Any]]:
    """Return the templates, by name, compiled with the kernels `names` in place of those names.

    Templates work in arrays that their callers own and create none, so they are compiled without Numba's reference
    counts (*measured*: passing a batch's arrays between functions with those counts took nine tenths of a small game's
    time). They may call one another. Their machine code includes the kernels and is cached on disk (*measured*:
    hundredths of a second to load, against seconds to link a game's kernels in each process). `circular` says that
    templates call each other in a circle: where Numba itself compiles them they are not kept, since such code crashed
    when only a part of it was still cached. Raises TypeError where two templates use one name for
    different things.
    """
    parts = [(name, uncompiled(part)) for name, part in sorted(names.items())]
    words = " ".join(f"{name}={part.__module__}.{part.__qualname__}:{code_digest(part)}" for name, part in parts)
    mark = hashlib.sha256(words.encode()).hexdigest()[:12]
    sources = sorted({path for part in [*templates, *names.values()] for path in sources_of(part)})
    scope = _scope(templates, names)
    made = {}
    for part in templates:
        copy = FunctionType(part.__code__, scope, part.__name__)
        # A name of its own for each choice of kernels, so that machine code of two choices is never confused.
        copy.__qualname__ = f"{part.__name__}_{mark}"
        copy.__module__ = __name__
        copy.sources = tuple(sources)  # type: ignore[attr-defined]
        made[part.__name__] = scope[part.__name__] = (
            compiled(copy, *sources, keep=POSSIBLE or not circular, arrays=False) if COMPILED else copy
        )
        made[part.__name__].at_once = True  # type: ignore[attr-defined]  # one call may play for hours
    return made


def _scope(templates: Sequence[Callable[..., Any]], names: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """The globals of all templates together, with `names` filled in."""
    scope: dict[str, Any] = {}
    for part in templates:
        scope |= part.__globals__
    filled = {*names, *(part.__name__ for part in templates)}
    for part in templates:
        for name in _used(part.__code__) - filled:
            if name in part.__globals__ and part.__globals__[name] is not scope[name]:
                where = f"{part.__module__}.{part.__name__}"
                raise InvalidType(
                    f"{where} and another template mean different things by {name!r}; rename one of them."
                )
    return scope | dict(names)


def _used(code: CodeType) -> set[str]:
    """The global names that a function's code, and that of functions inside it, reads."""
    found = {str(one.argval) for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"}
    return found.union(*(_used(part) for part in code.co_consts if isinstance(part, CodeType)))
