"""Where numbers from outside come in: whole ones only, as arrays of our own, in range.

Compiled code trusts the rows, seats and actions it is handed; a row too many would be memory that is not the table's.
So whatever takes them from a caller has them checked here, before anything has changed.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from .kernel import kernel

_LEAST, _GREATEST = -(2**63), 2**63 - 1


def whole(value: Any) -> int | None:
    """A whole number as an int: Python's, NumPy's, or the only element of an array or tensor; None for anything else, a
    bool or a float with a whole value too."""
    if type(value) is int:
        return value
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return int(value) if isinstance(value, int) and not isinstance(value, bool) else None
    if isinstance(dtype, np.dtype) and dtype.kind not in "iu":
        return None
    try:
        item = value.item()
    except (AttributeError, TypeError, ValueError, RuntimeError):  # of several elements, or of none
        return None
    return item if type(item) is int else None


def whole_numbers(values: Any, what: str) -> npt.NDArray[np.int64]:
    """An array or nested list of whole numbers as a new, contiguous int64 array of the same shape.

    Numbers beyond 64 bits become the nearest that fits, which is in no range that anything has. `what` begins the
    sentence: "Actions", "Rows". Raises TypeError for anything but whole numbers.
    """
    if isinstance(values, (list, tuple)) and not len(values):
        return np.zeros(0, np.int64)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # a ragged list; a tensor on another device
        raise TypeError(f"{what} cannot be read as one array of whole numbers: {error}") from None
    kind = array.dtype.kind
    if kind == "O" and all(type(item) is int for item in array.flat):
        clipped = [min(max(item, _LEAST), _GREATEST) for item in array.flat]
        return np.array(clipped, np.int64).reshape(array.shape)
    if kind not in "iu":
        raise TypeError(f"{what} are of type {array.dtype}; they must be whole numbers.")
    if kind == "u" and array.dtype.itemsize == 8:
        array = np.minimum(array, np.uint64(_GREATEST))
    return np.array(array, np.int64, order="C", subok=False)


def given_number(values: Any, place: int) -> int:
    """The number at a flat place of what `whole_numbers` has read, as it was given, for a sentence."""
    return int(np.asarray(values).reshape(-1)[place])


def count(value: Any, what: str, least: int) -> int:
    """A whole number of `least` or more. Raises TypeError or ValueError."""
    number = whole(value)
    if number is None:
        raise TypeError(f"{what} is {value!r}; it takes a whole number of {least} or more.")
    if number < least:
        raise ValueError(f"{what} is {number}; it takes a whole number of {least} or more.")
    return number


def check_memory(tables: int, table_bytes: int, what: str) -> None:
    """Raise ValueError where so many tables would not fit into this machine's memory."""
    here = memory()
    if here is not None and tables * table_bytes > here:
        raise ValueError(
            f"{what} is {tables}; a table takes {table_bytes:,} bytes, {_size(tables * table_bytes)} in all, and this "
            f"machine has {_size(here)}: up to {here // table_bytes:,} tables would fit."
        )


def memory() -> int | None:
    """The machine's memory in bytes, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _size(number: int) -> str:
    power = min(6, max(0, number.bit_length() - 1) // 10)
    return f"{number / 1024**power:,.1f} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB')[power]}"


@kernel
def first_outside(numbers: npt.NDArray[np.int64], bound: int) -> int:
    """The first k with `numbers[k]` not in `range(bound)`, or -1."""
    for k in range(numbers.shape[0]):
        if numbers[k] < 0 or numbers[k] >= bound:
            return k
    return -1


@kernel
def first_twice(rows: npt.NDArray[np.int64], marks: npt.NDArray[np.int64], stamp: int) -> int:
    """The first k whose row (known to be in range) stood at an earlier k too, or -1. `marks` has a place for each row,
    where `stamp`, another number at each call, is written."""
    for k in range(rows.shape[0]):
        if marks[rows[k]] == stamp:
            return k
        marks[rows[k]] = stamp
    return -1


@kernel
def copy_rows(rows: npt.NDArray[np.int64], source: npt.NDArray[np.int8], target: npt.NDArray[np.int8]) -> None:
    """`target[row] = source[row]` for the rows (known to be in range) of two tables [B, A]."""
    for k in range(rows.shape[0]):
        one, other = source[rows[k]], target[rows[k]]
        for place in range(source.shape[1]):
            other[place] = one[place]
