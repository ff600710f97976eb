"""Agents of one's own by name: `module:Class` and `file.py:Class`.

The class needs one method, `act(view)` (agents/base.py); it is made with the game where it takes one argument, with
nothing where it takes none.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from backalley.envs.core.base import Game
from backalley.printable import one_line

from .base import Agent, as_agent

FORMS = "file.py:Class or module:Class"


def custom_agent(spec: str, game: Game) -> Agent:
    """The agent that `module:Class` or `file.py:Class` names. Raises ValueError or TypeError in a sentence."""
    place, _, name = spec.rpartition(":")
    from_file = place.endswith(".py")
    if not name.isidentifier() or not (from_file or all(part.isidentifier() for part in place.split("."))):
        raise ValueError(f"There is no agent {spec!r}; one of your own is {FORMS}.")
    with _sentences(f"{one_line(place)} cannot be imported"):
        module = _from_file(Path(place)) if from_file else _from_import_path(place, spec)
    made = getattr(module, name, None)
    if made is None:
        here = [key for key, value in vars(module).items() if hasattr(value, "act") and not key.startswith("_")]
        raise ValueError(
            f"{one_line(place)} has no {name!r}; what it has that can act: {', '.join(here) or 'nothing'}."
        )
    if not callable(made) or (hasattr(made, "act") and not isinstance(made, type)):
        return as_agent(made)
    if isinstance(made, type) and not hasattr(made, "act"):
        raise TypeError(f"{one_line(spec)} is a class without a method act(view), so what it makes is no agent.")
    if not isinstance(made, type) and not inspect.isfunction(made):
        raise TypeError(f"{one_line(spec)} makes no agent: it is neither a class nor a function written in Python.")
    return as_agent(_made(made, game, one_line(spec)))


@contextmanager
def _sentences(what: str) -> Iterator[None]:
    """Turn what somebody's own code raises into a ValueError that says where; what is raised here stays as it is."""
    try:
        yield
    except _Refused as error:
        raise ValueError(str(error)) from None
    except (Exception, SystemExit) as error:
        where = ""
        for frame in traceback.extract_tb(error.__traceback__)[1:]:
            if not frame.filename.startswith("<") and frame.filename != __file__:
                where = f" ({frame.filename}, line {frame.lineno})"
        said = one_line(str(error))
        raise ValueError(f"{what}: {type(error).__name__}{f': {said}' if said else ''}{where}.") from error


class _Refused(ValueError):
    """A sentence of this module's."""


def _made(made: Any, game: Game, spec: str) -> Any:
    """An object of the class, or what the function gives."""
    try:
        wanted = [
            one
            for one in inspect.signature(made).parameters.values()
            if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
    except ValueError:  # some built-in callables tell nothing of themselves
        wanted = []
    if len(wanted) > 1:
        names = ", ".join(one.name for one in wanted)
        raise TypeError(f"{made.__name__} wants {names}; an agent is made with the game, or with nothing.")
    with _sentences(f"{spec} made no agent of {game.name}"):
        return made(game) if wanted else made()


def _from_import_path(path: str, spec: str) -> ModuleType:
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)  # `python -m` does so by itself, an installed program does not
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise
        raise _Refused(f"There is no agent {spec!r}: no module {error.name!r} can be imported.") from None


def _from_file(path: Path) -> ModuleType:
    """The module in a file, under a name of its own, so that its agents can be pickled within the process."""
    if not path.is_file():
        raise _Refused(f"There is no file {path}; an agent of your own is {FORMS}.")
    name = f"{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec, "a .py file has a loader"
    assert spec.loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
