"""Kernels run as Python first, and as machine code when that pays.

Compiling a game takes seconds, and ten seconds of compiling buy 20,000 decisions in Python (0.2 to 0.7 ms each). So
where a call is small, a kernel that is not compiled yet runs as the Python that it was written in, until a process has
spent `BUDGET` seconds that way. Machine code that is on disk is used at once. Large work (many tables, matches, search,
training) compiles at once: its callers say so (`kernel.bind`, `compile_from_now_on`). Both give the same bytes.

A compilation that takes longer than a moment prints a message, once in a process.

`BACKALLEY_COMPILE=now` compiles every kernel at its first use, `never` runs Python always, `auto` is the default.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher, OmittedArg

from backalley.console.errors import InvalidValue

BUDGET = 2.0
"""Seconds of processor time that a process spends in kernels as Python before it compiles."""
CHOICES = ("auto", "now", "never")
MODE = os.environ.get("BACKALLEY_COMPILE", "") or "auto"
if MODE not in CHOICES:
    raise InvalidValue(f"The environment variable BACKALLEY_COMPILE is {MODE!r}; it takes {', '.join(CHOICES)}.")

searches = 0
"""How often another process has said that there is new machine code on disk; 0 where this one compiles itself."""
_left = 0.0 if MODE == "now" else float("inf") if MODE == "never" else BUDGET
"""Seconds of the budget that are left."""
AFTER = 1.5
"""Seconds of compiling before the message."""
MESSAGE = "Back Alley compiles this game for your machine, once; `backalley compile` does all games ahead of time."
_waiting = threading.local()
_announced = threading.Event()


class Times(NamedTuple):
    """Two clocks."""

    seconds: float
    processor_seconds: float
    """Of all threads of this process."""


_compiled = Times(0.0, 0.0)


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Count this block, in which the compiler's lock is held, as compiling."""
    global _compiled
    seconds, processor_seconds = time.perf_counter(), time.thread_time()
    try:
        yield
    finally:
        seconds, processor_seconds = time.perf_counter() - seconds, time.thread_time() - processor_seconds
        _compiled = Times(_compiled.seconds + seconds, _compiled.processor_seconds + processor_seconds)


def compile_time() -> Times:
    """Return how long this process has compiled so far."""
    return _compiled


def times() -> Times:
    """Return two clocks that stand while this process compiles: budgets of time pay for play, so that a first run
    plays as much as later ones."""
    return Times(time.perf_counter() - _compiled.seconds, time.process_time() - _compiled.processor_seconds)


def runs_as_python(at_once: bool = False) -> bool:
    """Whether a kernel of which there is no machine code runs as Python now; one of large work, `at_once`, only where
    another process compiles."""
    return _left > 0 and (searches > 0 or not at_once)


def compile_from_now_on() -> None:
    """Say that large work follows: kernels are compiled at their first use from now on (unless the user said
    `never`)."""
    global _left
    if MODE == "auto" and not searches:
        _left = 0.0


def compiled_elsewhere() -> bool:
    """Say that another process compiles for this one, which must not wait, and again whenever it has done some: a
    kernel runs as Python until its machine code is on disk. Return whether that is so: not where the user said when to
    compile."""
    global _left, searches
    if MODE == "auto":
        _left, searches = float("inf"), searches + 1
    return searches > 0


class TookTooLong(ArithmeticError):
    """A call took more steps than it may (`guarded.py`)."""


@contextlib.contextmanager
def explaining() -> Iterator[None]:
    """Errors inside tell of the kernel in which they happened (`kernel_errors.py`)."""
    try:
        yield
    except Exception as error:
        from .kernel_errors import explain

        explain(error)
        raise


class Interpreted:
    """A kernel as the Python that it was written in. A call takes its time from the budget."""

    def __init__(self, function: Any) -> None:
        self._function = _replaced(function)

    def __call__(self, *args: Any) -> Any:
        """Call it, without NumPy's warnings where 64-bit arithmetic wraps around."""
        global _left
        given = [arg.value if isinstance(arg, OmittedArg) else arg for arg in args]  # Numba's form of a default
        began = time.thread_time()
        try:
            with np.errstate(over="ignore"), explaining():
                return self._function(*given)
        finally:
            _left -= time.thread_time() - began


_known: dict[Dispatcher, FunctionType] = {}
_modules: dict[ModuleType, _Module] = {}


def _python(dispatcher: Dispatcher) -> FunctionType:
    """The Python function inside a kernel, with such functions in place of all kernels that it names."""
    if dispatcher in _known:
        return _known[dispatcher]
    inside = dispatcher.py_func
    cells = tuple(CellType(_replaced(cell.cell_contents)) for cell in inside.__closure__ or ())
    scope: dict[str, Any] = {"__name__": inside.__module__, "__builtins__": builtins}  # NumPy looks for the latter
    made = FunctionType(inside.__code__, scope, inside.__name__, inside.__defaults__, cells or None)
    made.__kwdefaults__ = inside.__kwdefaults__
    _known[dispatcher] = made  # before its scope is filled: a kernel may name itself
    scope |= {name: _replaced(inside.__globals__[name]) for name in _names(inside.__code__) & inside.__globals__.keys()}
    return made


def _replaced(value: Any) -> Any:
    if isinstance(value, Dispatcher):
        return _python(value)
    if isinstance(value, ModuleType) and value.__name__ != "numpy":
        return _modules.setdefault(value, _Module(value))
    return getattr(value, "in_python", value)


def _names(code: CodeType) -> set[str]:
    """All names that a function's code, and that of functions inside it, reads."""
    inside = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inside)


class _Module:
    """A module whose kernels are Python: `rng` in a kernel that calls `rng.below`."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = _replaced(getattr(self._module, name))
        return found


def _announce() -> None:
    if not _announced.is_set():
        _announced.set()
        print(MESSAGE, file=sys.stderr, flush=True)


@contextlib.contextmanager
def announced() -> Iterator[None]:
    """Print MESSAGE on standard error if this block takes more than AFTER seconds."""
    if _announced.is_set() or getattr(_waiting, "on", False):
        yield
        return
    timer = threading.Timer(AFTER, _announce)
    timer.daemon = True
    _waiting.on = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _waiting.on = False
