"""Ask the processor for memory before it is needed; write where an address says."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

_WRITE, _KEEP, _DATA = 1, 3, 1
"""What LLVM learns: that the memory will be written to, should stay in the caches, and is data."""


def prefetch(entries: npt.NDArray[Any], row: int, at: int) -> None:
    """Fetch `entries[row, at]` [B, T, K] into the caches without waiting for it. Any numbers will do: nothing is read,
    and in Python nothing happens."""


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch(context: Any, entries: Any, row: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.args[0]
        array = context.make_array(kind)(context, builder, args[0])
        place = [args[1], args[2], context.get_constant(types.intp, 0)]
        number, memory = ir.IntType(32), ir.IntType(8).as_pointer()
        wanted = builder.bitcast(cgutils.get_item_pointer(context, builder, kind, array, place), memory)
        takes = ir.FunctionType(ir.VoidType(), [memory, number, number, number])
        fetch = cgutils.get_or_insert_function(builder.module, takes, "llvm.prefetch.p0")
        builder.call(fetch, [wanted, number(_WRITE), number(_KEEP), number(_DATA)])
        return context.get_dummy_value()

    return types.void(entries, types.intp, types.intp), generate


@overload(prefetch)  # type: ignore[untyped-decorator]
def _compiled(entries: Any, row: Any, at: Any) -> Any:
    def fetch(entries: Any, row: Any, at: Any) -> Any:
        _prefetch(entries, np.intp(row), np.intp(at))

    return fetch


def put_word(address: int, word: int) -> None:
    """Write 64 bits there. Nothing is checked."""
    ctypes.c_int64.from_address(int(address)).value = word


@intrinsic  # type: ignore[untyped-decorator]
def _put_word(context: Any, address: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], builder.inttoptr(args[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@overload(put_word)  # type: ignore[untyped-decorator]
def _compiled_put_word(address: Any, word: Any) -> Any:
    def put(address: Any, word: Any) -> Any:
        _put_word(np.int64(address), np.int64(word))

    return put
