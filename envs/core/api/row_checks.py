"""`RowChecks`: rows, seats and actions from callers of a batch, validated before anything has changed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall, InvalidValue

from ..engine import validation
from ..engine.engine import Engine
from ..engine.workers import Workers
from ..game.game import Game
from .delayed_rewards import Booking


class RowChecks:
    """What `BatchEnv` does with rows, seats and actions at its methods' doors; compiled code trusts them."""

    game: Game
    engine: Engine
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
    """What `validation.first_twice` takes."""

    def _actions(self, given: npt.ArrayLike, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        array = validation.whole_numbers(given, "Actions")
        if array.shape != rows.shape:
            raise InvalidValue(
                f"Actions have shape {array.shape}; {len(rows)} tables take shape {rows.shape}, one action each."
            )
        return array

    def _first_illegal(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> int:
        """Return the first k whose action is not legal, or -1. All threads look before any plays."""
        if self._workers.shares(len(rows)) == 1:
            return self.engine.first_illegal(rows, actions)
        found = []

        def look(thread: int, *part: npt.NDArray[np.int64]) -> None:
            if self.engine.first_illegal(*part) >= 0:
                found.append(thread)

        self._workers.spread(look, rows, actions)
        return self.engine.first_illegal(rows, actions) if found else -1

    def _seats(self, given: npt.ArrayLike, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        seats = validation.whole_numbers(given, "Seats")
        if seats.shape != rows.shape:
            raise InvalidValue(f"Seats have shape {seats.shape}; {len(rows)} tables take shape {rows.shape}, one each.")
        bad = validation.first_outside(seats, self.num_seats)
        if bad >= 0:
            raise InvalidValue(
                f"Seat {validation.given_number(given, bad)} was asked for; {self.game.name} has seats "
                f"0..{self.num_seats - 1}."
            )
        return seats

    def _rows(self, given: npt.ArrayLike) -> npt.NDArray[np.int64]:
        if given is self._all:
            return self._all
        rows = validation.whole_numbers(given, "Rows")
        if rows.ndim != 1:
            raise InvalidValue(f"Rows have shape {rows.shape}; they are a list of tables, shape (n,).")
        bad = validation.first_outside(rows, self.num_envs)
        if bad >= 0:
            raise InvalidValue(
                f"Row {validation.given_number(given, bad)} was asked for; there are {self.num_envs} tables, rows "
                f"0..{self.num_envs - 1}."
            )
        return rows

    def _rows_once(self, given: npt.ArrayLike) -> npt.NDArray[np.int64]:
        rows = self._rows(given)
        if rows is not self._all:
            self._stamp += 1
            bad = validation.first_twice(rows, self._marks, self._stamp)
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
