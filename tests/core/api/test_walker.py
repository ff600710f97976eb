"""`Walker`, `Nodes` and `Path`: the same play as everywhere, by the thousand, forth and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import backalley
from backalley.envs.core.api.walker import Nodes, Walker
from backalley.envs.core.game.game import Game
from backalley.examples.kuhn import GAME as KUHN
from backalley.examples.leduc import GAME as LEDUC
from tests.common.cases import TWO_QUICK

SMALL = pytest.mark.parametrize(
    "game",
    [KUHN.bind(), LEDUC.bind(), *(backalley.game(name, preset="tiny") for name in ("pitch", "missouri_city"))],
    ids=lambda game: game.name,
)


def drawn(mask: npt.NDArray[np.int8], random: np.random.Generator) -> npt.NDArray[np.int64]:
    """A random legal action for each row."""
    chosen: npt.NDArray[np.int64] = (random.random(mask.shape) * mask).argmax(1)
    return chosen


@TWO_QUICK
def test_nodes_are_played_as_tables_are(game: Game) -> None:
    """The same seeds and actions give the same masks, observations, rewards, ends and states; a node that is played on
    stays as it is."""
    random, size, plays = np.random.default_rng(5), 6, 40
    tables = game.make_vec(size, seed=11, autoreset=False)
    step = tables.reset()
    nodes, gained = backalley.walker(game).roots(size, seed=11), np.zeros((size, game.num_seats))
    rows = np.arange(size)
    for _ in range(plays):
        assert nodes.seat.tolist() == tables.arrays.seat[rows].tolist()
        assert (nodes.mask == tables.arrays.mask[rows]).all()
        assert (nodes.observation() == tables.arrays.flat[rows]).all()
        assert np.allclose(nodes.returns, gained[rows])
        assert nodes.states().records.tobytes() == tables.states(rows).records.tobytes()
        on = np.flatnonzero(~nodes.is_over)
        if not len(on):
            break
        before, rows = nodes[:], rows[on]
        actions = drawn(nodes.mask[on], random)
        children = nodes.children(on, actions)
        assert (before.key == nodes.key).all()
        assert before.states().records.tobytes() == nodes.states().records.tobytes()
        step = tables.step(actions, rows)
        gained[rows] += step.reward[rows]
        nodes = children


@SMALL
def test_a_key_is_an_information_set(game: Game) -> None:
    """Two histories have the same key if and only if the seat to act has the same information state in words."""
    words: dict[tuple[int, str], int] = {}
    random, met = np.random.default_rng(2), 0
    nodes, states = backalley.walker(game).roots(150, seed=3), [game.new_state(3 + k, events=True) for k in range(150)]
    while len(nodes):
        on = np.flatnonzero(~nodes.is_over)
        for k in on.tolist():
            said = states[k].seat, states[k].information_state_string(states[k].seat)
            assert words.setdefault(said, int(nodes.key[k])) == nodes.key[k]
            met += 1
        actions = drawn(nodes.mask[on], random)
        nodes, states = nodes.children(on, actions), [states[k] for k in on.tolist()]
        for state, action in zip(states, actions.tolist(), strict=True):
            state.apply(action)
    assert len(set(words.values())) == len(words) < met


@pytest.mark.parametrize("game", [KUHN.bind(), backalley.game("pitch", preset="tiny")], ids=lambda game: game.name)
def test_redrawn_nodes_follow_from_what_the_seat_knows(game: Game) -> None:
    """They are the states that `BatchEnv.determinize` draws by the same keys; the key of the seat to act stays, and of
    two nodes with one key the redrawn ones are the same, the keys of the others and chance to come included. (In games
    that treat cards alike, a key does not tell which of these were seen.)"""
    walker, keys = backalley.walker(game), np.arange(400, dtype=np.uint64) * 77
    nodes = walker.roots(400, seed=0)
    nodes = nodes.children(np.arange(400), nodes.mask.argmax(1))
    nodes = nodes[~nodes.is_over]
    keys = keys[: len(nodes)]
    redrawn = nodes.redrawn(keys)
    assert (redrawn.key == nodes.key).all()
    assert (redrawn.observation() == nodes.observation()).all()
    tables = backalley.BatchEnv.from_states(nodes.states())
    assert redrawn.states().records.tobytes() == tables.determinize(keys).records.tobytes()
    first = {key: row for row, key in reversed(list(enumerate(nodes.key.tolist())))}
    same = np.array([first[key] for key in nodes.key.tolist()])
    assert (same != np.arange(len(nodes))).any()
    one, other = nodes.redrawn(keys), nodes[same].redrawn(keys)
    while len(one):
        assert one.states().records.tobytes() == other.states().records.tobytes()
        assert (one.key == other.key).all()
        assert (one.returns == other.returns).all()
        on = np.flatnonzero(~one.is_over)
        one, other = (part.children(on, part.mask[on].argmax(1)) for part in (one, other))


def test_a_path_goes_forth_and_back() -> None:
    walker = backalley.walker("bezique")
    path, nodes, seen = walker.path(seed=4), walker.roots(1, seed=4), []
    random = np.random.default_rng(0)
    while not path.is_over and path.depth < 150:
        seen.append((path.seat, path.key, path.legal_actions(), path.returns()))
        assert seen[-1][:2] == (nodes.seat[0], nodes.key[0])
        action = int(random.choice(path.legal_actions()))
        path.push(action)
        nodes.play([action])
        assert path.node().states().records.tobytes() == nodes.states().records.tobytes()
    assert path.depth > 64  # it began with room for fewer
    while seen:
        path.pop()
        assert (path.seat, path.key, path.legal_actions(), path.returns()) == seen.pop()
    with pytest.raises(RuntimeError, match="no action to take back"):
        path.pop()


def test_states_become_nodes_again() -> None:
    """Their history is not known: those that look alike to the seat to act have one key."""
    walker = Walker(KUHN.bind())
    states = walker.roots(60, seed=1).states()
    nodes = walker.nodes(states)
    assert nodes.states().records.tobytes() == states.records.tobytes()
    shown = {bytes(row): int(key) for row, key in zip(nodes.observation(), nodes.key, strict=True)}
    assert len(shown) == len(set(nodes.key.tolist())) == 3
    assert (nodes.mask == backalley.BatchEnv.from_states(states).arrays.mask).all()


def kuhn() -> Nodes:
    return Walker(KUHN.bind()).roots(3, seed=0)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda nodes: nodes.play([0, 5, 0]), "cannot play 5, which is no action"),
        (lambda nodes: nodes.play([0, 1]), "One whole number for each of 3 nodes"),
        (lambda nodes: nodes.play([0.0, 1.0, 0.0]), "One whole number for each of 3 nodes"),
        (lambda nodes: nodes.children([3], [0]), "rows 0..2"),
        (lambda nodes: nodes.children([-1], [0]), "rows 0..2"),
        (lambda nodes: nodes.observation([0, 0, 2]), "seats 0..1"),
        (lambda nodes: nodes.redrawn([1, 2]), "3 keys|3 tables"),
        (lambda nodes: nodes.walker.roots(-1, seed=0), "count is -1"),
        (lambda nodes: nodes.walker.roots(2, seed=-3), "seeds are whole numbers of 0 or more"),
        (
            lambda nodes: nodes.walker.nodes(LEDUC.bind().make_vec(1, seed=0).states()),
            "has not been dealt|walker's game",
        ),
        (lambda nodes: nodes.walker.path(seed=0).push(9), "cannot play 9"),
        (lambda nodes: nodes.walker.path(seed=0).push("bet"), "must be a whole number"),
        (lambda nodes: backalley.Path(nodes), "begins at one node; 3 were given"),
        (lambda nodes: Nodes(), "not made by hand"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(wrong: Callable[[Nodes], Any], sentence: str) -> None:
    nodes = kuhn()
    with pytest.raises((ValueError, TypeError, RuntimeError), match=sentence):
        wrong(nodes)
    assert nodes.states().records.tobytes() == kuhn().states().records.tobytes()


def test_nobody_writes_to_nodes_and_finished_ones_stay() -> None:
    nodes = kuhn()
    for array in (nodes.seat, nodes.key, nodes.mask, nodes.returns):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 1
    over = nodes.children([0, 0], [0, 0]).children([0, 1], [0, 0])
    assert over.is_over.all()
    assert not over.mask.any()
    assert not over.key.any()
    assert not over.observation().any()
    with pytest.raises(backalley.IllegalAction, match="The game is over"):
        over.play([0, 0])
    with pytest.raises(ValueError, match="Node 0 is over"):
        over.redrawn([1, 2])
