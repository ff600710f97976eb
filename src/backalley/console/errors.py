"""Errors with messages for people: what was given, what is allowed, what to do.

Everything that this package refuses raises a `BackAlleyError`; the command line prints its message and ends with exit
code 2. Any other error is a bug, and keeps its trace. Errors of the operating system (a file that cannot be read) stay
OSErrors. Text from outside is made safe to show before a message quotes it: it must not control a terminal, or break a
picture. Names with control characters are refused where they are read.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any

NAME = 300
"""The greatest number of characters of a name."""

_STEERING = "\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff"
"""Characters that control a terminal, change the direction of a line, or are not allowed in Unicode or XML text; not
tabs and ends of lines."""
_STEERS = re.compile(f"[{_STEERING}]")
_STEERS_LINE = re.compile(f"[{_STEERING}\t\n\u2028\u2029]")


class BackAlleyError(Exception):
    """The base of all errors that this package raises on purpose; its message is a sentence."""


class InvalidValue(BackAlleyError, ValueError):
    """A value that is not allowed."""


class InvalidType(BackAlleyError, TypeError):
    """A value of a type that is not allowed."""


class InvalidCall(BackAlleyError, RuntimeError):
    """A call that is not allowed now, such as `step()` before `reset()`."""


class MissingAttribute(BackAlleyError, AttributeError):
    """Something that an object of another kind has."""


class KernelError(BackAlleyError, RuntimeError):
    """A kernel that cannot run: it names a field that is not there, or cannot be compiled."""


class MissingMethod(BackAlleyError, NotImplementedError):
    """A method that a user's class has to define."""


class NotInstalled(BackAlleyError, ModuleNotFoundError):
    """A package that is missing, or has a version that cannot be used."""


class BrokenPromise(AssertionError):
    """A failed check of a game, and where: a bug in the game or in this package, not something that was refused."""


def did_you_mean(given: object, known: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """Return ` Did you mean NAME?` with the known name nearest to what was given, or an empty text if none is near;
    `shown` turns the name into what is to be typed."""
    near = difflib.get_close_matches(str(given), known, 1)
    return f" Did you mean {shown(near[0])}?" if near else ""


def steers(text: str) -> bool:
    """Return whether a text, on one line or several, has such characters."""
    return _STEERS.search(text) is not None


def printable(text: str) -> str:
    """Return text with an escape, such as `\\x1b`, for each of these characters; tabs and ends of lines stay."""
    return _STEERS.sub(lambda sign: repr(sign[0])[1:-1], text)


def one_line(text: str) -> str:
    """Return the same on one line: tabs and ends of lines become escapes, too."""
    return _STEERS_LINE.sub(lambda sign: repr(sign[0])[1:-1], text)


def shortly(value: Any, most: int = 60) -> str:
    """Return a value as Python writes it, on one line of at most so many characters, to quote it in a message."""
    try:
        shown = one_line(repr(value))
    except (RecursionError, ValueError):  # nested too deeply; more digits than Python writes
        return f"a {type(value).__name__}"
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def is_name(text: Any) -> bool:
    """Return whether a value can be shown as a name: one line of text, not empty, of up to NAME characters, none of
    which controls a terminal."""
    return isinstance(text, str) and 0 < len(text) <= NAME and not _STEERS_LINE.search(text)
