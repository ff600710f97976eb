"""Rows, seats and actions from callers, validated before anything has changed: `TableChecks` for any tables,
`RowChecks` for a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall, InvalidValue

from ..engine.engine import Engine
from ..game import arguments
from ..game.game import Game
from ..game.threads import Workers

if TYPE_CHECKING:
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
