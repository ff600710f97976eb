"""Tables in arrays: shuffles, deals, steps, observations and masks for any game's kernels.

The templates are compiled for each game with its kernels in the places of START, DEAL, LEGAL and so on (`engine.py`).
They import next to nothing: the machine code of every game depends on the text of all that they import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import rng
from .kernel import kernel
from .parts import CHANCE, OVER
from .specialise import template, unbound

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


START = DEAL = LEGAL = STEP = OBSERVE = DETERMINIZE = unbound
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
def begin(options: Any, batch: Batch, start_outcomes: int, row: int) -> None:
    """A new episode, not yet dealt."""
    batch.raw[row, :] = 0
    batch.decisions[row] = 0
    start_outcome = 0
    if start_outcomes > 1:
        batch.stream[row], start_outcome = rng.below(batch.stream[row], start_outcomes)
    START(options, batch.state[row], start_outcome)


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
def open_rows(options: Any, batch: Batch, deck: Deck, start_outcomes: int, rows: IntArray) -> None:
    """Begin a new episode on each table of `rows`, up to its first decision."""
    for row in rows:
        begin(options, batch, start_outcomes, row)
        deal_out(options, batch, deck, row)
        show(options, batch, row)


@template
def step_rows(
    options: Any,
    batch: Batch,
    deck: Deck,
    start_outcomes: int,
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
            begin(options, batch, start_outcomes, row)
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
def start_one(options: Any, batch: Batch, row: int, start_outcome: int) -> None:
    """A new episode with a given start_outcome, not yet dealt."""
    batch.raw[row, :] = 0
    batch.decisions[row] = 0
    START(options, batch.state[row], start_outcome)


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


TEMPLATES: tuple[Callable[..., Any], ...] = (
    deal_out,
    show,
    begin,
    apply,
    report,
    open_rows,
    step_rows,
    finish_one,
    play_one,
    start_one,
    show_one,
    deal_one,
    observe_rows,
    determinize_rows,
)
STEPS: tuple[Callable[..., Any], ...] = (begin, deal_out, show, apply, report)
"""Those of one decision, which templates of other files call."""
