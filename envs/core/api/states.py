"""`States`: states that a batch or a view returns and accepts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidType, InvalidValue

from ..engine.batch_kernels import Batch
from ..game.game import Game


class Kept(NamedTuple):
    """The data of n tables, in read-only arrays."""

    state: npt.NDArray[Any]
    seat: npt.NDArray[np.int8]
    decisions: npt.NDArray[np.int32]
    own_decisions: npt.NDArray[np.int32]
    reward: npt.NDArray[np.float32]
    terminated: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]


class States:
    """n states of one game: returned by `BatchEnv.states`, `BatchEnv.determinize` and `View.determinize`, and accepted
    by `BatchEnv.from_states` and `BatchEnv.set_states`.

    They are read-only, and cannot be made otherwise. The rules are machine code that trusts every number of a state:
    with an invented number it would read memory that is not the table's. `states[rows]` are some of them, by any array
    index; `States.joined` joins several. They can be copied and pickled.
    """

    __slots__ = ("_game", "_kept")
    _game: Game
    _kept: Kept

    def __init__(self) -> None:
        raise InvalidType(
            "States are not made by hand: take them from BatchEnv.states, or determinize a batch or a view."
        )

    @property
    def game(self) -> Game:
        """The game under its options."""
        return self._game

    @property
    def records(self) -> npt.NDArray[Any]:
        """The game's State records [n], to read: `states.records["hand"]`. A copy of them may be written to."""
        return self._kept.state

    @property
    def seat(self) -> npt.NDArray[np.int8]:
        """[n] the seat to act; -2 where the episode is over."""
        return self._kept.seat

    @property
    def decisions(self) -> npt.NDArray[np.int32]:
        """[n] decisions made in the episode; in a redrawn state, those of the seat that it was redrawn for, since that
        seat does not know how often others decided."""
        return self._kept.decisions

    def __len__(self) -> int:
        return len(self._kept.seat)

    def __getitem__(self, rows: Any) -> States:
        which = np.atleast_1d(np.arange(len(self))[rows])
        return frozen(self._game, *(array[which] for array in self._kept))

    @staticmethod
    def joined(parts: States | Sequence[States]) -> States:
        """Return the states of a list of States, one after another; a States itself is returned as it is. Raises
        TypeError or ValueError for other objects, or for several games."""
        if isinstance(parts, States):
            return parts
        if not isinstance(parts, (list, tuple)) or not parts or not all(isinstance(part, States) for part in parts):
            raise InvalidType(
                "States are taken as BatchEnv.states, BatchEnv.determinize and View.determinize give them, alone or in "
                f"a list; a {type(parts).__name__} was given."
            )
        games = [part.game for part in parts]
        if any(game != games[0] for game in games):
            raise InvalidValue(
                f"States of one game go together; these are of {', '.join(map(repr, dict.fromkeys(games)))}."
            )
        return frozen(
            games[0], *(np.concatenate(arrays) for arrays in zip(*(part._kept for part in parts), strict=True))
        )

    def __repr__(self) -> str:
        return f"<{len(self)} States of {self._game!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unsealed, (seal(self._kept), self._game, *self._kept)


def frozen(game: Game, *arrays: npt.NDArray[Any]) -> States:
    """Return States of the arrays of `Kept`, which are copied. Raises ValueError if the records do not fit the game's
    present State."""
    if arrays[0].dtype != game.state_dtype:
        raise InvalidValue(f"These states were made by another version of {game!r}, whose State had other fields.")
    states = object.__new__(States)
    states._game, states._kept = game, Kept(*map(read_only, arrays))
    return states


def seal(arrays: Iterable[npt.NDArray[Any]]) -> bytes:
    """Return a digest of arrays: machine code trusts what they hold, so what was altered on its way is not used."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype} {array.shape} ".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()


def check_seal(sealed: Any, arrays: Iterable[npt.NDArray[Any]], what: str) -> None:
    """Raise ValueError for arrays that are not those of this seal."""
    if sealed != seal(arrays):
        raise InvalidValue(f"{what} were altered since they were kept: their checksum is another. Keep them again.")


def _unsealed(sealed: bytes, game: Game, *arrays: npt.NDArray[Any]) -> States:
    """Return States that were pickled. Raises ValueError as `frozen` does, and for altered ones."""
    check_seal(sealed, arrays, f"These states of {game!r}")
    return frozen(game, *arrays)


def states_of(game: Game, batch: Batch, rows: npt.NDArray[np.int64]) -> States:
    """Return the states of tables."""
    return frozen(game, *(getattr(batch, name)[rows] for name in Kept._fields))


def redrawn(
    game: Game, batch: Batch, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64], records: npt.NDArray[Any]
) -> States:
    """Return `records`, states of tables redrawn for `seats`, with what else those seats know: of the decisions only
    their own, and zero rewards, since not every seat may know who gained what by the latest action."""
    own, every = np.zeros((len(rows), game.num_seats), np.int32), np.arange(len(rows))
    own[every, seats] = batch.own_decisions[rows, seats]
    reward, ended = np.zeros((len(rows), game.num_seats), np.float32), np.zeros(len(rows), np.bool_)
    return frozen(game, records, batch.seat[rows], own[every, seats], own, reward, ended, ended)


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy that can never be written to again: its memory is that of a `bytes` object."""
    if not array.size:
        return np.zeros(array.shape, array.dtype)
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)
