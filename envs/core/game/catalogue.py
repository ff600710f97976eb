"""Games by name: those of this package, found by their folders, and those that others register."""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backalley.console.errors import InvalidType, InvalidValue, did_you_mean

from .game import Game, GameType, declared_game

_GAMES = __name__.rpartition(".core")[0]
_registered: dict[str, GameType] = {}


class UnknownGame(InvalidValue):
    """No game has this name."""


def games_root() -> Path:
    """Return the folder that holds this package's games."""
    return Path(__file__).resolve().parents[2]


@functools.cache
def own_games() -> tuple[str, ...]:
    """Return the names of this package's games, found by their folders."""
    return tuple(sorted(path.parent.name for path in games_root().glob("*/game.py")))


def game_names() -> list[str]:
    """Return the names of all games: this package's and the registered ones."""
    return sorted([*own_games(), *_registered])


def version_of(name: str) -> int:
    """Return the version of one of this package's games without loading its rules, from its `__init__.py`."""
    found = getattr(importlib.import_module(f"{_GAMES}.{name}"), "VERSION", None)
    if not isinstance(found, int):
        raise InvalidType(f"The game {name} declares no VERSION, a whole number, in its __init__.py.")
    return found


def register_game(declared: GameType | str) -> GameType:
    """Register a game from outside this package by its name; `registry.register_game` enters it everywhere. A module
    that was edited and imported again replaces its earlier declaration."""
    found = _imported(declared) if isinstance(declared, str) else declared
    if not isinstance(found, GameType):
        raise InvalidType(f"A game is registered by its GameType or its import path, and {declared!r} was given.")
    known = _registered.get(found.name, found)
    if found.name in own_games() or (known is not found and not _is_earlier(known, found)):
        raise InvalidValue(f"There is a game named {found.name!r} already; give {found!r} another name.")
    _registered[found.name] = found
    return found


def _is_earlier(known: GameType, found: GameType) -> bool:
    """Whether a game is the one that its module declared before it was imported again."""
    here = vars(importlib.import_module(found.module)).values()
    is_there, was_there = (any(value is one for value in here) for one in (found, known))
    return known.module == found.module and is_there and not was_there


def registered_games() -> list[GameType]:
    """Return the registered games from outside this package."""
    return list(_registered.values())


def game_type(name: str) -> GameType:
    """Return the type of the game of that name: `poker_duel`, `poker_duel-v0`, `backalley/PokerDuel-v0`; or, for a game
    outside this package, its import path (`my_games.war.game`) or its folder (`my_games/war`). Raises UnknownGame."""
    if not isinstance(name, str):
        raise UnknownGame(f"A game is named by a string, and {name!r} was given; there are: {', '.join(game_names())}.")
    plain, dash, version = name.strip().removeprefix("backalley/").partition("-v")
    by_name = {known.replace("_", ""): known for known in game_names()}
    known = by_name.get(plain.replace("_", "").replace("-", "").lower())
    if known is None:
        if (Path(name) / "game.py").is_file():
            return _in_folder(Path(name).resolve())
        if "." in name or ":" in name:
            return _imported(name)
        meant = did_you_mean(plain.lower(), game_names())
        raise UnknownGame(f"There is no game {name!r}; there are: {', '.join(game_names())}.{meant}")
    found = (
        _registered[known] if known in _registered else declared_game(f"{__name__.rpartition('.core')[0]}.{known}.game")
    )
    if dash and version != str(found.version):
        raise UnknownGame(f"{known} is here in version {found.version} ({found.id}), not {version!r}.")
    return found


def _in_folder(place: Path) -> GameType:
    """The game of a folder, which is a package."""
    if str(place.parent) not in sys.path:
        sys.path.append(str(place.parent))
    return _imported(f"{place.name}.game")


def _imported(path: str) -> GameType:
    """The game at an import path, `package.module` or `package.module:NAME`; the working folder is searched, too."""
    from backalley.console.importing import module_at

    module, _, name = path.partition(":")
    if not all(part.isidentifier() for part in module.split(".")):
        raise UnknownGame(f"There is no game {path!r}: a game outside this package is package.module, or with :NAME.")
    no_game = f"There is no game {path!r}"
    try:
        module_at(module, lambda name: UnknownGame(f"{no_game}: no module {name!r} can be imported."))
        return declared_game(module, name or "GAME")
    except TypeError as error:
        raise UnknownGame(f"{no_game}: {error}") from None


def game(name: str | GameType | Game, /, **options: Any) -> Game:
    """Return the game of that name under options: `game("pitch", joker="low_trump")`. A GameType is bound, and a Game
    gets those options changed. Raises UnknownGame or OptionError."""
    if isinstance(name, (Game, GameType)):
        return name.bind(options) if options or isinstance(name, GameType) else name
    return game_type(name).bind(options)


def games() -> Iterator[Game]:
    """Yield all games with their default options, in the order of their names. One that cannot be loaded is left out,
    with a warning that says why."""
    for name in game_names():
        try:
            found = game(name)
        except Exception as error:  # a game in development must not block the others
            warnings.warn(f"The game {name} cannot be loaded: {type(error).__name__}: {error}", stacklevel=2)
        else:
            yield found
