"""Thousands of tables in one call.

tables = backalley.make_vec("poker_duel-v0", num_envs=4096, seed=0)
time_step = tables.reset()
while True:
    time_step = tables.step(actions)        # one action per table, of the seat that is to act there
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .base import Game
from .engine import Engine, streams_of
from .workers import Workers, cores

_ROWS_PER_THREAD = 256
"""Fewer rows than this are not worth waking a thread for."""


class TimeStep(NamedTuple):
    """What B tables show after a step. The arrays are views, read-only, and overwritten by the next step: copy what you
    keep.

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

    With `autoreset=False` a finished table stays finished (its mask is all zero) until `restart`.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        *,
        seed: int | Sequence[int] | None = None,
        num_threads: int = 1,
        autoreset: bool = True,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs is {num_envs}; it takes a whole number of 1 or more.")
        if num_threads < 0:
            raise ValueError(f"num_threads is {num_threads}; it takes 1 or more, or 0 for one per core.")
        self.engine = Engine(game, num_envs)
        self.game, self.num_envs, self.autoreset = game, num_envs, autoreset
        self.num_seats, self.num_actions = self.engine.num_seats, self.engine.num_actions
        self.num_threads = num_threads or cores()
        self._decks = [self.engine.fresh_deck() for _ in range(self.num_threads)]
        self._workers = Workers(self.num_threads, _ROWS_PER_THREAD)
        self._all = np.arange(num_envs)
        self.time_step = _read_only(self.engine)
        self._started = False
        self.seed(seed)

    def seed(self, seed: int | Sequence[int] | None) -> None:
        """Set the random streams: table i's by `seed + i`, or by `seed[i]`; None draws a seed from the system."""
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
        seeds = [seed + row for row in range(self.num_envs)] if isinstance(seed, (int, np.integer)) else list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(
                f"{len(seeds)} seeds were given for {self.num_envs} tables; give one seed, or one per table."
            )
        if min(seeds) < 0:
            raise ValueError(f"A seed is {min(seeds)}; seeds are whole numbers of 0 or more.")
        self.engine.batch.stream[:] = streams_of(seeds)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, streams: npt.NDArray[np.uint64] | None = None
    ) -> TimeStep:
        """Begin a new episode on every table. `seed` reseeds table i with `seed + i`, or `seed[i]`; `streams` sets the
        streams."""
        if seed is not None:
            self.seed(seed)
        if streams is not None:
            self.engine.batch.stream[:] = streams
        self.restart(self._all)
        return self.time_step

    def restart(self, rows: npt.NDArray[np.int64]) -> TimeStep:
        """Begin a new episode on the tables of `rows`, dropping what was played there. Rewards and end flags stay to be
        read."""
        self._workers.spread(lambda thread, part: self.engine.open_rows(part, self._decks[thread]), rows)
        self._started = True
        return self.time_step

    def step(self, actions: npt.ArrayLike, rows: npt.NDArray[np.int64] | None = None) -> TimeStep:
        """Play `actions[k]` on table `rows[k]` (on all tables by default).

        Raises TypeError or ValueError for an array of the wrong type or shape, IllegalAction for an action that is not
        legal, each before any table has changed.
        """
        if not self._started:
            raise RuntimeError("These tables have not been dealt; call reset() before step().")
        rows = self._all if rows is None else np.ascontiguousarray(rows, np.int64)
        chosen = self._checked(actions, rows)
        bad = self.engine.first_illegal(rows, chosen)
        if bad >= 0:
            refusal = self.engine.refuse(int(rows[bad]), int(chosen[bad]))
            raise type(refusal)(f"Table {int(rows[bad])}: {refusal}")
        if len(rows) < 2 * _ROWS_PER_THREAD or self.num_threads == 1:
            self.engine.step_rows(rows, chosen, self._decks[0], self.autoreset)
        else:
            self._workers.spread(self._step_part, rows, chosen)
        return self.time_step

    def observe(self, seats: npt.NDArray[Any], rows: npt.NDArray[np.int64] | None = None) -> npt.NDArray[Any]:
        """What seat `seats[k]` may know at table `rows[k]`, as new flat vectors [n, O]."""
        rows = self._all if rows is None else rows
        return self.engine.observe(rows, np.ascontiguousarray(seats, np.int64))

    def _checked(self, actions: npt.ArrayLike, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        array = np.asarray(actions)
        if array.dtype.kind not in "iu":
            raise TypeError(f"Actions are of type {array.dtype}; they must be whole numbers, one per table.")
        if array.shape != rows.shape:
            raise ValueError(
                f"Actions have shape {array.shape}; {len(rows)} tables take shape {rows.shape}, one action each."
            )
        return np.ascontiguousarray(array, np.int64)

    def _step_part(self, thread: int, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> None:
        self.engine.step_rows(rows, actions, self._decks[thread], self.autoreset)

    def close(self) -> None:
        """End the worker threads."""
        self._workers.close()

    def __getstate__(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "num_threads": self.num_threads,
            "autoreset": self.autoreset,
            "started": self._started,
        }

    def __setstate__(self, kept: dict[str, Any]) -> None:
        engine = kept["engine"]
        threads, autoreset = kept["num_threads"], kept["autoreset"]
        self.__init__(engine.game, engine.size, seed=0, num_threads=threads, autoreset=autoreset)  # type: ignore[misc]
        self.engine, self._started = engine, kept["started"]
        self.time_step = _read_only(engine)


def _read_only(engine: Engine) -> TimeStep:
    batch = engine.batch
    views = [
        array.view() for array in (batch.flat, batch.mask, batch.seat, batch.reward, batch.terminated, batch.truncated)
    ]
    for view in views:
        view.flags.writeable = False
    return TimeStep(*views)  # type: ignore[arg-type]  # in the order of TimeStep's fields
