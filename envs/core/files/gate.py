"""The one gate for data: what a file or a message holds is compared with a declared shape before anybody uses it.

A shape is a type, one of a few values, a list, an object with exactly these entries, or a number or text with bounds.
Nothing is imported, converted or executed; a game is one of those that are registered, by its name.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from backalley.console.errors import InvalidValue, shortly

from ..game.catalogue import game as game_of
from ..game.catalogue import game_names
from ..game.game import Game

CHECK = "check"
"""The entry of our own files that holds a checksum of the others."""


class Whole(NamedTuple):
    """A whole number from `low` to `high`; true and false are none."""

    low: int = 0
    high: int = 2**63 - 1


_LARGEST = 2**63
"""Beyond every number of our files; arrays of greater ones would hold objects."""


class Number(NamedTuple):
    """A number below 2^63, whole or not; true and false are none."""

    low: float = -math.inf
    high: float = math.inf


class Text(NamedTuple):
    """Text of at most so many characters."""

    most: int = 1000


class OneOf(NamedTuple):
    """One of some values; a function is asked for them each time."""

    values: Collection[Any] | Callable[[], Collection[Any]]


class ListOf(NamedTuple):
    """A list of at most `most` values of one shape."""

    shape: Any
    most: int = 100_000


class Entries(NamedTuple):
    """An object with any names of at most `most` entries, all of one shape."""

    shape: Any
    most: int = 1000


class Either(NamedTuple):
    """Any of some shapes; None stands for null."""

    shapes: tuple[Any, ...]


class Optional(NamedTuple):
    """An entry of an object that may be missing."""

    shape: Any


GAME = OneOf(game_names)
"""The name of a registered game: an import path is none."""
PLAIN = Either((None, bool, Number(), Text()))
"""A value of an option, but for those that are lists."""
OPTIONS = Entries(Either((PLAIN, ListOf(PLAIN, 100))), 200)
OF_A_GAME = {"game": Text(200), "version": Whole(0, 10_000), "options": OPTIONS}
"""The entries by which a file says of which game it is; `game_in` reads them."""


def pass_gate(found: Any, shape: Any, what: str = "it") -> None:
    """Raise ValueError, in a clause that begins with `what`, for a value that has not this shape."""
    match shape:
        case None:
            _hold(found is None, found, what, "null")
        case Whole(low, high):
            whole = isinstance(found, int) and not isinstance(found, bool)
            _hold(whole and low <= found <= high, found, what, f"a whole number of {low} to {high}")
        case Number(low, high):
            finite = isinstance(found, (int, float)) and not isinstance(found, bool) and abs(found) < _LARGEST
            _hold(finite and low <= found <= high, found, what, "a number")
        case Text(most):
            _hold(isinstance(found, str) and len(found) <= most, found, what, f"text of at most {most} characters")
        case OneOf(values):
            known = values() if callable(values) else values
            kept = isinstance(found, (str, int, float, bool)) and any(
                found == one and type(found) is type(one) for one in known
            )
            _hold(kept, found, what, f"one of {', '.join(map(str, known))}")
        case ListOf(inner, most):
            _hold(isinstance(found, list) and len(found) <= most, found, what, f"a list of at most {most:,} values")
            for place, one in enumerate(found):
                pass_gate(one, inner, f"entry {place} of {what}")
        case Entries(inner, most):
            _hold(isinstance(found, dict) and len(found) <= most, found, what, f"an object of at most {most} entries")
            for name, one in found.items():
                pass_gate(one, inner, f"{shortly(name)} of {what}")
        case Either(shapes):
            if not any(_fits(found, one) for one in shapes):
                pass_gate(found, shapes[-1], what)
        case dict():
            _pass_object(found, shape, what)
        case type():
            _hold(type(found) is shape, found, what, {bool: "true or false", str: "text"}.get(shape, shape.__name__))
        case _:
            raise AssertionError(f"{shape!r} is no shape")


def _pass_object(found: Any, shape: Mapping[str, Any], what: str) -> None:
    _hold(isinstance(found, dict), found, what, f"an object with {', '.join(shape)}")
    for name, inner in shape.items():
        optional = isinstance(inner, Optional)
        if name in found:
            pass_gate(found[name], inner.shape if optional else inner, name if what == "it" else f"{name} of {what}")
        elif not optional:
            raise InvalidValue(f"{what} has no {name}")
    if more := [name for name in found if name not in shape]:
        raise InvalidValue(f"{what} has an entry {shortly(more[0])}, which is none of {', '.join(shape)}")


def _fits(found: Any, shape: Any) -> bool:
    try:
        pass_gate(found, shape)
    except InvalidValue:
        return False
    return True


def _hold(kept: bool, found: Any, what: str, takes: str) -> None:
    if not kept:
        raise InvalidValue(f"{what} is {shortly(found)}; it takes {takes}")


def game_in(found: Mapping[str, Any]) -> Game:
    """Return the game that a file's entries name, under its options. An import path would run code that the file chose,
    so a game from elsewhere is registered first. Raises ValueError, in a clause."""
    name, version = found["game"], found["version"]
    if name not in game_names():
        raise InvalidValue(f"There is no game {shortly(name)} that is known here; backalley.register_game adds one")
    game = game_of(name)
    if version != game.version:
        raise InvalidValue(f"it is of {name} version {version}, and the game is here in version {game.version}")
    return game.bind(found["options"])


def with_checksum(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of a file of ours with their checksum."""
    return {**found, CHECK: checksum(found)}


def pass_checksum(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents without their checksum. Raises ValueError, in a clause, where it is not theirs."""
    rest = {name: value for name, value in found.items() if name != CHECK}
    if CHECK in found and found[CHECK] != checksum(rest):
        raise InvalidValue("it was changed since it was written: its checksum is another")
    return rest


def checksum(found: Mapping[str, Any]) -> str:
    """Return a digest of what JSON can hold."""
    said = json.dumps(found, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(said.encode()).hexdigest()[:32]
