"""The plan of publication, in `publication.toml`: decks, options and opponents for each game. A game that the file does
not name is measured like every other."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.policies.pretrained import NoPolicy, policy_for
from backalley.envs.core.game.game import Game

from ..matches.seeding import Roots, Space, roots

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
    """Deals of each pairing of the cross table."""
    method_deals: int
    """Deals of each policy in a comparison of training methods."""
    against: str
    """The bot that is the baseline; random play where a game has none."""


@functools.cache
def _plans() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text("utf-8"))


def seed() -> int:
    """Return the one seed of everything that is published."""
    return int(_plans()["seed"])


def keys() -> Roots:
    """Return the keys of all published deals."""
    return roots(Space.PUBLICATION, seed())


def publications(game: Game) -> list[Publication]:
    """Return how a game is measured: under its own options first, then, if these are the defaults, under the other
    published options."""
    given = _plans()["every"] | _plans().get(game.name, {})
    also = [] if game.changed_options else given.get("also", [])
    return [_publication(game, given), *(_publication(game.bind(other["options"]), given | other) for other in also)]


def several(game: Game) -> Publication:
    """Return the first of these with several seats; where there is none, the first."""
    plans = publications(game)
    return next((plan for plan in plans if plan.game.num_sides > 1), plans[0])


def policy_of(game: Game) -> str:
    """The policy that comes with a game for its options; "" where there is none."""
    try:
        return policy_for(game).spec
    except NoPolicy:
        return ""


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
