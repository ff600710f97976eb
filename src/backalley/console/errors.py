"""Errors with messages for people: what was given, what is allowed, what to do.

Everything that this package refuses raises a `BackAlleyError`; the command line prints its message and ends with exit
code 2. Any other error is a bug, and keeps its trace. Errors of the operating system (a file that cannot be read) stay
OSErrors.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


class BackAlleyError(Exception):
    """The base of all errors that this package raises on purpose; its message is a sentence."""


class InvalidValue(BackAlleyError, ValueError):
    """A value that is not allowed."""


class InvalidType(BackAlleyError, TypeError):
    """A value of a type that is not allowed."""


class InvalidCall(BackAlleyError, RuntimeError):
    """A call that is not allowed now, such as `step()` before `reset()`."""


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
