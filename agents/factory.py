"""From a name to an agent: a class or a function is called with the arguments that its signature names.

The game comes first, if the first argument has no default. The parts of the name, separated by colons, come after it:
`file.py:Class:96:5` calls `Class(game, 96, 5)`. A part is passed as text if the argument is annotated `str`, otherwise
as a number if it is one. The keyword-only arguments `num_threads` (0: every core) and `player` (the agent in
`PREFIX+AGENT`) are passed if the signature has them.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from backalley.console.errors import BackAlleyError, InvalidValue
from backalley.console.printable import one_line
from backalley.envs.core.game.game import Game


class Factory:
    """A class or a function that makes agents, and the parts of a name that it takes."""

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        """`name` is what comes before the numbers: `mc`, or `file.py:Class`."""
        self.name, self._make = name, make
        try:
            found = list(inspect.signature(make).parameters.values())
        except ValueError:  # some built-in callables have no signature
            found = []
        places = [one for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        self._takes_game = bool(places) and places[0].default is inspect.Parameter.empty
        self._places = places[self._takes_game :]
        self._takes_more = any(one.kind is one.VAR_POSITIONAL for one in found)
        self.keywords = {one.name for one in found if one.kind is one.KEYWORD_ONLY}

    @property
    def form(self) -> str:
        """The form of its agents' names: `mc:DETERMINIZATIONS[:MILLISECONDS]`."""
        words = [one.name.upper() for one in self._places]
        needed, rest = words[: self._needed], words[self._needed :]
        return ":".join([self.name, *needed]) + "".join(f"[:{word}" for word in rest) + "]" * len(rest)

    @property
    def _needed(self) -> int:
        return sum(one.default is one.empty for one in self._places)

    def make(self, parts: Sequence[str], game: Game, num_threads: int, player: Any = None) -> Any:
        """Make an agent of the parts after the name. Raises InvalidValue where it takes others."""
        values = ([game] if self._takes_game else []) + self._read(parts)
        given = {"num_threads": num_threads, "player": player}
        return self._make(*values, **{name: given[name] for name in given.keys() & self.keywords})

    def _read(self, parts: Sequence[str]) -> list[Any]:
        few, many = len(parts) < self._needed, len(parts) > len(self._places) and not self._takes_more
        if not few and not many and all(parts[: len(self._places)]):
            with contextlib.suppress(ValueError):
                more = parts[len(self._places) :]
                return [*map(_value, parts, self._places), *more]
        raise InvalidValue(
            f"The agent {':'.join([self.name, *parts])!r} cannot be read; its name has the form {self.form}."
        )


def _value(part: str, place: inspect.Parameter) -> Any:
    """A part of a name in the type of its argument. Raises ValueError where that is a number and the part is not."""
    kinds = re.findall(r"\b(?:str|int|float)\b", str(place.annotation))
    for kind in (int, float):
        if "str" not in kinds and (not kinds or kind.__name__ in kinds):
            with contextlib.suppress(ValueError):
                return kind(part)
    if kinds and "str" not in kinds:
        raise ValueError
    return part


@contextlib.contextmanager
def sentences(what: str) -> Iterator[None]:
    """Turn what a user's code raises into an InvalidValue that says where; our own errors stay as they are."""
    try:
        yield
    except BackAlleyError:
        raise
    except (Exception, SystemExit) as error:
        where = ""
        for frame in traceback.extract_tb(error.__traceback__)[1:]:
            if not frame.filename.startswith("<") and Path(frame.filename).parent != Path(__file__).parent:
                where = f" ({frame.filename}, line {frame.lineno})"
        said = one_line(str(error))
        raise InvalidValue(f"{what}: {type(error).__name__}{f': {said}' if said else ''}{where}.") from error
