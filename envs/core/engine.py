"""`Engine` owns the arrays of B tables and hands a game's drivers to the shells: PettingZoo (`aec.py`, one table),
batches (`vector.py`, thousands)."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from . import rng
from .base import Game, GameType
from .drivers import NO_LIMIT, STEPS, TEMPLATES, Batch, Deck, first_illegal, shuffle_deck
from .kernel import bind
from .opening import Opening
from .parts import CHANCE, OVER
from .specialise import specialise

P = ParamSpec("P")
R = TypeVar("R")


class IllegalAction(ValueError):
    """An action that the rules do not allow now; the sentence names seat, action and what is legal. Nothing was
    changed."""


ON_ILLEGAL = ("raise", "terminate", "random")
"""What an environment may do at an illegal action: raise IllegalAction and change nothing; end the episode, the
offender getting the lower bound of `reward_range` and the others 0; or play a random legal action in its place."""

OTHER_WAYS = "A learner that knows no masks needs an environment made with on_illegal='terminate' or 'random'."
"""What the refusal of an action says in an environment that could do something else instead."""

BUSY = (
    "Another thread is in the middle of a call on these tables, so nothing was done. One thread at a time plays them: "
    "give each thread tables of its own, or put a lock of yours around its calls."
)

_ILLEGAL_KEYS = 0x696C6C6567616C
"""Number under which what is played in place of an illegal action is forked off a table's stream."""


def check_on_illegal(given: Any) -> None:
    """Raise ValueError for another word than those of ON_ILLEGAL."""
    if not (isinstance(given, str) and given in ON_ILLEGAL):
        raise ValueError(f"on_illegal is {given!r}; it takes {', '.join(map(repr, ON_ILLEGAL))}.")


class _OnTables(Protocol):
    @property
    def engine(self) -> Engine: ...


Owner = TypeVar("Owner", bound=_OnTables)


def one_thread(method: Callable[Concatenate[Owner, P], R]) -> Callable[Concatenate[Owner, P], R]:
    """A method that reads or changes the tables of `self.engine`. Raises RuntimeError, without waiting, while another
    thread is in one of theirs: what has been checked would no more be so when it is played, since kernels run without
    the interpreter's lock.

    What is called at each decision (`step`, `last`) does the same by hand: this wrapper would take a tenth of the time
    of a single table's step (*measured*).
    """

    @functools.wraps(method)
    def alone(self: Owner, /, *args: P.args, **kwargs: P.kwargs) -> R:
        lock = self.engine.lock
        if not lock.acquire(False):
            raise RuntimeError(BUSY)
        try:
            return method(self, *args, **kwargs)
        finally:
            lock.release()

    return alone


def kernel_names(game: GameType) -> dict[str, Callable[..., Any]]:
    """A game's kernels by the names that templates call them."""
    return {name.upper(): kernel for name, kernel in game.kernels._asdict().items()}


@functools.cache
def drivers(game: GameType) -> dict[str, Callable[..., Any]]:
    """This file's templates for one game."""
    return specialise(TEMPLATES, kernel_names(game))


def table_names(game: GameType) -> dict[str, Callable[..., Any]]:
    """What templates that play on tables call by name: a game's kernels, and the drivers of one decision, which are
    compiled, and kept on disk, once for all that calls them."""
    return kernel_names(game) | {part.__name__: drivers(game)[part.__name__] for part in STEPS}


class Engine:
    """B tables of one game. Rows are indices of tables; nothing here checks what a shell has
    to check."""

    def __init__(self, game: Game, size: int) -> None:
        self.game, self.options, self.size = game, game.options, size
        self.num_seats, self.num_actions = game.num_seats, game.num_actions
        self.start_outcomes = game.num_start_outcomes
        self.limit = NO_LIMIT if game.max_decisions is None else game.max_decisions
        state = np.zeros(size, game.state_dtype)
        # What is handed out is a view of an owner that nothing here works with: a caller who reshapes it, or its base,
        # reshapes nothing that compiled code is given.
        flat = np.zeros((size, game.observation_size), game.observation_base)[:]
        self.batch = Batch(
            state=state,
            raw=state.view(np.uint8).reshape(size, -1) if size else np.zeros((0, state.itemsize), np.uint8),
            stream=np.zeros(size, np.uint64),
            observation=game.records(flat),
            flat=flat,
            mask=np.zeros((size, self.num_actions), np.int8),
            seat=np.full(size, OVER, np.int8),
            reward=np.zeros((size, self.num_seats), np.float32)[:],
            terminated=np.zeros(size, np.bool_)[:],
            truncated=np.zeros(size, np.bool_)[:],
            decisions=np.zeros(size, np.int32),
        )
        self.acting: npt.NDArray[np.int8] = state["seat"]
        """`state.seat` of every table, as a view [B]: a seat, CHANCE or OVER."""
        self.stacked: dict[int, list[npt.NDArray[np.int64]]] = {}
        """Packs that are yet to be dealt at a table (by its row) before its stream goes on."""
        self.other_ways = ""
        """What a refusal adds of other ways than to raise it, with which the environment could have been made."""
        self.lock = threading.RLock()
        """Held by the thread that is in a method of these tables' environment; see `one_thread`."""
        self._bound: dict[str, Callable[..., Any]] = {}

    def _call(self, name: str, *args: Any) -> Any:
        """Call a driver of the game, bound on first use to the types of these arguments."""
        entry = self._bound.get(name)
        if entry is None:
            entry = self._bound[name] = bind(drivers(self.game.type)[name], *args)
        return entry(*args)

    @staticmethod
    def bytes_of(game: Game) -> int:
        """The memory that one table takes, roughly: two masks (one is handed out), state, observation and the rest."""
        record, observation = game.state_dtype.itemsize, game.observation_dtype.itemsize
        return record + observation + 2 * game.num_actions + 4 * game.num_seats + 64

    def fresh_deck(self) -> Deck:
        """Room for one pack; every thread needs its own."""
        size, drawn, repeated = self.game.deck_size, self.game.cards_drawn, self.game.with_replacement
        return Deck(np.arange(drawn if repeated else size), size, drawn, repeated)

    def open_rows(self, rows: npt.NDArray[np.int64], deck: Deck) -> None:
        """Begin new episodes, each on its table's stream."""
        self._call("open_rows", self.options, self.batch, deck, self.start_outcomes, rows)

    def step_rows(
        self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64], deck: Deck, autoreset: bool
    ) -> None:
        """Play legal actions."""
        args = (self.options, self.batch, deck, self.start_outcomes, self.limit, autoreset, rows, actions)
        self._call("step_rows", *args)

    def first_illegal(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> int:
        """The first k whose action is not legal on table `rows[k]`, or -1."""
        return int(first_illegal(self.batch.mask, rows, actions))

    def open_one(self, opening: Opening | None, deck: Deck, row: int = 0) -> None:
        """Begin an episode on one table, with what `opening` says of it, up to the first decision."""
        decks, start_outcome = opening or Opening()
        self.start_one(self.draw_start_outcome(row) if start_outcome is None else int(start_outcome), row)
        self.stacked[row] = list(decks)
        self._deal_out_one(deck, row)
        self.show_one(row)

    def draw_start_outcome(self, row: int = 0) -> int:
        """What chance decides before the deal, by the table's own stream."""
        if self.start_outcomes == 1:
            return 0
        with np.errstate(over="ignore"):
            self.batch.stream[row], outcome = rng.below(self.batch.stream[row], self.start_outcomes)
        return int(outcome)

    def move_one(self, action: int, deck: Deck, row: int = 0) -> None:
        """One legal action on one table, and the deals that follow it, of what is stacked first."""
        stacked = row in self.stacked
        self.play_one(action, deck, stacked=stacked, row=row)
        if stacked:
            self._deal_out_one(deck, row)
            self.finish_one(row)

    def _deal_out_one(self, deck: Deck, row: int) -> None:
        stacked = self.stacked[row]
        while self.acting[row] == CHANCE:
            if stacked:
                self.deal_one(stacked.pop(0), row)
            else:
                self.shuffle_one(deck, row)
                self.deal_one(deck.cards, row)
        if not stacked:
            del self.stacked[row]

    def play_one(self, action: int, deck: Deck, *, stacked: bool = False, row: int = 0) -> None:
        """One legal action on one table; with `stacked` the deals after it, and `finish_one`, are the caller's."""
        self._call("play_one", self.options, self.batch, deck, self.limit, stacked, row, action)

    def finish_one(self, row: int = 0) -> None:
        """After `play_one(stacked=True)` and its deals."""
        self._call("finish_one", self.options, self.batch, self.limit, row)

    def start_one(self, start_outcome: int, row: int = 0) -> None:
        """A new episode with a given start_outcome, not yet dealt."""
        self._call("start_one", self.options, self.batch, row, start_outcome)

    def deal_one(self, cards: npt.NDArray[np.int64], row: int = 0) -> None:
        """Deal one given pack."""
        self._call("deal_one", self.options, self.batch, cards, row)

    def shuffle_one(self, deck: Deck, row: int = 0) -> None:
        """The next pack of the table's own stream."""
        self.batch.stream[row] = shuffle_deck(deck, self.batch.stream[row])

    def show_one(self, row: int = 0) -> None:
        """Mask and observation of the seat to act."""
        self._call("show_one", self.options, self.batch, row)

    def forfeit(self, row: int) -> None:
        """End a table's episode because of an illegal action: the seat to act gets the lower bound of `reward_range`,
        the others 0."""
        batch = self.batch
        batch.reward[row] = 0
        batch.reward[row, batch.seat[row]] = self.game.reward_range[0]
        batch.terminated[row], batch.truncated[row] = True, False
        batch.seat[row] = OVER
        batch.mask[row], batch.flat[row] = 0, 0

    def legal_instead(self, row: int) -> int:
        """A legal action of a table, drawn by a key of its own: the table's stream stays where it is."""
        legal = np.flatnonzero(self.batch.mask[row])
        with np.errstate(over="ignore"):
            key = np.uint64(rng.fork(self.batch.stream[row], _ILLEGAL_KEYS))
            drawn = rng.below(np.uint64(rng.fork(key, int(self.batch.decisions[row]))), len(legal))[1]
        return int(legal[drawn])

    def observe(
        self, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64], states: npt.NDArray[Any] | None = None
    ) -> npt.NDArray[Any]:
        """What `seats[k]` may know at table `rows[k]`, as new flat vectors [n, O]."""
        flat = np.zeros((len(rows), self.batch.flat.shape[1]), self.batch.flat.dtype)
        records = flat.view(self.batch.observation.dtype).reshape(len(rows))
        source = self.batch.state if states is None else states
        self._call("observe_rows", self.options, source, rows, seats, records, flat)
        return flat

    def determinize(self, states: npt.NDArray[Any], seats: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64]) -> None:
        """Redraw, in place, what `seats[k]` cannot see of `states[k]`."""
        self._call("determinize_rows", self.options, states, seats, keys)

    def refuse(self, row: int, action: Any) -> IllegalAction:
        """The sentence for an action that is not legal on a table."""
        batch = self.batch
        if batch.seat[row] < 0:
            return IllegalAction(f"The game is over, so {action!r} cannot be played; call reset() to begin another.")
        legal = [self.game.action_str(int(number)) for number in np.flatnonzero(batch.mask[row])]
        names = ", ".join(
            f"{number} ({name})" for number, name in zip(np.flatnonzero(batch.mask[row]), legal, strict=True)
        )
        shown = f"{action}, which is no action of {self.game.name},"
        if 0 <= action < self.num_actions:
            shown = f"{action} ({self.game.action_str(action)})"
        seat = int(batch.seat[row])
        said = f"{self.game.seat_name(seat).capitalize()} (player_{seat}) cannot play {shown} now; legal: {names}."
        return IllegalAction(f"{said} {self.other_ways}".rstrip())

    @property
    def engine(self) -> Engine:
        """Itself: what `one_thread` looks for."""
        return self

    @one_thread
    def __getstate__(self) -> dict[str, Any]:
        kept = {
            name: np.array(array) for name, array in self.batch._asdict().items() if name not in ("raw", "observation")
        }
        return {"game": self.game, "arrays": kept, "stacked": self.stacked, "other_ways": self.other_ways}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__init__(kept["game"], len(kept["arrays"]["seat"]))  # type: ignore[misc]
        for name, array in kept["arrays"].items():
            getattr(self.batch, name)[...] = array
        self.stacked, self.other_ways = kept["stacked"], kept["other_ways"]


def streams_of(seeds: Sequence[int]) -> npt.NDArray[np.uint64]:
    """The streams of several seeds."""
    return np.array([rng.stream_of(seed) for seed in seeds], np.uint64)
