"""`Walker`: positions of one game by the thousand, for algorithms that walk through its tree.

`Nodes` are n positions as arrays: who acts, what may be done, what each seat has gained, and what the seat to act knows
as a number of 64 bits. `Path` is one line of play that goes forth and back. Chance is drawn from each node's own
stream; `backalley.tree` is for small games whole, with chance laid out.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall, InvalidType, InvalidValue

from ..compile.interfaces import OVER
from ..compile.kernel import specialise, template, unbound
from ..engine.batch_kernels import Batch, Deck, IntArray, all_legal, report
from ..engine.engine import Engine, logged_kernels, streams_of, table_names
from ..engine.event_log import History, learn
from ..game import arguments
from ..game.catalogue import game as game_of
from ..game.game import Game, GameType
from ..rules import rng
from .row_copies import rows_of, seats_of
from .states import KEPT, States

_FUTURE = 0x77616C6B6572
"""The number by which a redrawn node's stream is forked off its key."""
_FIRST_DEPTH = 64


class Rows(NamedTuple):
    """The arrays of n nodes; machine code trusts what is in them."""

    state: npt.NDArray[Any]
    """[n] State records."""
    stream: npt.NDArray[np.uint64]
    """[n] what chance will decide."""
    decisions: npt.NDArray[np.int32]
    """[n]"""
    own_decisions: npt.NDArray[np.int32]
    """[n, N]"""
    knows: npt.NDArray[np.uint64]
    """[n, N] a digest of the events that each seat has been shown."""
    key: npt.NDArray[np.uint64]
    """[n] the information set of the seat to act; 0 where the episode is over."""
    seat: npt.NDArray[np.int8]
    """[n] who acts, or OVER."""
    mask: npt.NDArray[np.int8]
    """[n, A]"""
    returns: npt.NDArray[np.float64]
    """[n, N]"""

    @classmethod
    def of(cls, game: Game, size: int) -> Rows:
        """Return the memory of `size` nodes."""
        seats = size, game.num_seats
        return cls(
            state=np.zeros(size, game.state_dtype),
            stream=np.zeros(size, np.uint64),
            decisions=np.zeros(size, np.int32),
            own_decisions=np.zeros(seats, np.int32),
            knows=np.zeros(seats, np.uint64),
            key=np.zeros(size, np.uint64),
            seat=np.zeros(size, np.int8),
            mask=np.zeros((size, game.num_actions), np.int8),
            returns=np.zeros(seats),
        )


LEGAL = OBSERVE = DETERMINIZE = apply_logged = begin_logged = deal_out_logged = unbound
"""The game's kernels, and those of its tables."""


@template
def take_row(table: Batch, rows: Rows, row: int) -> None:
    """Put a node on the table."""
    table.state[0] = rows.state[row]
    table.stream[0] = rows.stream[row]
    table.decisions[0] = rows.decisions[row]
    for seat in range(rows.knows.shape[1]):
        table.own_decisions[0, seat] = rows.own_decisions[row, seat]


@template
def keep_row(options: Any, table: Batch, history: History, rows: Rows, row: int, ended: bool) -> None:
    """Take a node from the table; what its seats knew and had gained before is there."""
    state = table.state[0]
    rows.state[row] = state
    rows.stream[row] = table.stream[0]
    rows.decisions[row] = table.decisions[0]
    for seat in range(rows.knows.shape[1]):
        rows.own_decisions[row, seat] = table.own_decisions[0, seat]
    learn(history.seen_as, history.entries[0], min(int(history.filled[0]), history.entries.shape[1]), rows.knows[row])
    rows.mask[row, :] = 0
    seat = int(state.seat)
    if ended or seat < 0:
        rows.seat[row], rows.key[row] = OVER, np.uint64(0)
    else:
        rows.seat[row] = seat
        rows.key[row] = np.uint64(rng.fork(rows.knows[row, seat], seat)) | np.uint64(1)
        LEGAL(options, state, rows.mask[row])


@template
def begin_rows(options: Any, table: Batch, history: History, deck: Deck, start_outcomes: int, rows: Rows) -> None:
    """Begin an episode at each node, by its stream, up to the first decision."""
    for row in range(rows.seat.shape[0]):
        table.stream[0] = rows.stream[row]
        begin_logged(options, table, history, start_outcomes, 0)
        deal_out_logged(options, table, history, deck, 0)
        for seat in range(rows.knows.shape[1]):
            rows.knows[row, seat] = np.uint64(rng.fork(np.uint64(1), seat))
            rows.returns[row, seat] = 0.0
        keep_row(options, table, history, rows, row, False)


@template
def play_rows(
    options: Any,
    table: Batch,
    history: History,
    deck: Deck,
    limit: int,
    source: Rows,
    rows: IntArray,
    actions: IntArray,
    made: Rows,
    into: IntArray,
) -> int:
    """Write to `made` at `into[k]` the node that follows when `actions[k]` is played at node `rows[k]` of `source`. If
    one of them is not legal, play none, and return the first such k, else -1."""
    bad: int = all_legal(source.mask, rows, actions, actions)
    if bad >= 0:
        return bad
    for k in range(rows.shape[0]):
        row, to = rows[k], into[k]
        take_row(table, source, row)
        history.filled[0] = 0
        apply_logged(options, table, history, 0, actions[k])
        deal_out_logged(options, table, history, deck, 0)
        ended = report(table, limit, 0)
        for seat in range(made.knows.shape[1]):
            made.knows[to, seat] = source.knows[row, seat]
            made.returns[to, seat] = source.returns[row, seat] + float(table.reward[0, seat])
        keep_row(options, table, history, made, to, ended)
    return -1


@template
def see_row(options: Any, table: Batch, rows: Rows, row: int, seat: int) -> None:
    """Let a seat know what its observation shows, and nothing of what was before."""
    table.flat[0, :] = 0
    OBSERVE(options, rows.state[row], seat, table.observation[0])
    key = np.uint64(rng.fork(np.uint64(2), seat))
    for place in range(table.flat.shape[1]):
        if table.flat[0, place] != 0:
            key = np.uint64(rng.fork(key, (place << 16) + (int(table.flat[0, place]) & 0xFFFF)))
    rows.knows[row, seat] = key


@template
def redraw_rows(options: Any, table: Batch, rows: Rows, keys: npt.NDArray[np.uint64], seats: IntArray) -> None:
    """Redraw, in place, what seat `seats[k]` cannot see of node k, by `keys[k]`."""
    for k in range(keys.shape[0]):
        DETERMINIZE(options, rows.state[k], seats[k], keys[k])
        rows.stream[k] = np.uint64(rng.fork(keys[k], _FUTURE))
        rows.decisions[k] = rows.own_decisions[k, seats[k]]
        for seat in range(rows.knows.shape[1]):
            rows.returns[k, seat] = 0.0
            if seat != seats[k]:
                rows.own_decisions[k, seat] = 0
                see_row(options, table, rows, k, seat)


@template
def see_rows(options: Any, table: Batch, rows: Rows) -> None:
    """Write masks and keys of nodes whose history is not known."""
    for row in range(rows.seat.shape[0]):
        rows.mask[row, :] = 0
        if rows.seat[row] >= 0:
            for seat in range(rows.knows.shape[1]):
                see_row(options, table, rows, row, seat)
            seat = int(rows.seat[row])
            rows.key[row] = np.uint64(rng.fork(rows.knows[row, seat], seat)) | np.uint64(1)
            LEGAL(options, rows.state[row], rows.mask[row])


@functools.cache
def walking_kernels(game: GameType, options: Any = None) -> dict[str, Callable[..., Any]]:
    """Return these templates for one game."""
    logged = {name: logged_kernels(game, options)[name] for name in ("apply_logged", "begin_logged", "deal_out_logged")}
    names = table_names(game, options) | logged
    return specialise([take_row, keep_row, begin_rows, play_rows, see_row, redraw_rows, see_rows], names)


class Walker:
    """The tree of one game. One thread at a time walks by it; every thread can have its own."""

    def __init__(self, game: Game) -> None:
        """Raises RuntimeError for a game that declares no events, and so has no information sets."""
        self.game = game
        self._engine = engine = Engine(game, 1, history=True)
        self._deck, self.lock = engine.fresh_deck(), threading.Lock()

    def roots(self, count: int = 1, *, seed: int) -> Nodes:
        """Return the beginning of `count` episodes, after the deal: node k is dealt as by the seed `seed + k`
        everywhere. Raises TypeError or ValueError."""
        size = arguments.whole(count)
        if size is None or size < 0:
            raise InvalidValue(f"count is {count!r}; it takes a whole number of 0 or more.")
        rows, engine = Rows.of(self.game, size), self._engine
        rows.stream[:] = streams_of(seed, size)[1]
        self._call("begin_rows", self._deck, engine.start_outcomes, rows)
        return Nodes._of(self, rows)

    def path(self, *, seed: int) -> Path:
        """Return the beginning of one episode, to go forth and back from. Raises TypeError or ValueError."""
        return Path(self.roots(1, seed=seed))

    def nodes(self, states: States) -> Nodes:
        """Return States as nodes, such as what `View.determinize` draws for a decision. Their history is not known: at
        first, the information set of each seat is its observation. Chance to come is drawn from the state's own numbers
        by `Nodes.redrawn`, else it is the same for all. Raises TypeError or ValueError for other objects and games."""
        joined = States.joined(states)
        if joined.game != self.game:
            raise InvalidValue(f"The states are of {joined.game!r}, and this walker's game is {self.game!r}.")
        rows, kept = Rows.of(self.game, len(joined)), joined._arrays
        for name in ("state", "decisions", "own_decisions", "seat"):
            getattr(rows, name)[:] = kept[name]
        with self.lock:
            self._engine.call("see_rows", self.game.options, self._engine.batch, rows, of=walking_kernels)
        return Nodes._of(self, rows)

    def _call(self, name: str, *args: Any) -> Any:
        """Call a kernel that writes events."""
        engine = self._engine
        with self.lock:
            found = engine.call(name, self.game.options, engine.batch, engine.history, *args, of=walking_kernels)
            engine.make_room()  # which raises where an action wrote more than the game declares
        return found


class Nodes:
    """n positions of one game, as arrays that are read-only. `nodes[rows]` are some of them, by any array index."""

    __slots__ = ("_rows", "key", "mask", "returns", "seat", "walker")
    walker: Walker
    _rows: Rows
    seat: npt.NDArray[np.int8]
    """[n] who acts; -2 where the episode is over."""
    key: npt.NDArray[np.uint64]
    """[n] the information set of the seat to act: a digest of all events that it has been shown. Two histories of a
    seat have the same key if it cannot tell them apart, and otherwise with a probability of 2**-63; 0 where the episode
    is over."""
    mask: npt.NDArray[np.int8]
    """[n, A] 1 for each legal action."""
    returns: npt.NDArray[np.float64]
    """[n, N] what each seat has gained since the episode began."""

    def __init__(self) -> None:
        raise InvalidType("Nodes are not made by hand: take them from Walker.roots, Walker.nodes or Nodes.children.")

    @classmethod
    def _of(cls, walker: Walker, rows: Rows) -> Nodes:
        made = object.__new__(cls)
        made.walker, made._rows = walker, rows
        for name in ("seat", "key", "mask", "returns"):
            shown = getattr(rows, name).view()
            shown.flags.writeable = False
            setattr(made, name, shown)
        return made

    def __len__(self) -> int:
        return len(self.seat)

    def __repr__(self) -> str:
        return f"<{len(self)} Nodes of {self.walker.game!r}>"

    def __getitem__(self, rows: Any) -> Nodes:
        which = np.atleast_1d(np.arange(len(self))[rows])
        return Nodes._of(self.walker, Rows._make(array[which] for array in self._rows))

    @property
    def is_over(self) -> npt.NDArray[np.bool_]:
        """[n] whether the episode has ended."""
        over: npt.NDArray[np.bool_] = self.seat == OVER
        return over

    def play(self, actions: npt.ArrayLike) -> None:
        """Play an action at every node, in place [n]. Raises IllegalAction, and ValueError where an episode is over;
        nothing has changed then."""
        every = np.arange(len(self))
        self._play(every, actions, self._rows, every)

    def children(self, rows: npt.ArrayLike, actions: npt.ArrayLike) -> Nodes:
        """Return what follows when `actions[k]` is played at node `rows[k]`, as new nodes; a row can be named often.
        What chance decides follows from the parent's stream: it is the same after equal actions. Raises as `play`
        does, and for invalid rows."""
        which = rows_of(rows, len(self))
        made = Rows.of(self.walker.game, len(which))
        self._play(which, actions, made, np.arange(len(which)))
        return Nodes._of(self.walker, made)

    def _play(self, rows: IntArray, actions: npt.ArrayLike, made: Rows, into: IntArray) -> None:
        chosen = np.array(actions)
        if chosen.shape != rows.shape or chosen.dtype.kind not in "iu":
            raise InvalidType(
                f"One whole number for each of {len(rows)} nodes was expected as actions, not an array of "
                f"{chosen.dtype} of shape {chosen.shape}."
            )
        walker = self.walker
        args = walker._deck, walker._engine.limit, self._rows, rows, chosen.astype(np.int64), made, into
        bad = walker._call("play_rows", *args)
        if bad >= 0:
            raise self._refusal(int(rows[bad]), int(chosen[bad]))

    def _refusal(self, row: int, action: int) -> Exception:
        engine = self.walker._engine
        with self.walker.lock:
            engine.batch.seat[0], engine.batch.mask[0] = self.seat[row], self.mask[row]
            return engine.refuse(0, action)

    def redrawn(self, keys: npt.ArrayLike) -> Nodes:
        """Return the nodes with all redrawn, by `keys[k]`, that the seat to act cannot see, and with other chance to
        come. It keeps its key; the past of the others is not known there, their keys begin with what they observe, and
        what was gained before does not count. Raises TypeError or ValueError, also where an episode is over."""
        numbers, made = arguments.words(keys, "keys", len(self)), self[:]
        if self.is_over.any():
            raise InvalidValue(f"Node {int(self.is_over.argmax())} is over: nobody is to act there.")
        engine, args = self.walker._engine, (made._rows, numbers, self.seat.astype(np.int64))
        with self.walker.lock:
            engine.call("redraw_rows", self.walker.game.options, engine.batch, *args, of=walking_kernels)
        return made

    def observation(self, seats: npt.ArrayLike | None = None) -> npt.NDArray[Any]:
        """Return what `seats[k]` (by default the seat to act) may know at node k, as flat vectors [n, O]; zeros for an
        episode that is over, where no seats are given. Raises TypeError or ValueError."""
        engine, every = self.walker._engine, np.arange(len(self))
        which = self.seat.astype(np.int64) if seats is None else seats_of(seats, self.walker.game, every)
        with self.walker.lock:
            found = engine.observe(every, np.maximum(which, 0), self._rows.state)
        found[which < 0] = 0
        return found

    def states(self) -> States:
        """Return the nodes as States [n], for `BatchEnv.from_states`."""
        rows, over = self._rows, self.is_over
        cut = over & (rows.state["seat"] != OVER)
        arrays = rows.state, rows.seat, rows.decisions, rows.own_decisions, np.zeros(self.returns.shape, np.float32)
        return States.of(self.walker.game, dict(zip(KEPT, (*arrays, over & ~cut, cut), strict=True)))


class Path:
    """One line of play, with all that was before: `push` plays an action, `pop` takes it back.

    >>> import backalley
    >>> path = backalley.walker("missouri_city").path(seed=1)
    >>> path.push(path.legal_actions()[0])
    >>> path.depth, path.pop(), path.depth
    (1, 0, 0)
    """

    __slots__ = ("_act", "_at", "_played", "_push", "_row", "_rows", "walker")

    def __init__(self, root: Nodes) -> None:
        """Begin at one node, of which a copy is kept. Raises ValueError for another number of nodes."""
        if len(root) != 1:
            raise InvalidValue(f"A path begins at one node; {len(root)} were given.")
        self.walker = root.walker
        self._played: list[int] = []
        self._rows = Rows._make(np.repeat(array, _FIRST_DEPTH, axis=0) for array in root._rows)
        self._row, self._at, self._act = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)

    @property
    def depth(self) -> int:
        """Actions played since the beginning of the path."""
        return len(self._played)

    @property
    def seat(self) -> int:
        """Who acts; -2 where the episode is over."""
        return self._rows.seat.item(len(self._played))

    @property
    def key(self) -> int:
        """The information set of the seat to act, as `Nodes.key`."""
        return self._rows.key.item(len(self._played))

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return self.seat == OVER

    def legal_actions(self) -> list[int]:
        """The legal actions in ascending order; none where the episode is over."""
        legal: list[int] = self._rows.mask[len(self._played)].nonzero()[0].tolist()
        return legal

    def returns(self) -> list[float]:
        """What each seat has gained since the episode began."""
        gained: list[float] = self._rows.returns[len(self._played)].tolist()
        return gained

    def push(self, action: int) -> None:
        """Play an action. Raises IllegalAction (a ValueError) for an action that is not legal, TypeError for what is no
        whole number; nothing has changed then."""
        depth = len(self._played)
        if depth + 1 == len(self._rows.seat):
            self._rows = Rows._make(np.concatenate([array, np.zeros_like(array)]) for array in self._rows)
        number = arguments.whole(action)
        if number is None:
            raise InvalidType(f"The action is {action!r}; it must be a whole number.")
        self._row[0], self._at[0], self._act[0] = depth, depth + 1, number
        walker, rows = self.walker, self._rows
        args = walker._deck, walker._engine.limit, rows, self._row, self._act, rows, self._at
        if walker._call("play_rows", *args) >= 0:
            raise self.node()._refusal(0, number)
        self._played.append(number)

    def pop(self) -> int:
        """Take the latest action back, and return it. Raises RuntimeError at the beginning."""
        if not self._played:
            raise InvalidCall("This is the beginning of the path; there is no action to take back.")
        return self._played.pop()

    def node(self) -> Nodes:
        """Return a copy of where the path is, as Nodes [1]."""
        depth = len(self._played)
        return Nodes._of(self.walker, Rows._make(array[depth : depth + 1].copy() for array in self._rows))


def walker(game: str | Game | GameType, **options: Any) -> Walker:
    """Return what walks through a game's tree: `walker("pitch", preset="tiny")`. Raises UnknownGame, OptionError, and
    RuntimeError for a game that declares no events."""
    return Walker(game_of(game, **options))
