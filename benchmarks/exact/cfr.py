"""Best responses and regret minimisation in a game in sequence form (`walk.py`), as kernels over flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.kernels import kernel

Numbers = npt.NDArray[np.float64]


class Tree(NamedTuple):
    """A seat's information sets with several actions, those nearer the beginning first; S sequences."""

    parent: npt.NDArray[np.int64]
    """[C] the sequence that leads there."""
    first: npt.NDArray[np.int64]
    """[C] the first of its own sequences."""
    width: npt.NDArray[np.int64]
    """[C] how many it has."""

    @property
    def sequences(self) -> int:
        """S."""
        return 1 + int(self.width.sum())


class Payoffs(NamedTuple):
    """What seat 0 gains where play ends with a pair of sequences, times the probability of the deals; all others are
    0."""

    one: npt.NDArray[np.int32]
    """[E] seat 0's sequence, ascending."""
    other: npt.NDArray[np.int32]
    """[E] seat 1's."""
    gain: Numbers
    """[E]"""


@kernel
def realise(tree: Tree, plays: Numbers, out: Numbers) -> None:
    """Write to `out` [S] the probability with which a seat's own choices lead to each sequence; `plays` [S] is the
    probability of each choice where it has to be made."""
    out[0] = 1.0
    for number in range(tree.parent.shape[0]):
        for choice in range(tree.first[number], tree.first[number] + tree.width[number]):
            out[choice] = out[tree.parent[number]] * plays[choice]


@kernel
def behaviour(tree: Tree, plan: Numbers, out: Numbers) -> None:
    """Write to `out` [S] the probability of each choice of a plan [S] where it has to be made: equal ones in sets that
    the plan does not lead to."""
    out[0] = 1.0
    for number in range(tree.parent.shape[0]):
        low, high, total = tree.first[number], tree.first[number] + tree.width[number], 0.0
        for choice in range(low, high):
            total += plan[choice]
        for choice in range(low, high):
            out[choice] = plan[choice] / total if total > 0.0 else 1.0 / (high - low)


@kernel
def values(payoffs: Payoffs, seat: int, plan: Numbers, out: Numbers) -> None:
    """Write to `out` [S] what each sequence of `seat` is worth to it where play ends, if the other seat plays by
    `plan` (the probability of each of its sequences)."""
    out[:] = 0.0
    if seat == 0:
        for entry in range(payoffs.gain.shape[0]):
            out[payoffs.one[entry]] += payoffs.gain[entry] * plan[payoffs.other[entry]]
    else:
        for entry in range(payoffs.gain.shape[0]):
            out[payoffs.other[entry]] -= payoffs.gain[entry] * plan[payoffs.one[entry]]


@kernel
def best_response(tree: Tree, worth: Numbers) -> float:
    """Return the most a seat can get, where each of its sequences is worth `worth` [S], which is summed up in place."""
    for number in range(tree.parent.shape[0] - 1, -1, -1):
        best = -np.inf
        for choice in range(tree.first[number], tree.first[number] + tree.width[number]):
            best = max(best, worth[choice])
        worth[tree.parent[number]] += best
    return float(worth[0])


@kernel
def learn(tree: Tree, worth: Numbers, regret: Numbers, plays: Numbers) -> None:
    """Make one step of predictive regret matching plus in every set, where sequences are worth `worth` [S]: the next
    regrets are predicted to be the latest (Farina, Kroer and Sandholm 2021, "Faster game solving via predictive
    Blackwell approachability", algorithm 3)."""
    for number in range(tree.parent.shape[0] - 1, -1, -1):
        low, high = tree.first[number], tree.first[number] + tree.width[number]
        mean, total = 0.0, 0.0
        for choice in range(low, high):
            mean += plays[choice] * worth[choice]
        worth[tree.parent[number]] += mean
        for choice in range(low, high):
            latest = worth[choice] - mean
            regret[choice] = max(0.0, regret[choice] + latest)
            plays[choice] = max(0.0, regret[choice] + latest)
            total += plays[choice]
        for choice in range(low, high):
            plays[choice] = plays[choice] / total if total > 0.0 else 1.0 / (high - low)


@kernel
def average(step: int, plan: Numbers, mean: Numbers) -> None:
    """Add the plan of a step to the mean of all until then, weighted by the square of their numbers."""
    share = 6.0 * step / ((step + 1) * (2.0 * step + 1))
    for choice in range(plan.shape[0]):
        mean[choice] += share * (plan[choice] - mean[choice])
