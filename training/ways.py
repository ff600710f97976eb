"""Ways to train a game's policy that are worth comparing, as the game and its settings have it; and against whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from backalley.agents.planner import plans_of
from backalley.benchmarks import comparison
from backalley.benchmarks.publication import Publication, publications
from backalley.envs.core.base import Game

from . import config as config_rules
from .config import Base, Learned

_FROM_NOTHING = {"run.phases": "playouts", "playouts.base": "self", "playouts.learned": "gains"}


class Method(NamedTuple):
    """A way to train, or who plays untrained."""

    name: str
    settings: Mapping[str, Any]
    """Over the game's own, by dotted names."""
    agent: str | None = None
    """Who plays untrained."""


def methods_of(game: Game) -> list[Method]:
    """The ways to train a game's policy that are worth comparing, its own first; then who plays untrained."""
    config = config_rules.load(game)
    names = config.run.phases.names
    found = [Method(comparison.FIRST, {})]
    if names != ["ppo"]:
        found.append(Method("ppo", {"run.phases": "ppo"}))
    if "playouts" in names and config.playouts.base == Base.BOT:
        plain = [learned for learned in (Learned.GAINS, Learned.IMITATION) if learned != config.playouts.learned]
        found += [Method(one.name.lower(), {"playouts.learned": one.name.lower()}) for one in plain]
    if names == ["ppo"]:
        found.append(Method("playouts", _FROM_NOTHING))
    if "plans" in names:
        plans_of(game)
        found.append(Method("plans", {}, "plans"))
    if game.bots:
        best = plan_of(game).against
        found.append(Method(best, {}, best))
    return found


def opponents(plan: Publication) -> list[str]:
    """The bot that is a game's measure, and the next best; random play where there is none."""
    bots = [f"bot:{name}" for name in plan.game.bots]
    place = bots.index(plan.against) if plan.against in bots else 0
    others = bots[place - 1] if place else "random"
    return list(dict.fromkeys([plan.against, others]))


def plan_of(game: Game) -> Publication:
    """How the game is measured."""
    return publications(game)[0]
