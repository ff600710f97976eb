"""What a response gains over equality against an agent, on the deals of attacks.

Every deal is played with the response on each side in turn and the agent on all others. Equality is what the agent
itself gets in the same seats of the same deal where it plays all sides: 0 in a game whose returns sum to 0.
"""

from __future__ import annotations

from collections.abc import Callable

from backalley.agents.base.agent import Agent
from backalley.benchmarks.figures import stats
from backalley.benchmarks.figures.stats import Estimate, Floats
from backalley.benchmarks.matches.seeding import Roots, Space, roots
from backalley.envs.core.game.game import Game

from ..config.config import Objective
from ..run.gate import Enough, gains

SELECTION, PUBLISHED = 0, 1
"""Branches of the seeds: deals that choose among responses, and those of the published gains."""
_FEWEST = 2
"""Deals that an interval needs."""


def keys_of(seed: int, branch: int) -> Roots:
    """Return the keys of an attack's deals."""
    return roots(Space.ATTACKS, seed, branch)


def gains_of(
    game: Game,
    response: Agent,
    victim: Agent,
    keys: Roots,
    deals: int,
    on_batch: Callable[[int], bool] = lambda played: False,
) -> Floats:
    """Play up to `deals` deals on every core; return what the response gains over equality [D].

    `on_batch` is called with the deals so far, between batches; where it returns True, no more are played once there
    are two. What it raises ends the play.
    """

    def progress(played: int, planned: int) -> None:
        if on_batch(played) and played >= _FEWEST:
            raise Enough

    return gains(game, response, victim, deals, keys, Objective.POINTS, progress)


def estimate(gained: Floats, game: Game) -> Estimate:
    """Return the mean gain with its 95 % interval over deals."""
    bounds = game.reward_range if game.zero_sum else stats.lead_bounds(game.reward_range)
    return stats.mean_interval(gained, bounds)
