"""What a phase's policy is measured by besides the gate: what an attack gains, and how two policies fare against a
third agent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from backalley.agents.base.agent import Agent
from backalley.benchmarks.figures import stats
from backalley.benchmarks.figures.stats import Floats
from backalley.benchmarks.matches.sample import Deals, LineUp, Sample, play
from backalley.benchmarks.matches.seating import seatings
from backalley.benchmarks.matches.seeding import Roots, Space, roots
from backalley.benchmarks.sequential.lead_test import CONFIDENCE
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.threads import cores

from ..config.config import Objective

Progress = Callable[[int, int], None]
_ATTACKS, _OTHERS = 2, 3
"""Branches of the seeds of gates (`gate.py` has 0 and 1)."""


class Enough(Exception):
    """Raised by a `Progress` once no more deals are needed."""


class Gain(NamedTuple):
    """What an attack gains: the attacker's mean over what is everybody's where the agent attacked has all seats."""

    policy: str
    against: str
    deals: int
    gain: float
    low: float
    high: float
    """The ends of its 95 % interval."""
    objective: str = "points"
    """What is gained: points are returns, games are shares of wins."""

    @property
    def pays(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0

    def sentence(self) -> str:
        """What came of it."""
        wins = self.objective == "games"
        gain, low, high = (
            f"{100 * value:+.2f} %" if wins else f"{value:+.4f}" for value in (self.gain, self.low, self.high)
        )
        return (
            f"Attack over {self.deals:,} deals: {self.policy} gains {gain} over equality against {self.against} "
            f"({'win share' if wins else 'mean return'}, 95 % interval {low} to {high}); the best attack gains at "
            "least as much."
        )


class Comparison(NamedTuple):
    """How the new and the previous policy fare against the same agent on the same deals."""

    against: str
    deals: int
    new: float
    old: float
    bound: float
    """The lower end of the one-sided 99 % interval of their difference; for a third party, the upper end."""
    passed: bool

    def sentence(self) -> str:
        """What came of it."""
        return (
            f"Against {self.against}, {self.deals:,} deals: {self.new:+.4f} for the new policy, {self.old:+.4f} for "
            f"the previous one; it is {'not worse' if self.passed else 'worse, or may be'}."
        )


def attack_keys(seed: int, phase: int, decisions: int) -> Roots:
    """Return the keys of the deals that measure the attack of a phase, like `gate_keys`."""
    return roots(Space.GATES, seed, _ATTACKS, phase, decisions)


def other_keys(seed: int, phase: int, decisions: int) -> Roots:
    """Return the keys of the deals against other agents, like `gate_keys`."""
    return roots(Space.GATES, seed, _OTHERS, phase, decisions)


def gain_of(
    game: Game, attacker: Agent, victim: Agent, deals: int, keys: Roots, objective: Objective, progress: Progress
) -> Gain:
    """Measure what an agent gains over equality against another one at all other seats. Equality is 0, or an even share
    of the wins; where returns do not sum to 0, it is what the attacked agent gains against itself on the same deals."""
    gained = gains(game, attacker, victim, deals, keys, objective, progress)
    found = stats.mean_interval(gained)
    return Gain(attacker.name, victim.name, len(gained), *found, objective.name.lower())


def gains(
    game: Game, attacker: Agent, victim: Agent, deals: int, keys: Roots, objective: Objective, progress: Progress
) -> Floats:  # fmt: skip
    """Return what `gain_of` measures, deal by deal [D]. Where `progress` raises Enough, no more deals are played."""
    gained = _values(game, [attacker, victim], deals, keys, objective, progress)
    if objective == Objective.GAMES:
        return gained - 1 / game.num_sides
    if game.zero_sum:
        return gained
    return gained - _values(game, [victim, victim], len(gained), keys, objective, lambda done, total: None)


def compare_at(
    game: Game, pair: Sequence[Agent], rival: Agent, deals: int, keys: Roots, objective: Objective,
    tolerance: float, progress: Progress, *, few: bool,
) -> Comparison:  # fmt: skip
    """Play a new and a previous policy against the same agent. The new one is worse where its difference may be below
    -`tolerance` standard deviations of a deal: with 99 % confidence it is not; with `few` deals, which could not show
    that, where it is surely below 0."""
    new, old = (_values(game, [one, rival], deals, keys, objective, progress) for one in pair)
    if few:
        bound = -_lower_end(old - new)
        passed = bound >= 0
    else:
        bound = _lower_end(new - old)
        passed = bound > -tolerance * float(old.std(ddof=1))
    return Comparison(rival.name, len(new), float(new.mean()), float(old.mean()), bound, bool(passed))


def _values(
    game: Game, pair: Sequence[Agent], deals: int, keys: Roots, objective: Objective, progress: Progress
) -> Floats:
    """What the first agent gains in each deal [D], over its seatings."""
    sample = Sample(seatings(game, 2))
    work = Deals([LineUp(game, pair, sample.seatings, keys)], cores())
    work.sizes = work.sizes._replace(first=2)  # a search may take a minute for a deal
    with suppress(Enough):
        play(work, [sample], [deals], lambda part: progress(sample.deals, deals))
    values = stats.win_shares(sample.returns, game.sides) if objective == Objective.GAMES else sample.returns
    mine: Floats = sample.of_agent(0, values).mean(1)
    return mine


def _lower_end(leads: Floats) -> float:
    """The lower end of the one-sided interval of the mean of leads [D]."""
    reach = stats.t_critical(len(leads) - 1, 2 * CONFIDENCE - 1) * float(leads.std(ddof=1)) / math.sqrt(len(leads))
    return float(leads.mean()) - reach
