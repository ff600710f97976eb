"""The gate between phases: a policy plays the previous one on duplicate deals, and replaces it only if a one-sided test
at 99 % says that it is better.

The test is sequential (`benchmarks/sequential/lead_test.py`): the gate ends once the answer is clear. Both play from
their files. The decks are new for each gate (`benchmarks/matches/seeding.py`), and the same whenever that gate is
played: a run killed in a gate plays it again, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from backalley.agents.base.agent import Agent
from backalley.benchmarks.figures import stats
from backalley.benchmarks.matches.sample import Deals, LineUp, Sample, play
from backalley.benchmarks.matches.seating import seatings
from backalley.benchmarks.matches.seeding import Roots, Space, roots
from backalley.benchmarks.sequential.lead_test import CONFIDENCE, look, looks
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.threads import cores

from ..config.config import Objective

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
    """The lower end of the lead's one-sided 99 % interval, which holds although the test chose when to end."""
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


def play_gate(
    game: Game,
    pair: Sequence[Agent],
    most: int,
    keys: Roots,
    objective: Objective,
    progress: Callable[[int, int], None],
) -> Gate:
    """Let a policy and the previous agent play the same deals in every seating, `most` at the most, until the test
    ends. What `progress` raises, between batches, ends it without a result."""
    sample = _sample(game)
    for deals in looks(most):
        _play_on(sample, game, pair, deals, keys, lambda played: progress(played, most))
        found = verdict(pair, sample, game, objective, most)
        if found is not None:
            return found
    raise AssertionError("the last look ends a test")


def meet(
    game: Game,
    pair: Sequence[Agent],
    deals: int,
    keys: Roots,
    progress: Callable[[int, int], None],
) -> Sample:
    """Play two agents at the same deals in every seating, on all cores. What `progress` raises, between batches, ends
    it."""
    sample = _sample(game)
    _play_on(sample, game, pair, deals, keys, lambda played: progress(played, deals))
    return sample


def _sample(game: Game) -> Sample:
    return Sample(seatings(game, 2))


def _play_on(
    sample: Sample, game: Game, pair: Sequence[Agent], deals: int, keys: Roots, progress: Callable[[int], None]
) -> None:
    """Play until the sample holds so many deals."""
    work = Deals([LineUp(game, pair, sample.seatings, keys)], cores())
    play(work, [sample], [deals], lambda part: progress(sample.deals))


def verdict(pair: Sequence[Agent], sample: Sample, game: Game, objective: Objective, most: int) -> Gate | None:
    """Return the gate's result for a policy and the previous agent from their deals, of `most` at the most, or None
    where more deals are needed."""
    values = sample.returns
    if objective == Objective.GAMES:
        values = stats.win_shares(values, game.sides)
    new, old = (sample.of_agent(number, values).mean(1) for number in range(2))
    found = look(new - old, most)
    if not found.ended:
        return None
    policy, against = (agent.name for agent in pair)
    mean = float(new.mean())
    return Gate(
        policy, against, sample.deals, mean, found.mean, found.lower, found.passed, objective=objective.name.lower()
    )


def gate_json(gate: Gate, **about: Any) -> dict[str, Any]:
    """Return a gate in the form that `results.write` takes."""
    return {"kind": "gate", **gate._asdict(), "confidence": CONFIDENCE, **about}
