"""Games by name: those of this package, found by their folders, those of other installed packages, found by their entry
points, and those that a program registers."""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backalley.console.errors import InvalidType, InvalidValue, did_you_mean

from .entries import GAMES
from .entries import games_root as games_root
from .entries import own_games as own_games
from .game import Game, GameType, declared_game

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "backalley.games"
"""The entry points of installed packages that offer games: `schnapsen = "mycards.schnapsen"`, a name and an import
path."""
_registered: dict[str, GameType] = {}


class UnknownGame(InvalidValue):
    """No game has this name."""


@functools.cache
def _offered() -> dict[str, list[EntryPoint]]:
    """What other installed packages offer, by name. Reading it imports none of them, but takes some 20 ms: that is left
    until a name is unknown or all are listed."""
    from importlib.metadata import entry_points

    own = {_plain(name) for name in own_games()}
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        if _plain(point.name) in own:
            warnings.warn(
                f"The package {_package_of(point)} offers a game named {point.name!r}, as one of the package backalley "
                f"is; it is found by its import path alone, {point.value!r}.",
                stacklevel=3,
            )
        else:
            found.setdefault(point.name, []).append(point)
    return found


def _package_of(point: EntryPoint) -> str:
    return "of no name" if point.dist is None else point.dist.name


def _from_package(name: str) -> GameType:
    """The game that an installed package offers by that name; this runs the package's code. Raises UnknownGame."""
    point, *others = _offered()[name]
    if others:
        raise UnknownGame(
            f"The packages {_package_of(point)} and {_package_of(others[0])} both offer a game named {name!r}; "
            f"uninstall one of them, or name the game by its import path: {point.value} or {others[0].value}."
        )
    found = _imported(point.value)
    if found.name != name:
        raise UnknownGame(
            f"The package {_package_of(point)} offers {found!r} by the name {name!r}; its name is {found.name!r}."
        )
    return found


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def game_names() -> list[str]:
    """Return the names of all games: this package's, those of other installed packages, and the registered ones."""
    return sorted({*own_games(), *_registered, *_offered()})


def register_game(declared: GameType | str) -> GameType:
    """Register a game from outside this package by its name; `registry.register_game` enters it everywhere. A module
    that was edited and imported again replaces its earlier declaration."""
    found = _imported(declared) if isinstance(declared, str) else declared
    if not isinstance(found, GameType):
        raise InvalidType(f"A game is registered by its GameType or its import path, and {declared!r} was given.")
    known = _registered.get(found.name, found)
    for point in _offered().get(found.name, ()):
        if point.module != found.module:
            raise InvalidValue(
                f"The package {_package_of(point)} has a game named {found.name!r} already; give {found!r} another "
                "name."
            )
    if found.name in own_games() or (known is not found and not _is_earlier(known, found)):
        raise InvalidValue(f"There is a game named {found.name!r} already; give {found!r} another name.")
    _registered[found.name] = found
    return found


def _is_earlier(known: GameType, found: GameType) -> bool:
    """Whether a game is the one that its module declared before it was imported again."""
    here = vars(importlib.import_module(found.module)).values()
    is_there, was_there = (any(value is one for value in here) for one in (found, known))
    return known.module == found.module and is_there and not was_there


def registered_games(packages: bool = False) -> list[GameType]:
    """Return the registered games from outside this package; with `packages` also those that other packages offer."""
    offered = [name for name in _offered() if name not in _registered] if packages else []
    return [*_registered.values(), *(found.type for found in _loaded(offered))]


def game_type(name: str) -> GameType:
    """Return the type of the game of that name: `poker_duel`, `poker_duel-v0`, `backalley/PokerDuel-v0`; or, for a game
    outside this package, its import path (`my_games.war.game`) or its folder (`my_games/war`). Raises UnknownGame."""
    if not isinstance(name, str):
        raise UnknownGame(f"A game is named by a string, and {name!r} was given; there are: {', '.join(game_names())}.")
    plain, dash, version = name.strip().removeprefix("backalley/").partition("-v")
    known = _known_as(plain, [*own_games(), *_registered])
    if known is None and plain.isidentifier():
        known = _known_as(plain, _offered())
    if known is None:
        if (Path(name) / "game.py").is_file():
            return _in_folder(Path(name).resolve())
        if "." in name or ":" in name:
            return _imported(name)
        meant = did_you_mean(plain.lower(), game_names())
        raise UnknownGame(f"There is no game {name!r}; there are: {', '.join(game_names())}.{meant}")
    if known in _registered:
        found = _registered[known]
    else:
        found = declared_game(f"{GAMES}.{known}.game") if known in own_games() else _from_package(known)
    if dash and version != str(found.version):
        raise UnknownGame(f"{known} is here in version {found.version} ({found.id}), not {version!r}.")
    return found


def _known_as(plain: str, names: Iterable[str]) -> str | None:
    """The one of some names that is meant."""
    return next((name for name in names if _plain(name) == _plain(plain)), None)


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
    yield from _loaded(game_names())


def _loaded(names: Iterable[str]) -> Iterator[Game]:
    for name in names:
        try:
            found = game(name)
        except Exception as error:  # a game in development must not block the others
            warnings.warn(f"The game {name} cannot be loaded: {type(error).__name__}: {error}", stacklevel=3)
        else:
            yield found
