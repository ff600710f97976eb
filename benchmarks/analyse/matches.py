"""Fairness, skill and luck, from matches on the same decks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game

from ..figures import stats
from ..figures.stats import Floats
from ..matches.sample import Sample, deal_keys
from ..matches.seeding import Roots
from .figure import Figure, derived, estimated

Seats = npt.NDArray[np.int64]
LEVEL = 0.2
"""One level of skill, in standard deviations of a match's return."""
_ROLES = {"dealer": "dealer", "banker": "banker", "dealt_first": "seat dealt first"}
"""Roles by the fields of a State that hold their seats."""
_TABLES = 1024
"""Tables of one batch that is dealt to see who has which role."""
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


def roles(game: Game, keys: Roots, deals: int) -> dict[str, Seats]:
    """Return who has the first decision, and the seats of `_ROLES` then, in each deal [D], by the role's name. One
    that only the cards decide, or that no seat has, is left out: whoever has it also has certain cards."""
    streams, own = np.zeros(deals, np.uint64), np.zeros((deals, 0), np.uint64)
    deal_keys(*keys, 0, streams, own)
    held: dict[str, list[Seats]] = {"first player": [], **{role: [] for role in _ROLES.values()}}
    for some in np.array_split(streams, -(-deals // _TABLES)):
        batch = BatchEnv(game, len(some))
        batch.reset(streams=some)
        records = batch.states().records
        held["first player"].append(batch.arrays.seat.astype(np.int64))
        for name in _ROLES.keys() & {*(records.dtype.names or ())}:
            held[_ROLES[name]].append(records[name].astype(np.int64))
    found = {name: np.concatenate(parts) for name, parts in held.items() if parts}
    found = {name: seats for name, seats in found.items() if (seats >= 0).all()}
    first, others = found.get("first player"), [seats for name, seats in found.items() if name != "first player"]
    if first is not None and all(np.ptp((first - seats) % game.num_seats) for seats in [np.zeros_like(first), *others]):
        del found["first player"]
    return found


def advantages(
    game: Game, names: Sequence[str], alone: Sequence[Sample], held: Mapping[str, Seats], left_out: list[str]
) -> Iterator[Figure]:
    """What the seat of each role gains over the mean of all seats, by each agent's play, and how much more by the last
    agent's than by the first one's."""
    if game.num_seats == 1:
        return
    if "first player" not in held:
        left_out.append("The first player: the cards decide who that is, or whether anybody has a choice.")
    low, high = (end * (game.num_seats - 1) / game.num_seats for end in stats.lead_bounds(game.reward_range))
    for role, seats in held.items():
        gained = [
            (sample.returns[np.arange(len(seats)), :, seats] - sample.returns.mean(2)).mean(1) for sample in alone
        ]
        for name, deals in zip(names, gained, strict=True):
            yield estimated("fairness", f"advantage of the {role}", name, stats.mean_interval(deals, (low, high)))
        if len(names) > 1:
            change = stats.mean_interval(gained[-1] - gained[0], stats.lead_bounds((low, high)))
            yield estimated("fairness", f"change of that of the {role}", f"{names[-1]} v {names[0]}", change)


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
