"""Rows of tables: checked where callers give them, before anything has changed (`TableChecks` for any tables,
`RowChecks` for a batch); copied onto others, or kept as a value and put back (`RowCopies`; `Saved` is the value)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall, InvalidType, InvalidValue

from ..engine.batch_kernels import COPIED, Deck
from ..engine.engine import Engine, one_thread
from ..engine.time_step import TimeStep
from ..game import arguments
from ..game.game import Game
from ..game.threads import Workers
from .states import Positions

if TYPE_CHECKING:
    from ..game.reset_options import ResetOptions
    from .delayed_rewards import Booking

_WHOLE = np.dtype(np.int64)


def rows_of(given: npt.ArrayLike, size: int) -> npt.NDArray[np.int64]:
    """Return the rows of some of `size` tables, as an array of int64. Raises TypeError or ValueError."""
    rows = arguments.whole_numbers(given, "Rows")
    if rows.ndim != 1:
        raise InvalidValue(f"Rows have shape {rows.shape}; they are a list of tables, shape (n,).")
    bad = arguments.first_outside(rows, size)
    if bad >= 0:
        raise InvalidValue(
            f"Row {arguments.given_number(given, bad)} was asked for; there are {size} tables, rows 0..{size - 1}."
        )
    return rows


def seats_of(given: npt.ArrayLike, game: Game, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return one seat for each of the rows, as an array of int64. Raises TypeError or ValueError."""
    seats, last = arguments.whole_numbers(given, "Seats"), game.num_seats - 1
    if seats.shape != rows.shape:
        raise InvalidValue(f"Seats have shape {seats.shape}; {len(rows)} tables take shape {rows.shape}, one each.")
    bad = arguments.first_outside(seats, last + 1)
    if bad >= 0:
        raise InvalidValue(f"Seat {arguments.given_number(given, bad)} was asked for; {game.name} has seats 0..{last}.")
    return seats


class TableChecks:
    """What is checked of rows and seats."""

    game: Game
    engine: Engine

    @property
    def lock(self) -> Any:
        """Held during each call; see `one_thread`."""
        return self.engine.lock

    def _rows(self, given: npt.ArrayLike) -> npt.NDArray[np.int64]:
        return rows_of(given, self.engine.size)

    def _seats(self, given: npt.ArrayLike, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return seats_of(given, self.game, rows)


class RowChecks(TableChecks):
    """What `BatchEnv` does with rows, seats and actions at its methods' doors; compiled code trusts them."""

    num_envs: int
    num_seats: int
    leaf_values: bool
    _booking: Booking | None
    _workers: Workers
    _all: npt.NDArray[np.int64]
    """The rows of all tables [B]."""
    _dealt: npt.NDArray[np.bool_]
    """Which tables have been dealt [B]."""
    _marks: npt.NDArray[np.int64]
    _stamp: int
    """What `arguments.first_twice` takes."""

    def _actions(self, given: npt.ArrayLike, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """`given` itself where it is such an array already: compiled code copies it as it looks."""
        if type(given) is np.ndarray and given.dtype is _WHOLE and given.flags.carray:
            array: npt.NDArray[np.int64] = given
        else:
            array = arguments.whole_numbers(given, "Actions")
        if array.shape != rows.shape:
            raise InvalidValue(
                f"Actions have shape {array.shape}; {len(rows)} tables take shape {rows.shape}, one action each."
            )
        return array

    def _rows(self, given: npt.ArrayLike) -> npt.NDArray[np.int64]:
        return self._all if given is self._all else super()._rows(given)

    def _rows_once(self, given: npt.ArrayLike) -> npt.NDArray[np.int64]:
        rows = self._rows(given)
        if rows is not self._all:
            self._stamp += 1
            bad = arguments.first_twice(rows, self._marks, self._stamp)
            if bad >= 0:
                raise InvalidValue(f"Row {rows[bad]} was named twice; a table takes one action at a time.")
        return rows

    def _opening(self, options: Mapping[str, Any] | None) -> ResetOptions | None:
        if options is None:
            return None
        from ..game.reset_options import read_reset_options

        return read_reset_options(self.game, options)

    def _check_dealt(self, rows: npt.NDArray[np.int64]) -> None:
        if not self._dealt[rows].all():
            row = int(rows[np.flatnonzero(~self._dealt[rows])[0]])
            raise InvalidCall(f"Table {row} has not been dealt; call reset() first.")

    def _check_on(self, rows: npt.NDArray[np.int64]) -> None:
        over = rows[self.engine.batch.seat[rows] < 0]
        if len(over):
            raise InvalidValue(f"Table {over[0]}: the game is over; call restart() to begin another.")

    def _check_plays_on(self, rows: npt.NDArray[np.int64]) -> None:
        if self.leaf_values:
            raise InvalidCall("A batch with leaf_values ends episodes early; step() does that, and nothing else here.")
        if self._booking is not None:
            raise InvalidCall("A batch with delayed_rewards books them at each step(); nothing else plays on here.")
        if self.engine.history is not None:
            raise InvalidCall("A batch with events=True writes its events at each step(); nothing else plays on here.")
        stacked = [row for row in rows.tolist() if row in self.engine.stacked] if self.engine.stacked else []
        if stacked:
            raise InvalidCall(f"Table {stacked[0]} has given packs yet to be dealt; play it by step() until they are.")


class Saved(Positions):
    """n tables with everything that play goes on from: returned by `BatchEnv.save`, and accepted by `BatchEnv.load`.

    Beside the state that is the random streams (of chance, and of `play_random`), the count of decisions, what the
    table shows (rewards and end flags too), delayed rewards where the batch books them, and given packs that are yet to
    be dealt. It is read-only and cannot be made otherwise, as `States`. `saved[rows]` are some of the tables, by any
    array index. It can be copied and pickled.
    """

    __slots__ = ()
    _records = "raw"


class RowCopies(RowChecks):
    """`copy_rows`, `save` and `load` of `BatchEnv`."""

    time_step: TimeStep
    _choices: npt.NDArray[np.uint64]
    _decks: list[Deck]

    def _row_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Every array with a row for each table that decides how play goes on there, or what it shows. Whatever else
        tables come to keep is named here, and is then copied, saved and loaded."""
        arrays = {name: getattr(self.engine.batch, name) for name in COPIED}
        arrays["choices"] = self._choices
        if self._booking is not None:
            arrays |= self._booking.arrays()
        if self.engine.history is not None:
            arrays |= {name: getattr(self.engine.history, name) for name in ("entries", "filled", "dealt")}
        return arrays

    def _take(self, rows: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
        """Those of some tables, with the packs that are yet to be dealt there [n, most, cards], and how many."""
        stacked, left = self.engine.stacked, np.zeros(len(rows), np.int64)
        if stacked:
            left[:] = [len(stacked.get(row, ())) for row in rows.tolist()]
        packs = np.zeros((len(rows), left.max(initial=0), len(self._decks[0].cards)), np.int64)
        for k in np.flatnonzero(left).tolist():
            packs[k, : left[k]] = stacked[int(rows[k])]
        return {name: array[rows] for name, array in self._row_arrays().items()} | {"packs": packs, "packs_left": left}

    def _put(self, rows: npt.NDArray[np.int64], arrays: Mapping[str, npt.NDArray[Any]]) -> TimeStep:
        """Write what `_take` returned to the tables `rows`."""
        self.engine.make_room(int(arrays["filled"].max(initial=0)) if "filled" in arrays else 0)
        for name, array in self._row_arrays().items():
            if name == "entries":  # of which either may have room for more
                size = min(array.shape[1], arrays[name].shape[1])
                array[rows, :size] = arrays[name][:, :size]
            else:
                array[rows] = arrays[name]
        stacked, left = self.engine.stacked, arrays["packs_left"]
        for k, row in enumerate(rows.tolist()) if stacked or left.any() else ():
            stacked.pop(row, None)
            if left[k]:
                stacked[row] = list(arrays["packs"][k, : left[k]].copy())
        self._dealt[rows] = True
        self._hand_out(rows)
        return self.time_step

    def _hand_out(self, rows: npt.NDArray[np.int64]) -> None:
        """Show callers what the tables of `rows` have become; `BatchEnv` does."""
        raise NotImplementedError

    @one_thread
    def copy_rows(self, source: npt.ArrayLike, target: npt.ArrayLike) -> TimeStep:
        """Make table `target[k]` a copy of table `source[k]` as it was before the call: state, random stream, count of
        decisions, and all that it shows. With equal actions both continue alike; `seed` gives a copy another stream. A
        finished table's copy is finished.

        A table may be named more than once in `source`. Raises TypeError or ValueError for invalid rows and for a
        repeated target, RuntimeError for a source that has not been dealt.
        """
        which, mine = self._rows(source), self._rows_once(target)
        if len(which) != len(mine):
            raise InvalidValue(f"{len(which)} rows were given to copy to {len(mine)}; give a target for each source.")
        self._check_dealt(which)
        return self._put(mine, self._take(which))

    @one_thread
    def save(self, rows: npt.ArrayLike | None = None) -> Saved:
        """Return the tables `rows` (all by default; a table may be named more than once) with everything that play goes
        on from. `load` puts them back, in this batch or another one. Finished tables are allowed.

        Raises TypeError or ValueError for invalid rows, RuntimeError for a table that has not been dealt.
        """
        mine = self._all if rows is None else self._rows(rows)
        self._check_dealt(mine)
        return Saved.of(self.game, self._take(mine))

    @one_thread
    def load(self, rows: npt.ArrayLike | None, saved: Saved) -> TimeStep:
        """Put the tables of `saved`, in order, on the tables `rows` (None: all), dropping their present episodes. With
        equal actions they continue as the saved ones did. The settings (`autoreset`, `leaf_values`) are this batch's.

        Raises TypeError or ValueError, before anything has changed: for invalid or repeated rows, another number of
        them, what was saved of another game or under other options, and for tables without delayed rewards where this
        batch books them.
        """
        if not isinstance(saved, Saved):
            raise InvalidType(f"load takes what BatchEnv.save returned; a {type(saved).__name__} was given.")
        mine = self._all if rows is None else self._rows_once(rows)
        if saved.game != self.game:
            raise InvalidValue(f"The saved tables are of {saved.game!r}, and these of {self.game!r}.")
        if len(saved) != len(mine):
            raise InvalidValue(f"{len(saved)} saved tables were given for {len(mine)} tables; give one for each.")
        missing = sorted(self._row_arrays().keys() - saved._arrays.keys())
        if missing:
            raise InvalidValue(
                f"The saved tables lack what this batch keeps ({', '.join(missing)}): they were saved by a batch made "
                "with other settings. Make both with the same."
            )
        return self._put(mine, saved._arrays)
