"""Machine code that finds its arguments, or the kernels that it calls, by their addresses.

Without this, the loop of a match would be compiled for every pair of agents. A loop that calls agents by their
addresses is compiled once for a game, and each agent once. *Measured* in Pitch: three opponents of a Gymnasium
environment and four pairs of agents took 51 s of compiling, and take 27; matches and environments are as fast. Rollouts
keep their player compiled in: with it behind an address, `search:24` took 1.2 to 1.4 times as long.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from backalley.console.errors import InvalidType

from . import tiering
from .kernel import Bound, bind
from .tiering import Interpreted, TookTooLong, in_machine_code
from .whole_program import WholeProgramDispatcher

R = TypeVar("R")


class Kept(int):
    """Arguments that a kernel is called with again and again: arrays, numbers, truth values, and tuples of these.

    It is the address of what machine code makes of them, so that not every call looks at each array again (*measured*:
    0.16 in place of 0.35 microseconds for the arrays of a batch). The arrays' memory, shapes and types may not change.
    Kernels, and Python, find them in `values`.
    """

    values: tuple[Any, ...]
    _memory: Any

    @staticmethod
    def of(*values: Any) -> Kept:
        """Keep these; they live as long as the result. Raises TypeError for anything else."""
        laid = bytearray()
        _lay(values, laid)
        memory = np.frombuffer(laid, np.uint8)
        kept = Kept(memory.ctypes.data)
        kept.values, kept._memory = values, memory
        return kept

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are of the values, whose copies lie elsewhere."""
        return Kept.of, self.values


class Opaque(Kept):
    """What is kept, for a kernel that hands it on to any of several kernels (`call`), and does not know its type."""

    def __new__(cls, kept: Kept) -> Opaque:
        """The same memory."""
        made = super().__new__(cls, kept)
        made.values, made._memory = kept.values, kept._memory
        return made


def _lay(value: Any, out: bytearray) -> None:
    """Write a value as machine code has it: truth values in a byte, NumPy's scalars as they are, all else in words of
    64 bits."""
    width = _width(value)
    out.extend(bytes(-len(out) % width))
    if isinstance(value, tuple):
        for one in value:
            _lay(one, out)
        out.extend(bytes(-len(out) % width))
    elif isinstance(value, np.ndarray):
        words = 0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides
        out.extend(np.array(words, np.int64).tobytes())
    elif isinstance(value, np.generic):
        out.extend(value.tobytes())
    elif isinstance(value, float):
        out.extend(np.float64(value).tobytes())
    elif isinstance(value, int):
        out.extend(int(value).to_bytes(width, sys.byteorder, signed=True))
    else:
        raise InvalidType(f"{value!r} of type {type(value).__name__} cannot be kept for kernels.")


def _width(value: Any) -> int:
    """The bytes of which a value's place is a multiple."""
    if isinstance(value, tuple):
        return max(map(_width, value), default=1)
    return value.itemsize if isinstance(value, np.generic) else 1 if isinstance(value, bool) else 8


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
    return _KeptType(None if isinstance(kept, Opaque) else numba.typeof(kept.values))


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
    found = builder.load(builder.bitcast(kept, context.get_value_type(kind.inside).as_pointer()))
    return impl_ret_borrowed(context, builder, kind.inside, found)  # arrays in what `call` was shown are counted


class Address(int):
    """Where a kernel's machine code is; it stays there as long as this lives."""

    in_python: Interpreted
    """The same kernel."""
    _code: Any

    @staticmethod
    def of(function: Callable[..., int], *example: Any, at_once: bool = True) -> Address | Interpreted:
        """Return the address of a kernel that returns an int64, for arguments of the types of `example`: `Kept`, whole
        numbers and uint64. With `at_once=False` the result may be an `Interpreted`, as that of `bind`."""
        if not in_machine_code():
            return Interpreted(function)
        kinds = tuple(numba.typeof(value) for value in example)
        if isinstance(function, WholeProgramDispatcher):
            function.has_address = True
            if function.found(kinds) is None:
                if tiering.runs_as_python(at_once):
                    return Interpreted(function)
                with tiering.announced():
                    function.entry(kinds)
            code = function.entries[kinds]
        else:
            with tiering.announced():
                function.compile(kinds)  # type: ignore[attr-defined]
            code = function.overloads[kinds]  # type: ignore[attr-defined]
        made = Address(code.library.get_pointer_to_function(code.fndesc.llvm_func_name))
        made.in_python, made._code = Interpreted(function), code
        return made


class Calling(Bound[R]):
    """A kernel whose first argument is the address of another one, which it calls; both run as machine code, or both as
    Python (see `Bound`)."""

    def __init__(
        self,
        find: Callable[[], Callable[..., R]],
        address: Callable[[bool], Address | Interpreted],
        *,
        at_once: bool = True,
    ) -> None:
        """`address` is called with `at_once`."""
        super().__init__(find, at_once=at_once)
        self._address = address

    def __call__(self, *args: Any) -> R:
        """Call it, with all arguments but the first."""
        if self._entry is not None:
            return self._entry(*args)
        try:
            return self._linked(*args)
        except TookTooLong:
            tiering.compile_from_now_on()
            self._at_once = True
            return self._linked(*args)

    def _linked(self, *args: Any) -> R:
        function, address = self._find(), self._address(self._at_once)
        entry = bind(function, Address(0), *args, at_once=self._at_once)
        if isinstance(address, Interpreted) or isinstance(entry, Interpreted):
            found: R = Interpreted(function)(address, *args)
            return found
        self._entry = functools.partial(entry, address)
        return self._entry(*args)


def _pointer(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """What lies at an address, or is kept, or the value itself, in memory."""
    if isinstance(kind, types.Integer):
        return builder.inttoptr(value, cgutils.voidptr_t)
    if not isinstance(kind, _KeptType):
        value = cgutils.alloca_once_value(builder, value)
    return builder.bitcast(value, cgutils.voidptr_t)


@intrinsic  # type: ignore[untyped-decorator]
def _call(typing: Any, address: Any, by: Any, shown: Any, row: Any, key: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = types.voidptr, types.voidptr, types.int64, types.uint64
        function = builder.inttoptr(args[0], context.call_conv.get_function_type(types.int64, kinds).as_pointer())
        pointers = [_pointer(context, builder, signature.args[place], args[place]) for place in (1, 2)]
        given = (*pointers, *args[3:])
        status, found = context.call_conv.call_function(builder, function, types.int64, kinds, given)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return found

    return types.int64(types.int64, by, shown, types.int64, types.uint64), code


def _call_in_python(act: Address | Interpreted, by: Kept, shown: Any, row: int, key: np.uint64) -> Any:
    python: Any = getattr(act, "in_python", act)
    return python(by, Kept.of(shown), row, key)


_call.in_python = _call_in_python
call: Any = _call_in_python if numba.config.DISABLE_JIT else _call
"""In a kernel: `call(address, by, shown, row, key)` calls the kernel at an address, `kernel(by: Kept, shown: Kept, row,
key) -> int64`. `by` is an address, too, or an `Opaque`; `shown` is a tuple. Raises what the kernel raises."""
