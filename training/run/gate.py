"""The gate between phases: a policy plays the previous one on duplicate deals, and replaces it only if a one-sided test
at 99 % says that it is better.

Both play from their files. The decks are new for each gate (`benchmarks/matches/seeding.py`), and the same whenever
that gate is played: a run killed in a gate plays it again, with the same result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from backalley.agents.base.agent import Agent
from backalley.benchmarks.figures import stats
from backalley.benchmarks.figures.stats import Floats
from backalley.benchmarks.matches.sample import Deals, LineUp, Sample, play
from backalley.benchmarks.matches.seating import seatings
from backalley.benchmarks.matches.seeding import Roots, Space, roots
from backalley.envs.core.engine.workers import cores
from backalley.envs.core.game.game import Game

from ..config.config import Objective

CONFIDENCE = 0.99
"""The one-sided confidence that the new policy is better."""
_GATE, _CURVE = 0, 1
"""Branches of the seeds: gates and learning curves never share decks."""


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
    """The lower end of the lead's one-sided 99 % interval."""
    passed: bool
    objective: str = "points"
    """What the mean is of: points are returns, games are shares of wins."""

    def sentence(self) -> str:
        """What came of it."""
        wins = self.objective == "games"

        def shown(value: float, sign: str = "+") -> str:
            return f"{100 * value:{sign}.2f} %" if wins else f"{value:+.4f}"

        own, other = shown(self.mean, ""), shown(self.mean - self.lead, "")
        return (
            f"Gate over {self.deals:,} deals: {'win share' if wins else 'mean return'} {own} for the new policy, "
            f"{other} for {self.against}; the difference is at least {shown(self.sure)} with 99 % confidence, so "
            f"{'the new policy is kept' if self.passed else f'{self.against} is kept'}."
        )


def gate_keys(seed: int, phase: int, decisions: int) -> Roots:
    """Return the keys of the gate after a phase that ended when the run had made that many decisions."""
    return roots(Space.GATES, seed, _GATE, phase, decisions)


def curve_keys(seed: int) -> Roots:
    """Return the keys of a run's learning curve, whose points all play the same deals."""
    return roots(Space.GATES, seed, _CURVE)


def meet(
    game: Game,
    pair: Sequence[Agent],
    deals: int,
    keys: Roots,
    progress: Callable[[int, int], None],
) -> Sample:
    """Play two agents at the same deals in every seating, on all cores. What `progress` raises, between batches, ends
    it."""
    sample = Sample(seatings(game, 2))
    work = Deals([LineUp(game, pair, sample.seatings, keys)], cores())
    play(work, [sample], [deals], lambda part: progress(sample.deals, deals))
    return sample


def verdict(pair: Sequence[Agent], sample: Sample, game: Game, objective: Objective) -> Gate:
    """Return the gate's result for a policy and the previous agent from their deals, by Student's t over the deals."""
    values = sample.returns
    if objective == Objective.GAMES:
        values = stats.win_shares(values, game.sides)
    new, old = (sample.of_agent(number, values).mean(1) for number in range(2))
    lead, sure = lower_end(new - old)
    mean = float(new.mean())
    return Gate(pair[0].name, pair[1].name, sample.deals, mean, lead, sure, sure > 0, objective.name.lower())


def lower_end(leads: Floats) -> tuple[float, float]:
    """Return the mean of leads [D], and the lower end of its one-sided interval."""
    mean, count = float(leads.mean()), len(leads)
    reach = stats.t_critical(count - 1, 2 * CONFIDENCE - 1) * float(leads.std(ddof=1)) / math.sqrt(count)
    return mean, mean - reach


def gate_json(gate: Gate, **about: Any) -> dict[str, Any]:
    """Return a gate in the form that `results.write` takes."""
    return {"kind": "gate", **gate._asdict(), "confidence": CONFIDENCE, **about}
