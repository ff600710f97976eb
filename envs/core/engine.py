"""Tables in arrays: shuffles, deals, steps, observations and masks for any game's kernels.

The templates at the top are compiled for each game with its kernels in the places of START, DEAL, LEGAL and so on.
`Engine` owns the arrays and hands the drivers to the shells: PettingZoo (`aec.py`, one table), batches (`vector.py`,
thousands).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core import rng
from backalley.envs.core.base import CHANCE, OVER, Game
from backalley.envs.core.kernel import bind, kernel, specialise, template

IntArray = npt.NDArray[np.integer[Any]]

NO_LIMIT = 2**31 - 1


class Batch(NamedTuple):
    """The arrays of B tables; row i of each belongs to table i."""

    state: npt.NDArray[Any]
    """The game's State records [B]."""
    raw: npt.NDArray[np.uint8]
    """The same memory as bytes [B, size of a state]."""
    stream: npt.NDArray[np.uint64]
    """Each table's own random stream [B]."""
    observation: npt.NDArray[Any]
    """Observation records of the seats to act [B]."""
    flat: npt.NDArray[Any]
    """The same memory as the flat vector [B, O]."""
    mask: npt.NDArray[np.int8]
    """1 for every legal action of the seat to act [B, A]; zeros where the game is over."""
    seat: npt.NDArray[np.int8]
    """The seat to act [B], or OVER."""
    reward: npt.NDArray[np.float32]
    """What each seat gained by the latest action [B, N]."""
    terminated: npt.NDArray[np.bool_]
    """Whether the latest action ended the game [B]."""
    truncated: npt.NDArray[np.bool_]
    """Whether the latest action reached the limit of decisions [B]."""
    decisions: npt.NDArray[np.int32]
    """Decisions made in the present episode [B]."""


class Deck(NamedTuple):
    """Room for one shuffled pack, and how it is shuffled."""

    cards: npt.NDArray[np.int64]
    """The cards, top first: the whole pack, or with replacement those drawn."""
    size: int
    """Cards of the pack."""
    drawn: int
    """How many of them, from the top, chance decides: those that a deal can use."""
    with_replacement: bool
    """Whether each of these is drawn from a whole pack of its own."""


@kernel
def shuffle_deck(deck: Deck, stream: np.uint64) -> np.uint64:
    """Shuffle from a pack in order, so that the outcome depends on the stream's position alone; gives back the advanced
    stream."""
    if deck.with_replacement:
        for place in range(deck.drawn):
            stream, deck.cards[place] = rng.below(stream, deck.size)
        return stream
    for card in range(deck.size):
        deck.cards[card] = card
    if deck.drawn < deck.size:
        return rng.draw(stream, deck.cards, deck.size, deck.drawn)
    return rng.shuffle(stream, deck.cards, deck.size)


def _unbound(*args: Any) -> None:
    raise NotImplementedError("specialise() puts a game's kernel here")


START = DEAL = LEGAL = STEP = OBSERVE = DETERMINIZE = _unbound
"""The game's kernels in the templates below."""


@template
def deal_out(options: Any, batch: Batch, deck: Deck, row: int) -> None:
    """Shuffle and deal until somebody has to decide."""
    while batch.state[row].seat == CHANCE:
        batch.stream[row] = shuffle_deck(deck, batch.stream[row])
        DEAL(options, batch.state[row], deck.cards)


@template
def show(options: Any, batch: Batch, row: int) -> None:
    """Write mask and observation of the seat to act; zeros when the game is over."""
    state = batch.state[row]
    seat = int(state.seat)
    batch.seat[row] = seat
    batch.mask[row, :] = 0
    batch.flat[row, :] = 0
    if seat >= 0:
        LEGAL(options, state, batch.mask[row])
        OBSERVE(options, state, seat, batch.observation[row])


@template
def begin(options: Any, batch: Batch, lots: int, row: int) -> None:
    """A new episode, not yet dealt."""
    batch.raw[row, :] = 0
    batch.decisions[row] = 0
    lot = 0
    if lots > 1:
        batch.stream[row], lot = rng.below(batch.stream[row], lots)
    START(options, batch.state[row], lot)


@template
def apply(options: Any, batch: Batch, row: int, action: int) -> None:
    STEP(options, batch.state[row], action)
    batch.decisions[row] += 1


@template
def report(batch: Batch, limit: int, row: int) -> bool:
    """Hand out the rewards that have gathered; True when the episode has ended."""
    state = batch.state[row]
    for seat in range(batch.reward.shape[1]):
        batch.reward[row, seat] = state.reward[seat]
        state.reward[seat] = 0.0
    batch.terminated[row] = state.seat == OVER
    batch.truncated[row] = state.seat != OVER and batch.decisions[row] >= limit
    return bool(batch.terminated[row] or batch.truncated[row])


@template
def open_rows(options: Any, batch: Batch, deck: Deck, lots: int, rows: IntArray) -> None:
    """Begin a new episode on each table of `rows`, up to its first decision."""
    for row in rows:
        begin(options, batch, lots, row)
        deal_out(options, batch, deck, row)
        show(options, batch, row)


@template
def step_rows(
    options: Any,
    batch: Batch,
    deck: Deck,
    lots: int,
    limit: int,
    autoreset: bool,
    rows: IntArray,
    actions: IntArray,
) -> None:
    """Play `actions[k]`, known to be legal, on table `rows[k]`; where an episode ends and `autoreset` is set, begin the
    next."""
    for k in range(rows.shape[0]):
        row = rows[k]
        apply(options, batch, row, actions[k])
        deal_out(options, batch, deck, row)
        ended = report(batch, limit, row)
        if ended and autoreset:
            begin(options, batch, lots, row)
            deal_out(options, batch, deck, row)
        show(options, batch, row)
        if ended and not autoreset:
            batch.seat[row] = OVER
            batch.mask[row, :] = 0


@template
def play_one(options: Any, batch: Batch, deck: Deck, limit: int, stacked: bool, row: int, action: int) -> None:
    """One action on one table. With `stacked`, stop where a pack is wanted: the caller has it."""
    apply(options, batch, row, action)
    if not stacked:
        deal_out(options, batch, deck, row)
        finish_one(options, batch, limit, row)


@template
def finish_one(options: Any, batch: Batch, limit: int, row: int) -> None:
    """Report rewards, mask and observation after an action."""
    if report(batch, limit, row):
        batch.seat[row] = OVER
        batch.mask[row, :] = 0
        batch.flat[row, :] = 0
    else:
        show(options, batch, row)


@template
def start_one(options: Any, batch: Batch, row: int, lot: int) -> None:
    """A new episode with a given lot, not yet dealt."""
    batch.raw[row, :] = 0
    batch.decisions[row] = 0
    START(options, batch.state[row], lot)


@template
def show_one(options: Any, batch: Batch, row: int) -> None:
    """Mask and observation of the seat to act."""
    show(options, batch, row)


@template
def deal_one(options: Any, batch: Batch, cards: npt.NDArray[np.int64], row: int) -> None:
    """Deal one given pack."""
    DEAL(options, batch.state[row], cards)


@template
def observe_rows(
    options: Any,
    states: npt.NDArray[Any],
    rows: IntArray,
    seats: IntArray,
    records: npt.NDArray[Any],
    flat: npt.NDArray[Any],
) -> None:
    """`records[k]` becomes what seat `seats[k]` may know at table `rows[k]`."""
    for k in range(rows.shape[0]):
        flat[k, :] = 0
        OBSERVE(options, states[rows[k]], seats[k], records[k])


@template
def determinize_rows(options: Any, states: npt.NDArray[Any], seats: IntArray, keys: npt.NDArray[np.uint64]) -> None:
    """Redraw, in place, what seat `seats[k]` cannot see of `states[k]`, by `keys[k]`."""
    for k in range(states.shape[0]):
        DETERMINIZE(options, states[k], seats[k], keys[k])


@kernel
def first_illegal(mask: npt.NDArray[np.int8], rows: IntArray, actions: IntArray) -> int:
    """The first k whose action is not legal on its table, or -1."""
    for k in range(rows.shape[0]):
        action = actions[k]
        if action < 0 or action >= mask.shape[1] or mask[rows[k], action] == 0:
            return k
    return -1


class IllegalAction(ValueError):
    """An action that the rules do not allow now; the sentence names seat, action and what is legal. Nothing was
    changed."""


TEMPLATES: tuple[Callable[..., Any], ...] = (
    deal_out, show, begin, apply, report,
    open_rows, step_rows, finish_one, play_one, start_one, show_one, deal_one, observe_rows, determinize_rows,
)  # fmt: skip


def kernel_names(game: Game) -> dict[str, Callable[..., Any]]:
    """A game's kernels by the names that templates call them."""
    return {name.upper(): kernel for name, kernel in game.kernels._asdict().items()}


@functools.cache
def drivers(game: Game) -> dict[str, Callable[..., Any]]:
    """This file's templates for one game."""
    return specialise(TEMPLATES, kernel_names(game))


class Engine:
    """B tables of one game under one set of options. Rows are indices of tables; nothing here checks what a shell has
    to check."""

    def __init__(self, game: Game, options: Any, size: int) -> None:
        self.game, self.options, self.size = game, options, size
        self.num_seats, self.num_actions = game.num_seats(options), game.num_actions
        self.lots = game.num_lots(options)
        self.limit = NO_LIMIT if game.max_decisions is None else game.max_decisions(options)
        self.pack = game.deck_size(options)
        state = np.zeros(size, game.state_dtype(options))
        flat = np.zeros((size, game.observation_size(options)), game.observation_base(options))
        self.batch = Batch(
            state=state,
            raw=state.view(np.uint8).reshape(size, -1) if size else np.zeros((0, state.itemsize), np.uint8),
            stream=np.zeros(size, np.uint64),
            observation=flat.view(game.observation_dtype(options)).reshape(size),
            flat=flat,
            mask=np.zeros((size, self.num_actions), np.int8),
            seat=np.full(size, OVER, np.int8),
            reward=np.zeros((size, self.num_seats), np.float32),
            terminated=np.zeros(size, np.bool_),
            truncated=np.zeros(size, np.bool_),
            decisions=np.zeros(size, np.int32),
        )
        self.acting: npt.NDArray[np.int8] = state["seat"]
        """`state.seat` of every table, as a view [B]: a seat, CHANCE or OVER."""
        self._bound: dict[str, Callable[..., Any]] = {}

    def _call(self, name: str, *args: Any) -> Any:
        """Call a driver of the game, bound on first use to the types of these arguments."""
        entry = self._bound.get(name)
        if entry is None:
            entry = self._bound[name] = bind(drivers(self.game)[name], *args)
        return entry(*args)

    def fresh_deck(self) -> Deck:
        """Room for one pack; every thread needs its own."""
        drawn, repeated = self.game.cards_drawn(self.options), self.game.with_replacement(self.options)
        return Deck(np.arange(drawn if repeated else self.pack), self.pack, drawn, repeated)

    def open_rows(self, rows: npt.NDArray[np.int64], deck: Deck) -> None:
        """Begin new episodes, each on its table's stream."""
        self._call("open_rows", self.options, self.batch, deck, self.lots, rows)

    def step_rows(
        self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64], deck: Deck, autoreset: bool
    ) -> None:
        """Play legal actions."""
        args = (self.options, self.batch, deck, self.lots, self.limit, autoreset, rows, actions)
        self._call("step_rows", *args)

    def first_illegal(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> int:
        """The first k whose action is not legal on table `rows[k]`, or -1."""
        return int(first_illegal(self.batch.mask, rows, actions))

    def play_one(self, action: int, deck: Deck, *, stacked: bool = False, row: int = 0) -> None:
        """One legal action on one table."""
        self._call("play_one", self.options, self.batch, deck, self.limit, stacked, row, action)

    def finish_one(self, row: int = 0) -> None:
        """After `play_one(stacked=True)` and its deals."""
        self._call("finish_one", self.options, self.batch, self.limit, row)

    def start_one(self, lot: int, row: int = 0) -> None:
        """A new episode with a given lot, not yet dealt."""
        self._call("start_one", self.options, self.batch, row, lot)

    def deal_one(self, cards: npt.NDArray[np.int64], row: int = 0) -> None:
        """Deal one given pack."""
        self._call("deal_one", self.options, self.batch, cards, row)

    def shuffle_one(self, deck: Deck, row: int = 0) -> None:
        """The next pack of the table's own stream."""
        self.batch.stream[row] = shuffle_deck(deck, self.batch.stream[row])

    def show_one(self, row: int = 0) -> None:
        """Mask and observation of the seat to act."""
        self._call("show_one", self.options, self.batch, row)

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
        legal = [self.game.action_str(self.options, int(number)) for number in np.flatnonzero(batch.mask[row])]
        names = ", ".join(
            f"{number} ({name})" for number, name in zip(np.flatnonzero(batch.mask[row]), legal, strict=True)
        )
        shown = f"{action}, which is no action of {self.game.name},"
        if 0 <= action < self.num_actions:
            shown = f"{action} ({self.game.action_str(self.options, action)})"
        seat = int(batch.seat[row])
        return IllegalAction(
            f"{self.game.seat_name(seat).capitalize()} (player_{seat}) cannot play {shown} now; legal: {names}."
        )

    def __getstate__(self) -> dict[str, Any]:
        kept = {
            name: np.array(array) for name, array in self.batch._asdict().items() if name not in ("raw", "observation")
        }
        return {"game": self.game.name, "options": tuple(self.options), "arrays": kept}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        from backalley.envs.core.base import game

        found = game(kept["game"])
        self.__init__(found, found.Options(*kept["options"]), len(kept["arrays"]["seat"]))  # type: ignore[misc]
        for name, array in kept["arrays"].items():
            getattr(self.batch, name)[...] = array


def streams_of(seeds: Sequence[int]) -> npt.NDArray[np.uint64]:
    """The streams of several seeds."""
    return np.array([rng.stream_of(seed) for seed in seeds], np.uint64)
