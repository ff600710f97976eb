"""Validate numbers from outside: whole numbers in range, copied into arrays of our own.

Compiled code trusts the rows, seats and actions it gets; a row out of range would be memory that is not the table's. So
whatever takes them from a caller validates them here, before anything has changed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidType, InvalidValue

from ..compile.kernel import kernel

if TYPE_CHECKING:
    from .game import Game

_LEAST, _GREATEST = -(2**63), 2**63 - 1


def whole(value: Any) -> int | None:
    """Return a whole number as an int: Python's, NumPy's, or the only element of an array or tensor; None for anything
    else, including a bool or a float with a whole value."""
    if type(value) is int:
        return value
    if type(value) is np.int64:  # what most callers draw actions as
        return int(value)
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
    """Return an array or nested list of whole numbers as a new, contiguous int64 array of the same shape.

    Numbers beyond 64 bits become the nearest that fits, which is outside every range. `what` begins the message:
    "Actions", "Rows". Raises TypeError for anything but whole numbers.
    """
    if isinstance(values, (list, tuple)) and not len(values):
        return np.zeros(0, np.int64)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # a ragged list; a tensor on another device
        raise InvalidType(f"{what} cannot be read as one array of whole numbers: {error}") from None
    kind = array.dtype.kind
    if kind == "O" and all(type(item) is int for item in array.flat):
        clipped = [min(max(item, _LEAST), _GREATEST) for item in array.flat]
        return np.array(clipped, np.int64).reshape(array.shape)
    if kind not in "iu":
        raise InvalidType(f"{what} are of type {array.dtype}; they must be whole numbers.")
    if kind == "u" and array.dtype.itemsize == 8:
        array = np.minimum(array, np.uint64(_GREATEST))
    return np.array(array, np.int64, order="C", subok=False)


def words(given: Any, what: str, count: int) -> npt.NDArray[np.uint64]:
    """Return a whole number of 64 bits for each of `count` tables, as a new array. `what` names them: "streams",
    "keys". Raises ValueError."""
    try:
        array = np.zeros(0, np.uint64) if isinstance(given, (list, tuple)) and not len(given) else np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:  # a ragged list; a tensor on another device
        raise InvalidValue(
            f"The {what} cannot be read as one array ({error}); {count} tables take one whole number each."
        ) from None
    if array.dtype.kind == "O" and all(type(item) is int and 0 <= item < 2**64 for item in array.flat):
        array = array.astype(np.uint64)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise InvalidValue(
            f"The {what} are of type {array.dtype} and shape {array.shape}; {count} tables take one whole number each, "
            f"shape ({count},)."
        )
    if array.dtype.kind == "i" and (array < 0).any():
        raise InvalidValue(f"A {what[:-1]} is {array.min()}; {what} are whole numbers of 0 or more.")
    return np.array(array, np.uint64, order="C", subok=False)


def given_number(values: Any, place: int) -> int:
    """Return the number at a flat index of what `whole_numbers` has read, as it was given, for a message."""
    return int(np.asarray(values).reshape(-1)[place])


def count(value: Any, what: str, least: int) -> int:
    """Return a whole number of `least` or more. Raises TypeError or ValueError."""
    number = whole(value)
    if number is None:
        raise InvalidType(f"{what} is {value!r}; it takes a whole number of {least} or more.")
    if number < least:
        raise InvalidValue(f"{what} is {number}; it takes a whole number of {least} or more.")
    return number


def check_flags(**given: Any) -> None:
    """Raise TypeError where one of these is neither True nor False."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_):
            raise InvalidType(f"{name} is {value!r}; it takes True or False.")


def seat(value: Any, game: Game) -> int:
    """Return the number of one of a game's seats. Raises TypeError or ValueError."""
    number, last = whole(value), game.num_seats - 1
    if number is None:
        raise InvalidType(f"The seat is {value!r}; it takes a whole number of 0..{last}.")
    if not 0 <= number <= last:
        raise InvalidValue(f"Seat {number} was asked for; {game.name} has seats 0..{last} under these options.")
    return number


def check_memory(tables: int, table_bytes: int, what: str) -> None:
    """Raise ValueError where that many tables would not fit into this machine's memory."""
    here = memory()
    if here is not None and tables * table_bytes > here:
        raise InvalidValue(
            f"{what} is {tables}; a table takes {table_bytes:,} bytes, {_size(tables * table_bytes)} in all, and this "
            f"machine has {_size(here)}: up to {here // table_bytes:,} tables would fit."
        )


def memory() -> int | None:
    """Return the machine's memory in bytes; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _size(number: int) -> str:
    power = min(6, max(0, number.bit_length() - 1) // 10)
    return f"{number / 1024**power:,.1f} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB')[power]}"


@kernel
def first_outside(numbers: npt.NDArray[np.int64], bound: int) -> int:
    """Return the first k with `numbers[k]` not in `range(bound)`, or -1."""
    for k in range(numbers.shape[0]):
        if numbers[k] < 0 or numbers[k] >= bound:
            return k
    return -1


@kernel
def first_twice(rows: npt.NDArray[np.int64], marks: npt.NDArray[np.int64], stamp: int) -> int:
    """Return the first k whose row (known to be in range) also occurs before k, or -1. `marks` has a place for each
    row, where `stamp`, a different number at each call, is written."""
    for k in range(rows.shape[0]):
        if marks[rows[k]] == stamp:
            return k
        marks[rows[k]] = stamp
    return -1


@kernel
def copy_rows(rows: npt.NDArray[np.int64], source: npt.NDArray[np.int8], target: npt.NDArray[np.int8]) -> None:
    """Set `target[row] = source[row]` for the rows (known to be in range) of two tables [B, A]."""
    for k in range(rows.shape[0]):
        one, other = source[rows[k]], target[rows[k]]
        for place in range(source.shape[1]):
            other[place] = one[place]
