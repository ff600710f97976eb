"""`@kernel`: compiled rules, and the only place that names Numba's flags.

A kernel is plain Python over records and arrays. Numba compiles it on its first call and keeps the machine code on
disk (`kernel_cache.py`); with `NUMBA_DISABLE_JIT=1` the same text runs line by line under a debugger or a coverage
tool.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from backalley.console.errors import InvalidType

from . import tiering
from .kernel_cache import KernelCache, name_records_by_fields
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
    if tiering.MODE == "never":
        return Interpreted(function)  # type: ignore[arg-type]
    kinds = tuple(numba.typeof(value) for value in example)
    if isinstance(function, WholeProgramDispatcher):
        entry: Callable[..., R] | None = function.found(kinds)
        if entry is None and tiering.runs_as_python(at_once):
            return Interpreted(function)
        if entry is None:
            with tiering.announced():
                entry = function.entry(kinds)
        return entry
    with tiering.announced():
        function.compile(kinds)  # type: ignore[attr-defined]
    plain: Callable[..., R] = function.overloads[kinds].entry_point  # type: ignore[attr-defined]
    return plain


class Bound(Generic[R]):
    """A kernel that is looked up, and bound to the types of its arguments (see `bind`), at its first call."""

    def __init__(self, find: Callable[[], Callable[..., R]], *, at_once: bool = True) -> None:
        self._find, self._at_once = find, at_once
        self._entry: Callable[..., R] | None = None

    def __call__(self, *args: Any) -> R:
        """Call it."""
        if self._entry is not None:
            return self._entry(*args)
        entry = bind(self._find(), *args, at_once=self._at_once)
        if isinstance(entry, Interpreted):
            try:
                found: R = entry(*args)
                return found
            except TookTooLong:
                tiering.compile_from_now_on()
                entry = bind(self._find(), *args)
        self._entry = entry
        return entry(*args)


class Kept(int):
    """Arguments that a kernel is called with again and again: arrays, numbers, truth values, and tuples of these.

    It is the address of what machine code makes of them, so that not every call looks at each array again (*measured*:
    0.16 in place of 0.35 microseconds for the arrays of a batch). The arrays' memory, shapes and types may not change.
    Kernels, and Python, find them in `values`.
    """

    values: tuple[Any, ...]

    @staticmethod
    def of(*values: Any) -> Kept:
        """Keep these; they live as long as the result. Raises TypeError for anything else."""
        laid = bytearray()
        _lay(values, laid)
        memory = np.frombuffer(laid, np.uint8)
        kept = Kept(memory.ctypes.data)
        kept.values, kept._memory = values, memory  # type: ignore[attr-defined]
        return kept

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are of the values, whose copies lie elsewhere."""
        return Kept.of, self.values


def _lay(value: Any, out: bytearray) -> None:
    """Write a value as machine code has it: truth values in a byte, all else in words of 64 bits."""
    width = _width(value)
    out.extend(bytes(-len(out) % width))
    if isinstance(value, tuple):
        for one in value:
            _lay(one, out)
        out.extend(bytes(-len(out) % width))
    elif isinstance(value, np.ndarray):
        words = 0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides
        out.extend(np.array(words, np.int64).tobytes())
    elif isinstance(value, float):
        out.extend(np.float64(value).tobytes())
    elif isinstance(value, int):
        out.extend(int(value).to_bytes(width, sys.byteorder, signed=True))
    else:
        raise InvalidType(f"{value!r} of type {type(value).__name__} cannot be kept for kernels.")


def _width(value: Any) -> int:
    """The bytes of which a value's place is a multiple."""
    return max(map(_width, value), default=1) if isinstance(value, tuple) else 1 if isinstance(value, bool) else 8


class _KeptType(types.Type):
    def __init__(self, inside: Any) -> None:
        super().__init__(f"Kept({inside})")
        self.inside = inside

    @property
    def key(self) -> Any:
        """What makes two of these equal; Numba's hook."""
        return self.inside


@typeof_impl.register(Kept)  # type: ignore[untyped-decorator]
def _typeof(kept: Kept, context: Any) -> _KeptType:
    return _KeptType(numba.typeof(kept.values))


@register_model(_KeptType)
class _KeptModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(8).as_pointer())


@unbox(_KeptType)  # type: ignore[untyped-decorator]
def _unbox(kind: Any, kept: Any, call: Any) -> Any:
    return NativeValue(call.pyapi.long_as_voidptr(kept))


@infer_getattr
class _KeptValues(AttributeTemplate):  # type: ignore[misc]
    key = _KeptType

    def resolve_values(self, kept: Any) -> Any:
        return kept.inside


@lower_getattr_generic(_KeptType)  # type: ignore[untyped-decorator]
def _values(context: Any, builder: Any, kind: Any, kept: Any, name: str) -> Any:
    return builder.load(builder.bitcast(kept, context.get_value_type(kind.inside).as_pointer()))
