"""Machine code that finds its arguments, or the kernels that it calls, by their addresses.

Without this, the loop of a match would be compiled for every pair of agents. A loop that calls agents by their
addresses is compiled once for a game, and each agent once. *Measured* in Pitch: three opponents of a Gymnasium
environment and four pairs of agents took 51 s of compiling, and take 27. A call costs some 30 ns: 4 % of a decision of
Pitch's `book`, a tenth of the quickest match. Rollouts keep their player compiled in: with it behind an address,
`search:24` took 1.2 to 1.4 times as long.
"""

from __future__ import annotations

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

from .kernel import machine_code
from .tiering import Interpreted

F = TypeVar("F", bound=Callable[..., Any])


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


def _lay(value: Any, out: bytearray) -> None:
    """Write a value as machine code has it, each number in its own width and at a multiple of it."""
    width = _width(value)
    out.extend(bytes(-len(out) % width))
    if isinstance(value, tuple):
        for one in value:
            _lay(one, out)
        out.extend(bytes(-len(out) % width))
    elif isinstance(value, np.ndarray):
        words = 0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides
        out.extend(np.array(words, np.int64).tobytes())
    elif isinstance(value, int | float | np.generic):
        kind = bool if isinstance(value, bool) else np.int64 if isinstance(value, int) else None  # an enumeration, too
        out.extend(np.asarray(value, kind).tobytes())
    else:
        raise InvalidType(f"{value!r} of type {type(value).__name__} cannot be kept for kernels.")


def _width(value: Any) -> int:
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
    found = builder.load(builder.bitcast(kept, context.get_value_type(kind.inside).as_pointer()))
    return impl_ret_borrowed(context, builder, kind.inside, found)  # arrays in what `call` was shown are counted


def addressed(function: F) -> F:
    """Mark a kernel that has not been used yet as one that others call by its address."""
    function.has_address = True  # type: ignore[attr-defined]
    return function


class Address(int):
    """Where a kernel's machine code is; it stays there as long as this lives. Python calls the kernel as Python."""

    _code: Any
    _python: Interpreted

    def __call__(self, *args: Any) -> Any:
        """Call it."""
        return self._python(*args)

    @staticmethod
    def of(function: Callable[..., int], *example: Any, at_once: bool = True) -> Address | Interpreted:
        """Return the address of an `addressed` kernel that returns an int64, for arguments of the types of `example`:
        `Kept`, whole numbers and uint64. With `at_once=False` the result may be an `Interpreted`, as that of `bind`.
        Raises TypeError for another kernel, whose machine code others cannot call."""
        if not getattr(function, "has_address", False):
            raise InvalidType(f"{function.__name__} is called by its address, so it has to be marked as `addressed`.")
        code = machine_code(function, example, at_once)
        if code is None:
            return Interpreted(function)
        made = Address(code.library.get_pointer_to_function(code.fndesc.llvm_func_name))
        made._code, made._python = code, Interpreted(function)
        return made


@intrinsic  # type: ignore[untyped-decorator]
def _laid(typing: Any, shown: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(cgutils.alloca_once_value(builder, args[0]), ir.IntType(64))

    return types.int64(shown), code


@intrinsic  # type: ignore[untyped-decorator]
def _call(typing: Any, address: Any, by: Any, shown: Any, row: Any, key: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = types.voidptr, types.voidptr, types.int64, types.uint64
        function = builder.inttoptr(args[0], context.call_conv.get_function_type(types.int64, kinds).as_pointer())
        given = *(builder.inttoptr(place, cgutils.voidptr_t) for place in args[1:3]), *args[3:]
        status, found = context.call_conv.call_function(builder, function, types.int64, kinds, given)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return found

    return types.int64(types.int64, types.int64, types.int64, types.int64, types.uint64), code


def _call_in_python(act: Any, by: Any, shown: Any, row: int, key: np.uint64) -> Any:
    return act(by, shown, row, key)


_laid.in_python, _call.in_python = Kept.of, _call_in_python
laid: Any = Kept.of if numba.config.DISABLE_JIT else _laid
"""In a kernel: `laid(shown)` is the address of a tuple, for `call`, until the kernel returns. Lay it before a loop."""
call: Any = _call_in_python if numba.config.DISABLE_JIT else _call
"""In a kernel: `call(acts[n], by[n], laid(shown), row, key)` calls player n (see `Bound`), who is shown that tuple.
Raises what the player raises."""
