"""`RowCopies`: tables of a batch copied onto others, or kept as a value and put back. `Saved`: that value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidType, InvalidValue

from ..engine.engine import one_thread
from ..engine.time_step import TimeStep
from ..game.game import Game
from .row_checks import RowChecks
from .states import read_only, seal

Packs = tuple[tuple[bytes, ...], ...]


class Saved:
    """n tables with everything that play goes on from: returned by `BatchEnv.save`, and accepted by `BatchEnv.load`.

    Beside the state that is the random streams (of chance, and of `play_random`), the count of decisions, what the
    table shows (rewards and end flags too), delayed rewards where the batch books them, and given packs that are yet to
    be dealt. It is read-only and cannot be made otherwise, as `States`. `saved[rows]` are some of the tables, by any
    array index. It can be copied and pickled.
    """

    __slots__ = ("_arrays", "_game", "_packs")
    _game: Game
    _arrays: Mapping[str, npt.NDArray[Any]]
    """What `RowCopies._row_arrays` names, each [n, ...]."""
    _packs: Packs
    """The packs that are yet to be dealt at each table, int64 as bytes."""

    def __init__(self) -> None:
        raise InvalidType("Saved tables are not made by hand: take them from BatchEnv.save.")

    @property
    def game(self) -> Game:
        """The game under its options."""
        return self._game

    def __len__(self) -> int:
        return len(self._packs)

    def __getitem__(self, rows: Any) -> Saved:
        which = np.atleast_1d(np.arange(len(self))[rows])
        arrays = {name: array[which] for name, array in self._arrays.items()}
        return saved(self._game, self._game.version, arrays, tuple(self._packs[row] for row in which.tolist()))

    def __repr__(self) -> str:
        return f"<{len(self)} saved tables of {self._game!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unsealed, (_seal(self._arrays, self._packs), self._game, self._game.version, self._arrays, self._packs)


def saved(game: Game, version: int, arrays: Mapping[str, npt.NDArray[Any]], packs: Packs) -> Saved:
    """Return the value of these arrays, which are copied. Raises ValueError for those of another version of the
    game."""
    if version != game.version or arrays["raw"].shape[1] != game.state_dtype.itemsize:
        raise InvalidValue(
            f"These tables were saved by version {version} of {game.name} and this is version {game.version}, or its "
            "State has other fields now; save them again."
        )
    made = object.__new__(Saved)
    made._game, made._packs = game, packs
    made._arrays = {name: read_only(array) for name, array in arrays.items()}
    return made


def _seal(arrays: Mapping[str, npt.NDArray[Any]], packs: Packs) -> bytes:
    """The seal of arrays and packs."""
    given = np.frombuffer(repr(packs).encode(), np.uint8)
    return seal(
        [*(arrays[name] for name in sorted(arrays)), np.frombuffer(repr(sorted(arrays)).encode(), np.uint8), given]
    )


def _unsealed(sealed: bytes, game: Game, version: int, arrays: Mapping[str, npt.NDArray[Any]], packs: Packs) -> Saved:
    """Return tables that were pickled. Raises ValueError as `saved` does, and for altered ones."""
    if sealed != _seal(arrays, packs):
        raise InvalidValue(
            f"These saved tables of {game!r} were altered since they were kept: their checksum is another. Save them "
            "again."
        )
    return saved(game, version, arrays, packs)


class RowCopies(RowChecks):
    """`copy_rows`, `save` and `load` of `BatchEnv`."""

    time_step: TimeStep
    _choices: npt.NDArray[np.uint64]

    def _row_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Every array with a row for each table that decides how play goes on there, or what it shows. Whatever else
        tables come to keep is named here, and is then copied, saved and loaded."""
        batch = self.engine.batch
        arrays = {name: getattr(batch, name) for name in batch._fields if name not in ("state", "observation")}
        arrays["choices"] = self._choices  # `raw` and `flat` hold the two left out
        if self._booking is not None:
            arrays |= self._booking.arrays()
        if self.engine.history is not None:
            arrays |= {name: getattr(self.engine.history, name) for name in ("entries", "filled", "dealt")}
        return arrays

    def _take_packs(self, rows: npt.NDArray[np.int64]) -> Packs:
        stacked = self.engine.stacked
        return tuple(tuple(pack.tobytes() for pack in stacked.get(row, ())) for row in rows.tolist())

    def _take(self, rows: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
        return {name: array[rows] for name, array in self._row_arrays().items()}

    def _put(self, rows: npt.NDArray[np.int64], arrays: Mapping[str, npt.NDArray[Any]], packs: Packs) -> TimeStep:
        """Write `arrays` [n, ...] and packs to the tables `rows`."""
        self.engine.make_room(int(arrays["filled"].max(initial=0)) if "filled" in arrays else 0)
        for name, array in self._row_arrays().items():
            if name == "entries":  # of which either may have room for more
                size = min(array.shape[1], arrays[name].shape[1])
                array[rows, :size] = arrays[name][:, :size]
            else:
                array[rows] = arrays[name]
        stacked = self.engine.stacked
        for row, given in zip(rows.tolist(), packs, strict=True) if stacked or any(packs) else ():
            stacked.pop(row, None)
            if given:
                stacked[row] = [np.frombuffer(pack, np.int64).copy() for pack in given]
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
        return self._put(mine, self._take(which), self._take_packs(which))

    @one_thread
    def save(self, rows: npt.ArrayLike | None = None) -> Saved:
        """Return the tables `rows` (all by default; a table may be named more than once) with everything that play goes
        on from. `load` puts them back, in this batch or another one. Finished tables are allowed.

        Raises TypeError or ValueError for invalid rows, RuntimeError for a table that has not been dealt.
        """
        mine = self._all if rows is None else self._rows(rows)
        self._check_dealt(mine)
        return saved(self.game, self.game.version, self._take(mine), self._take_packs(mine))

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
        return self._put(mine, saved._arrays, saved._packs)
