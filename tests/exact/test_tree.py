"""`backalley.tree`: the whole of a small game as arrays, against what is published and what is counted elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import backalley
from backalley.agents.base.agent import View, as_agent
from backalley.benchmarks.exact.exploit import exploitability
from backalley.benchmarks.exact.tree import Tree
from backalley.benchmarks.exact.walk import TooLarge
from backalley.examples.kuhn import GAME as KUHN
from backalley.examples.leduc import GAME as LEDUC
from backalley.examples.liars_dice import GAME as DICE
from tests import ROOT

TINY = ("pitch", "missouri_city", "twenty_one", "killer_bridge")


def matching(tree: Tree, regret: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    positive = np.maximum(regret, 0)
    sums = np.add.reduceat(positive, tree.set_first[:-1])[tree.set_of_choice]
    return np.where(sums > 0, positive / np.maximum(sums, 1e-300), tree.uniform())


def counterfactual_regret(tree: Tree, iterations: int, *, plus: bool = True) -> npt.NDArray[np.float64]:
    """CFR+ with linear averages (Tammelin 2014), or CFR with even ones, by the tree's arrays alone."""
    chosen = np.flatnonzero(tree.choice >= 0)
    place, parent = tree.choice[chosen], tree.parent[chosen]
    regret, total = np.zeros(len(tree.action)), np.zeros(len(tree.action))
    for iteration in range(1, iterations + 1):
        for seat in range(tree.game.num_seats):
            strategy, mine = matching(tree, regret), tree.seat[parent] == seat
            value = tree.values(strategy)[:, seat]
            gain = tree.reach(strategy, without=seat)[parent] * (value[chosen] - value[parent])
            regret = np.maximum(regret + np.bincount(place[mine], gain[mine], len(regret)), 0 if plus else -np.inf)
            own = np.zeros(len(regret))
            own[place[mine]] = tree.reach(strategy, only=seat)[parent[mine]]
            total += (iteration if plus else 1) * own * strategy
    return matching(tree, total)


@pytest.mark.parametrize(
    ("game", "nodes", "sets", "uniform", "value"),
    [(KUHN, 55, 12, 11 / 12, -1 / 18), (LEDUC, 2041, 288, 4.747222222, -0.0856064)],
    ids=["kuhn", "leduc"],
)
def test_published_values(game: Any, nodes: int, sets: int, uniform: float, value: float) -> None:
    """Kuhn (1950) for the value -1/18; uniform play's NashConv and Leduc poker's value as OpenSpiel has them."""
    tree = backalley.tree(game)
    assert (len(tree), len(tree.set_seat)) == (nodes, sets)
    assert tree.nash_conv(tree.uniform()) == pytest.approx(uniform, abs=1e-9)
    found = counterfactual_regret(tree, 300)
    assert tree.expected(found)[0] == pytest.approx(value, abs=2e-3)
    assert tree.nash_conv(found) < 0.01


@pytest.mark.slow
def test_liars_dice_after_three_iterations_of_cfr_is_openspiels() -> None:
    """`pyspiel.CFRSolver` of version 2.0.2, whose average policy `pyspiel.nash_conv` measures; `test_openspiel.py`
    measures that policy itself."""
    tree = backalley.tree(DICE)
    assert tree.nash_conv(tree.uniform()) == pytest.approx(1.5614886463844795, abs=1e-9)
    assert tree.nash_conv(counterfactual_regret(tree, 3, plus=False)) == pytest.approx(0.9232647097528408, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("game", [backalley.game(name, preset="tiny") for name in TINY], ids=TINY)
@pytest.mark.sampled
def test_a_tree_is_what_the_walk_counts_and_exploit_answers(game: backalley.Game) -> None:
    tree = backalley.tree(game)
    counted = json.loads((ROOT / f"benchmarks/results/information_sets_{game.name}_tiny.json").read_text("utf-8"))
    acts = int((tree.seat >= 0).sum())
    assert (acts, int((tree.seat == -2).sum())) == (counted["histories"], counted["ends"])
    assert len(tree.set_seat) == counted["information_sets"]
    assert int((np.diff(tree.set_first) > 1).sum()) == counted["choices"]
    strategy = tree.uniform()
    (answered,) = exploitability(tree.game, [backalley.agent("random", tree.game)]).agents
    found = [tree.best_response(strategy, seat)[0] for seat in range(2)]
    assert answered.held == pytest.approx((-found[1], found[0]), abs=1e-9)
    assert tree.nash_conv(strategy) == pytest.approx(sum(found) - tree.expected(strategy).sum(), abs=1e-9)


def test_nodes_know_their_place() -> None:
    tree = backalley.tree("pitch", preset="tiny")
    inner = np.flatnonzero(tree.num_children > 0)
    for node in inner[:: max(1, len(inner) // 200)].tolist():
        first = tree.first_child[node]
        children = np.arange(first, first + tree.num_children[node])
        assert (tree.parent[children] == node).all()
        if tree.seat[node] >= 0:
            its = tree.information_set[node]
            places = np.arange(tree.set_first[its], tree.set_first[its + 1])
            assert (tree.choice[children] == places).all()
            assert (tree.action[places] == tree.move[children]).all()
            assert tree.set_seat[its] == tree.seat[node]
            assert (tree.set_of_choice[places] == its).all()
        else:
            assert tree.chance[children].sum() == pytest.approx(1)
    level = np.repeat(np.arange(len(tree.levels) - 1), np.diff(tree.levels))
    assert (level[1:] == level[tree.parent[1:]] + 1).all()
    assert tree.levels[-1] == len(tree)
    assert tree.reach(tree.uniform())[tree.seat == -2].sum() == pytest.approx(1)
    both = tree.reach(tree.uniform(), only=0) * tree.reach(tree.uniform(), without=0)
    assert np.allclose(both, tree.reach(tree.uniform()))


def test_information_sets_have_the_keys_of_nodes_and_the_observations_of_tables() -> None:
    """So a strategy that is learned by walking is measured by the tree."""
    tree, walker = backalley.tree(KUHN), backalley.walker(KUHN)
    nodes, place, seen = walker.roots(200, seed=1), np.argsort(tree.set_key), set()
    shown = tree.observation()
    while len(nodes):
        nodes = nodes[~nodes.is_over]
        its = place[np.searchsorted(tree.set_key[place], nodes.key)]
        assert (tree.set_key[its] == nodes.key).all()
        assert (tree.set_seat[its] == nodes.seat).all()
        assert (shown[its] == nodes.observation()).all()
        seen |= set(its.tolist())
        both = np.repeat(np.arange(len(nodes)), 2)
        nodes = nodes.children(both, np.tile([0, 1], len(nodes)))
    assert seen == set(range(12))


class Remembers:
    """Plays by all that it was shown, and by what it keeps of it between decisions."""

    name, reads_events = "remembers", True

    def __init__(self) -> None:
        self.recall = backalley.Recall(2, dtype=np.int64)

    def action_probabilities(self, view: View) -> npt.NDArray[np.float64]:
        places, new = self.recall.read(view)
        weights = np.arange(1, new.events.shape[1] + 1)[None, :, None] * np.array([5, 3, 7])
        self.recall.state[places, 0] += (new.events * weights).sum((1, 2))
        self.recall.state[places, 1] += new.length
        found = view.action_mask * (
            1.0 + self.recall.state[places, :1] * np.arange(1, view.action_mask.shape[1] + 1) % 11
        )
        return found / found.sum(1, keepdims=True)

    def act(self, view: View) -> npt.NDArray[np.int64]:
        return self.action_probabilities(view).argmax(1)


@pytest.mark.parametrize("game", [KUHN, LEDUC], ids=["kuhn", "leduc"])
def test_an_agent_that_remembers_is_exploited_by_all_it_was_shown(game: Any) -> None:
    """`exploit` finds what the tree does for the same strategy; where it is asked twice, it answers alike."""
    tree, agent = backalley.tree(game), Remembers()
    strategy = tree.strategy(agent)
    assert (strategy == tree.strategy(agent)).all()
    assert (strategy == tree.strategy(Remembers())).all()
    played = {
        (int(seat), bytes(found))
        for seat, found in zip(tree.set_seat, np.split(strategy, tree.set_first[1:-1]), strict=True)
    }
    assert len(played) > 6
    (answered,) = exploitability(game, [as_agent(agent)]).agents
    found = [tree.best_response(strategy, seat)[0] for seat in range(2)]
    assert answered.held == pytest.approx((-found[1], found[0]), abs=1e-9)


def test_a_game_that_begins_by_chance_has_one_root() -> None:
    game = backalley.game("missouri_city", preset="tiny")
    tree = backalley.tree(game)
    assert tree.parent.tolist().count(-1) == 1
    starts = game.num_start_outcomes
    assert starts == 1 or (tree.seat[0] == -1 and tree.num_children[0] == starts and tree.chance[1] == 1 / starts)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda tree: backalley.tree("pitch"), "too large|more than"),
        (lambda tree: backalley.tree("pitch", preset="tiny", most=10_000), "more than 10,000 nodes"),
        (lambda tree: backalley.tree("pitch", preset="tiny", most="all"), "most is 'all'"),
        (lambda tree: tree.expected([1.0]), "a vector of 24 probabilities; the one given has shape"),
        (lambda tree: tree.best_response(tree.uniform(), 2), "seats 0..1"),
        (lambda tree: tree.reach(tree.uniform(), only=-1), "seats 0..1"),
    ],
)
def test_what_is_wrong_is_said(call: Callable[[Tree], Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError, TooLarge), match=sentence):
        call(backalley.tree(KUHN))
