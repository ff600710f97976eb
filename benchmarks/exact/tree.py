"""`Tree`: all of a small game as arrays, a node a row: chance and players' moves, information sets, and what is paid.

A behaviour strategy of all seats is one vector: a probability for each legal action of each information set
(`Tree.uniform`). With `levels` an algorithm goes down or up the tree in a few NumPy calls a level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import View
from backalley.agents.registry import agent as agent_of
from backalley.console.errors import InvalidType, InvalidValue
from backalley.envs.core.api.compiled_events import History, put_histories
from backalley.envs.core.api.compiled_play import Batch
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game import arguments
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import CHANCE, OVER, template, unbound
from backalley.envs.core.rules import rng

from .deals import Deals
from .walk import DEEP, DEPTH, FINE, LEFT, MAX_DEPTH, SETS, Space, TooLarge, Walk

MOST_NODES = 10_000_000
_FIRST_NODES, _FIRST_EVENTS = 1 << 16, 1 << 18
_OF_NODES = ("parent", "move", "depth", "seat", "chance", "key", "returns")
_ROWS = 4096
"""Information sets that are shown to an agent at a time."""


class Found(NamedTuple):
    """What the walk has found so far; V nodes in the order of the walk, of which `filled[0]` are there, and K
    information sets."""

    parent: npt.NDArray[np.int32]
    """[V] the node before; -1 at the beginning."""
    move: npt.NDArray[np.int32]
    """[V] the action, or the number of the outcome, that leads here."""
    depth: npt.NDArray[np.int32]
    """[V]"""
    seat: npt.NDArray[np.int8]
    """[V] who acts, CHANCE or OVER."""
    chance: npt.NDArray[np.float64]
    """[V] the probability of all that chance decided up to here."""
    key: npt.NDArray[np.uint64]
    """[V] the information set; 0 where nobody acts."""
    returns: npt.NDArray[np.float32]
    """[V, N] at ends."""
    events: npt.NDArray[np.int16]
    """[P, 4] the events of all nodes, one after another, as in `Log`."""
    events_end: npt.NDArray[np.int64]
    """[V] where those end that were written on the way from a node's parent."""
    set_key: npt.NDArray[np.uint64]
    """[K]"""
    set_state: npt.NDArray[Any]
    """[K] a state in which the seat knows this."""
    set_own: npt.NDArray[np.int32]
    """[K] how many decisions the seat made before."""
    at: npt.NDArray[np.int32]
    """[D] the node at each depth of the walk."""
    outcome: npt.NDArray[np.int32]
    """[D] how many outcomes chance has had there."""
    filled: npt.NDArray[np.int64]
    """[1]"""

    def with_room(self, nodes: int, sets: int) -> Found:
        """Return the same with room for as many nodes and sets again, where less than half is left."""
        found, names = self, (*_OF_NODES, "events_end")
        if 2 * nodes >= len(self.parent):
            found = found._replace(**{name: _doubled(getattr(self, name)) for name in names})
        if nodes > 0 and 2 * self.events_end[nodes - 1] >= len(self.events):
            found = found._replace(events=_doubled(self.events))
        if 2 * sets >= len(self.set_key):
            of_sets = ("set_key", "set_state", "set_own")
            found = found._replace(**{name: _doubled(getattr(self, name)) for name in of_sets})
        return found


def _doubled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.concatenate([array, np.zeros_like(array)])


decide = deal_next = play_next = unbound
"""Templates of `walk.py`."""


@template
def note_node(batch: Batch, history: History, space: Space, tree: Found, depth: int, move: int) -> None:
    """Add the node at a depth, which the walk has just come to."""
    node, seat = int(tree.filled[0]), int(batch.state[depth].seat)
    tree.filled[0] += 1
    tree.parent[node] = tree.at[depth - 1] if depth > 0 else -1
    tree.at[depth], tree.outcome[depth] = node, 0
    tree.move[node], tree.depth[node], tree.seat[node], tree.chance[node] = move, depth, seat, space.chance[depth]
    end = tree.events_end[node - 1] if node > 0 else 0
    for number in range(history.filled[depth]):
        for column in range(4):
            tree.events[end, column] = history.entries[depth, number, column]
        end += 1
    tree.events_end[node], tree.key[node] = end, np.uint64(0)
    if seat >= 0:
        tree.key[node] = np.uint64(rng.fork(space.knows[depth, seat], seat)) | np.uint64(1)
    elif seat == OVER:
        for who in range(space.gained.shape[1]):
            tree.returns[node, who] = space.gained[depth, who]


@template
def walk_noting(
    options: Any, batch: Batch, history: History, space: Space, deals: Deals, tree: Found, move: int
) -> int:
    """Walk on, depth first, through `found[LEFT]` positions; return FINE, or why it cannot go on. `move` leads to the
    beginning."""
    found, depth = space.found, int(space.found[DEPTH])
    if depth == 0 and space.following[0] == 0:
        note_node(batch, history, space, tree, 0, move)
    while depth >= 0 and found[LEFT] > 0:
        if depth + 2 >= batch.state.shape[0]:
            return DEEP
        seat, down, played = int(batch.state[depth].seat), False, 0
        if seat == CHANCE:
            down = deal_next(options, batch, history, space, deals, depth)
            played = int(tree.outcome[depth])
            tree.outcome[depth] += 1
        elif seat != OVER:
            if space.following[depth] == 0:
                sets = found[SETS]
                decide(options, batch, space, depth, False)
                if found[SETS] > sets:
                    tree.set_key[sets] = tree.key[tree.at[depth]]
                    tree.set_state[sets] = batch.state[depth]
                    tree.set_own[sets] = batch.own_decisions[depth, seat]
            down = play_next(options, batch, history, space, depth)
            played = int(space.following[depth]) - 1
        found[LEFT] -= 1
        if down:
            depth += 1
            note_node(batch, history, space, tree, depth, played)
        else:
            depth -= 1
    found[DEPTH] = depth
    return FINE


class _NotingWalk(Walk):
    """A walk that notes each node."""

    more = (note_node, walk_noting)

    def __init__(self, game: Game, most: int) -> None:
        size, self.most = _FIRST_NODES, most
        self.tree = Found(
            parent=np.zeros(size, np.int32),
            move=np.zeros(size, np.int32),
            depth=np.zeros(size, np.int32),
            seat=np.zeros(size, np.int8),
            chance=np.zeros(size),
            key=np.zeros(size, np.uint64),
            returns=np.zeros((size, game.num_seats), np.float32),
            events=np.zeros((_FIRST_EVENTS, 4), np.int16),
            events_end=np.zeros(size, np.int64),
            set_key=np.zeros(size, np.uint64),
            set_state=np.zeros(size, game.state_dtype),
            set_own=np.zeros(size, np.int32),
            at=np.zeros(MAX_DEPTH, np.int32),
            outcome=np.zeros(MAX_DEPTH, np.int32),
            filled=np.zeros(1, np.int64),
        )
        super().__init__(game, keep=False, most=most)

    def _walk_on(self) -> int:
        tree, found = self.tree, self.space.found
        if tree.filled[0] > self.most:
            raise TooLarge(f"{self.game.name} has more than {self.most:,} nodes under these options.")
        room = len(tree.parent) // 2 - 1, len(tree.set_key) // 2, len(tree.events) // (2 * self.game.most_events)
        found[LEFT] = min(int(found[LEFT]), *room)
        trouble: int = self._call("walk_noting", *self._arguments(), tree, self.start_outcome)
        self.tree = tree.with_room(int(tree.filled[0]), int(found[SETS]))
        return trouble


class Tree:
    """All of a game. V nodes, those nearer the beginning first; the children of a node follow each other.

    >>> import backalley
    >>> tree = backalley.tree("backalley.examples.kuhn")
    >>> len(tree), len(tree.set_seat), tree.expected(tree.uniform()).round(4).tolist()
    (55, 12, [0.125, -0.125])
    """

    game: Game
    parent: npt.NDArray[np.int32]
    """[V] the node before; -1 at the beginning."""
    move: npt.NDArray[np.int32]
    """[V] the action that leads here; where the parent is chance, the number of the outcome."""
    seat: npt.NDArray[np.int8]
    """[V] who acts; -1 where chance decides, -2 at an end."""
    chance: npt.NDArray[np.float64]
    """[V] the probability of the move that leads here where chance decides on it, else 1."""
    returns: npt.NDArray[np.float32]
    """[V, N] what each seat has gained at an end; zeros elsewhere."""
    levels: npt.NDArray[np.int64]
    """[D + 1] nodes `levels[d]:levels[d + 1]` are d moves from the beginning."""
    first_child: npt.NDArray[np.int32]
    """[V]"""
    num_children: npt.NDArray[np.int32]
    """[V]"""
    information_set: npt.NDArray[np.int32]
    """[V] the number of the information set of who acts, -1 where nobody does."""
    choice: npt.NDArray[np.int32]
    """[V] the place in a strategy of the move that leads here; -1 where no seat chose it."""
    set_seat: npt.NDArray[np.int8]
    """[K] who acts at an information set."""
    set_first: npt.NDArray[np.int32]
    """[K + 1] the places of information set k in a strategy are `set_first[k]:set_first[k + 1]`, one for each legal
    action in ascending order."""
    set_own: npt.NDArray[np.int32]
    """[K] how many decisions the seat made before."""
    set_key: npt.NDArray[np.uint64]
    """[K] its number of 64 bits, as `Nodes.key` has it."""
    action: npt.NDArray[np.int32]
    """[S] the action at each place of a strategy."""
    set_of_choice: npt.NDArray[np.int32]
    """[S] the information set of each place."""

    def __init__(self, game: Game, *, most: int = MOST_NODES) -> None:
        """Raises TooLarge (a ValueError) for a game with more than `most` nodes, too many deals or too long episodes;
        RuntimeError for a game that declares no events."""
        self.game = game
        walked = _NotingWalk(game, most)
        found, count, sets = walked.tree, int(walked.tree.filled[0]), int(walked.space.found[SETS])
        self._events, end = found.events, found.events_end[:count]
        parts = {name: getattr(found, name)[:count] for name in _OF_NODES}
        parts["begin"], parts["end"] = np.concatenate([[0], end[:-1]]), end
        if game.num_start_outcomes > 1:
            parts = _with_start(parts, game.num_start_outcomes)
            count += 1
        order = np.argsort(parts["depth"], kind="stable")
        place = np.empty(count, np.int32)
        place[order] = np.arange(count)
        self.move, self.seat, self.returns = (parts[name][order] for name in ("move", "seat", "returns"))
        parent = parts["parent"][order]
        self.parent = np.where(parent < 0, -1, place[parent]).astype(np.int32)
        depth = parts["depth"][order]
        self.levels = np.searchsorted(depth, np.arange(depth[-1] + 2))
        self.num_children = np.bincount(self.parent[1:], minlength=count).astype(np.int32)
        self.first_child = np.concatenate([[1], 1 + np.cumsum(self.num_children)[:-1]]).astype(np.int32)
        reach = parts["chance"][order]
        self.chance = np.where(self.seat[self.parent] == CHANCE, reach / reach[self.parent], 1.0)
        self.chance[0] = 1.0
        self._span = np.stack([parts["begin"], parts["end"]], 1)[order]
        self._number_sets(found, sets, parts["key"][order])

    def _number_sets(self, found: Found, sets: int, key: npt.NDArray[np.uint64]) -> None:
        """Number the information sets in the order of the levels, and the places of a strategy."""
        acts = np.flatnonzero(self.seat >= 0)
        _, first, number = np.unique(key[acts], return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int32)
        rank[np.argsort(first)] = np.arange(len(first))
        self.information_set = np.full(len(key), -1, np.int32)
        self.information_set[acts] = rank[number]
        self._example = example = acts[np.sort(first)]
        self.set_seat, self.set_key = self.seat[example], key[example]
        at = np.argsort(found.set_key[:sets])[np.searchsorted(np.sort(found.set_key[:sets]), self.set_key)]
        self.set_own, self._set_state = found.set_own[at], found.set_state[at]
        width = self.num_children[example]
        self.set_first = np.concatenate([[0], np.cumsum(width)]).astype(np.int32)
        self.set_of_choice = np.repeat(np.arange(len(width), dtype=np.int32), width)
        its = self.information_set[self.parent]
        its[0] = -1
        self.choice = np.full(len(key), -1, np.int32)
        chosen = np.flatnonzero(its >= 0)
        self.choice[chosen] = self.set_first[its[chosen]] + chosen - self.first_child[self.parent[chosen]]
        self.action = np.empty(self.set_first[-1], np.int32)
        self.action[self.choice[chosen]] = self.move[chosen]

    def __len__(self) -> int:
        return len(self.seat)

    def __repr__(self) -> str:
        return f"<Tree of {self.game!r}: {len(self):,} nodes, {len(self.set_seat):,} information sets>"

    def observation(self) -> npt.NDArray[Any]:
        """Return what who acts observes at each information set [K, O]."""
        records = np.zeros(len(self.set_seat), self.game.observation_dtype)
        for state, seat, record in zip(self._set_state, self.set_seat.tolist(), records, strict=True):
            self.game.kernels.observe(self.game.options, state, seat, record)
        return records.view(self.game.observation_base).reshape(len(records), -1)

    def strategy(self, agent: Any) -> npt.NDArray[np.float64]:
        """Return the probabilities by which an agent plays in every seat [S]; an agent that reads events is shown them.
        `agent` is a name, a folder of a policy or an object with `act(view)`. Raises NoProbabilities, a ValueError, for
        an agent that cannot tell them."""
        return self.ask(agent_of(agent, self.game).action_probabilities)

    def ask(self, answer: Callable[[View], npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Return what `answer` gives for views of all information sets [n, A], as a strategy [S]."""
        tables = BatchEnv(self.game, min(_ROWS, len(self.set_seat)), seed=0, events=True)
        parts = []
        for low in range(0, len(self.set_seat), tables.num_envs):
            sets = np.arange(low, min(len(self.set_seat), low + tables.num_envs))
            rows = np.arange(len(sets))
            tables.arrays.state[rows] = self._set_state[sets]
            tables.arrays.own_decisions[rows, self.set_seat[sets]] = self.set_own[sets]
            tables.refresh(rows)
            put_histories(tables, [self._history(int(self._example[number])) for number in sets])
            found = answer(View(tables, rows, sets.astype(np.uint64)))
            parts.append(found[self._places(sets)])
        return np.concatenate(parts)

    def _places(self, sets: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Row and column of each of their places of a strategy in answers for some information sets that follow each
        other."""
        places = slice(self.set_first[sets[0]], self.set_first[sets[-1] + 1])
        return self.set_of_choice[places].astype(np.int64) - sets[0], self.action[places]

    def _history(self, node: int) -> tuple[npt.NDArray[np.int16], int]:
        """The events that lead to a node, and how many there were before the latest deal."""
        parts, dealt = [], None
        while node >= 0:
            begin, end = self._span[node]
            parts.append(self._events[begin:end])
            if dealt is None and self.parent[node] >= 0 and self.seat[self.parent[node]] == CHANCE:
                dealt = len(parts)
            node = int(self.parent[node])
        before = 0 if dealt is None else sum(map(len, parts[dealt:]))
        return np.concatenate(parts[::-1]), before

    def uniform(self) -> npt.NDArray[np.float64]:
        """Return the strategy that takes all legal actions alike [S]."""
        return 1.0 / np.diff(self.set_first)[self.set_of_choice]

    def reach(
        self, strategy: npt.ArrayLike, *, only: int | None = None, without: int | None = None
    ) -> npt.NDArray[np.float64]:
        """Return the probability of coming to each node [V], by chance and the strategy [S] of all seats; `only` counts
        the choices of one seat alone, and `without` all but those of one. Raises TypeError or ValueError."""
        move, its = self._moves(strategy), self.seat[self.parent]
        if only is not None:
            move[its != arguments.seat(only, self.game)] = 1.0
        if without is not None:
            move[its == arguments.seat(without, self.game)] = 1.0
        found = np.ones(len(self))
        for start, stop in zip(self.levels[1:-1], self.levels[2:], strict=True):
            found[start:stop] = found[self.parent[start:stop]] * move[start:stop]
        return found

    def _moves(self, strategy: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The probability of each node's move."""
        played = np.asarray(strategy, np.float64)
        if played.shape != self.action.shape:
            raise InvalidValue(
                f"A strategy of this game is a vector of {len(self.action):,} probabilities; the one given has shape "
                f"{played.shape}."
            )
        return np.where(self.choice < 0, self.chance, played[self.choice])

    def expected(self, strategy: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return what each seat gains on average [N] where all play the strategy [S]. Raises ValueError."""
        return self.reach(strategy) @ self.returns.astype(np.float64)

    def values(self, strategy: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return what each seat gains on average from each node on [V, N]. Raises ValueError."""
        move, found = self._moves(strategy), self.returns.astype(np.float64)
        for before, start, stop in zip(self.levels[-3::-1], self.levels[-2:0:-1], self.levels[:1:-1], strict=True):
            parents = self.parent[start:stop] - before
            for seat in range(found.shape[1]):
                gained = np.bincount(parents, move[start:stop] * found[start:stop, seat], minlength=start - before)
                found[before:start, seat] += gained
        return found

    def best_response(self, strategy: npt.ArrayLike, seat: int) -> tuple[float, npt.NDArray[np.float64]]:
        """Return what a seat gains on average if it answers the strategy [S] of the others as well as it can, and a
        strategy in which it does so [S]. It holds for games of perfect recall, as all with events are. Raises
        TypeError or ValueError."""
        seat, answer = arguments.seat(seat, self.game), np.array(strategy, np.float64)
        others = self.reach(answer, without=seat)
        own = np.where(self.set_seat == seat, self.set_own, -1)[self.set_of_choice]
        chosen = np.flatnonzero(self.choice >= 0)
        place = self.choice[chosen]
        for before in np.unique(own[own >= 0])[::-1]:  # its last decisions first: what follows them is settled
            here, value = own == before, self.values(answer)[:, seat]
            worth = np.bincount(place, (others * value)[chosen], minlength=len(answer))
            most = np.maximum.reduceat(worth, self.set_first[:-1])[self.set_of_choice]
            best = np.flatnonzero(here & (worth == most))
            answer[here] = 0.0
            answer[best[np.unique(self.set_of_choice[best], return_index=True)[1]]] = 1.0
        return float(self.expected(answer)[seat]), answer

    def nash_conv(self, strategy: npt.ArrayLike) -> float:
        """Return what all seats together can gain if each answers the strategy [S] alone: 0 at an equilibrium. In a
        zero-sum game of two seats, half of it is the exploitability. Raises ValueError."""
        now = self.expected(strategy)
        return float(sum(self.best_response(strategy, seat)[0] - now[seat] for seat in range(self.game.num_seats)))


def _with_start(parts: dict[str, npt.NDArray[Any]], outcomes: int) -> dict[str, npt.NDArray[Any]]:
    """Put a chance node before the beginnings."""
    made = {name: np.concatenate([np.zeros_like(part[:1]), part]) for name, part in parts.items()}
    made["parent"][1:] += 1
    made["parent"][0], made["seat"][0], made["chance"][0] = -1, CHANCE, 1.0
    made["depth"][1:] += 1
    return made


def tree(game: str | Game | GameType, *, most: int = MOST_NODES, **options: Any) -> Tree:
    """Return all of a small game as arrays: `tree("pitch", preset="tiny")`. Deals that no seat can tell apart, at once
    or later, are one outcome. Raises UnknownGame, OptionError, and as `Tree` does."""
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise InvalidType(f"most is {most!r}; it takes a whole number of 1 or more.")
    return Tree(game_of(game, **options), most=int(most))
