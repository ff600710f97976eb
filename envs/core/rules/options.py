"""A game's options: declared once as a NamedTuple, checked in one place.

    class Options(NamedTuple):
        num_games: Annotated[int, option("games in a match", low=1, high=50)] = 2
        reward: Annotated[Reward, option("what the reward is")] = Reward.MATCH  # "match" will do

Kernels receive the same tuple with every choice as a plain int, so that machine code does not depend on enum classes.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import math
import numbers
import sys
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Self

from backalley.console.errors import InvalidType, InvalidValue, did_you_mean


@dataclass(frozen=True)
class Option:
    """What `option()` declares about one field of a game's Options: its meaning and, for numbers, the allowed range."""

    doc: str
    low: float | None = None
    high: float | None = None
    words: tuple[tuple[str, int], ...] = ()
    fill: float | None = None
    parts: int = 1
    last_goes_on: bool = False

    @property
    def may_be_short(self) -> bool:
        """Whether a tuple may be given with fewer numbers than its length, or as a single number."""
        return self.fill is not None or self.last_goes_on


def option(
    doc: str,
    *,
    low: float | None = None,
    high: float | None = None,
    words: Mapping[str, int] | None = None,
    fill: float | None = None,
    parts: int = 1,
    last_goes_on: bool = False,
) -> Option:
    """Describe an option; `low` and `high` (inclusive) bound a number, or each number of a tuple.

    `words` are other names for a number (`"inf"` for 0). `fill` pads a tuple that is given too short; with
    `last_goes_on` its last number is repeated instead, so that one number may stand for all, and it is shown that way.
    With `parts` of 1000 a fraction is given and shown, 0.07, and the tuple of options holds whole thousandths, 70:
    kernels calculate exactly.
    """
    return Option(doc, low, high, tuple((words or {}).items()), fill, parts, last_goes_on)


class OptionError(InvalidValue, InvalidType):
    """An option that a game does not have, or a value it cannot take; the sentence names the choices.

    It is also a TypeError, as in Python's answer to an unknown keyword: other libraries catch that and try again
    without it.
    """

    unknown: str = ""
    """The unknown option, if the error is about one."""


class Written(abc.ABC):
    """A kind of value with a notation of its own: it can be read from what the user gives and written back.

    For settings only; a game's options are numbers and choices, since kernels know nothing else.
    """

    takes: ClassVar[str]
    """What it takes, in words."""

    @classmethod
    @abc.abstractmethod
    def read(cls, given: Any) -> Self:
        """Return the value of `given`: a string of a command line, or plain lists and mappings of a file. Raises
        ValueError."""

    @abc.abstractmethod
    def written(self) -> Any:
        """Return the value as plain lists, mappings, strings and numbers, in the form that `read` takes."""


def unexpected_keyword(name: str) -> str:
    """Return Python's message for an unexpected keyword. Stable-Baselines3 and TorchRL look for these words to learn
    that they have to do without a keyword (`render_mode`, `frameskip`)."""
    return f"__init__() got an unexpected keyword argument {name!r}"


@functools.cache
def declared(options_class: type) -> dict[str, tuple[type, Option]]:
    """Return each option's type and declaration, in order."""
    hints = typing.get_type_hints(options_class, include_extras=True)
    found: dict[str, tuple[type, Option]] = {}
    for name in options_class._fields:  # type: ignore[attr-defined]
        hint = hints[name]
        notes = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, Option)]
        if not notes:
            raise InvalidType(f"Option {name!r} needs Annotated[type, option(...)].")
        found[name] = (typing.get_args(hint)[0], notes[0])
    return found


def choices(options_class: type, name: str) -> str:
    """Return the values an option takes, in words, for messages and tables."""
    kind, note = declared(options_class)[name]
    if isinstance(kind, type) and issubclass(kind, Written):
        return kind.takes
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        return " | ".join(f'"{member.name.lower()}"' for member in kind)
    if kind is bool:
        return "true | false"
    span = ""
    if note.low is not None or note.high is not None:
        low = "" if note.low is None else f"{note.low:g}"
        high = "" if note.high is None else f"{note.high:g}"
        span = f"{low}..{high}" if high else f"{low} or more"
        if note.parts > 1:
            span += f" in steps of {1 / note.parts:g}"
    if typing.get_origin(kind) is tuple:
        length = len(typing.get_args(kind))
        count = f"1 to {length}" if note.may_be_short else str(length)
        return f"{count} numbers" + (f", each {span}" if span else "")
    named = "".join(f' | "{word}" ({number})' for word, number in note.words)
    return (span or ("a whole number" if kind is int else "a number")) + named


@contextlib.contextmanager
def as_keywords() -> Iterator[None]:
    """While other libraries pass keywords: the message about an unknown option includes Python's own words, too."""
    try:
        yield
    except OptionError as error:
        if not error.unknown:
            raise
        said, has, rest = str(error).partition("; it has: ")
        raise OptionError(f"{said} ({unexpected_keyword(error.unknown)}){has}{rest}") from None


def parse(game: str, options_class: type, given: Mapping[str, Any], *, what: str = "option") -> Any:
    """Return the Options of `given` names and values, the rest at their defaults. Raises OptionError, which calls them
    `what`."""
    known = declared(options_class)
    for name in given:
        if name not in known:
            meant = did_you_mean(name, known)
            error = OptionError(f"{game} has no {what} {name!r}; it has: {', '.join(known) or 'none'}.{meant}")
            error.unknown = name
            raise error
    return options_class(**{name: _value(game, options_class, name, value) for name, value in given.items()})


def _value(game: str, options_class: type, name: str, value: Any) -> Any:
    kind, note = declared(options_class)[name]
    if isinstance(kind, type) and issubclass(kind, Written):
        try:
            return kind.read(value)
        except ValueError as error:
            raise OptionError(f"{game} option {name} is {value!r}: {error}") from None
    result = _convert(kind, _plainly(kind, note, value), note.parts)
    if result is None or not _within(result, note):
        raise OptionError(f"{game} option {name} is {value!r}; it takes {choices(options_class, name)}.")
    return result


def _plainly(kind: type, note: Option, value: Any) -> Any:
    """Replace a word by its number; pad a short tuple, or a single number given for a tuple."""
    if isinstance(value, str):
        value = dict(note.words).get(value.strip().lower(), value)
    if not note.may_be_short:
        return value
    alone = isinstance(value, numbers.Integral)
    items = value.strip("()[] ").split(",") if isinstance(value, str) else [value] if alone else value
    if not isinstance(items, (list, tuple)) or not items:
        return value
    missing = len(typing.get_args(kind)) - len(items)
    return [*items, *[items[-1] if note.last_goes_on else note.fill] * missing]


def _convert(kind: type, value: Any, parts: int) -> Any:
    """`value` as `kind`, a fraction as a number of whole `parts`; None if it cannot be converted. Strings are read too,
    since command lines have nothing else."""
    if typing.get_origin(kind) is tuple:
        kinds = typing.get_args(kind)
        items = value.strip("()[] ").split(",") if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or len(items) != len(kinds):
            return None
        converted = tuple(_convert(one, item, parts) for one, item in zip(kinds, items, strict=True))
        return None if None in converted else converted
    if issubclass(kind, IntEnum):
        return _choice(kind, value)
    if kind is bool:
        if isinstance(value, str):
            return {"true": True, "false": False, "yes": True, "no": False}.get(value.lower())
        return bool(value) if isinstance(value, (bool, int)) and value in (0, 1) else None
    if isinstance(value, bool):
        return None
    if parts > 1:
        return _in_parts(_convert(float, value, 1), parts)
    if isinstance(value, str):
        try:
            value = int(value) if kind is int else float(value)
        except ValueError:
            return None
    if kind is int:
        return int(value) if hasattr(value, "__index__") else None
    return float(value) if isinstance(value, (int, float)) and abs(value) <= sys.float_info.max else None


def _in_parts(fraction: float | None, parts: int) -> int | None:
    """A fraction as a whole number of parts, or None where it is not one."""
    if fraction is None or not math.isfinite(fraction * parts):
        return None
    whole = round(fraction * parts)
    return whole if math.isclose(whole / parts, fraction, rel_tol=1e-12) else None


def _choice(kind: type[IntEnum], value: Any) -> IntEnum | None:
    if isinstance(value, str):
        named = kind.__members__.get(value.strip().upper())
        if named is not None:
            return named
        if not value.strip().lstrip("-").isdigit():
            return None
        value = int(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    return kind(int(value)) if int(value) in {int(member) for member in kind} else None


def _within(value: Any, note: Option) -> bool:
    numbers = value if isinstance(value, tuple) else (value,)
    if any(isinstance(number, (bool, IntEnum)) for number in numbers):
        return True
    return all(
        (note.low is None or number >= note.low) and (note.high is None or number <= note.high)
        for number in (shown(number, note) for number in numbers)
    )


def shown(number: Any, note: Option) -> Any:
    """Return a number of the options tuple in the form in which it is given and shown: thousandths as a fraction."""
    return number / note.parts if note.parts > 1 else number


def plain(options: Any) -> Any:
    """Return the same tuple for kernels, with enum members as plain ints."""
    return type(options)(*(int(value) if isinstance(value, IntEnum) else value for value in options))


def as_dict(options: Any) -> dict[str, Any]:
    """Return options as JSON-friendly names and values, with choices by their lower-case names."""
    found = {}
    owner: type = type(options)
    for name, (kind, note) in declared(owner).items():
        value = getattr(options, name)
        if isinstance(value, Written):
            found[name] = value.written()
            continue
        if isinstance(kind, type) and issubclass(kind, IntEnum):
            value = kind(value).name.lower()
        found[name] = _several(value, note) if isinstance(value, tuple) else shown(value, note)
    return found


def _several(values: tuple[Any, ...], note: Option) -> Any:
    """The numbers of a tuple as they are given and shown: a repeated last number once, and a single number without a
    list."""
    given = [shown(value, note) for value in values]
    while note.last_goes_on and len(given) > 1 and given[-1] == given[-2]:
        given.pop()
    return given[0] if note.last_goes_on and len(given) == 1 else given


def changed(options: Any) -> dict[str, Any]:
    """Return only those options that differ from their defaults, in the form of `as_dict`."""
    defaults = as_dict(type(options)())
    return {name: value for name, value in as_dict(options).items() if value != defaults[name]}


def typed(value: Any) -> str:
    """Return a value of `as_dict` as a user types it: `true`, `3`, `rule`, `1,2`, `a,b:0.3`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{typed(item)}" for name, item in value.items())
    return ",".join(map(typed, value)) if isinstance(value, (list, tuple)) else str(value)


def table(options_class: type) -> str:
    """Return a Markdown table of the options."""
    lines = ["| option | default | takes | meaning |", "|---|---|---|---|"]
    defaults = as_dict(options_class())
    for name, (_, note) in declared(options_class).items():
        default = defaults[name]
        shown = (
            f'"{default}"'
            if isinstance(default, str)
            else str(default).lower()
            if isinstance(default, bool)
            else str(default)
        )
        takes = choices(options_class, name).replace("|", "\\|")
        lines.append(f"| `{name}` | `{shown}` | {takes} | {note.doc} |")
    return "\n".join(lines)
