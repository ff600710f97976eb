"""The batch kernels of tables that keep their history: the same play, with every event written down.

They stand beside those of `batch_kernels.py` instead of in them, so that tables without a history pay nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall

from ..compile.addresses import Kept
from ..compile.interfaces import CHANCE, OVER
from ..compile.kernel import kernel, passing, template, unbound
from ..compile.memory import prefetch
from ..game.game import Game, GameType
from ..rules import events, rng
from ..rules.events import ACTION, COLUMNS, EVERYBODY, HIDDEN_ACTION, LOG_TYPE, Log, all_but, tell
from .batch_kernels import Batch, Deck, IntArray, all_legal, apply, begin, hand_out, report, show, shuffle_deck

_FIRST_CAPACITY = 64
NO_ROOM = -2
"""What a step says that has played nothing, since a table has no room for its events."""
_AHEAD = 6
"""Tables by which memory is asked for ahead of its use."""


class History(NamedTuple):
    """The events of B tables."""

    entries: npt.NDArray[np.int16]
    """[B, T, 4] those of each table: addressee, kind, who, what."""
    filled: npt.NDArray[np.int32]
    """[B] how many it has; below 0 its history is not known."""
    dealt: npt.NDArray[np.int32]
    """[B] how many it had before its latest deal."""
    seen_as: npt.NDArray[np.int16]
    """[A] 0 for an action that others see whole, -1 for one that they learn nothing of, else 1 + the first action with
    the words that they are shown."""
    before: npt.NDArray[Any]
    """[1] where a step keeps the state before it; [0] where the game does not ask for it."""
    log: npt.NDArray[Any]
    """[1] the Log of the table that is played at present."""

    def with_room(self, game: Game, used: int = 0) -> History:
        """Return a history with room for what one more action may write at each table, where there are `used` events or
        more; the same where there is room. Raises RuntimeError where an action wrote more than the game declares."""
        most, written = game.most_events, int(self.filled.max(initial=0))
        capacity, used = self.entries.shape[1], max(used, written)
        if written > capacity:
            raise InvalidCall(f"{game.name} wrote more events at one action than its Events.most says, {most}.")
        if used + most <= capacity:
            return self
        size = max(2 * capacity, used + most, _FIRST_CAPACITY)
        # An odd number of cache lines of eight events: else the latest events of tables would share a few cache sets.
        size = 8 * (size // 8 + 1 | 1) if size >= 64 else size
        entries = np.zeros((len(self.filled), size, 4), np.int16)
        entries[:, :capacity] = self.entries
        return self._replace(entries=entries)

    def for_one_thread(self, game: Game) -> History:
        """Return the same history with places of its own for the present step."""
        return self._replace(before=_before(game), log=np.zeros(1, LOG_TYPE))

    def copied(self) -> History:
        """Return a history that shares no memory with this one."""
        return History(*map(np.array, self))


def new_history(game: Game, size: int) -> History:
    """Return the memory for the events of `size` tables, on none of which anything has happened."""
    before, entries = _before(game), np.zeros((size, 0, 4), np.int16)
    words = [game.action_told(action) for action in range(game.num_actions)]
    whole = [game.action_str(action) == word for action, word in enumerate(words)]
    seen_as = np.array(
        [0 if seen else 1 + words.index(word) for seen, word in zip(whole, words, strict=True)], np.int16
    )
    seen_as[[events_of(game.type).secret(game.options, action) for action in range(game.num_actions)]] = -1
    filled, dealt = np.zeros((2, size), np.int32)
    return History(entries, filled, dealt, seen_as, before, np.zeros(1, LOG_TYPE)).with_room(game)


def _before(game: Game) -> npt.NDArray[Any]:
    return np.zeros(0 if events_of(game.type).step is None else 1, game.state_dtype)


def events_of(game: GameType) -> events.Events:
    """Return what a game declares of its events. Raises RuntimeError where it declares nothing."""
    if game.events is None:
        raise InvalidCall(f"{game.name} declares no events (GameType.events), so no history of it can be kept.")
    return game.events


DEAL = STEP = TELL_DEAL = TELL_STEP = unbound
"""The game's kernels in the templates below."""


@passing
def no_deal(options: Any, state: Any, log: Log) -> None:
    """For games whose deals show nothing."""


@passing
def no_step(options: Any, before: Any, state: Any, action: int, log: Log) -> None:
    """For games whose actions tell nothing but themselves."""


@template
def open_log(history: History, row: int) -> None:
    """Let the log go on with a table's events; those of a table whose history is not known are not written."""
    log, entries = history.log[0], history.entries[row]
    known = history.filled[row] >= 0
    log.filled, log.room, log.address = history.filled[row], entries.shape[0] if known else -1, entries.ctypes.data


@template
def close_log(history: History, row: int) -> None:
    """Note how many events the table has now."""
    if history.filled[row] >= 0:
        history.filled[row] = history.log[0].filled


@template
def deal_logged(options: Any, batch: Batch, history: History, cards: npt.NDArray[np.int64], row: int) -> None:
    """Deal one given pack, and write what it shows."""
    DEAL(options, batch.state[row], cards)
    history.dealt[row] = max(0, history.filled[row])
    open_log(history, row)
    TELL_DEAL(options, batch.state[row], history.log[0])
    close_log(history, row)


@template
def deal_out_logged(options: Any, batch: Batch, history: History, deck: Deck, row: int) -> None:
    """Do what `deal_out` does."""
    while batch.state[row].seat == CHANCE:
        batch.stream[row] = shuffle_deck(deck, batch.stream[row])
        deal_logged(options, batch, history, deck.cards, row)


@template
def begin_logged(options: Any, batch: Batch, history: History, start_outcomes: int, row: int) -> None:
    """Do what `begin` does, with an empty history."""
    begin(options, batch, start_outcomes, row)
    history.filled[row] = 0
    history.dealt[row] = 0


@template
def apply_logged(options: Any, batch: Batch, history: History, row: int, action: int) -> None:
    """Play one legal action, and write it and what else becomes known."""
    seat, log = int(batch.state[row].seat), history.log[0]
    if history.before.shape[0] > 0:
        history.before[0] = batch.state[row]
    apply(options, batch, row, action)
    seen_as = int(history.seen_as[action])
    open_log(history, row)
    tell(log, EVERYBODY if seen_as >= 0 else seat, ACTION, seat, action)  # `as_shown` says what others learn of it
    if history.before.shape[0] > 0:
        TELL_STEP(options, history.before[0], batch.state[row], action, log)
    close_log(history, row)


@template
def open_rows_logged(kept: Kept, rows: IntArray) -> None:
    """Do what `open_rows` does. `Engine.kept` has the rest."""
    options, batch, deck, start_outcomes, _limit, _autoreset, _checked, history, _most = kept.values
    for row in rows:
        begin_logged(options, batch, history, start_outcomes, row)
        deal_out_logged(options, batch, history, deck, row)
        show(options, batch, row)
        hand_out(batch, row)


@template
def step_rows_logged(kept: Kept, rows: IntArray, given: IntArray, chosen: IntArray) -> int:
    """Do what `step_rows` does; where a table has no room for the `most` events of an action, play none, and return
    NO_ROOM.

    Tables keep their events far from each other, so the processor is asked some tables ahead where it will write next
    (*measured*: 4,096 tables of Missouri City play at 0.78 instead of 0.6 of their speed without events).
    """
    options, batch, deck, start_outcomes, limit, autoreset, checked, history, most = kept.values
    bad = -1 if checked else all_legal(batch.mask, rows, given, chosen)
    if bad >= 0:
        return bad
    for k in range(rows.shape[0]):
        if history.filled[rows[k]] + most > history.entries.shape[1]:
            return NO_ROOM
    for k in range(rows.shape[0]):
        row = rows[k]
        if k + _AHEAD < rows.shape[0]:
            prefetch(history.entries, rows[k + _AHEAD], history.filled[rows[k + _AHEAD]])
        apply_logged(options, batch, history, row, chosen[k])
        if batch.state[row].seat == CHANCE:  # a call hands over a hundred numbers
            deal_out_logged(options, batch, history, deck, row)
        ended = report(batch, limit, row)
        if ended and autoreset:
            begin_logged(options, batch, history, start_outcomes, row)
            deal_out_logged(options, batch, history, deck, row)
        show(options, batch, row)
        if ended and not autoreset:
            batch.seat[row] = OVER
            batch.mask[row, :] = 0
        hand_out(batch, row)
    return -1


TEMPLATES = (
    open_log,
    close_log,
    deal_logged,
    deal_out_logged,
    begin_logged,
    apply_logged,
    open_rows_logged,
    step_rows_logged,
)


@kernel
def visible(addressee: int, seat: int) -> bool:
    """Return whether an event with this addressee is shown to a seat."""
    return addressee in (EVERYBODY, seat) or (addressee < EVERYBODY and addressee != all_but(seat))


@kernel
def as_shown(seen_as: npt.NDArray[np.int16], kind: int, who: int, what: int, seat: int) -> tuple[int, int]:
    """Return kind and number of an event that a seat is shown, as the seat may know them: of another seat's action
    perhaps only the words."""
    if kind == ACTION and who != seat and seen_as[what] > 0:
        return HIDDEN_ACTION, int(seen_as[what]) - 1
    return kind, what


@kernel
def learn(
    seen_as: npt.NDArray[np.int16], entries: npt.NDArray[np.int16], count: int, knows: npt.NDArray[np.uint64]
) -> None:
    """Add `count` events, just written, to what each seat knows."""
    for seat in range(knows.shape[0]):
        key = np.uint64(knows[seat])
        for number in range(count):
            if visible(int(entries[number, 0]), seat):
                who = int(entries[number, 2])
                kind, what = as_shown(seen_as, int(entries[number, 1]), who, int(entries[number, 3]), seat)
                key = np.uint64(rng.fork(np.uint64(rng.fork(key, kind & 0xFFFF)), who & 0xFFFF))
                key = np.uint64(rng.fork(key, what & 0xFFFF))
        knows[seat] = key


@kernel
def keep_visible(seen_as: npt.NDArray[np.int16], entries: npt.NDArray[np.int16], seat: int) -> int:
    """Leave at the front of `entries` [T, 4] those that are shown to a seat, as the seat may know them, and those that
    tell all others what it knows already; for NOBODY those that are public: all shown to everybody, or all but one.
    Return how many."""
    kept = 0
    for number in range(entries.shape[0]):
        entry = entries[number]
        if visible(int(entry[0]), seat) or int(entry[0]) == all_but(seat):
            to, who = entry[0], int(entry[2])
            kind, what = as_shown(seen_as, int(entry[1]), who, int(entry[3]), seat)
            entries[kept, 0], entries[kept, 1], entries[kept, 2], entries[kept, 3] = to, kind, who, what
            kept += 1
    return kept


@kernel
def count_visible(
    entries: npt.NDArray[np.int16],
    filled: npt.NDArray[np.int32],
    rows: IntArray,
    seats: IntArray,
    first: IntArray,
    out: IntArray,
) -> None:
    """Write how many events from number `first[k]` on are shown to `seats[k]` at table `rows[k]`."""
    for k in range(rows.shape[0]):
        found = 0
        for at in range(first[k], filled[rows[k]]):
            found += int(visible(int(entries[rows[k], at, 0]), int(seats[k])))
        out[k] = found


@kernel
def read_visible(
    seen_as: npt.NDArray[np.int16],
    entries: npt.NDArray[np.int16],
    filled: npt.NDArray[np.int32],
    rows: IntArray,
    seats: IntArray,
    first: IntArray,
    num_seats: int,
    out: npt.NDArray[np.int16],
) -> None:
    """Write those events to `out[k]`, zeros after the last: kind, who (0 is the reader, 1 the seat to their left, and
    so on), what."""
    for k in range(rows.shape[0]):
        seat, at = int(seats[k]), 0
        for number in range(first[k], filled[rows[k]]):
            entry = entries[rows[k], number]
            if visible(int(entry[0]), seat):
                who = int(entry[2])
                kind, what = as_shown(seen_as, int(entry[1]), who, int(entry[3]), seat)
                out[k, at, 0] = kind
                out[k, at, 1] = who if who < 0 else (who - seat) % num_seats
                out[k, at, 2] = what
                at += 1
        for column in range(COLUMNS):
            out[k, at:, column] = 0
