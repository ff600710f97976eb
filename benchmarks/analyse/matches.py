"""Fairness, skill and luck, from matches on the same decks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from backalley.envs.core.game.game import Game

from ..figures import stats
from ..figures.stats import Floats
from ..matches.sample import Sample
from .figure import Figure, derived, estimated

LEVEL = 0.2
"""One level of skill, in standard deviations of a match's return."""
_POWER = stats.NORMAL + 0.841621
"""Normal quantiles: a test at 5 % that finds a lead in 80 of 100 samples."""


def fairness(game: Game, names: Sequence[str], alone: Sequence[Sample]) -> Iterator[Figure]:
    """The mean return of each seat where all seats play alike; a seat that plays alone has the house's figures."""
    if game.num_seats == 1:
        return
    for name, sample in zip(names, alone, strict=True):
        for seat in range(game.num_seats):
            gained = stats.mean_interval(sample.returns[:, :, seat].mean(1), game.reward_range)
            yield estimated("fairness", f"return of {game.seat_name(seat)}", name, gained)


def skill(
    game: Game, names: Sequence[str], alone: Sequence[Sample], pairs: Sequence[Sample], left_out: list[str]
) -> Iterator[Figure]:
    """What each agent gains on the one before it, in levels, and how much of a result the deal decides."""
    if len(names) < 2:
        left_out.append("Skill is measured between two agents; one was given.")
    levels = 0.0
    for number in range(len(names) - 1):
        play = f"{names[number + 1]} v {names[number]}"
        bounds = game.reward_range
        if pairs:
            sample = pairs[number]
            leads, same_deck = sample.gains(), sample.returns[:, :, 0]
        else:
            one, other = (alone[place].returns[:, :, 0] for place in (number + 1, number))
            leads, same_deck, bounds = (
                (one - other)[:, 0],
                np.concatenate([one, other], axis=1),
                stats.lead_bounds(bounds),
            )
        gained, spread = stats.mean_interval(leads, bounds), float(same_deck.std())
        yield estimated("skill", "lead over the agent before it", play, gained)
        step = gained.mean / spread / LEVEL if spread else 0.0
        levels += step
        yield derived("skill", "lead in levels", play, step)
        yield derived("skill", "share of the variance decided by the deal", play, deal_share(same_deck))
        if gained.low <= 0 <= gained.high:
            left_out.append(f"{play}: no difference beyond ±{gained.half_width:.3g} was found.")
        else:
            yield derived("skill", "deals to tell them apart", play, deals_to_tell(leads))
    if len(names) > 1:
        yield derived("skill", "levels in all", f"{names[-1]} v {names[0]}", levels)


def deal_share(returns: Floats) -> float:
    """Return the share of the variance of `returns` [D, R] that is between deals: the intraclass correlation by one-way
    analysis of variance, at least 0. The rest is decided by who plays, and by their own chance."""
    deals, rounds = returns.shape
    if deals < 2 or rounds < 2:
        return 0.0
    between = rounds * float(returns.mean(1).var(ddof=1))
    within = float(returns.var(axis=1, ddof=1).mean())
    total = between + (rounds - 1) * within
    return max(0.0, (between - within) / total) if total else 0.0


def deals_to_tell(leads: Floats) -> int:
    """Return the deals after which a test at 5 % finds the mean of `leads` [D] in 80 of 100 samples."""
    return max(2, math.ceil((_POWER * float(leads.std(ddof=1)) / float(leads.mean())) ** 2))
