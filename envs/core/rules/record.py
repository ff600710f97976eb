"""Records declared once: one line per field gives the NumPy record type, the static type and the manual's table.

    class State:
        seat: int = field("i1", doc="who acts")
        hand: npt.NDArray[np.uint8] = field("u1", (2, 15), "each seat's cards")

To a type checker `state.hand` is an array; at run time `dtype(State, options)` builds the NumPy record type. A shape,
or an observation's `high`, may be a function of the game's options, so a small table does not pay for the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from backalley.console.errors import InvalidType

Shape = tuple[int, ...] | Callable[[Any], tuple[int, ...]]
High = float | Callable[[Any], float]


@dataclass(frozen=True)
class Field:
    """One field of a record: NumPy type code, shape, meaning and, in an observation, the bounds of its values and the
    axis over the suits."""

    code: str
    shape: Shape
    doc: str
    high: High
    low: High
    suits: int | None = None
    name: str = ""

    def resolved_shape(self, options: Any) -> tuple[int, ...]:
        """Return the shape under these options."""
        return self.shape(options) if callable(self.shape) else self.shape

    def resolved_high(self, options: Any) -> float:
        """Return the greatest value under these options."""
        return self.high(options) if callable(self.high) else self.high

    def resolved_low(self, options: Any) -> float:
        """Return the least value under these options."""
        return self.low(options) if callable(self.low) else self.low


def field(
    code: str, shape: int | Shape = (), doc: str = "", *, high: High = 1, low: High = 0, suits: int | None = None
) -> Any:
    """Declare a field. `code` is a NumPy type code ("i1", "u1", "i8", "f4"); `high` and `low` bound an observation's
    values, and `suits` is the axis, if there is one, that runs over suits or cards (`symmetry.py`)."""
    return Field(code, (shape,) if isinstance(shape, int) else shape, doc, high, low, suits)


def fields(declared: type) -> list[Field]:
    """Return the fields of a record class in the order they were written, those of its base classes first."""
    found: dict[str, Field] = {}
    for owner in reversed(declared.__mro__):
        for name, value in vars(owner).items():
            if isinstance(value, Field):
                found[name] = replace(value, name=name)
    return list(found.values())


_get, _set = np.void.__getitem__, np.void.__setitem__


class Record(np.record):  # type: ignore[misc]  # final only to NumPy's stubs
    """One record. A field is found in two thirds of the time that `np.record` takes, which is written in Python and
    looks for methods first: rules that run as Python take 0.6 of the time (*measured*)."""

    __getattribute__ = np.void.__getattribute__

    def __getattr__(self, name: str) -> Any:
        try:
            return _get(self, name)
        except ValueError as error:
            raise AttributeError(str(error), name=name, obj=self) from None

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            _set(self, name, value)
        except ValueError:
            if name in (self.dtype.names or ()):
                raise  # a value that does not fit
            raise AttributeError(f"no field of name {name}", name=name, obj=self) from None


def dtype(declared: type, options: Any = None) -> np.dtype[Any]:
    """Return the NumPy record type of a record class. It is built over `Record`, so that attributes work compiled and
    uncompiled alike."""
    parts = [(item.name, item.code, item.resolved_shape(options)) for item in fields(declared)]
    taken = [name for name, *_ in parts if hasattr(np.record, name)]
    if taken:
        raise InvalidType(
            f"{declared.__name__} has a field {taken[0]!r}, which is "
            "an attribute of every NumPy record; choose another name."
        )
    return np.dtype((Record, parts))


@dataclass(frozen=True)
class Place:
    """Where one field is in the flat vector: `flat[..., place.start : place.stop].reshape(*, *place.shape)` is it."""

    start: int
    stop: int
    shape: tuple[int, ...]
    code: str
    low: float
    high: float
    doc: str
    suits: int | None


def places(declared: type, options: Any) -> dict[str, Place]:
    """Return every field of a record whose numbers are all of one type, in order: where its numbers are, and their
    bounds. A field that is empty under these options is left out."""
    found: dict[str, Place] = {}
    start = 0
    for item in fields(declared):
        shape = item.resolved_shape(options)
        stop = start + int(np.prod(shape, dtype=int))
        if stop == start:
            continue
        low, high = item.resolved_low(options), item.resolved_high(options)
        found[item.name] = Place(start, stop, shape, item.code, float(low), float(high), item.doc, item.suits)
        start = stop
    return found


def bounds(declared: type, options: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the least and greatest value of every number of an observation, as two flat vectors."""
    found = places(declared, options).values()
    low = np.concatenate([np.full(place.stop - place.start, place.low) for place in found])
    high = np.concatenate([np.full(place.stop - place.start, place.high) for place in found])
    return low, high


def table(declared: type, options: Any, *, with_bounds: bool) -> str:
    """Return a Markdown table of the fields: position in the flat vector, shape, bound (for observations) and
    meaning."""
    head = "| numbers | field | shape |" + (" up to |" if with_bounds else "") + " meaning |"
    rule = "|---|---|---|" + ("---|" if with_bounds else "") + "---|"
    lines = [head, rule]
    for name, place in places(declared, options).items():
        span = str(place.start) if place.stop == place.start + 1 else f"{place.start}–{place.stop - 1}"
        size = " × ".join(map(str, place.shape)) or "1"
        bound = f" {place.high:g} |" if with_bounds else ""
        lines.append(f"| {span} | `{name}` | {size} |{bound} {place.doc} |")
    return "\n".join(lines)
