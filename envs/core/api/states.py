"""Tables as values: `Positions`, and of these `States`, which a batch or a view returns and accepts.

Machine code trusts every number of a state: with an invented one it would read memory that is not the table's. So these
values are read-only, cannot be made by hand, and carry a checksum where they are pickled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidType, InvalidValue

from ..engine.batch_kernels import Batch
from ..game.game import Game

KEPT = ("state", "seat", "decisions", "own_decisions", "reward", "terminated", "truncated")
"""The arrays of States, by their names in Batch."""


class Positions:
    """n tables of one game as a value. `positions[rows]` are some of them, by any array index. They can be copied and
    pickled."""

    __slots__ = ("_arrays", "_game")
    _game: Game
    _arrays: Mapping[str, npt.NDArray[Any]]
    """[n, ...] each, read-only."""
    _records: ClassVar[str]
    """The name of the array of State records, or of their bytes."""

    def __init__(self) -> None:
        raise InvalidType(
            f"{type(self).__name__} are not made by hand: take them from BatchEnv.states or BatchEnv.save, or "
            "determinize a batch or a view."
        )

    @classmethod
    def of(cls, game: Game, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the value of arrays [n, ...] that come from tables; they are copied."""
        made = object.__new__(cls)
        made._game, made._arrays = game, {name: read_only(array) for name, array in arrays.items()}
        return made

    @property
    def game(self) -> Game:
        """The game under its options."""
        return self._game

    def __len__(self) -> int:
        return len(self._arrays["seat"])

    def __getitem__(self, rows: Any) -> Self:
        which = np.atleast_1d(np.arange(len(self))[rows])
        return self.of(self._game, {name: array[which] for name, array in self._arrays.items()})

    def __repr__(self) -> str:
        return f"<{len(self)} {type(self).__name__} of {self._game!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), seal(self._arrays), self._game, self._game.version, self._arrays)


class States(Positions):
    """n states of one game: returned by `BatchEnv.states`, `BatchEnv.determinize` and `View.determinize`, and accepted
    by `BatchEnv.from_states` and `BatchEnv.set_states`.

    They are read-only, and cannot be made otherwise. `states[rows]` are some of them, by any array index;
    `States.joined` joins several. They can be copied and pickled.
    """

    __slots__ = ()
    _records = "state"

    @property
    def records(self) -> npt.NDArray[Any]:
        """The game's State records [n], to read: `states.records["hand"]`. A copy of them may be written to."""
        return self._arrays["state"]

    @property
    def seat(self) -> npt.NDArray[np.int8]:
        """[n] the seat to act; -2 where the episode is over."""
        return self._arrays["seat"]

    @property
    def decisions(self) -> npt.NDArray[np.int32]:
        """[n] decisions made in the episode; in a redrawn state, those of the seat that it was redrawn for, since that
        seat does not know how often others decided."""
        return self._arrays["decisions"]

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
        arrays = {name: np.concatenate([part._arrays[name] for part in parts]) for name in KEPT}
        return States.of(games[0], arrays)


def seal(kept: Mapping[str, Any]) -> bytes:
    """Return a digest of arrays and other values by their names."""
    found = hashlib.sha256()
    for name, value in sorted(kept.items()):
        if isinstance(value, np.ndarray):
            found.update(f"{name} {value.dtype} {value.shape} ".encode() + value.tobytes())
        else:
            found.update(f"{name} {value!r}".encode())
    return found.digest()


def check_kept(sealed: Any, kept: Mapping[str, Any], game: Game, version: int, fits: bool) -> None:
    """Raise ValueError for positions that are not those of this seal, or of another version of the game; `fits` says
    whether the records have the fields of its present State."""
    if sealed != seal(kept):
        raise InvalidValue(
            f"Positions of {game!r} were altered since they were kept: their checksum is another. Keep them again."
        )
    if version != game.version or not fits:
        raise InvalidValue(
            f"Positions were kept by version {version} of {game.name}, and this is version {game.version}, or its "
            "State has other fields now. Keep them again."
        )


def _restored(kind: type[Positions], sealed: bytes, game: Game, version: int, arrays: Any) -> Positions:
    """Return positions that were pickled. Raises ValueError as `check_kept` does."""
    records, state = arrays[kind._records], game.state_dtype
    fits = records.dtype == state if records.ndim == 1 else records.shape[1] == state.itemsize
    check_kept(sealed, arrays, game, version, fits)
    return kind.of(game, arrays)


def states_of(game: Game, batch: Batch, rows: npt.NDArray[np.int64]) -> States:
    """Return the states of tables."""
    return States.of(game, {name: getattr(batch, name)[rows] for name in KEPT})


def redrawn(
    game: Game, batch: Batch, rows: npt.NDArray[np.int64], seats: npt.NDArray[np.int64], records: npt.NDArray[Any]
) -> States:
    """Return `records`, states of tables redrawn for `seats`, with what else those seats know: of the decisions only
    their own, and zero rewards, since not every seat may know who gained what by the latest action."""
    own, every = np.zeros((len(rows), game.num_seats), np.int32), np.arange(len(rows))
    own[every, seats] = batch.own_decisions[rows, seats]
    reward, ended = np.zeros((len(rows), game.num_seats), np.float32), np.zeros(len(rows), np.bool_)
    arrays = records, batch.seat[rows], own[every, seats], own, reward, ended, ended
    return States.of(game, dict(zip(KEPT, arrays, strict=True)))


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy that can never be written to again: its memory is that of a `bytes` object."""
    if not array.size:
        return np.zeros(array.shape, array.dtype)
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)
