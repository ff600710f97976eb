"""A user's own agents by name: `module:Class` and `file.py:Class`, also with a budget, `file.py:Class:96`.

The class needs one method, `act(view)` (agents/base/agent.py); `factory.py` says how it is called.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from backalley.console.errors import InvalidType, InvalidValue
from backalley.console.importing import module_at
from backalley.console.printable import one_line
from backalley.envs.core.game.game import Game

from .base.agent import Agent, as_agent, name_of
from .factory import Factory, sentences

FORMS = "file.py:Class or module:Class"


def custom_agent(spec: str, game: Game, num_threads: int = 0, meant: str = "") -> Agent:
    """Return the agent of `module:Class` or `file.py:Class`, made with what its factory takes after the name; `meant`
    is added to what is said of a name that cannot be read. Raises ValueError or TypeError."""
    place, name, parts = _read(spec, meant)
    with sentences(f"{one_line(place)} cannot be imported"):
        if place.endswith(".py"):
            module = _from_file(Path(place))
        else:
            no_agent = f"There is no agent {spec!r}"
            module = module_at(
                place, lambda name: InvalidValue(f"{no_agent}: no module {name!r} can be imported.{meant}")
            )
    made = getattr(module, name, None)
    if made is None:
        here = [key for key, value in vars(module).items() if hasattr(value, "act") and not key.startswith("_")]
        raise InvalidValue(
            f"{one_line(place)} has no {name!r}; what it has that can act: {', '.join(here) or 'nothing'}."
        )
    if not callable(made) or (hasattr(made, "act") and not isinstance(made, type)):
        if parts:
            raise InvalidValue(f"{place}:{name} is an agent already; nothing can follow its name, as in {spec!r}.")
        return as_agent(made)
    shown = one_line(f"{place}:{name}")
    if isinstance(made, type) and not hasattr(made, "act"):
        raise InvalidType(f"{shown} is a class without a method act(view), so what it makes is no agent.")
    if not isinstance(made, type) and not inspect.isfunction(made):
        raise InvalidType(f"{shown} makes no agent: it is neither a class nor a function written in Python.")
    return third_party(Factory(shown, made), parts, game, num_threads)


def third_party(
    factory: Factory, parts: Sequence[str], game: Game, num_threads: int, player: Agent | None = None
) -> Agent:
    """Return what a user's factory makes, under a name with its budget. Raises ValueError or TypeError."""
    budget = "".join(f":{part}" for part in parts)
    with sentences(f"{factory.name}{budget} made no agent of {game.name}"):
        found = as_agent(factory.make(parts, game, num_threads, player))
        if not name_of(found).endswith(budget):
            found.name = f"{name_of(found)}{budget}"
    return found


def _read(spec: str, meant: str) -> tuple[str, str, list[str]]:
    """The file or module, the name in it, and what follows. Raises InvalidValue."""
    words = spec.split(":")
    at = next((k for k, word in enumerate(words) if word.endswith(".py")), 0)  # C:\\agents.py
    place, name = ":".join(words[: at + 1]), "".join(words[at + 1 : at + 2])
    from_file = place.endswith(".py")
    if not name.isidentifier() or not (from_file or all(part.isidentifier() for part in place.split("."))):
        raise InvalidValue(f"There is no agent {spec!r}; one of your own is {FORMS}.{meant}")
    return place, name, words[at + 2 :]


def _from_file(path: Path) -> ModuleType:
    """The module in a file, under a unique name, so that its agents can be pickled within the process."""
    if not path.is_file():
        raise InvalidValue(f"There is no file {path}; an agent of your own is {FORMS}.")
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
