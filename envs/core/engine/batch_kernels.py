"""Kernels over arrays of tables: shuffle, deal, step, observe and mask for any game.

The templates are compiled for each game with its kernels in place of START, DEAL, LEGAL and so on (`engine.py`). This
file imports next to nothing: the machine code of every game depends on the text of all it imports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..compile.addresses import Kept
from ..compile.interfaces import CHANCE, OVER
from ..compile.kernel import kernel, template, unbound
from ..rules import rng

IntArray = npt.NDArray[np.integer[Any]]


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
    """Decisions made in the present episode [B]. No seat may know this number: others may have decided unseen."""
    own_decisions: npt.NDArray[np.int32]
    """How many of them each seat made itself [B, N]."""
    shown_mask: npt.NDArray[np.int8]
    """A copy of `mask` for callers, who may write to it."""
    shown_seat: npt.NDArray[np.int8]
    """The same of `seat`."""


COPIED = [name for name in Batch._fields if name not in ("state", "observation", "shown_mask", "shown_seat")]
"""The arrays that a copy of tables needs: `raw` and `flat` hold the first two, and the others are copies for
callers."""


class Deck(NamedTuple):
    """A buffer for one shuffled pack, and how it is shuffled. A deal may write to the cards drawn, and to no others."""

    cards: npt.NDArray[np.int64]
    """The cards, top first: the whole pack, or with replacement those drawn."""
    displaced: npt.NDArray[np.int64]
    """Where part of the pack is drawn: the place that the k-th card drawn came from, and another card went to."""
    size: int
    """Cards of the pack."""
    drawn: int
    """How many of them, from the top, chance decides: those that a deal can use."""
    with_replacement: bool
    """Whether each of these is drawn from a whole pack of its own."""


@kernel
def draw_top(deck: Deck, stream: np.uint64) -> np.uint64:
    """Do what `rng.draw` does, but put only those cards back in order that the draw before moved: most of a shoe of
    eight packs stays where it is."""
    for place in range(deck.drawn):
        deck.cards[place] = place
        deck.cards[deck.displaced[place]] = deck.displaced[place]
    for place in range(deck.drawn):
        stream, other = rng.below(stream, deck.size - place)
        other += place
        kept = deck.cards[place]
        deck.cards[place] = deck.cards[other]
        deck.cards[other] = kept
        deck.displaced[place] = other
    return stream


@kernel
def shuffle_deck(deck: Deck, stream: np.uint64) -> np.uint64:
    """Shuffle from a pack in order, so that the outcome depends on the stream's position alone; return the advanced
    stream."""
    if deck.with_replacement:
        for place in range(deck.drawn):
            stream, deck.cards[place] = rng.below(stream, deck.size)
        return stream
    if deck.drawn < deck.size:
        return draw_top(deck, stream)
    for card in range(deck.size):
        deck.cards[card] = card
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
def hand_out(batch: Batch, row: int) -> None:
    """Copy mask and seat of a table for callers."""
    batch.shown_seat[row] = batch.seat[row]
    for action in range(batch.mask.shape[1]):
        batch.shown_mask[row, action] = batch.mask[row, action]


@template
def begin(options: Any, batch: Batch, start_outcomes: int, row: int) -> None:
    """Begin a new episode, before the deal."""
    batch.raw[row, :] = 0
    batch.decisions[row] = 0
    batch.own_decisions[row, :] = 0
    start_outcome = 0
    if start_outcomes > 1:
        batch.stream[row], start_outcome = rng.below(batch.stream[row], start_outcomes)
    START(options, batch.state[row], start_outcome)


@template
def apply(options: Any, batch: Batch, row: int, action: int) -> None:
    batch.decisions[row] += 1
    batch.own_decisions[row, batch.state[row].seat] += 1
    STEP(options, batch.state[row], action)


@template
def report(batch: Batch, limit: int, row: int) -> bool:
    """Write out the rewards gathered so far; return True when the episode has ended."""
    state = batch.state[row]
    for seat in range(batch.reward.shape[1]):
        batch.reward[row, seat] = state.reward[seat]
        state.reward[seat] = 0.0
    batch.terminated[row] = state.seat == OVER
    batch.truncated[row] = state.seat != OVER and batch.decisions[row] >= limit
    return bool(batch.terminated[row] or batch.truncated[row])


@template
def open_rows(kept: Kept, rows: IntArray) -> None:
    """Begin a new episode on each table of `rows`, up to its first decision. `Engine.kept` has the rest."""
    options, batch, deck, start_outcomes, _limit, _autoreset, _checked = kept.values
    for row in rows:
        begin(options, batch, start_outcomes, row)
        deal_out(options, batch, deck, row)
        show(options, batch, row)
        hand_out(batch, row)


@kernel
def all_legal(mask: npt.NDArray[np.int8], rows: IntArray, given: IntArray, chosen: IntArray) -> int:
    """Copy `given` to `chosen`, which no other thread can change. Return the first k whose action is not legal on its
    table, or -1."""
    for k in range(rows.shape[0]):
        action = chosen[k] = given[k]
        if action < 0 or action >= mask.shape[1] or mask[rows[k], action] == 0:
            return k
    return -1


@template
def step_table(
    options: Any, batch: Batch, deck: Deck, start_outcomes: int, limit: int, autoreset: bool, row: int, action: int
) -> bool:
    """Play a legal action on one table; where the episode ends and `autoreset` is set, begin the next. Return whether
    it has ended."""
    apply(options, batch, row, action)
    deal_out(options, batch, deck, row)
    ended: bool = report(batch, limit, row)
    if ended and autoreset:
        begin(options, batch, start_outcomes, row)
        deal_out(options, batch, deck, row)
    show(options, batch, row)
    if ended and not autoreset:
        batch.seat[row] = OVER
        batch.mask[row, :] = 0
    return ended


@template
def step_rows(kept: Kept, rows: IntArray, given: IntArray, chosen: IntArray) -> int:
    """Play `given[k]` on table `rows[k]`; where an episode ends and `autoreset` is set, begin the next. If one of them
    is not legal, play none, and return the first such k, else -1; `chosen` [n] is written to. Where the caller has
    `checked` that they are legal, `chosen` has them. `Engine.kept` has the rest."""
    options, batch, deck, start_outcomes, limit, autoreset, checked = kept.values
    bad = -1 if checked else all_legal(batch.mask, rows, given, chosen)
    if bad < 0:
        for k in range(rows.shape[0]):
            step_table(options, batch, deck, start_outcomes, limit, autoreset, rows[k], chosen[k])
            hand_out(batch, rows[k])
    return bad


@template
def step_one(kept: Kept, action: int) -> int:
    """Play an action on the only table, and begin no episode. Return -1 where it is not legal, and nothing was done; 1
    where a seat's reward is not 0; else 0. One argument beside the action takes half the time of three arrays."""
    options, batch, deck, start_outcomes, limit, _autoreset, _checked = kept.values
    if batch.mask[0, action] == 0:
        return -1
    step_table(options, batch, deck, start_outcomes, limit, False, 0, action)
    hand_out(batch, 0)
    for seat in range(batch.reward.shape[1]):
        if batch.reward[0, seat] != 0.0:
            return 1
    return 0


@template
def apply_one(options: Any, batch: Batch, row: int, action: int) -> None:
    """Play one action on one table, and stop where a pack is needed: the caller provides it."""
    apply(options, batch, row, action)


@template
def finish_one(options: Any, batch: Batch, limit: int, row: int) -> None:
    """Report rewards, mask and observation after an action."""
    ended = report(batch, limit, row)
    show(options, batch, row)
    if ended:
        batch.seat[row] = OVER
        batch.mask[row, :] = 0


@template
def start_one(options: Any, batch: Batch, row: int, start_outcome: int) -> None:
    """Begin a new episode with a given start_outcome, before the deal."""
    batch.raw[row, :] = 0
    batch.decisions[row] = 0
    batch.own_decisions[row, :] = 0
    START(options, batch.state[row], start_outcome)


@template
def show_one(options: Any, batch: Batch, row: int) -> None:
    """Write mask and observation of the seat to act."""
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
    """Write to `records[k]` what seat `seats[k]` may know at table `rows[k]`."""
    for k in range(rows.shape[0]):
        flat[k, :] = 0
        OBSERVE(options, states[rows[k]], seats[k], records[k])


@template
def determinize_rows(options: Any, states: npt.NDArray[Any], seats: IntArray, keys: npt.NDArray[np.uint64]) -> None:
    """Redraw, in place, what seat `seats[k]` cannot see of `states[k]`, by `keys[k]`."""
    for k in range(states.shape[0]):
        DETERMINIZE(options, states[k], seats[k], keys[k])


TEMPLATES: tuple[Callable[..., Any], ...] = (
    deal_out,
    show,
    hand_out,
    begin,
    apply,
    report,
    open_rows,
    step_table,
    step_rows,
    step_one,
    apply_one,
    finish_one,
    start_one,
    show_one,
    deal_one,
    observe_rows,
    determinize_rows,
)
STEPS: tuple[Callable[..., Any], ...] = (begin, deal_out, show, hand_out, apply, report, step_table)
"""The batch kernels of one decision, which templates of other files call."""
