"""Best responses and equilibrium in a game in sequence form (`sequence_form.py`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.compile.kernel import kernel

from .sequence_form import SequenceForm

Numbers = npt.NDArray[np.float64]


class Tree(NamedTuple):
    """A seat's information sets, those nearer the beginning first."""

    parent: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    width: npt.NDArray[np.int64]


def trees(form: SequenceForm) -> tuple[Tree, Tree]:
    """Both seats' sets."""
    sets = form.sets

    def tree(seat: int) -> Tree:
        count = int(sets.size[seat])
        return Tree(*(np.ascontiguousarray(part[seat, :count]) for part in (sets.parent, sets.first, sets.width)))

    return tree(0), tree(1)


@kernel
def realise(tree: Tree, plays: Numbers, out: Numbers) -> None:
    """Write to `out` [S] the probability with which a seat's own choices lead to each sequence; `plays` [S] is the
    probability of each choice where it has to be made."""
    out[0] = 1.0
    for number in range(tree.parent.shape[0]):
        for choice in range(tree.first[number], tree.first[number] + tree.width[number]):
            out[choice] = out[tree.parent[number]] * plays[choice]


@kernel
def best_reply(tree: Tree, worth: Numbers) -> float:
    """Return the most a seat can get, where each of its sequences is worth `worth` [S], which is summed up in place."""
    for number in range(tree.parent.shape[0] - 1, -1, -1):
        best = -np.inf
        for choice in range(tree.first[number], tree.first[number] + tree.width[number]):
            best = max(best, worth[choice])
        worth[tree.parent[number]] += best
    return float(worth[0])


@kernel
def learn(tree: Tree, worth: Numbers, regret: Numbers, plays: Numbers) -> None:
    """Make one step of regret matching plus (Tammelin 2014) in every set, where sequences are worth `worth` [S]."""
    for number in range(tree.parent.shape[0] - 1, -1, -1):
        low, high = tree.first[number], tree.first[number] + tree.width[number]
        mean, total = 0.0, 0.0
        for choice in range(low, high):
            mean += plays[choice] * worth[choice]
        worth[tree.parent[number]] += mean
        for choice in range(low, high):
            regret[choice] = max(0.0, regret[choice] + worth[choice] - mean)
            total += regret[choice]
        for choice in range(low, high):
            plays[choice] = regret[choice] / total if total > 0.0 else 1.0 / (high - low)


def even(tree: Tree) -> Numbers:
    """Return equal probabilities for all choices of a set."""
    plays = np.ones(1 + int(tree.width.sum()))
    plays[1:] = np.repeat(1 / tree.width, tree.width)
    return plays


def held(form: SequenceForm, tree: tuple[Tree, Tree], seat: int, plan: Numbers) -> float:
    """Return what seat 0 gains where `seat` plays by `plan` (the probability of each sequence) and the other plays a
    best response."""
    worth = -(plan @ form.payoff) if seat == 0 else form.payoff @ plan
    found = best_reply(tree[1 - seat], np.ascontiguousarray(worth))
    return -found if seat == 0 else found


def equilibrium(form: SequenceForm, *, within: float = 1e-6, most_steps: int = 50_000) -> tuple[float, float]:
    """Return lower and upper bounds, `within` of each other if `most_steps` are enough, of what seat 0 gains in
    equilibrium: what the averages of counterfactual regret minimisation plus (Tammelin et al. 2015) gain against best
    responses."""
    both = trees(form)
    plays = [even(tree) for tree in both]
    regret = [np.zeros_like(one) for one in plays]
    plan = [np.zeros_like(one) for one in plays]
    total = [np.zeros_like(one) for one in plays]
    low, high = -np.inf, np.inf
    across = np.ascontiguousarray(form.payoff.T)
    for seat in range(2):
        realise(both[seat], plays[seat], plan[seat])
    for step in range(1, most_steps + 1):
        for seat in range(2):
            worth = form.payoff @ plan[1] if seat == 0 else -(across @ plan[0])
            learn(both[seat], worth, regret[seat], plays[seat])
            realise(both[seat], plays[seat], plan[seat])
            total[seat] += step * plan[seat]
        if step % 500 == 0:
            low = max(low, held(form, both, 0, total[0] / total[0][0]))
            high = min(high, held(form, both, 1, total[1] / total[1][0]))
            if high - low <= within:
                break
    return low, high
