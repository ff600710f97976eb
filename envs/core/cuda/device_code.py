"""A kernel as a CUDA device function: the same text, with device functions in place of all kernels that it names.

Numba lacks for CUDA what some kernels use, so this has a form of its own here: NumPy's `empty`, `zeros` and `ones`
(`scratch.py`), and the functions of `bit_rows.py`, which on the CPU are LLVM's instructions. In CUDA's simulator, where
Python plays the device, a device function is a plain Python function.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from numba.core.dispatcher import Dispatcher

from ..compile import bit_rows
from ..compile.kernel import uncompiled
from . import scratch
from .scratch import SIMULATED, cuda

_M1, _M2, _M4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_BYTES, _BYTE, _ONE = np.uint64(0x0101010101010101), np.uint64(0xFF), np.uint64(1)
_S1, _S2, _S4, _S56 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


def word_at(row: npt.NDArray[Any], at: int) -> np.uint64:
    """`bit_rows.word_at`, byte by byte."""
    word = np.uint64(0)
    for place in range(8):
        word |= (np.uint64(row[at + place]) & _BYTE) << np.uint64(8 * place)
    return word


def ones(number: np.uint64) -> int:
    """`bit_rows.ones`: counts of pairs of bits, of fours, of eights, and their sum."""
    number -= (number >> _S1) & _M1
    number = (number & _M2) + ((number >> _S2) & _M2)
    number = (number + (number >> _S4)) & _M4
    return np.int64((number * _BYTES) >> _S56)  # type: ignore[return-value]


def zeros_below(number: np.uint64) -> int:
    """`bit_rows.zeros_below`: the ones in the number before that with the lowest bit alone."""
    return bit_rows.ones((number & (~number + _ONE)) - _ONE)


_OWN: dict[Any, Callable[..., Any]] = {
    getattr(bit_rows, function.__name__): function for function in (word_at, ones, zeros_below)
}
_OWN |= {bit_rows.spread: bit_rows.spread}
"""What stands for functions that are no kernels."""
_LOWERED = {np.empty: scratch.empty, np.zeros: scratch.zeros, np.ones: scratch.ones}
"""The same of those that `scratch.py` translates itself."""
_known: dict[Any, Any] = {}


def device(function: Callable[..., Any]) -> Any:
    """Return the device function of a kernel, or of a template that `specialise` has filled in."""
    if function not in _known:
        made, fill = _again(function)
        how = getattr(function, "targetoptions", {}).get("inline", "never")
        _known[function] = made if SIMULATED else cuda.jit(made, device=True, inline=how)
        fill()  # after it is known: a kernel may name itself
    return _known[function]


def launched(function: Callable[..., Any]) -> Any:
    """Return such a template as what the CPU launches: a CUDA kernel that is compiled for the types of its arguments at
    its first call."""
    made, fill = _again(function)
    fill()
    if SIMULATED:  # threads of its own, in which 64-bit arithmetic is to wrap around without NumPy's warnings
        scope = made.__globals__
        quiet = np.errstate(over="ignore")
        scope |= {name: quiet(value) for name, value in scope.items() if isinstance(value, FunctionType)}
    return cuda.jit(made)


def _again(function: Callable[..., Any]) -> tuple[FunctionType, Callable[[], None]]:
    """The Python function of a kernel with a scope of its own, and what fills that."""
    inside = uncompiled(function)
    cells = tuple(CellType() for _ in inside.__code__.co_freevars)
    scope: dict[str, Any] = {"__name__": inside.__module__, "__builtins__": builtins}
    made = FunctionType(inside.__code__, scope, inside.__name__, inside.__defaults__, cells or None)
    made.__module__, made.__qualname__ = inside.__module__, inside.__qualname__
    names = _names(inside.__code__)

    def fill() -> None:
        for name in names & inside.__globals__.keys():
            scope[name] = _replaced(inside.__globals__[name], names)
        for cell, old in zip(cells, inside.__closure__ or (), strict=True):
            cell.cell_contents = _replaced(old.cell_contents, names)

    return made, fill


def _replaced(value: Any, names: set[str]) -> Any:
    """A kernel as a device function, a module with those of its names that the code reads; anything else as it is."""
    if callable(value) and value in _LOWERED:
        return _LOWERED[value]
    if callable(value) and value in _OWN:
        return device(_OWN[value])
    if isinstance(value, Dispatcher):
        return device(value)
    if isinstance(value, ModuleType) and (value is np or value.__name__.startswith("backalley.")):
        module = ModuleType(value.__name__)
        for name in names & vars(value).keys():
            setattr(module, name, _replaced(getattr(value, name), names))
        return module
    return value


def _names(code: CodeType) -> set[str]:
    """All names that a function's code, and that of functions inside it, reads."""
    inside = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inside)
