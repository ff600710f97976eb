"""Games by name: those of this package, found by their folders, and those that others register."""

from __future__ import annotations

import difflib
import functools
import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .base import Game, GameType, declared_game

_GAMES = __name__.rpartition(".core")[0]
_registered: dict[str, GameType] = {}


class UnknownGame(ValueError):
    """A name that no game has."""


def games_root() -> Path:
    """The folder that holds this package's games."""
    return Path(__file__).resolve().parents[1]


@functools.cache
def own_games() -> tuple[str, ...]:
    """The names of this package's games, found by their folders."""
    return tuple(sorted(path.parent.name for path in games_root().glob("*/game.py")))


def game_names() -> list[str]:
    """The names of all games: this package's and those registered."""
    return sorted([*own_games(), *_registered])


def version_of(name: str) -> int:
    """The version of one of this package's games, without loading its rules: it stands alone in its `__init__.py`."""
    found = getattr(importlib.import_module(f"{_GAMES}.{name}"), "VERSION", None)
    if not isinstance(found, int):
        raise ImportError(f"The game {name} declares no VERSION, a whole number, in its __init__.py.")
    return found


def register_game(declared: GameType | str) -> GameType:
    """Let a game from outside this package be found by its name; `registry.register_game` enters it everywhere. One
    whose module was edited and imported again takes the place of what was declared there before."""
    found = _imported(declared) if isinstance(declared, str) else declared
    if not isinstance(found, GameType):
        raise TypeError(f"A game is registered by its GameType or its import path, and {declared!r} was given.")
    known = _registered.get(found.name, found)
    if found.name in own_games() or (known is not found and not _is_earlier(known, found)):
        raise ValueError(f"There is a game named {found.name!r} already; give {found!r} another name.")
    _registered[found.name] = found
    return found


def _is_earlier(known: GameType, found: GameType) -> bool:
    """Whether a game is the one that its module declared as `found` before it was imported again."""
    here = vars(importlib.import_module(found.module)).values()
    stands, stood = (any(value is one for value in here) for one in (found, known))
    return known.module == found.module and stands and not stood


def registered_games() -> list[GameType]:
    """The games from outside this package that are registered."""
    return list(_registered.values())


def game_type(name: str) -> GameType:
    """The type of the game of that name: `poker_duel`, `poker_duel-v0`, `backalley/PokerDuel-v0`, or the import path of
    a game outside this package (`my_games.war.game`). Raises UnknownGame in a sentence."""
    if not isinstance(name, str):
        raise UnknownGame(f"A game is named by a string, and {name!r} was given; there are: {', '.join(game_names())}.")
    plain, dash, version = name.strip().removeprefix("backalley/").partition("-v")
    by_name = {known.replace("_", ""): known for known in game_names()}
    known = by_name.get(plain.replace("_", "").replace("-", "").lower())
    if known is None:
        if "." in name or ":" in name:
            return _imported(name)
        near = difflib.get_close_matches(plain.lower(), game_names(), 1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise UnknownGame(f"There is no game {name!r}; there are: {', '.join(game_names())}.{meant}")
    found = (
        _registered[known] if known in _registered else declared_game(f"{__name__.rpartition('.core')[0]}.{known}.game")
    )
    if dash and version != str(found.version):
        raise UnknownGame(f"{known} is here in version {found.version} ({found.id}), not {version!r}.")
    return found


def _imported(path: str) -> GameType:
    """The game declared at an import path, `package.module` or `package.module:NAME`, also below the working folder."""
    module, _, name = path.partition(":")
    if not all(part.isidentifier() for part in module.split(".")):
        raise UnknownGame(f"There is no game {path!r}: a game outside this package is package.module, or with :NAME.")
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)
    try:
        return declared_game(module, name or "GAME")
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise UnknownGame(f"There is no game {path!r}: no module {error.name!r} can be imported.") from None
    except TypeError as error:
        raise UnknownGame(f"There is no game {path!r}: {error}") from None


def game(name: str | GameType | Game, /, **options: Any) -> Game:
    """The game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game gets
    those options changed. Raises UnknownGame or OptionError in a sentence."""
    if isinstance(name, (Game, GameType)):
        return name.bind(options) if options or isinstance(name, GameType) else name
    return game_type(name).bind(options)


def games() -> Iterator[Game]:
    """All games with their default options, in the order of their names. One that cannot be loaded is left out, with a
    warning that says why."""
    for name in game_names():
        try:
            found = game(name)
        except Exception as error:  # whatever a game that is being written does must not stand in the others' way
            warnings.warn(f"The game {name} cannot be loaded: {type(error).__name__}: {error}", stacklevel=2)
        else:
            yield found
