"""What is published of each game, as `publication.toml` fixes it: on how many decks, under which options, against which
bot. A game that the file does not name is measured like every other."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from backalley.envs.core.base import Game

FILE = Path(__file__).resolve().with_name("publication.toml")


class Publication(NamedTuple):
    """How one game is measured under some options."""

    game: Game
    deals: int
    """Of bots and policies."""
    searches: tuple[str, ...]
    """Searches, by their agents' names."""
    search_deals: int
    cross_deals: int
    """Of each pairing of the cross table."""
    method_deals: int
    """Of each policy that ways to train are compared by."""
    against: str
    """The bot that is the measure; random play where a game has none."""


@functools.cache
def _plans() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text("utf-8"))


def seed() -> int:
    """The one seed of all that is published."""
    return int(_plans()["seed"])


def publications(game: Game) -> list[Publication]:
    """How a game is measured: under its own options first, then, where these are the defaults, under the others that
    are published."""
    given = _plans()["every"] | _plans().get(game.name, {})
    also = [] if game.changed_options else given.get("also", [])
    return [_publication(game, given), *(_publication(game.bind(other["options"]), given | other) for other in also)]


def crowds(game: Game) -> list[Game]:
    """A game under its own options and those of its large tables, by which the cost of searches is told; nothing of a
    game that has none."""
    given = _plans().get(game.name, {}).get("crowds", [])
    return [game, *(game.bind(options) for options in given)] if given else []


def _publication(game: Game, given: Mapping[str, Any]) -> Publication:
    best = f"bot:{list(game.bots)[-1]}" if game.bots else "random"
    return Publication(
        game=game,
        deals=given["deals"],
        searches=tuple(given["searches"]),
        search_deals=given["search_deals"],
        cross_deals=given["cross_deals"],
        method_deals=given["method_deals"],
        against=given.get("against", best),
    )
