"""Thousands of tables in one call.

    batch = backalley.make_vec("poker_duel-v0", num_envs=4096, seed=0)
    step = batch.reset()
    while True:
        step = batch.step(actions)              # one action per table, of the seat that is to act there

Rows, seats and actions are checked here, once; behind this door compiled code trusts them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt

from . import doors
from .base import Game
from .engine import BUSY, Engine, one_thread, streams_of
from .opening import read_opening
from .parts import OVER
from .spaces import LegalDiscrete, LegalMultiDiscrete, vector_space
from .workers import Workers, threads_of

_ROWS_PER_THREAD = 256
"""Fewer rows than this are not worth waking a thread for."""


_COPIED_WHOLE = 8
"""From every eighth row on, copying all masks is quicker than copying those of the rows."""


class TimeStep(NamedTuple):
    """What B tables show after a step. The arrays are overwritten by the next step: copy what you keep. They may be
    written to, and decide nothing: what is legal, and whose turn it is, the batch keeps for itself.

    Where a table's episode has just ended, `reward`, `terminated` and `truncated` speak of that episode, and
    `observation`, `action_mask` and `seat` already of the next one.
    """

    observation: npt.NDArray[Any]
    """[B, O] what the seat to act may know."""
    action_mask: npt.NDArray[np.int8]
    """[B, A] 1 for each legal action."""
    seat: npt.NDArray[np.int8]
    """[B] the seat to act."""
    reward: npt.NDArray[np.float32]
    """[B, N] what every seat gained by the latest action."""
    terminated: npt.NDArray[np.bool_]
    """[B] the latest action ended the game."""
    truncated: npt.NDArray[np.bool_]
    """[B] the latest action was the last that an episode may have."""


class BatchEnv:
    """B tables of one game. Row i with seed `s + i` plays exactly as the AEC environment with seed `s + i`, for any
    `num_threads`.

    With `autoreset=False` a finished table stays finished (its mask is all zero) until `restart`. Rows, seats and
    actions are lists, arrays or tensors of whole numbers. What is refused is refused in a sentence, before any table
    has changed. One thread at a time: a call while another thread is in one raises RuntimeError, and does not wait.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        *,
        seed: int | Sequence[int | None] | None = None,
        num_threads: int = 1,
        autoreset: bool = True,
    ) -> None:
        """Raises TypeError or ValueError in a sentence, for more tables than this machine has memory for too."""
        num_envs = doors.count(num_envs, "num_envs", 1)
        self.num_threads = threads_of(num_threads)
        if not isinstance(autoreset, (bool, np.bool_)):
            raise TypeError(f"autoreset is {autoreset!r}; it takes True or False.")
        doors.check_memory(num_envs, Engine.bytes_of(game), "num_envs")
        self.engine = Engine(game, num_envs)
        self.game, self.num_envs, self.autoreset = game, num_envs, bool(autoreset)
        self.num_seats, self.num_actions = self.engine.num_seats, self.engine.num_actions
        self._workers = Workers(min(self.num_threads, max(1, num_envs // _ROWS_PER_THREAD)), _ROWS_PER_THREAD)
        self._decks = [self.engine.fresh_deck() for _ in range(self._workers.num_threads)]
        self._all = np.arange(num_envs)
        self._marks, self._stamp = np.zeros(num_envs, np.int64), 0
        self._dealt = np.zeros(num_envs, np.bool_)
        self._hand_to_callers()
        self.seed(seed)

    # Chance --------------------------------------------------------------------------------------------------------

    @one_thread
    def seed(self, seed: int | Sequence[int | None] | None) -> None:
        """Set the random streams: table i's by `seed + i`, or by `seed[i]`, where None leaves its stream as it is. None
        draws a seed from the system. Raises TypeError or ValueError in a sentence."""
        rows, streams = self._streams_of_seeds(seed)
        self.engine.batch.stream[rows] = streams

    def _streams_of_seeds(self, seed: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
        """The rows that get a new stream by a `seed` as of `seed()`, and their streams."""
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
        first = doors.whole(seed)
        if first is not None:
            seeds: list[Any] = list(range(first, first + self.num_envs))
        elif isinstance(seed, (str, bytes)) or not hasattr(seed, "__len__") or not hasattr(seed, "__iter__"):
            raise TypeError(f"The seed is {seed!r}; it takes a whole number of 0 or more, or one for each table.")
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(
                f"{len(seeds)} seeds were given for {self.num_envs} tables; give one seed, or one per table."
            )
        numbers = [doors.whole(one) for one in seeds]
        for one, number in zip(seeds, numbers, strict=True):
            if one is not None and (number is None or number < 0):
                raise ValueError(f"A seed is {one!r}; seeds are whole numbers of 0 or more.")
        rows = np.array([row for row, number in enumerate(numbers) if number is not None], np.int64)
        return rows, streams_of([number for number in numbers if number is not None])

    def _streams(self, given: Any) -> npt.NDArray[np.uint64]:
        """The streams that a caller gives, one for each table."""
        try:
            array = np.asarray(given)
        except (TypeError, ValueError, RuntimeError) as error:  # a ragged list; a tensor on another device
            raise ValueError(
                f"The streams cannot be read as one array ({error}); {self.num_envs} tables take one whole number each."
            ) from None
        if array.dtype.kind == "O" and all(type(item) is int and 0 <= item < 2**64 for item in array.flat):
            array = array.astype(np.uint64)
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise ValueError(
                f"The streams are of type {array.dtype} and shape {array.shape}; {self.num_envs} tables take one whole "
                f"number each, shape ({self.num_envs},)."
            )
        if array.dtype.kind == "i" and (array < 0).any():
            raise ValueError(f"A stream is {array.min()}; streams are whole numbers of 0 or more.")
        return array.astype(np.uint64)

    # Play ----------------------------------------------------------------------------------------------------------

    @one_thread
    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        streams: npt.NDArray[np.uint64] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> TimeStep:
        """Begin a new episode on every table. `seed` reseeds table i with `seed + i`, or `seed[i]`; `streams` sets the
        streams, whatever the seed; `options` are those of `restart`. Raises TypeError or ValueError in a sentence,
        before anything has changed."""
        read_opening(self.game, options)
        by_seed = None if seed is None else self._streams_of_seeds(seed)
        given = None if streams is None else self._streams(streams)
        if by_seed is not None:
            self.engine.batch.stream[by_seed[0]] = by_seed[1]
        if given is not None:
            self.engine.batch.stream[:] = given
        return self.restart(self._all, options=options)

    @one_thread
    def restart(self, rows: npt.ArrayLike, *, options: Mapping[str, Any] | None = None) -> TimeStep:
        """Begin a new episode on the tables of `rows`, dropping what was played there. Rewards and end flags stay to be
        read.

        `options` may hold `decks`, packs to be dealt first at each of them, and `start_outcome`; see `AECEnv.reset`.
        Raises TypeError or ValueError for rows that are no rows, or named twice.
        """
        opening = read_opening(self.game, options)
        mine = self._rows_once(rows)
        if self.engine.stacked:
            for row in mine.tolist():
                self.engine.stacked.pop(row, None)
        if opening is None:
            self._workers.spread(lambda thread, part: self.engine.open_rows(part, self._decks[thread]), mine)
        else:
            for row in mine.tolist():
                self.engine.open_one(opening, self._decks[0], row)
        self._dealt[mine] = True
        self._hand_out(mine)
        return self.time_step

    def step(self, actions: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> TimeStep:
        """Play `actions[k]` on table `rows[k]` (on all tables by default).

        Raises TypeError or ValueError for an array of the wrong type or shape and for rows that are no rows, or named
        twice; IllegalAction for an action that is not legal; RuntimeError for a table that has not been dealt.
        """
        lock = self.engine.lock
        if not lock.acquire(False):
            raise RuntimeError(BUSY)
        try:
            mine = self._all if rows is None else self._rows_once(rows)
            chosen = self._actions(actions, mine)
            bad = self.engine.first_illegal(mine, chosen)
            if bad >= 0:
                self._check_dealt(mine)
                row, action = int(mine[bad]), doors.given_number(actions, bad)
                refusal = self.engine.refuse(row, action)
                raise type(refusal)(f"Table {row}: {refusal}")
            if self.engine.stacked:
                self._step_stacked(mine, chosen)
            else:
                self._step(mine, chosen)
            self._hand_out(mine)
            return self.time_step
        finally:
            lock.release()

    def _step(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> None:
        if self._workers.num_threads == 1 or len(rows) < 2 * _ROWS_PER_THREAD:
            self.engine.step_rows(rows, actions, self._decks[0], self.autoreset)
        else:
            self._workers.spread(self._step_part, rows, actions)

    def _step_part(self, thread: int, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> None:
        self.engine.step_rows(rows, actions, self._decks[thread], self.autoreset)

    def _step_stacked(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> None:
        """Where packs are stacked, one table after another; the others together."""
        single = np.array([row in self.engine.stacked for row in rows.tolist()], np.bool_)
        self._step(rows[~single], actions[~single])
        for row, action in zip(rows[single].tolist(), actions[single].tolist(), strict=True):
            self.engine.move_one(action, self._decks[0], row)
            if self.autoreset and self.engine.batch.seat[row] == OVER:
                self.engine.stacked.pop(row, None)
                self.engine.open_rows(np.array([row]), self._decks[0])

    @one_thread
    def forfeit(self, rows: npt.ArrayLike) -> TimeStep:
        """End the episodes of `rows` because of an illegal action: the seat to act gets the lower bound of
        `reward_range`, the others 0. Raises as `restart` does, and ValueError for a table where nobody is to act."""
        mine = self._rows_once(rows)
        self._check_dealt(mine)
        over = mine[self.engine.batch.seat[mine] < 0]
        if len(over):
            raise ValueError(f"Table {over[0]}: the game is over; call restart() to begin another.")
        for row in mine.tolist():
            self.engine.stacked.pop(row, None)
            self.engine.forfeit(row)
        if self.autoreset:
            self.engine.open_rows(mine, self._decks[0])
        self._hand_out(mine)
        return self.time_step

    @one_thread
    def observe(self, seats: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> npt.NDArray[Any]:
        """What seat `seats[k]` may know at table `rows[k]` (at all tables by default; a table may be named more than
        once), as new flat vectors [n, O].

        Raises TypeError or ValueError for seats and rows that are none, RuntimeError for a table that has not been
        dealt.
        """
        mine = self._all if rows is None else self._rows(rows)
        which = doors.whole_numbers(seats, "Seats")
        if which.shape != mine.shape:
            raise ValueError(f"Seats have shape {which.shape}; {len(mine)} tables take shape {mine.shape}, one each.")
        bad = doors.first_outside(which, self.num_seats)
        if bad >= 0:
            raise ValueError(
                f"Seat {doors.given_number(seats, bad)} was asked for; {self.game.name} has seats "
                f"0..{self.num_seats - 1}."
            )
        self._check_dealt(mine)
        return self.engine.observe(mine, which)

    @one_thread
    def refresh(self) -> TimeStep:
        """The time step of all tables as they stand, for who has written to the arrays of `engine`: a checkpoint taken
        up, for one."""
        self._hand_out(self._all)
        return self.time_step

    # The door ------------------------------------------------------------------------------------------------------

    def actions(self, given: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> npt.NDArray[np.int64]:
        """Actions for the tables of `rows` (all by default), one each, as a new int64 array, legal or not. Raises
        TypeError or ValueError for what is none, and for rows that are no rows."""
        return self._actions(given, self._all if rows is None else self._rows(rows))

    def _actions(self, given: npt.ArrayLike, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        array = doors.whole_numbers(given, "Actions")
        if array.shape != rows.shape:
            raise ValueError(
                f"Actions have shape {array.shape}; {len(rows)} tables take shape {rows.shape}, one action each."
            )
        return array

    def _rows(self, given: npt.ArrayLike) -> npt.NDArray[np.int64]:
        if given is self._all:
            return self._all
        rows = doors.whole_numbers(given, "Rows")
        if rows.ndim != 1:
            raise ValueError(f"Rows have shape {rows.shape}; they are a list of tables, shape (n,).")
        bad = doors.first_outside(rows, self.num_envs)
        if bad >= 0:
            raise ValueError(
                f"Row {doors.given_number(given, bad)} was asked for; there are {self.num_envs} tables, rows "
                f"0..{self.num_envs - 1}."
            )
        return rows

    def _rows_once(self, given: npt.ArrayLike) -> npt.NDArray[np.int64]:
        rows = self._rows(given)
        if rows is not self._all:
            self._stamp += 1
            bad = doors.first_twice(rows, self._marks, self._stamp)
            if bad >= 0:
                raise ValueError(f"Row {rows[bad]} was named twice; a table takes one action at a time.")
        return rows

    def _check_dealt(self, rows: npt.NDArray[np.int64]) -> None:
        if not self._dealt[rows].all():
            row = int(rows[np.flatnonzero(~self._dealt[rows])[0]])
            raise RuntimeError(f"Table {row} has not been dealt; call reset() first.")

    def _hand_to_callers(self) -> None:
        """Make the arrays that callers see: of what decides anything, mask and seat, copies; of the rest views."""
        batch = self.engine.batch
        self._mask, self._seat = batch.mask.copy()[:], batch.seat.copy()[:]
        shown = (batch.flat, self._mask, self._seat, batch.reward, batch.terminated, batch.truncated)
        self.time_step = TimeStep(*(array.view() for array in shown))  # type: ignore[arg-type]  # in its fields' order

    def _hand_out(self, rows: npt.NDArray[np.int64]) -> None:
        """Copy the masks and seats of `rows` to the arrays that callers see."""
        batch = self.engine.batch
        if len(rows) * _COPIED_WHOLE > self.num_envs:
            np.copyto(self._mask, batch.mask)
            np.copyto(self._seat, batch.seat)
        else:
            doors.copy_rows(rows, batch.mask, self._mask)
            self._seat[rows] = batch.seat[rows]

    # What it is ----------------------------------------------------------------------------------------------------

    @functools.cached_property
    def single_observation_space(self) -> gymnasium.spaces.Box:
        """The space of one table's observation [O]."""
        return vector_space(self.game)

    @functools.cached_property
    def single_action_space(self) -> LegalDiscrete:
        """The space of one table's action."""
        return LegalDiscrete(self.num_actions)

    @functools.cached_property
    def observation_space(self) -> gymnasium.spaces.Box:
        """The space of `TimeStep.observation` [B, O]."""
        space = gymnasium.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        assert isinstance(space, gymnasium.spaces.Box)
        return space

    @functools.cached_property
    def action_space(self) -> LegalMultiDiscrete:
        """The space of all tables' actions [B]; `sample()` draws legal ones."""
        space = LegalMultiDiscrete(np.full(self.num_envs, self.num_actions))
        space.legal = self.time_step.action_mask
        return space

    def __repr__(self) -> str:
        given = "" if self.num_threads == 1 else f", num_threads={self.num_threads}"
        given += "" if self.autoreset else ", autoreset=False"
        return f"BatchEnv({self.game!r}, {self.num_envs}{given})"

    @one_thread
    def close(self) -> None:
        """End the worker threads."""
        self._workers.close()

    def __getstate__(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "num_threads": self.num_threads,
            "autoreset": self.autoreset,
            "dealt": self._dealt,
        }

    def __setstate__(self, kept: dict[str, Any]) -> None:
        engine = kept["engine"]
        threads, autoreset = kept["num_threads"], kept["autoreset"]
        self.__init__(engine.game, engine.size, seed=0, num_threads=threads, autoreset=autoreset)  # type: ignore[misc]
        self.engine, self._dealt = engine, kept["dealt"]
        self._hand_to_callers()
