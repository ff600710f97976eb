"""The names of this package's games, and their entries in PettingZoo's and Gymnasium's registries.

It imports no game, and neither library: `import backalley` enters the games once a program has imported those itself.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from backalley.console.errors import InvalidType

GAMES = __name__.rpartition(".core")[0]
"""The import path of the folder of games."""
Entry = tuple[str, int, str]
"""A game's name, its version, and what finds it: its name, or the import path of one from outside this package."""


def games_root() -> Path:
    """Return the folder that holds this package's games."""
    return Path(__file__).resolve().parents[2]


@functools.cache
def own_games() -> tuple[str, ...]:
    """Return the names of this package's games, found by their folders."""
    return tuple(sorted(path.parent.name for path in games_root().glob("*/game.py")))


def version_of(name: str) -> int:
    """Return the version of one of this package's games without loading its rules, from its `__init__.py`."""
    found = getattr(importlib.import_module(f"{GAMES}.{name}"), "VERSION", None)
    if not isinstance(found, int):
        raise InvalidType(f"The game {name} declares no VERSION, a whole number, in its __init__.py.")
    return found


def own_entries() -> Iterator[Entry]:
    """The entries of this package's games."""
    return ((name, version_of(name), name) for name in own_games())


def gymnasium_id(name: str, version: int) -> str:
    """Return `backalley/CamelCase-vN` for a game's name."""
    return f"backalley/{''.join(word.capitalize() for word in name.split('_'))}-v{version}"


def enter_pettingzoo(entries: Iterable[Entry]) -> None:
    """Enter games into PettingZoo's registry (`pettingzoo.make("aec", "backalley/poker_duel-v0")`); older versions have
    none."""
    try:
        from pettingzoo.env_registry.registration import aec_registry, register
    except ImportError:
        return
    for name, version, spec in entries:
        id = f"backalley/{name}-v{version}"
        if id not in aec_registry:
            register("aec", id, entry_point="backalley.envs.core.api.registry:make", kwargs={"id": spec})


def enter_gymnasium(entries: Iterable[Entry]) -> None:
    """Enter games into Gymnasium's registry: one seat is yours, the others are agents."""
    from gymnasium.envs.registration import register, registry

    made = "backalley.agents.gymnasium.gymnasium_env:make_gymnasium"
    for name, version, spec in entries:
        id = gymnasium_id(name, version)
        if id not in registry:
            plain: dict[str, Any] = {"disable_env_checker": True, "order_enforce": False}  # it checks and orders itself
            register(id, entry_point=made, vector_entry_point=f"{made}_vec", kwargs={"game": spec}, **plain)
