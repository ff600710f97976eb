"""The gate between phases: a policy meets the one that stood before on duplicate deals, and takes its place only where
that says so, one-sided at 99 %.

Both play as they are on disk. The decks are new for each gate (`benchmarks/keys.py`), and the same whenever that gate
is played: a run that was killed in a gate plays it again, to the same verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from backalley.agents.base import Agent
from backalley.agents.match import Match
from backalley.benchmarks import stats
from backalley.benchmarks.keys import Roots, Space, roots
from backalley.benchmarks.sample import Sample, play
from backalley.benchmarks.seating import seatings
from backalley.benchmarks.stats import Floats
from backalley.envs.core.base import Game
from backalley.envs.core.workers import cores

from .config import Objective

CONFIDENCE = 0.99
"""How sure, one-sided, that the new policy is the better one."""
_GATE, _CURVE = 0, 1
"""Branches of the key space: gates and learning curves never meet either."""


class Gate(NamedTuple):
    """A gate that was played."""

    policy: str
    against: str
    deals: int
    lead: float
    """The policy's mean return a deal less that of the other, or its share of the games won."""
    sure: float
    """The lead is at least this, one-sided at 99 %."""
    passed: bool
    objective: str = "points"
    """Of what the lead is: points are returns."""

    def sentence(self) -> str:
        """What came of it."""
        so = "it stands" if self.passed else f"{self.against} stays"
        if self.objective == "games":
            return (
                f"Gate: the new policy wins {100 * self.lead:+.2f} % of the games more than {self.against} in "
                f"{self.deals:,} deals, 99 % sure of {100 * self.sure:+.2f} %; {so}."
            )
        return (
            f"Gate: the new policy leads {self.against} by {self.lead:+.4f} in {self.deals:,} deals, 99 % sure of "
            f"{self.sure:+.4f}; {so}."
        )


def gate_keys(seed: int, phase: int, decisions: int) -> Roots:
    """The keys of the gate after a phase that ended when the run had made so many decisions."""
    return roots(Space.GATES, seed, _GATE, phase, decisions)


def curve_keys(seed: int) -> Roots:
    """The keys of a run's learning curve, whose points are of the same deals."""
    return roots(Space.GATES, seed, _CURVE)


def meet(
    game: Game,
    pair: Sequence[Agent],
    deals: int,
    keys: Roots,
    progress: Callable[[int, int], None],
) -> Sample:
    """Two agents at the same deals in every seating, on all cores. What `progress` raises, between batches, ends it."""
    sample = Sample(seatings(game, 2))
    match = Match(game, pair, sample.seatings, num_threads=cores())
    try:
        play(match, sample, deals, keys, lambda: progress(sample.deals, deals))
    finally:
        match.close()
    return sample


def verdict(pair: Sequence[Agent], sample: Sample, game: Game, objective: Objective) -> Gate:
    """What deals of a policy and the agent that stood before say, by Student's t over the deals."""
    values = sample.returns
    if objective == Objective.GAMES:
        values = stats.win_shares(values, game.sides)
    new, old = (sample.of_agent(number, values).mean(1) for number in range(2))
    lead, sure = lower_end(new - old)
    return Gate(pair[0].name, pair[1].name, sample.deals, lead, sure, sure > 0, objective.name.lower())


def lower_end(leads: Floats) -> tuple[float, float]:
    """The mean of leads [D], and what it is at least, one-sided."""
    mean, count = float(leads.mean()), len(leads)
    reach = stats.t_critical(count - 1, 2 * CONFIDENCE - 1) * float(leads.std(ddof=1)) / math.sqrt(count)
    return mean, mean - reach


def gate_json(gate: Gate, **about: Any) -> dict[str, Any]:
    """A gate as `results.write` takes it."""
    return {"kind": "gate", **gate._asdict(), "confidence": CONFIDENCE, **about}
