"""Memory for arrays that kernels create: each thread takes it from a part of its own, which its table's next call takes
again. CUDA's `local.array` would not do: sizes follow from options, and kernels return such arrays to their callers."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir

from backalley.console.errors import NotInstalled

try:
    import numba_cuda  # noqa: F401  # without it Numba's own `cuda` would be found, which nobody maintains
    from numba import cuda as cuda  # for the other files, too
    from numba.cuda import cgutils, types
    from numba.cuda.extending import intrinsic, overload
except ImportError as error:
    raise NotInstalled("Tables on a GPU need numba-cuda: pip install 'backalley[cuda]'.") from error

SIMULATED: bool = bool(cuda.config.ENABLE_CUDASIM)
"""Whether `NUMBA_ENABLE_CUDASIM=1` has Python play the device."""
THREADS = 128
"""Threads of a block, at most."""
MOST_AT_ONCE = 1 << 14
"""Threads that get memory, at most; each then plays one table after another."""
BYTES = 1 << 14
"""Bytes of one thread's memory. A thread that wants more is ended by a trap."""
_ALIGNMENT = 16
_taken = threading.local()


def take_memory(memory: npt.NDArray[np.uint8]) -> None:
    """Give this thread its memory, uint8 [BYTES]. Every kernel whose callees create arrays begins with it."""
    _taken.left = _taken.all = memory.shape[0]


def reuse_memory() -> None:
    """Let this thread use its memory from the beginning: the arrays that it holds are no longer needed."""
    _taken.left = _taken.all


def empty(shape: Any, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """`numpy.empty`. Raises MemoryError in the simulator, where a device would trap."""
    made = np.empty(shape, dtype)
    _taken.left -= -(-made.nbytes // _ALIGNMENT) * _ALIGNMENT
    if _taken.left < 0:
        raise MemoryError(f"A thread's arrays take more than {BYTES} bytes.")
    return made


def zeros(shape: Any, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """`numpy.zeros`."""
    made = empty(shape, dtype)
    made[...] = 0
    return made


def ones(shape: int, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """`numpy.ones`, of one dimension."""
    made = empty(shape, dtype)
    made[...] = 1
    return made


_WORD = ir.IntType(64)


def _own_word(builder: Any, name: str) -> Any:
    """A pointer to this thread's word of an array in the block's shared memory: the address of its memory's `first`
    byte, of the `next` that is free, or of its `end`. In a linked program, arrays of one name are one."""
    module, name = builder.module, f"backalley_scratch_{name}"
    if name not in module.globals:
        made = ir.GlobalVariable(module, ir.ArrayType(_WORD, THREADS), name, addrspace=3)
        made.linkage, made.initializer, made.align = "linkonce_odr", ir.Constant(made.value_type, ir.Undefined), 8
    number = ir.FunctionType(ir.IntType(32), [])
    which = module.globals.get("llvm.nvvm.read.ptx.sreg.tid.x") or ir.Function(
        module, number, "llvm.nvvm.read.ptx.sreg.tid.x"
    )
    return builder.gep(module.globals[name], [ir.IntType(32)(0), builder.call(which, [])])


@intrinsic  # type: ignore[untyped-decorator]
def _begin(context: Any, memory: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        first = builder.ptrtoint(array.data, _WORD)
        for name in ("first", "next"):
            builder.store(first, _own_word(builder, name))
        builder.store(builder.add(first, array.nitems), _own_word(builder, "end"))
        return context.get_dummy_value()

    return types.void(memory), generate


@intrinsic  # type: ignore[untyped-decorator]
def _again(context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(builder.load(_own_word(builder, "first")), _own_word(builder, "next"))
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic  # type: ignore[untyped-decorator]
def _array(context: Any, shape: Any, dtype: Any, cleared: Any) -> Any:
    """A new array, its numbers zero where `cleared`, else as they are."""
    kind = types.Array(dtype.dtype, shape.count, "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        lengths = [builder.extract_value(args[0], place) for place in range(kind.ndim)]
        strides, size = list[Any](), item
        for length in reversed(lengths):
            strides.insert(0, size)
            size = builder.mul(size, length)
        whole = builder.and_(builder.add(size, _WORD(_ALIGNMENT - 1)), _WORD(-_ALIGNMENT))
        first = builder.load(_own_word(builder, "next"))
        after = builder.add(first, whole)
        too_much = builder.icmp_unsigned(">", after, builder.load(_own_word(builder, "end")))
        with cgutils.if_unlikely(builder, too_much):
            builder.call(builder.module.declare_intrinsic("llvm.trap", (), ir.FunctionType(ir.VoidType(), [])), [])
        builder.store(after, _own_word(builder, "next"))
        with builder.if_then(args[2]):
            cgutils.memset(builder, builder.inttoptr(first, ir.IntType(8).as_pointer()), size, 0)
        array = context.make_array(kind)(context, builder)
        data = builder.inttoptr(first, array.data.type)
        context.populate_array(array, data=data, shape=lengths, strides=strides, itemsize=item, meminfo=None)
        return array._getvalue()

    return kind(shape, dtype, types.boolean), generate


if not SIMULATED:

    @overload(take_memory)  # type: ignore[untyped-decorator]
    def _begin_compiled(memory: Any) -> Any:
        def begun(memory: Any) -> None:
            _begin(memory)

        return begun

    @overload(reuse_memory)  # type: ignore[untyped-decorator]
    def _again_compiled() -> Any:
        def used_again() -> None:
            _again()

        return used_again

    def _made(shape: Any, cleared: bool) -> Any:
        """What makes an array of such a shape. It is inlined: Numba's functions cannot return arrays without its
        reference counts."""

        def of_number(shape: Any, dtype: Any = np.float64) -> Any:
            return _array((np.int64(shape),), dtype, cleared)

        def of_two(shape: Any, dtype: Any = np.float64) -> Any:
            return _array((np.int64(shape[0]), np.int64(shape[1])), dtype, cleared)

        return of_number if isinstance(shape, types.Integer) else of_two if len(shape) == 2 else None

    @overload(empty, inline="always")  # type: ignore[untyped-decorator]
    def _empty_compiled(shape: Any, dtype: Any = np.float64) -> Any:
        return _made(shape, False)

    @overload(zeros, inline="always")  # type: ignore[untyped-decorator]
    def _zeros_compiled(shape: Any, dtype: Any = np.float64) -> Any:
        return _made(shape, True)

    @overload(ones, inline="always")  # type: ignore[untyped-decorator]
    def _ones_compiled(shape: Any, dtype: Any = np.float64) -> Any:
        def filled(shape: Any, dtype: Any = np.float64) -> Any:
            array = _array((np.int64(shape),), dtype, False)
            for place in range(shape):
                array[place] = 1
            return array

        return filled if isinstance(shape, types.Integer) else None
