"""Rows of zeros and ones, one byte each, by a few instructions in place of a loop whose branches cannot be predicted.

Each function is Python for kernels that are not compiled, and LLVM's instructions for those that are. Rows are
contiguous.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

_BYTE, _BIT, _WORD = ir.IntType(8), ir.IntType(1), ir.IntType(64)


def spread(bits: int, out: npt.NDArray[Any], first: int, size: int) -> None:
    """Write `out[first + place] = bits >> place & 1` for each place below `size`, a constant of 64 or less."""
    for place in range(size):
        out[first + place] = bits >> place & 1


def word_at(row: npt.NDArray[Any], at: int) -> np.uint64:
    """Return eight bytes of a row as one number, the first lowest."""
    return np.uint64(int.from_bytes(row[at : at + 8].tobytes(), "little"))


def ones(number: np.uint64) -> int:
    """Return how many bits are set."""
    return int(number).bit_count()


def zeros_below(number: np.uint64) -> int:
    """Return the place of the lowest bit that is set, of which there is one."""
    return (int(number) & -int(number)).bit_length() - 1


def _bytes(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """A pointer to a place of a row."""
    return builder.gep(
        builder.bitcast(context.make_array(kind)(context, builder, array).data, _BYTE.as_pointer()), [at]
    )


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def _spread(context: Any, bits: Any, out: Any, first: Any, size: Any) -> Any:
    count = size.literal_value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        numbers = builder.zext(builder.bitcast(args[0], ir.VectorType(_BIT, 64)), ir.VectorType(_BYTE, 64))
        begin, done = _bytes(context, builder, signature.args[1], args[1], args[2]), 0
        while done < count:
            width = 1 << ((count - done).bit_length() - 1)
            chosen = ir.Constant(ir.VectorType(ir.IntType(32), width), [done + place for place in range(width)])
            part = builder.shuffle_vector(numbers, ir.Constant(numbers.type, ir.Undefined), chosen)
            there = builder.bitcast(builder.gep(begin, [_WORD(done)]), part.type.as_pointer())
            builder.store(part, there, align=1)
            done += width
        return context.get_dummy_value()

    return types.void(types.int64, out, types.int64, size), generate


@overload(spread, prefer_literal=True)  # type: ignore[untyped-decorator]
def _spread_compiled(bits: Any, out: Any, first: Any, size: Any) -> Any:
    if not isinstance(size, types.IntegerLiteral) or out.layout != "C":
        return None
    count = size.literal_value

    def write(bits: Any, out: Any, first: Any, size: Any) -> Any:
        _spread(bits, out, first, count)

    return write


@intrinsic  # type: ignore[untyped-decorator]
def _word_at(context: Any, row: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        there = _bytes(context, builder, signature.args[0], args[0], args[1])
        return builder.load(builder.bitcast(there, _WORD.as_pointer()), align=1)

    return types.uint64(row, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _ones(context: Any, number: Any) -> Any:
    return types.int64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


@intrinsic  # type: ignore[untyped-decorator]
def _zeros_below(context: Any, number: Any) -> Any:
    return types.int64(types.uint64), lambda context, builder, signature, args: builder.cttz(args[0], _BIT(0))


@overload(word_at)  # type: ignore[untyped-decorator]
def _word_at_compiled(row: Any, at: Any) -> Any:
    def read(row: Any, at: Any) -> Any:
        return _word_at(row, at)

    return read if row.layout == "C" else None


@overload(ones)  # type: ignore[untyped-decorator]
def _ones_compiled(number: Any) -> Any:
    def count(number: Any) -> Any:
        return _ones(number)

    return count


@overload(zeros_below)  # type: ignore[untyped-decorator]
def _zeros_below_compiled(number: Any) -> Any:
    def count(number: Any) -> Any:
        return _zeros_below(number)

    return count
