"""Thousands of tables in one call.

    batch = backalley.make_vec("poker_duel-v0", num_envs=4096, seed=0)
    step = batch.reset()
    while True:
        step = batch.step(actions)              # one action per table, of the seat that is to act there

Rows, seats and actions are validated here, once; compiled code trusts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall, InvalidValue

from ..compile.interfaces import OVER
from ..engine.batch_play import Played, bot_of, fork_choices, play_kernels, random_act
from ..engine.engine import BUSY, Engine, IllegalAction, one_thread, streams_of
from ..engine.time_step import TimeStep
from ..game import arguments
from ..game.game import Game
from ..game.threads import Workers, threads_of
from .compiled_play import search_kernels
from .histories import Histories
from .row_copies import RowCopies
from .states import States, redrawn, states_of
from .tables import BatchSpaces, Tables

if TYPE_CHECKING:
    from .delayed_rewards import Booking, DelayedRewards

_ROWS_PER_THREAD = 256
"""Threads are used only for at least this many rows."""
_DECISIONS_AT_ONCE = 2**18
"""Decisions of `play_random` in one call of compiled code at most, which Ctrl-C cannot interrupt."""
_DECISIONS_AT_FIRST = 2**10
"""Those in the first call; each has twice as many as the one before, so that compiled code soon takes over from
Python."""


class BatchEnv(Histories, RowCopies, BatchSpaces, Tables):
    """B tables of one game. Row i with seed `s + i` plays exactly as the AEC environment with seed `s + i`, for any
    `num_threads`.

    With `autoreset=False` a finished table stays finished (its mask is all zero) until `restart`, `set_states` or
    `copy_rows`. If `leaf_values` is set as well, an episode of several deals ends where the game has an estimate of its
    rest (`GameType.leaf_value`), before the next deal: it is then truncated, and the last reward of each seat includes
    the estimate. Episodes of other games are played to the end.

    With `delayed_rewards=True` it also books, in `delayed`, what each seat has gained since its own latest decision.
    With `events=True` it keeps every table's events: see `events` and `information_state_tensor`.

    `buffers` are arrays of the caller's that `time_step` is written to, by their names in TimeStep, for example
    `{"observation": tensor}`: NumPy arrays, also over shared memory, and torch tensors on the CPU, pinned or not. Each
    has the shape and type that TimeStep has there, is C-contiguous and writable, and shares memory with no other. It is
    cleared at once; nobody else may write to it during a call. `use_buffers` changes them. Copies have their own.

    Rows, seats and actions are lists, arrays or tensors of whole numbers. Errors are raised before any table has
    changed. Only one thread at a time may use it: a call during another thread's call raises RuntimeError at once.
    """

    time_step: TimeStep
    """What the tables show now."""

    def __init__(
        self,
        game: Game,
        num_envs: int,
        *,
        seed: int | Sequence[int | None] | None = None,
        num_threads: int = 1,
        autoreset: bool = True,
        leaf_values: bool = False,
        delayed_rewards: bool = False,
        events: bool = False,
        buffers: Mapping[str, Any] | None = None,
    ) -> None:
        """Raises TypeError or ValueError, also for more tables than this machine has memory for; RuntimeError for a
        history of a game that declares no events."""
        num_envs = arguments.count(num_envs, "num_envs", 1)
        self.num_threads = threads_of(num_threads)
        named = {"autoreset": autoreset, "leaf_values": leaf_values, "delayed_rewards": delayed_rewards}
        arguments.check_flags(**named, events=events)
        if leaf_values and autoreset:
            raise InvalidValue("leaf_values end an episode early; they go with autoreset=False.")
        if leaf_values and events:
            raise InvalidValue("leaf_values are for searches, which keep no events; leave out leaf_values or events.")
        arguments.check_memory(num_envs, Engine.bytes_of(game), "num_envs")
        streams = streams_of(seed, num_envs)
        self.engine = Engine(game, num_envs, buffers, history=bool(events))
        self.game, self.num_envs = game, num_envs
        self.autoreset, self.leaf_values = bool(autoreset), bool(leaf_values)
        self.num_seats, self.num_actions = self.engine.num_seats, self.engine.num_actions
        self._workers = Workers(min(self.num_threads, max(1, num_envs // _ROWS_PER_THREAD)), _ROWS_PER_THREAD)
        self._decks = [self.engine.fresh_deck() for _ in range(self._workers.num_threads)]
        self._all, self._chosen = np.arange(num_envs), np.zeros(num_envs, np.int64)
        self._step_all: Callable[..., int] | None = None
        """Plays all tables in one call, where nothing is to be done before or after, or returns the first k whose
        action is not legal."""
        self._marks, self._stamp = np.zeros(num_envs, np.int64), 0
        self._dealt = np.zeros(num_envs, np.bool_)
        self._choices = np.zeros(num_envs, np.uint64)  # each table's stream for actions that are played for it
        self._booking: Booking | None = None
        if delayed_rewards:
            from .delayed_rewards import Booking

            self._booking = Booking(num_envs, self.num_seats)
        self._hand_to_callers()
        self._set_streams(*streams)

    # Chance --------------------------------------------------------------------------------------------------------

    @one_thread
    def seed(self, seed: int | Sequence[int | None] | None) -> None:
        """Set the random streams: table i's by `seed + i`, or by `seed[i]`, where None leaves its stream as it is. None
        draws a seed from the system. Raises TypeError or ValueError."""
        self._set_streams(*streams_of(seed, self.num_envs))

    def _set_streams(self, rows: npt.NDArray[np.int64], streams: npt.NDArray[np.uint64]) -> None:
        choices = np.empty_like(streams)
        fork_choices(streams, choices)
        self.engine.batch.stream[rows], self._choices[rows] = streams, choices

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
        streams and overrides the seed; `options` are those of `restart`. Raises TypeError or ValueError, before
        anything has changed."""
        self._opening(options)
        by_seed = None if seed is None else streams_of(seed, self.num_envs)
        given = None if streams is None else arguments.words(streams, "streams", self.num_envs)
        if by_seed is not None:
            self._set_streams(*by_seed)
        return self.restart(self._all, streams=given, options=options)

    @one_thread
    def restart(
        self,
        rows: npt.ArrayLike,
        *,
        streams: npt.NDArray[np.uint64] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> TimeStep:
        """Begin a new episode on the tables of `rows`, dropping their present one. Rewards and end flags are not
        cleared. `streams[k]` becomes the random stream of table `rows[k]`; without it that goes on.

        `options` may hold `decks`, packs to be dealt first at each of them, and `start_outcome`; see `AECEnv.reset`.
        Raises TypeError or ValueError for invalid or repeated rows.
        """
        opening = self._opening(options)
        mine = self._rows_once(rows)
        if streams is not None:
            self._set_streams(mine, arguments.words(streams, "streams", len(mine)))
        if self.engine.stacked:
            for row in mine.tolist():
                self.engine.stacked.pop(row, None)
        if opening is None:
            self._workers.spread(lambda thread, rows: self.engine.open_rows(rows, self._decks[thread]), mine)
        else:
            for row in mine.tolist():
                self.engine.open_one(opening, self._decks[0], row)
            self._hand_out(mine)
        if self._booking is not None:
            self._booking.break_off(mine)
        self._dealt[mine] = True
        return self.time_step

    def step(self, actions: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> TimeStep:
        """Play `actions[k]` on table `rows[k]` (on all tables by default).

        Raises TypeError or ValueError for an array of the wrong type or shape and for invalid or repeated rows;
        IllegalAction for an action that is not legal; RuntimeError for a table that has not been dealt.
        """
        lock = self.engine.lock
        if not lock.acquire(False):
            raise InvalidCall(BUSY)
        try:
            mine = self._all if rows is None else self._rows_once(rows)
            given = self._actions(actions, mine)
            if self._step_all is not None and mine is self._all and not self.engine.stacked:
                bad = self._step_all(given, self._chosen)
            else:
                bad = self._step_apart(mine, given)
            if bad >= 0:
                self._check_dealt(mine)
                row, action = int(mine[bad]), arguments.given_number(actions, bad)
                refusal = self.engine.refuse(row, action)
                raise type(refusal)(f"Table {row}: {refusal}")
            return self.time_step
        finally:
            lock.release()

    def _step_part(self, thread: int, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> None:
        engine, deck = self.engine, self._decks[thread]
        if self.leaf_values:
            fixed = engine.options, engine.batch, deck, engine.limit
            engine.call("step_to_leaf", *fixed, rows, actions, of=search_kernels)
        else:
            engine.step_rows(rows, actions, deck, self.autoreset)

    def _step_apart(self, rows: npt.NDArray[np.int64], given: npt.NDArray[np.int64]) -> int:
        """Play, or return the first k whose action is not legal. All threads look before any plays."""
        engine, actions, found = self.engine, np.array(given), list[int]()

        def look(thread: int, *part: npt.NDArray[np.int64]) -> None:
            if engine.first_illegal(*part) >= 0:
                found.append(thread)

        self._workers.spread(look, rows, actions)
        if found:
            return engine.first_illegal(rows, actions)
        engine.make_room()
        if self._booking is not None:
            self._booking.decide(rows, engine.batch)
        if engine.stacked:
            self._step_stacked(rows, actions)
        else:
            self._workers.spread(self._step_part, rows, actions)
        if self._booking is not None:
            self._booking.gather(rows, engine.batch)
        elif self._workers.shares(self.num_envs) == 1 and not self.leaf_values:
            self._step_all = engine.stepper(self._all, self._decks[0], self.autoreset, False)
        return -1

    def _step_stacked(self, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]) -> None:
        """Play tables with given packs one after another, and the others together."""
        single = np.array([row in self.engine.stacked for row in rows.tolist()], np.bool_)
        self._workers.spread(self._step_part, rows[~single], actions[~single])
        for row, action in zip(rows[single].tolist(), actions[single].tolist(), strict=True):
            self.engine.move_one(action, self._decks[0], row)
            if self.autoreset and self.engine.batch.seat[row] == OVER:
                self.engine.stacked.pop(row, None)
                self.engine.open_rows(np.array([row]), self._decks[0])
        self._hand_out(rows[single])

    def play_random(self, steps: int, rows: npt.ArrayLike | None = None) -> Played:
        """Play `steps` decisions on each table of `rows` (on all by default), every legal action being equally likely.
        Return what each seat gained, the episodes that ended and the decisions made, an entry for each of `rows`, in
        their order; `time_step`, which has all B tables, then shows them after their last decision.

        All happens in compiled code, table after table, without the calls and copies of a `step` for each decision. An
        action is drawn from the table's own stream of choices, which `seed` sets together with its stream of chance and
        which goes on from call to call: so what is played depends on the seed and the number of decisions, not on the
        number of threads, the other tables, or how the decisions are divided into calls. A finished table takes none
        (`autoreset=False`).

        Raises TypeError or ValueError for an invalid `steps` and for invalid or repeated rows, RuntimeError for a table
        that was not dealt or has given packs yet to be dealt, and for a batch with `leaf_values` or `delayed_rewards`,
        before anything has changed. Ctrl-C ends it with every table after one of its decisions.
        """
        return self._play(random_act, "random", steps, rows)

    def play_bot(self, steps: int, bot: str | None = None, rows: npt.ArrayLike | None = None) -> Played:
        """Do what `play_random` does with one of the game's bots in every seat: `bot` is a name in `game.bots`, by
        default the last and best. What a bot decides at random, it draws from the same stream of choices.

        Raises what `play_random` does, ValueError for a bot that the game does not have, and IllegalAction, with the
        table as it was then, where the bot is broken and chose an illegal action.
        """
        player = bot_of(self.game, bot)
        return self._play(player.act, player.name, steps, rows)

    @one_thread
    def _play(self, act: Callable[..., int], name: str, steps: int, rows: npt.ArrayLike | None) -> Played:
        left, mine = arguments.count(steps, "steps", 1), self._all if rows is None else self._rows_once(rows)
        self._check_dealt(mine)
        self._check_plays_on(mine)
        played = Played(np.zeros((len(mine), self.num_seats)), *np.zeros((2, len(mine)), np.int64))
        engine, refused = self.engine, list[tuple[int, int]]()

        def play(thread: int, rows: npt.NDArray[np.int64], *played: npt.NDArray[Any]) -> None:
            fixed = engine.options, engine.batch, self._decks[thread]
            given = engine.start_outcomes, engine.limit, self.autoreset, now, rows, self._choices
            k, action = engine.call("play_rows", *fixed, *given, *played, of=play_kernels, by=(act,))
            if k >= 0:
                refused.append((int(rows[k]), action))

        if act is not random_act:  # compiled bots trust observations, and callers can write to these
            on = mine[engine.batch.seat[mine] >= 0]
            engine.batch.flat[on] = engine.observe(on, engine.batch.seat[on].astype(np.int64))
        now, most = 0, _DECISIONS_AT_FIRST
        play(0, mine[:0], *played)  # binds the machine code before several threads ask for it
        while left and not refused:
            now, most = min(left, max(1, most // max(1, len(mine)))), min(2 * most, _DECISIONS_AT_ONCE)
            self._workers.spread(play, mine, *played)
            left -= now
        for row, action in refused[:1]:
            raise IllegalAction(f"The bot {name}, table {row}: {engine.refuse(row, action)}")
        return played

    @one_thread
    def forfeit(self, rows: npt.ArrayLike) -> TimeStep:
        """End the episodes of `rows` because of an illegal action: the seat to act gets the lower bound of
        `reward_range`, the others 0. Raises as `restart` does, and ValueError for a table where nobody is to act."""
        mine = self._rows_once(rows)
        self._check_dealt(mine)
        self._check_on(mine)
        if self._booking is not None:
            self._booking.decide(mine, self.engine.batch)
        for row in mine.tolist():
            self.engine.stacked.pop(row, None)
            self.engine.forfeit(row)
        if self._booking is not None:
            self._booking.gather(mine, self.engine.batch)
        if self.autoreset:
            self.engine.open_rows(mine, self._decks[0])
        self._hand_out(mine)
        return self.time_step

    @one_thread
    def observe(self, seats: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> npt.NDArray[Any]:
        """Return what seat `seats[k]` may know at table `rows[k]` (at all tables by default; a table may be named more
        than once), as new flat vectors [n, O].

        Raises TypeError or ValueError for invalid seats and rows, RuntimeError for a table that has not been dealt.
        """
        mine = self._all if rows is None else self._rows(rows)
        which = self._seats(seats, mine)
        self._check_dealt(mine)
        return self.engine.observe(mine, which)

    @one_thread
    def refresh(self, rows: npt.ArrayLike | None = None) -> TimeStep:
        """Show the tables `rows` (all by default) as their states are, after the caller has written to `arrays`, for
        example from a checkpoint. Each is in play, unless the rules say that its episode is over. Raises TypeError or
        ValueError for invalid or repeated rows."""
        mine = self._all if rows is None else self._rows_once(rows)
        self._show(mine, self.engine.acting[mine] == OVER)
        return self.time_step

    @property
    def delayed(self) -> DelayedRewards:
        """What each seat has gained since its own latest decision, for learners. The next step overwrites it. Raises
        RuntimeError unless the batch was made with `delayed_rewards=True`."""
        if self._booking is None:
            raise InvalidCall("Delayed rewards are not booked here; make the batch with delayed_rewards=True.")
        return self._booking.shown

    # States --------------------------------------------------------------------------------------------------------

    @classmethod
    def from_states(
        cls,
        states: States | Sequence[States],
        *,
        seed: int | Sequence[int | None] | None = None,
        num_threads: int = 1,
        autoreset: bool = False,
        leaf_values: bool = False,
    ) -> BatchEnv:
        """Return a batch with one table for each of `states`, a States or a list of them. `time_step` shows the tables
        at once: no `reset` is needed. The settings are those of `BatchEnv`; a random stream is not part of a state, and
        comes from `seed`. Raises TypeError or ValueError."""
        given = States.joined(states)
        how: dict[str, Any] = {"num_threads": num_threads, "autoreset": autoreset, "leaf_values": leaf_values}
        batch = cls(given.game, len(given), seed=seed, **how)
        batch.set_states(given)
        return batch

    @one_thread
    def states(self, rows: npt.ArrayLike | None = None) -> States:
        """Return the states of the tables `rows` (all by default; a table may be named more than once), including all
        that is hidden. Finished tables are allowed. The states do not include the random stream or given packs that are
        yet to be dealt (`reset(options=...)`).

        Raises TypeError or ValueError for invalid rows, RuntimeError for a table that has not been dealt.
        """
        mine = self._all if rows is None else self._rows(rows)
        self._check_dealt(mine)
        return states_of(self.game, self.engine.batch, mine)

    @one_thread
    def determinize(
        self, keys: npt.ArrayLike, rows: npt.ArrayLike | None = None, seats: npt.ArrayLike | None = None
    ) -> States:
        """Return, for each k, the state of table `rows[k]` (all tables by default; a table may be named more than once)
        with everything redrawn that `seats[k]` (by default the seat to act) cannot see.

        It depends only on what that seat knows and on `keys[k]`, a whole number of 64 bits. Raises TypeError,
        ValueError (for a finished table, too), or RuntimeError for one that has not been dealt.
        """
        mine = self._all if rows is None else self._rows(rows)
        self._check_dealt(mine)
        self._check_on(mine)
        batch = self.engine.batch
        which = batch.seat[mine].astype(np.int64) if seats is None else self._seats(seats, mine)
        numbers, records = arguments.words(keys, "keys", len(mine)), batch.state[mine]
        self.engine.determinize(records, which, numbers)
        return redrawn(self.game, batch, mine, which, records)

    @one_thread
    def set_states(self, states: States | Sequence[States], rows: npt.ArrayLike | None = None) -> TimeStep:
        """Put `states[k]` on table `rows[k]` (one for each table by default), dropping its present episode. The table
        then shows what the state's own table did, and continues with its own random stream; a finished state makes it
        finished. Raises TypeError or ValueError, also for states of another game and for repeated rows, before anything
        has changed.
        """
        given = States.joined(states)
        mine = self._all if rows is None else self._rows_once(rows)
        if given.game != self.game:
            raise InvalidValue(f"The states are of {given.game!r}, and the tables of {self.game!r}.")
        if len(given) != len(mine):
            raise InvalidValue(f"{len(given)} states were given for {len(mine)} tables; give one for each.")
        engine, batch, kept = self.engine, self.engine.batch, given._arrays
        for row in mine.tolist() if engine.stacked else ():
            engine.stacked.pop(row, None)
        if engine.history is not None:
            engine.history.filled[mine] = -1  # what was played before is not part of a state
        batch.raw[mine] = kept["state"].view(np.uint8).reshape(len(given), -1) if len(given) else 0
        for name in ("decisions", "own_decisions", "reward", "terminated", "truncated"):
            getattr(batch, name)[mine] = kept[name]
        self._show(mine, kept["seat"] < 0)
        if self._booking is not None:
            self._booking.forget(mine)
        return self.time_step

    def _show(self, rows: npt.NDArray[np.int64], over: npt.NDArray[np.bool_]) -> None:
        """Show states that were written to tables, and nobody to act where the episode is `over`."""
        engine = self.engine

        def show(thread: int, rows: npt.NDArray[np.int64], over: npt.NDArray[np.bool_]) -> None:
            engine.call("show_rows", engine.options, engine.batch, over, rows, of=search_kernels)

        self._workers.spread(show, rows, over)
        self._dealt[rows] = True

    def actions(self, given: npt.ArrayLike, rows: npt.ArrayLike | None = None) -> npt.NDArray[np.int64]:
        """Return actions for the tables of `rows` (all by default), one each, as a new int64 array, legal or not.
        Raises TypeError or ValueError for invalid actions or rows."""
        return np.array(self._actions(given, self._all if rows is None else self._rows(rows)))

    # Copies for callers ---------------------------------------------------------------------------------------------

    @one_thread
    def use_buffers(self, buffers: Mapping[str, Any]) -> TimeStep:
        """Write `time_step` to these from now on, arrays by name as in `BatchEnv`. They get what the tables show now,
        arrays that are not named stay where they are, and earlier ones keep what they hold; to those writes what
        `for_kernels` gave before. Raises TypeError or ValueError, before anything has changed."""
        self.engine.use_buffers(buffers)
        self._step_all = None
        self._hand_to_callers()
        return self.time_step

    def _hand_to_callers(self) -> None:
        """Hand out views of what the engine shows: mask and seat are copies of those that decide the play."""
        self._hand_out(self._all)
        self.time_step = TimeStep._make(array.view() for array in self.engine.shown)

    def _hand_out(self, rows: npt.NDArray[np.int64]) -> None:
        """Copy masks and seats to the arrays that callers see, where no kernel has."""
        batch = self.engine.batch
        arguments.copy_rows(rows, batch.mask, batch.shown_mask)
        batch.shown_seat[rows] = batch.seat[rows]

    def __repr__(self) -> str:
        given = "" if self.num_threads == 1 else f", num_threads={self.num_threads}"
        given += ("" if self.autoreset else ", autoreset=False") + (", leaf_values=True" if self.leaf_values else "")
        given += "" if self._booking is None else ", delayed_rewards=True"
        given += "" if self.engine.history is None else ", events=True"
        return f"BatchEnv({self.game!r}, {self.num_envs}{given})"

    @one_thread
    def close(self) -> None:
        """End the worker threads, and leave the caller's buffers to other batches."""
        self._workers.close()
        self.engine.memory.release()

    def __getstate__(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "num_threads": self.num_threads,
            "autoreset": self.autoreset,
            "leaf_values": self.leaf_values,
            "dealt": self._dealt,
            "choices": self._choices,
            "booking": self._booking,
        }

    def __setstate__(self, kept: dict[str, Any]) -> None:
        engine = kept["engine"]
        settings = {name: kept[name] for name in ("num_threads", "autoreset", "leaf_values")}
        self.__init__(engine.game, engine.size, seed=0, **settings)  # type: ignore[misc]
        self.engine, self._booking = engine, kept["booking"]
        self._dealt, self._choices = kept["dealt"], kept["choices"]
        self._hand_to_callers()
