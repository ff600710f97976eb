"""`Engine` owns the arrays of B tables and calls a game's batch kernels for `aec.py` (one table) and `vector.py`
(many)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall, InvalidType, InvalidValue

from ..compile.addresses import Kept
from ..compile.interfaces import CHANCE, OVER
from ..compile.kernel import bind, passing, sources_of, specialise, uncompiled
from ..compile.tiering import Interpreted, compile_from_now_on
from ..game.arguments import whole
from ..game.game import Game, GameType
from ..rules import rng
from .batch_kernels import COPIED, STEPS, TEMPLATES, Batch, Deck, IntArray, all_legal, shuffle_deck
from .time_step import Memory, TimeStep

if TYPE_CHECKING:
    from ..game.reset_options import ResetOptions
    from .event_log import History

P = ParamSpec("P")
R = TypeVar("R")


class IllegalAction(InvalidValue):
    """An action that the rules do not allow now; the message names seat, action and legal actions. Nothing was
    changed."""


ON_ILLEGAL = ("raise", "terminate", "random")
"""What an environment may do at an illegal action: raise IllegalAction and change nothing; end the episode, with the
lower bound of `reward_range` for that seat and 0 for the others; or play a random legal action instead."""

OTHER_WAYS = "A learner that knows no masks needs an environment made with on_illegal='terminate' or 'random'."
"""What IllegalAction adds in an environment that could have been made to do something else."""

BUSY = (
    "Another thread is in the middle of a call on these tables, so nothing was done. One thread at a time plays them: "
    "give each thread tables of its own, or put a lock of yours around its calls."
)

LARGE = 256
"""So many tables are worth compiling their game at once."""
_ILLEGAL_KEYS = 0x696C6C6567616C
"""The number by which the random legal action's stream is forked off a table's stream."""


def check_on_illegal(given: Any) -> None:
    """Raise ValueError for a value that is not in ON_ILLEGAL."""
    if not (isinstance(given, str) and given in ON_ILLEGAL):
        raise InvalidValue(f"on_illegal is {given!r}; it takes {', '.join(map(repr, ON_ILLEGAL))}.")


class _OnTables(Protocol):
    @property
    def lock(self) -> Any: ...


Owner = TypeVar("Owner", bound=_OnTables)


def one_thread(method: Callable[Concatenate[Owner, P], R]) -> Callable[Concatenate[Owner, P], R]:
    """Mark a method that reads or changes the tables of the lock `self.lock`. It raises RuntimeError, without waiting,
    while another thread is in such a method: kernels run without the interpreter lock, so checked arguments could
    become wrong before they are played.

    Methods called at each decision (`step`, `last`) do the same without this wrapper, which would take a tenth of the
    time of a single table's step (*measured*).
    """

    @functools.wraps(method)
    def alone(self: Owner, /, *args: P.args, **kwargs: P.kwargs) -> R:
        lock = self.lock
        if not lock.acquire(False):
            raise InvalidCall(BUSY)
        try:
            return method(self, *args, **kwargs)
        finally:
            lock.release()

    return alone


def kernel_names(game: GameType, options: Any = None) -> dict[str, Callable[..., Any]]:
    """Return a game's kernels by the names that templates call them. Where `options` are given, the kernels take these
    in place of those that they are called with: as constants, by which the compiler drops what they rule out."""
    kernels = {name.upper(): kernel for name, kernel in game.kernels._asdict().items()}
    return kernels if options is None else {name: _fixed(name, kernel, options) for name, kernel in kernels.items()}


def _fixed(name: str, kernel: Callable[..., Any], options: Any) -> Callable[..., Any]:
    """A kernel of a game with its options as constants. Numba's `*args` cannot hold a record, so there are three."""

    @passing
    def three(given: Any, state: Any, other: Any) -> Any:
        return kernel(options, state, other)

    @passing
    def four(given: Any, state: Any, seat: Any, other: Any) -> Any:
        return kernel(options, state, seat, other)

    @passing
    def five(given: Any, before: Any, state: Any, action: Any, log: Any) -> Any:
        return kernel(options, before, state, action, log)

    found = five if name == "TELL_STEP" else four if name in ("OBSERVE", "DETERMINIZE") else three
    uncompiled(found).sources = sources_of(kernel)  # type: ignore[attr-defined]
    return found


def constants_of(game: Game) -> Any:
    """Return a game's options if these are its default, of which there is machine code with the options in it, else
    None: every set of options would take seconds to compile."""
    return None if game.changed_options else game.options


@functools.cache
def batch_kernels(game: GameType, options: Any = None) -> dict[str, Callable[..., Any]]:
    """Return this file's templates for one game."""
    return specialise(TEMPLATES, kernel_names(game, options))


def table_names(game: GameType, options: Any = None) -> dict[str, Callable[..., Any]]:
    """Return what templates over tables call by name: a game's kernels (see `kernel_names`) and the batch kernels of
    one decision, compiled and cached on disk once for all callers."""
    steps = batch_kernels(game, options)
    return kernel_names(game, options) | {part.__name__: steps[part.__name__] for part in STEPS}


@functools.cache
def logged_kernels(game: GameType, options: Any = None) -> dict[str, Callable[..., Any]]:
    """Return the templates of `event_log.py` for one game."""
    from . import event_log

    declared = event_log.events_of(game)
    writers = {"TELL_DEAL": declared.deal or event_log.no_deal, "TELL_STEP": declared.step or event_log.no_step}
    if options is not None:
        writers = {name: _fixed(name, writer, options) for name, writer in writers.items()}
    return specialise(event_log.TEMPLATES, table_names(game, options) | writers)


class Engine:
    """B tables of one game. Rows are indices of tables. The engine does not validate its arguments; its callers do.

    With `history` it writes down the events of each table's episode (`event_log.py`); RuntimeError where the game
    declares none.
    """

    def __init__(
        self, game: Game, size: int, buffers: Mapping[str, Any] | None = None, *, history: bool = False
    ) -> None:
        """`buffers`: see `Memory`, which raises TypeError or ValueError."""
        self.memory = memory = Memory(game, size, buffers)
        self.shown: TimeStep = memory.shown
        """What callers see. Mask and seat are copies of the batch's, for whoever hands them out."""
        self.lock = memory.lock
        self.game, self.options, self.size = game, game.options, size
        self.num_seats, self.num_actions = game.num_seats, game.num_actions
        self.start_outcomes = game.num_start_outcomes
        self.limit = game.decision_limit
        if size >= LARGE:
            compile_from_now_on()
        state = np.zeros(size, game.state_dtype)
        self.batch = Batch(
            state=state,
            raw=state.view(np.uint8).reshape(size, -1) if size else np.zeros((0, state.itemsize), np.uint8),
            stream=np.zeros(size, np.uint64),
            mask=np.zeros((size, self.num_actions), np.int8),
            seat=np.full(size, OVER, np.int8),
            decisions=np.zeros(size, np.int32),
            own_decisions=np.zeros((size, game.num_seats), np.int32),
            **self._written(),
        )
        self._one = np.zeros(1, np.int64), np.zeros(1, np.int64)
        """A row and an action, for kernels over rows that play one."""
        self.bound_one: tuple[Callable[[int], int], Callable[[], Any]] | None = None
        """What does `play_one`, and what begins an episode: once there is machine code, while no given pack is left."""
        self.acting: npt.NDArray[np.int8] = state["seat"]
        """`state.seat` of every table, as a view [B]: a seat, CHANCE or OVER."""
        self.stacked: dict[int, list[IntArray]] = {}
        """Packs to deal at a table (by its row) before its stream decides again."""
        self.other_ways = ""
        """What the message of IllegalAction adds about other settings of `on_illegal`."""
        self.history: History | None = None
        """The events of every table's episode, where they are kept."""
        if history:
            from .event_log import new_history

            self.history = new_history(game, size)
        self._bound: dict[Any, Callable[..., Any]] = {}
        self._kept: dict[tuple[int, bool, bool], Kept] = {}
        self._constants = constants_of(game)

    def _written(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a Batch that callers see."""
        shown = self.shown
        seen = {"observation": self.game.records(shown.observation), "flat": shown.observation, "reward": shown.reward}
        ends = {"terminated": shown.terminated, "truncated": shown.truncated}
        return {**seen, **ends, "shown_mask": shown.action_mask, "shown_seat": shown.seat}

    def use_buffers(self, buffers: Mapping[str, Any]) -> None:
        """Show to other memory of the caller's what is shown now, and all that follows: see `Memory`."""
        self.memory = Memory(self.game, self.size, buffers, self.memory)
        self.shown = self.memory.shown
        self.batch = self.batch._replace(**self._written())
        self.bound_one = None
        self._kept.clear()
        self.lock = self.memory.lock

    def call(
        self,
        name: str,
        *args: Any,
        of: Callable[..., dict[str, Callable[..., Any]]] = batch_kernels,
        by: tuple[Callable[..., Any], ...] = (),
    ) -> Any:
        """Call a batch kernel of the game, bound on first use to the types of these arguments, or run it as Python
        (`tiering.py`); `of` gives the kernels of a game and, where they take any, of the players `by`."""
        key = (name, by) if by else name
        entry = self._bound.get(key)
        if entry is None:
            entry = bind(of(self.game.type, self._constants, *by)[name], *args, at_once=False)
            if not isinstance(entry, Interpreted):
                self._bound[key] = entry
        return entry(*args)

    @staticmethod
    def bytes_of(game: Game) -> int:
        """Return the approximate memory of one table: two masks (one for callers), state, observation and the rest."""
        record, observation = game.state_dtype.itemsize, game.observation_dtype.itemsize
        return record + observation + 2 * game.num_actions + 8 * game.num_seats + 64

    def fresh_deck(self) -> Deck:
        """Return a buffer for one pack; every thread needs its own."""
        size, drawn, repeated = self.game.deck_size, self.game.cards_drawn, self.game.with_replacement
        return Deck(np.arange(drawn if repeated else size), np.zeros(drawn, np.int64), size, drawn, repeated)

    def open_rows(self, rows: IntArray, deck: Deck) -> None:
        """Begin new episodes, each on its table's stream."""
        kept = self.kept(deck)
        if self.history is not None:
            self.call("open_rows_logged", kept, rows, of=logged_kernels)
            return
        self.call("open_rows", kept, rows)

    def step_rows(self, rows: IntArray, actions: IntArray, deck: Deck, autoreset: bool) -> None:
        """Play legal actions. Where events are kept, the caller has called `make_room`."""
        kept = self.kept(deck, autoreset, True)
        if self.history is not None:
            self.call("step_rows_logged", kept, rows, actions, actions, of=logged_kernels)
            return
        self.call("step_rows", kept, rows, actions, actions)

    def kept(self, deck: Deck, autoreset: bool = False, checked: bool = True) -> Kept:
        """Return what `open_rows` and `step_rows` take beside rows and actions, the same object each time."""
        key = id(deck.cards), autoreset, checked
        if key not in self._kept:
            given: Any = self.options, self.batch, deck, self.start_outcomes, self.limit, autoreset, checked
            if self.history is not None:
                given = *given, self.history.for_one_thread(self.game), self.game.most_events
            self._kept[key] = Kept.of(*given)
        return self._kept[key]

    def stepper(
        self, rows: IntArray, deck: Deck, autoreset: bool, checked: bool
    ) -> Callable[[IntArray, IntArray], int] | None:
        """Return the kernel `step_rows` for these, bound, as a function of `given` and `chosen`, once there is machine
        code: looking it up takes as long as playing a table (*measured*)."""
        entry = self._bound.get("step_rows" if self.history is None else "step_rows_logged")
        if entry is None:
            return None
        if self.history is None:
            return functools.partial(entry, self.kept(deck, autoreset, checked), rows)
        from .event_log import NO_ROOM

        def step_logged(given: IntArray, chosen: IntArray) -> int:
            bad: int = entry(self.kept(deck, autoreset, checked), rows, given, chosen)
            if bad != NO_ROOM:
                return bad
            self.make_room()
            return step_logged(given, chosen)

        return step_logged

    def make_room(self, used: int = 0) -> None:
        """Get memory for the events of one more action at each table, with `used` events or more there already. Raises
        RuntimeError where an action wrote more than the game declares."""
        if self.history is not None:
            self.use_history(self.history.with_room(self.game, used))

    def use_history(self, history: History | None) -> None:
        """Keep events there from now on."""
        if history is not self.history:
            self.history = history
            self._kept.clear()  # they name the memory

    def first_illegal(self, rows: IntArray, actions: IntArray) -> int:
        """Return the first k whose action is not legal on table `rows[k]`, or -1."""
        return int(all_legal(self.batch.mask, rows, actions, actions))

    def open_one(self, opening: ResetOptions | None, deck: Deck, row: int = 0) -> None:
        """Begin an episode on one table, as `opening` says, up to the first decision."""
        if opening is None:
            self.stacked.pop(row, None)
            if self.bound_one is None:
                self._one[0][0] = row
                self.open_rows(self._one[0], deck)
            else:
                self.bound_one[1]()
            return
        decks, start_outcome = opening
        self.start_one(self.draw_start_outcome(row) if start_outcome is None else int(start_outcome), row)
        self.stacked[row], self.bound_one = list(decks), None
        self._deal_out_one(deck, row)
        self.show_one(row)

    def draw_start_outcome(self, row: int = 0) -> int:
        """Draw what chance decides before the deal, by the table's own stream."""
        if self.start_outcomes == 1:
            return 0
        with np.errstate(over="ignore"):
            self.batch.stream[row], outcome = rng.below(self.batch.stream[row], self.start_outcomes)
        return int(outcome)

    def play_one(self, action: int, deck: Deck) -> int:
        """Play an action of 0..A-1 on the only table, always with the same deck, and the deals after it. Return what
        the kernel `step_one` does."""
        if self.history is not None or self.stacked:
            if not self.batch.mask[0, action]:
                return -1
            self.move_one(action, deck)
            return 1
        kept = self.kept(deck)
        found: int = self.call("step_one", kept, action)
        step, begun = self._bound.get("step_one"), self._bound.get("open_rows")
        if step is not None and begun is not None:
            self.bound_one = functools.partial(step, kept), functools.partial(begun, kept, self._one[0])
        return found

    def move_one(self, action: int, deck: Deck, row: int = 0) -> None:
        """Play one legal action on one table, and the deals after it, given packs first."""
        if self.history is not None:
            self.make_room()
        if row in self.stacked:
            self.apply_one(action, row)
            self._deal_out_one(deck, row)
            self.finish_one(row)
            return
        rows, actions = self._one
        rows[0], actions[0] = row, action
        self.step_rows(rows, actions, deck, False)

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

    def apply_one(self, action: int, row: int = 0) -> None:
        """Play one legal action on one table; the caller does the deals after it and `finish_one`."""
        if self.history is not None:
            self.call("apply_logged", self.options, self.batch, self.history, row, action, of=logged_kernels)
            return
        self.call("apply_one", self.options, self.batch, row, action)

    def finish_one(self, row: int = 0) -> None:
        """Report rewards, mask and observation after `apply_one` and its deals."""
        self.call("finish_one", self.options, self.batch, self.limit, row)

    def start_one(self, start_outcome: int, row: int = 0) -> None:
        """Begin a new episode with a given start_outcome, before the deal."""
        if self.history is not None:
            self.history.filled[row] = self.history.dealt[row] = 0
        self.call("start_one", self.options, self.batch, row, start_outcome)

    def deal_one(self, cards: IntArray, row: int = 0) -> None:
        """Deal one given pack."""
        if self.history is not None:
            self.call("deal_logged", self.options, self.batch, self.history, cards, row, of=logged_kernels)
            return
        self.call("deal_one", self.options, self.batch, cards, row)

    def shuffle_one(self, deck: Deck, row: int = 0) -> None:
        """Shuffle the next pack of the table's own stream."""
        self.batch.stream[row] = shuffle_deck(deck, self.batch.stream[row])

    def show_one(self, row: int = 0) -> None:
        """Write mask and observation of the seat to act."""
        self.call("show_one", self.options, self.batch, row)

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
        """Return a random legal action of a table, drawn by a key of its own: the table's stream does not advance."""
        legal = np.flatnonzero(self.batch.mask[row])
        with np.errstate(over="ignore"):
            key = np.uint64(rng.fork(self.batch.stream[row], _ILLEGAL_KEYS))
            drawn = rng.below(np.uint64(rng.fork(key, int(self.batch.decisions[row]))), len(legal))[1]
        return int(legal[drawn])

    def observe(self, rows: IntArray, seats: IntArray, states: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Return what `seats[k]` may know at table `rows[k]`, as new flat vectors [n, O]."""
        flat = np.zeros((len(rows), self.batch.flat.shape[1]), self.batch.flat.dtype)
        records = flat.view(self.batch.observation.dtype).reshape(len(rows))
        self.observe_into(rows, seats, records, flat, states)
        return flat

    def observe_into(
        self,
        rows: IntArray,
        seats: IntArray,
        records: npt.NDArray[Any],
        flat: npt.NDArray[Any],
        states: npt.NDArray[Any] | None = None,
    ) -> None:
        """Do that in the caller's memory: `records` [n] and `flat` [n, O] are two views of it."""
        source = self.batch.state if states is None else states
        self.call("observe_rows", self.options, source, rows, seats, records, flat)

    def determinize(self, states: npt.NDArray[Any], seats: IntArray, keys: npt.NDArray[np.uint64]) -> None:
        """Redraw, in place, what `seats[k]` cannot see of `states[k]`."""
        self.call("determinize_rows", self.options, states, seats, keys)

    def refuse(self, row: int, action: Any) -> IllegalAction:
        """Return the error for an action that is not legal on a table."""
        return illegal_action(self.game, self.batch.seat[row], self.batch.mask[row], action, self.other_ways)

    @one_thread
    def __getstate__(self) -> dict[str, Any]:
        kept = {name: np.array(getattr(self.batch, name)) for name in COPIED}
        events = None if self.history is None else self.history.copied()
        rest = {"stacked": self.stacked, "other_ways": self.other_ways, "history": events}
        return {"game": self.game, "arrays": kept, **rest}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__init__(kept["game"], len(kept["arrays"]["seat"]))  # type: ignore[misc]
        for name, array in kept["arrays"].items():
            getattr(self.batch, name)[...] = array
        self.stacked, self.other_ways = kept["stacked"], kept["other_ways"]
        self.history = kept["history"] and kept["history"].for_one_thread(self.game)


def illegal_action(
    game: Game, seat: int, mask: npt.NDArray[np.int8], action: Any, other_ways: str = ""
) -> IllegalAction:
    """Return the error for an action that is not legal where `seat` has the actions of a mask [A]."""
    if seat < 0:
        return IllegalAction(f"The game is over, so {action!r} cannot be played; call reset() to begin another.")
    legal = ", ".join(f"{number} ({game.action_str(int(number))})" for number in np.flatnonzero(mask))
    shown = f"{action}, which is no action of {game.name},"
    if 0 <= action < game.num_actions:
        shown = f"{action} ({game.action_str(action)})"
    said = f"{game.seat_name(int(seat)).capitalize()} (player_{seat}) cannot play {shown} now; legal: {legal}."
    return IllegalAction(f"{said} {other_ways}".rstrip())


def streams_of(seed: Any, size: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return the rows of `size` tables that get a new stream by a seed, and their streams: table i's by `seed + i`, or
    by `seed[i]`, where None leaves its stream as it is. None draws a seed from the system. Raises TypeError or
    ValueError."""
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
    first = whole(seed)
    if first is not None:
        seeds: list[Any] = list(range(first, first + size))
    elif isinstance(seed, (str, bytes)) or not hasattr(seed, "__len__") or not hasattr(seed, "__iter__"):
        raise InvalidType(f"The seed is {seed!r}; it takes a whole number of 0 or more, or one for each table.")
    else:
        seeds = list(seed)
    if len(seeds) != size:
        raise InvalidValue(f"{len(seeds)} seeds were given for {size} tables; give one seed, or one per table.")
    numbers = [whole(one) for one in seeds]
    for one, number in zip(seeds, numbers, strict=True):
        if one is not None and (number is None or number < 0):
            raise InvalidValue(f"A seed is {one!r}; seeds are whole numbers of 0 or more.")
    rows = np.array([row for row, number in enumerate(numbers) if number is not None], np.int64)
    return rows, np.array([rng.stream_of(number) for number in numbers if number is not None], np.uint64)
