"""How figures stand in the tables of pages."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game_names, game_type
from backalley.envs.core.options import OptionError, typed

from .report import decimals
from .stats import Estimate

Found = Mapping[str, Any]
"""A file of results."""
Line = dict[str, str]
"""A table's row: columns by name. A column that is empty in every row is left out of the table."""


def known(found: Found) -> GameType | None:
    """The game of a file, if it is one of this package's or registered: a file that somebody hands on must not say what
    Python imports."""
    name = found["game"].partition("-v")[0]
    return game_type(name) if name in game_names() else None


def bound(found: Found) -> Game | None:
    """The game of a file under the options there; None where either is unknown here."""
    game = known(found)
    try:
        return game.bind(found.get("options", {})) if game else None
    except (OptionError, TypeError):  # options that are none of the game's, or no options at all
        return None


def title(found: Found) -> str:
    """The game's title; of one unknown here, its id."""
    game = known(found)
    return game.title if game else str(found["game"])


def given_options(found: Found) -> list[str]:
    """The game's options as they were typed."""
    return [given for option, given in pairwise(shlex.split(found["command"])) if option == "--option"]


def options(found: Found) -> str:
    """The same for a page."""
    return " ".join(f"`{given}`" for given in given_options(found))


def changed(values: Mapping[str, Any]) -> str:
    """Options by name and value, for a page."""
    return " ".join(f"`{name}={typed(value)}`" for name, value in values.items())


def agent(one: Found) -> str:
    """An agent's name."""
    return f"`{one['name']}`"


def signed(value: float, digits: int) -> str:
    """A number with its sign; what is nothing but rounding has none of its own."""
    return f"{round(value, 9) + 0.0:+.{digits}f}"


def mean(estimate: Mapping[str, float]) -> str:
    """The mean, to the digits that its interval tells."""
    return signed(estimate["mean"], _digits(estimate))


def interval(estimate: Mapping[str, float]) -> str:
    """The ends of the interval."""
    digits = _digits(estimate)
    return f"{signed(estimate['low'], digits)} to {signed(estimate['high'], digits)}"


def _digits(estimate: Mapping[str, float]) -> int:
    return decimals([Estimate(**estimate)])


def percent(share: Mapping[str, float], digits: int = 2) -> str:
    """The ends of a share's interval, in hundredths."""
    return f"{100 * share['low']:.{digits}f} to {100 * share['high']:.{digits}f}"
