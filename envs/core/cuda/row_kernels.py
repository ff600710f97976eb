"""What the CPU launches: a thread for each table, which calls the engine's own kernels of one table."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compile.interfaces import OVER
from ..compile.kernel import passing, sources_of, specialise, template, unbound, uncompiled
from ..engine.batch_kernels import Batch, Deck, IntArray, all_legal, begin, deal_out, hand_out, show, step_table
from ..engine.batch_play import play_kernels, random_act
from ..engine.engine import table_names
from ..game.game import Game
from .device_code import launched
from .scratch import cuda, reuse_memory, take_memory


class Fixed(NamedTuple):
    """What does not change while the tables of a batch are played: a pack for each of them, and numbers."""

    cards: npt.NDArray[np.int64]
    """[B, cards] `Deck.cards` of each table."""
    displaced: npt.NDArray[np.int64]
    """[B, drawn] `Deck.displaced`."""
    size: int
    drawn: int
    with_replacement: bool
    start_outcomes: int
    limit: int
    autoreset: bool
    refused: IntArray
    """[1] The first table whose action is not legal; B where there is none."""


def aligned(packed: np.dtype[Any]) -> np.dtype[Any]:
    """Return a record type with each field at a multiple of its size, as a GPU reads them."""
    parts = [(name, packed[name].base, packed[name].shape) for name in packed.names or ()]
    return np.dtype((np.record, np.dtype(parts, align=True)))


def cards_held(game: Game) -> int:
    """Return how many cards `Deck.cards` has."""
    return game.cards_drawn if game.with_replacement else game.deck_size


def tables_of(game: Game, size: int, autoreset: bool, place: Callable[[Any], Any]) -> tuple[Batch, Fixed]:
    """Return the arrays of `size` tables, each where `place` puts one of NumPy's. A table's numbers lie side by side,
    as on the CPU: the rules write to one record."""
    record, flat = aligned(game.state_dtype), np.zeros((size, game.observation_size), game.observation_base)
    raw, vectors = place(np.zeros((size, record.itemsize), np.uint8)), place(flat)
    shown, seats = (size, game.num_actions), (size, game.num_seats)
    batch = Batch(
        state=raw.view(record).reshape(size),
        raw=raw,
        stream=place(np.zeros(size, np.uint64)),
        observation=vectors.view(aligned(game.observation_dtype)).reshape(size),
        flat=vectors,
        mask=place(np.zeros(shown, np.int8)),
        seat=place(np.full(size, OVER, np.int8)),
        reward=place(np.zeros(seats, np.float32)),
        terminated=place(np.zeros(size, np.bool_)),
        truncated=place(np.zeros(size, np.bool_)),
        decisions=place(np.zeros(size, np.int32)),
        own_decisions=place(np.zeros(seats, np.int32)),
        shown_mask=place(np.zeros(shown, np.int8)),
        shown_seat=place(np.full(size, OVER, np.int8)),
    )
    fixed = Fixed(
        cards=place(np.tile(np.arange(cards_held(game)), (size, 1))),
        displaced=place(np.zeros((size, game.cards_drawn), np.int64)),
        size=game.deck_size,
        drawn=game.cards_drawn,
        with_replacement=game.with_replacement,
        start_outcomes=game.num_start_outcomes,
        limit=game.decision_limit,
        autoreset=autoreset,
        refused=place(np.full(1, size)),
    )
    return batch, fixed


OBSERVE = DETERMINIZE = play_rows = unbound
"""The game's kernels, and that of random play, in the templates; `given` has arrays with an entry for each table."""


@template
def deck_of(fixed: Fixed, row: int) -> Deck:
    """Return a table's own pack."""
    return Deck(fixed.cards[row], fixed.displaced[row], fixed.size, fixed.drawn, fixed.with_replacement)


@template
def open_each(options: Any, batch: Batch, fixed: Fixed) -> None:
    """Begin a new episode at each table."""
    row = cuda.grid(1)
    if row < batch.seat.shape[0]:
        begin(options, batch, fixed.start_outcomes, row)
        deal_out(options, batch, deck_of(fixed, row), row)
        show(options, batch, row)
        hand_out(batch, row)


@template
def check_each(batch: Batch, fixed: Fixed, given: tuple[IntArray, IntArray, IntArray]) -> None:
    """Note the first table whose action is not legal; `given` are rows, the caller's actions, and a copy of them."""
    row, (rows, actions, chosen) = cuda.grid(1), given
    if row < rows.shape[0]:
        mine = slice(row, row + 1)
        if all_legal(batch.mask, rows[mine], actions[mine], chosen[mine]) >= 0:
            cuda.atomic.min(fixed.refused, 0, row)


@template
def step_each(options: Any, batch: Batch, fixed: Fixed, given: tuple[IntArray]) -> None:
    """Play a legal action at each table, `given` as actions."""
    row, chosen = cuda.grid(1), given[0]
    if row < chosen.shape[0]:
        start, limit = fixed.start_outcomes, fixed.limit
        step_table(options, batch, deck_of(fixed, row), start, limit, fixed.autoreset, row, chosen[row])
        hand_out(batch, row)


@template
def play_each(options: Any, batch: Batch, fixed: Fixed, steps: int, given: tuple[Any, ...]) -> None:
    """Play `steps` decisions at each table; `given` are rows, each thread's memory, streams of choices, where to
    write an illegal action, and the arrays of `Played`."""
    (rows, memory, choices, chosen, reward, episodes, decisions), first = given, cuda.grid(1)
    take_memory(memory[first])
    for row in range(first, rows.shape[0], memory.shape[0]):
        mine = slice(row, row + 1)
        numbers = fixed.start_outcomes, fixed.limit, fixed.autoreset, steps
        played = reward[mine], episodes[mine], decisions[mine]
        bad, action = play_rows(options, batch, deck_of(fixed, row), *numbers, rows[mine], choices, *played)
        if bad >= 0:
            chosen[row] = action
            cuda.atomic.min(fixed.refused, 0, row)


@template
def observe_each(options: Any, batch: Batch, given: tuple[Any, ...]) -> None:
    """Observe each table; `given` are seats, and records of zeros."""
    row, (seats, records) = cuda.grid(1), given
    if row < seats.shape[0]:
        OBSERVE(options, batch.state[row], seats[row], records[row])


@template
def determinize_each(options: Any, given: tuple[Any, ...]) -> None:
    """Redraw, in place, what a seat cannot see of each state; `given` are states, seats, keys, and each thread's
    memory."""
    (states, seats, keys, memory), first = given, cuda.grid(1)
    take_memory(memory[first])
    for row in range(first, states.shape[0], memory.shape[0]):
        reuse_memory()
        DETERMINIZE(options, states[row], seats[row], keys[row])


@template
def show_each(options: Any, batch: Batch, given: tuple[Any, ...]) -> None:
    """Show each table's state, and nobody to act where its episode is over, `given` as truth values."""
    row, over = cuda.grid(1), given[0]
    if row < over.shape[0]:
        show(options, batch, row)
        if over[row]:
            batch.seat[row] = OVER
            batch.mask[row, :] = 0
        hand_out(batch, row)


@functools.cache
def _with_memory(act: Callable[..., int]) -> Callable[..., int]:
    """A bot whose arrays of one decision take the place of those of the one before."""

    @passing
    def fresh(options: Any, observation: Any, mask: Any, key: np.uint64) -> int:
        reuse_memory()
        return act(options, observation, mask, key)

    uncompiled(fresh).sources = sources_of(act)  # type: ignore[attr-defined]
    return fresh


_EACH = (open_each, check_each, step_each, play_each, observe_each, determinize_each, show_each)


@functools.cache
def row_kernels(game: Game, act: Callable[..., int] = random_act) -> dict[str, Any]:
    """Return the CUDA kernels of a game under its options, by the names above, each compiled at its first launch;
    `play_each` plays the random player or a bot. The options are constants in them."""
    player = act if act is random_act else _with_memory(act)
    names = table_names(game.type, game.options) | play_kernels(game.type, game.options, player)
    made = specialise([deck_of, *_EACH], names)
    return {part.__name__: launched(made[part.__name__]) for part in _EACH}
