"""OpenSpiel (the extra `openspiel`): all games as OpenSpiel games, registered on import, and OpenSpiel's bots and
policies as agents here. This may import everything but the command line.

>>> import backalley.openspiel, pyspiel  # doctest: +SKIP
>>> game = pyspiel.load_game("backalley_missouri_city(chance=explicit)")  # doctest: +SKIP
"""

from __future__ import annotations

from backalley.console.errors import NotInstalled

try:
    import pyspiel as _pyspiel  # noqa: F401
except ModuleNotFoundError:
    raise NotInstalled(
        "backalley.openspiel needs OpenSpiel, which is missing; install it: pip install 'backalley[openspiel]'."
    ) from None

from backalley.envs.core.game.catalogue import game_names

from .games import PREFIX, game_string, register
from .players import SpielAgent

__all__ = ["PREFIX", "SpielAgent", "game_string", "register"]

for _name in game_names():
    register(_name)
