"""The training methods worth comparing for a game, and the opponents they are measured against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from backalley.agents.policies.planner import plans_of
from backalley.envs.core.game.game import Game
from backalley.training.config import config as config_rules
from backalley.training.config.config import Base, Learned

from ..publication import Publication, publications
from . import comparison

_FROM_NOTHING = {"run.phases": "rollouts", "rollouts.base": "self"}


class Method(NamedTuple):
    """A method of training, or an untrained player."""

    name: str
    settings: Mapping[str, Any]
    """Settings over the game's own, by dotted names."""
    agent: str | None = None
    """Who plays untrained."""


def variants_of(game: Game) -> list[Method]:
    """Return the training methods worth comparing for a game, its own first; then the untrained players."""
    config = config_rules.load(game)
    names = config.run.phases.names
    found = [Method(comparison.FIRST, {})]
    if names != ["ppo"]:
        found.append(Method("ppo", {"run.phases": "ppo"}))
    if "rollouts" in names and config.rollouts.base == Base.BOT:
        plain = [learned for learned in (Learned.ADVANTAGES, Learned.IMITATION) if learned != config.rollouts.learned]
        found += [Method(one.name.lower(), {"rollouts.learned": one.name.lower()}) for one in plain]
    if names != ["rollouts"] or config.rollouts.base == Base.BOT:
        found.append(Method("rollouts", _FROM_NOTHING))
    if "plans" in names:
        plans_of(game)
        found.append(Method("plans", {}, "plans"))
    if game.bots:
        best = plan_of(game).against
        found.append(Method(best, {}, best))
    return found


def opponents(plan: Publication) -> list[str]:
    """Return the baseline bot of a game and the second-best one; random play if the game has no bots."""
    bots = [f"bot:{name}" for name in plan.game.bots]
    place = bots.index(plan.against) if plan.against in bots else 0
    others = bots[place - 1] if place else "random"
    return list(dict.fromkeys([plan.against, others]))


def plan_of(game: Game) -> Publication:
    """Return how the game is measured."""
    return publications(game)[0]
