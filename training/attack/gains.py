"""What a response gains over equality against an agent.

Every deal is played with the response on each side in turn and the agent on all others. Equality is what the agent
itself gets in the same seats of the same deal where it plays all sides: 0 in a game whose returns sum to 0.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from backalley.agents.base.agent import Agent
from backalley.benchmarks.figures import stats
from backalley.benchmarks.figures.stats import Estimate, Floats
from backalley.benchmarks.matches.sample import Deals, LineUp, Sample, play
from backalley.benchmarks.matches.seating import seatings
from backalley.benchmarks.matches.seeding import Roots, Space, roots
from backalley.envs.core.engine.workers import cores
from backalley.envs.core.game.game import Game

SELECTION, PUBLISHED = 0, 1
"""Branches of the seeds: deals that choose among responses, and those of the published gains."""
_FEWEST = 2
"""Deals that an interval needs."""


class _Enough(Exception):
    """No more deals are to be played."""


def attack_keys(seed: int, branch: int) -> Roots:
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
    sample = Sample(seatings(game, 2))

    def enough(part: int) -> None:
        if on_batch(sample.deals) and sample.deals >= _FEWEST:
            raise _Enough

    with suppress(_Enough):
        play(Deals([LineUp(game, [response, victim], sample.seatings, keys)], cores()), [sample], [deals], enough)
    gained = sample.gains()
    return gained if game.zero_sum else gained - _equality(game, victim, keys, sample.deals)


def _equality(game: Game, victim: Agent, keys: Roots, deals: int) -> Floats:
    """What the agent gets on average over the seats where it plays them all, deal by deal [D]."""
    alone = Sample(np.zeros((1, game.num_seats), np.int64))
    play(Deals([LineUp(game, [victim], alone.seatings, keys)], cores()), [alone], [deals], lambda part: None)
    return alone.gains()


def estimate(gained: Floats, game: Game) -> Estimate:
    """Return the mean gain with its 95 % interval over deals."""
    bounds = game.reward_range if game.zero_sum else stats.lead_bounds(game.reward_range)
    return stats.mean_interval(gained, bounds)
