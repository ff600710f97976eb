"""What the policy of a phase is judged by: the gate against the previous one, what an attack gains, and how both
policies fare against a third agent.

A gate plays duplicate deals, and the new policy replaces the previous one only if a one-sided test at 99 % says that it
is better. The test is sequential (`benchmarks/sequential/lead_test.py`): the gate ends once the answer is clear. All
play from their files. The decks are new for each measurement (`benchmarks/matches/seeding.py`), and the same whenever
it is made: a run killed in a gate plays it again, with the same result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from backalley.agents.base.agent import Agent
from backalley.benchmarks.figures import stats
from backalley.benchmarks.figures.stats import Floats
from backalley.benchmarks.matches.sample import Deals, LineUp, Sample, play, seatings
from backalley.benchmarks.matches.seeding import Roots, Space, roots
from backalley.benchmarks.sequential.lead_test import CONFIDENCE, look, looks
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.threads import cores

from ..config.config import Objective

Progress = Callable[[int, int], None]
"""Called between batches with the deals played and the deals planned; what it raises ends the play."""
GATE, CURVE, ATTACK, OTHERS = range(4)
"""Branches of the seeds: what judges a run's policies never shares decks."""


class Enough(Exception):
    """Raised by a `Progress` once no more deals are needed."""


def keys_of(branch: int, seed: int, *ended: int) -> Roots:
    """Return the keys of the deals of a branch in the run of a seed. `ended` are the phase and the run's decisions at
    its end; a learning curve has none, so that all its points play the same deals."""
    return roots(Space.GATES, seed, branch, *ended)


def _shown(value: float, objective: str, sign: str = "+") -> str:
    return f"{100 * value:{sign}.2f} %" if objective == "games" else f"{value:+.4f}"


class Gate(NamedTuple):
    """A gate that was played."""

    policy: str
    against: str
    deals: int
    mean: float
    """The policy's mean return, or its share of the games won, as `backalley evaluate` reports it."""
    lead: float
    """By how much that exceeds the other agent's."""
    sure: float
    """The lower end of the lead's one-sided 99 % interval, which holds although the test chose when to end."""
    passed: bool
    objective: str = "points"
    """What the mean is of: points are returns, games are shares of wins."""

    def sentence(self) -> str:
        """What came of it."""
        measure = "win share" if self.objective == "games" else "mean return"
        own, other = (_shown(value, self.objective, "") for value in (self.mean, self.mean - self.lead))
        return (
            f"Gate over {self.deals:,} deals: {measure} {own} for the new policy, {other} for {self.against}; the "
            f"difference is at least {_shown(self.sure, self.objective)} with 99 % confidence, so "
            f"{'the new policy is kept' if self.passed else f'{self.against} is kept'}."
        )

    def to_json(self, **about: Any) -> dict[str, Any]:
        """Return it in the form that `results.write` takes."""
        return {"kind": "gate", **self._asdict(), "confidence": CONFIDENCE, **about}


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
        gain, low, high = (_shown(value, self.objective) for value in (self.gain, self.low, self.high))
        return (
            f"Attack over {self.deals:,} deals: {self.policy} gains {gain} over equality against {self.against} "
            f"({'win share' if self.objective == 'games' else 'mean return'}, 95 % interval {low} to {high}); the best "
            "attack gains at least as much."
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


# Play -----------------------------------------------------------------------------------------------------------------


def play_gate(
    game: Game, pair: Sequence[Agent], most: int, keys: Roots, objective: Objective, progress: Progress
) -> Gate:
    """Let a policy and the previous agent play the same deals in every seating, `most` at the most, until the test
    ends."""
    sample = Sample(seatings(game, 2))
    for deals in looks(most):
        _play_on(sample, game, pair, deals, keys, lambda played: progress(played, most))
        found = verdict(pair, sample, game, objective, most)
        if found is not None:
            return found
    raise AssertionError("the last look ends a test")


def meet(game: Game, pair: Sequence[Agent], deals: int, keys: Roots, progress: Progress) -> Sample:
    """Play two agents at the same deals in every seating, on all cores."""
    sample = Sample(seatings(game, 2))
    _play_on(sample, game, pair, deals, keys, lambda played: progress(played, deals))
    return sample


def _play_on(
    sample: Sample, game: Game, pair: Sequence[Agent], deals: int, keys: Roots, progress: Callable[[int], None],
    *, first: int | None = None,
) -> None:  # fmt: skip
    """Play until the sample holds so many deals, in batches that begin with `first`."""
    work = Deals([LineUp(game, pair, keys)], cores())
    if first is not None:
        work.sizes = work.sizes._replace(first=first)
    play(work, [sample], [deals], lambda part: progress(sample.deals))


def _values(sample: Sample, game: Game, objective: Objective) -> Floats:
    """What is maximised, in each deal, seating and seat."""
    return stats.win_shares(sample.returns, game.sides) if objective == Objective.GAMES else sample.returns


def verdict(pair: Sequence[Agent], sample: Sample, game: Game, objective: Objective, most: int) -> Gate | None:
    """Return the gate's result for a policy and the previous agent from their deals, of `most` at the most, or None
    where more deals are needed."""
    values = _values(sample, game, objective)
    new, old = (sample.of_agent(number, values).mean(1) for number in range(2))
    found = look(new - old, most)
    if not found.ended:
        return None
    policy, against = (agent.name for agent in pair)
    lead, sure, passed = found.mean, found.lower, found.passed
    return Gate(policy, against, sample.deals, float(new.mean()), lead, sure, passed, objective.name.lower())


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
    gained = _of_first(game, [attacker, victim], deals, keys, objective, progress)
    if objective == Objective.GAMES:
        return gained - 1 / game.num_sides
    if game.zero_sum:
        return gained
    return gained - _of_first(game, [victim, victim], len(gained), keys, objective, lambda done, total: None)


def compare_at(
    game: Game, pair: Sequence[Agent], rival: Agent, deals: int, keys: Roots, objective: Objective,
    tolerance: float, progress: Progress, *, few: bool,
) -> Comparison:  # fmt: skip
    """Play a new and a previous policy against the same agent. The new one is worse where its difference may be below
    -`tolerance` standard deviations of a deal: with 99 % confidence it is not; with `few` deals, which could not show
    that, where it is surely below 0."""
    new, old = (_of_first(game, [one, rival], deals, keys, objective, progress) for one in pair)
    if few:
        bound = -_lower_end(old - new)
        passed = bound >= 0
    else:
        bound = _lower_end(new - old)
        passed = bound > -tolerance * float(old.std(ddof=1))
    return Comparison(rival.name, len(new), float(new.mean()), float(old.mean()), bound, bool(passed))


def _of_first(
    game: Game, pair: Sequence[Agent], deals: int, keys: Roots, objective: Objective, progress: Progress
) -> Floats:
    """What the first agent gains in each deal [D], over its seatings. Where `progress` raises Enough, no more deals are
    played."""
    sample = Sample(seatings(game, 2))
    with suppress(Enough):  # a search may take a minute for a deal
        _play_on(sample, game, pair, deals, keys, lambda played: progress(played, deals), first=2)
    mine: Floats = sample.of_agent(0, _values(sample, game, objective)).mean(1)
    return mine


def _lower_end(leads: Floats) -> float:
    """The lower end of the one-sided interval of the mean of leads [D]."""
    reach = stats.t_critical(len(leads) - 1, 2 * CONFIDENCE - 1) * float(leads.std(ddof=1)) / math.sqrt(len(leads))
    return float(leads.mean()) - reach
