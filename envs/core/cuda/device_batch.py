"""`CudaBatch`: what `make_vec(n, device="cuda")` returns."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall, InvalidType, InvalidValue, MissingAttribute

from ..api.row_copies import TableChecks
from ..api.states import KEPT, States, redrawn, states_of
from ..api.vector import BatchEnv
from ..compile.tiering import announced
from ..engine.batch_play import Played, bot_of, fork_choices, random_act
from ..engine.engine import Engine, IllegalAction, illegal_action, one_thread, streams_of
from ..engine.time_step import TimeStep
from ..game import arguments
from ..game.game import Game
from .device_array import DeviceArray
from .ptx import NotCompiled, reason
from .row_kernels import aligned, cards_held, row_kernels, tables_of
from .scratch import BYTES, MOST_AT_ONCE, SIMULATED, THREADS, cuda

_ON_THE_CPU = "leave out device='cuda' for a batch on the CPU, which has it; states() and set_states() take tables over"
_DECISIONS_AT_ONCE = 2**28
"""Decisions of `play_random` in one launch, which Ctrl-C cannot interrupt."""


class CudaBatch(TableChecks):
    """B tables of one game on a GPU, one thread for each. Row i with seed `s + i` plays exactly as in `BatchEnv`.

    **It was never run on a device**: it was compiled, and played in CUDA's simulator byte for byte as on the CPU.
    `backalley dev gpu` checks it where there is one.

    The arrays of `time_step` stay on the device (`DeviceArray`: `torch.from_dlpack(step.observation)`), and so does
    all that they follow from. The next step overwrites them. `step` takes actions from there or from the host.
    Methods do what those of the same name do in `BatchEnv`, for all tables together; what else that has raises an
    AttributeError, or a ValueError for a setting, that says what to do. Compiling takes seconds in each process.
    """

    time_step: TimeStep
    """What the tables show now, as arrays on the device."""
    _batch: Any
    _fixed: Any
    """`Batch` and `Fixed`, of numba's arrays on the device."""

    def __init__(
        self,
        game: Game,
        num_envs: int,
        *,
        seed: int | Sequence[int | None] | None = None,
        autoreset: bool = True,
        **settings: Any,
    ) -> None:
        """Raises TypeError or ValueError, also for more tables than the device has memory for, and for settings that
        only a batch on the CPU has; RuntimeError without a device."""
        _check_device()
        for name, given in settings.items():
            if given not in (None, False) and (name, given) != ("num_threads", 1):
                raise InvalidValue(f"{name} is {given!r}; a batch on a device has no {name}: {_ON_THE_CPU}.")
        arguments.check_flags(autoreset=autoreset)
        self.game, self.num_envs = game, arguments.count(num_envs, "num_envs", 1)
        self.num_seats, self.num_actions, self.autoreset = game.num_seats, game.num_actions, bool(autoreset)
        streams = streams_of(seed, self.num_envs)
        self._lock = threading.RLock()
        row_bytes = Engine.bytes_of(game) + 8 * (game.cards_drawn + cards_held(game))
        free = cuda.current_context().get_memory_info()[0]
        if self.num_envs * row_bytes > free:
            raise InvalidValue(
                f"num_envs is {num_envs}; a table takes {row_bytes:,} bytes, and the device has {free:,} free: up to "
                f"{int(free // row_bytes):,} tables would fit."
            )
        self._number = 0 if SIMULATED else cuda.get_current_device().id
        self._batch, self._fixed = tables_of(game, self.num_envs, self.autoreset, cuda.to_device)
        self._all = cuda.to_device(np.arange(self.num_envs))
        self._chosen, self._choices = (_zeros((self.num_envs,), kind) for kind in (np.int64, np.uint64))
        batch = self._batch
        shown = batch.flat, batch.shown_mask, batch.shown_seat, batch.reward, batch.terminated, batch.truncated
        self.time_step = TimeStep(*(cast(Any, DeviceArray(array, self._number)) for array in shown))
        self._dealt = False
        self._set_streams(*streams)

    def _launch(self, name: str, *args: Any, act: Callable[..., int] = random_act, threads: int = 0) -> None:
        """Launch a CUDA kernel, by default with a thread for each table."""
        threads = threads or self.num_envs
        block = min(THREADS, threads)
        with announced():
            row_kernels(self.game, act)[name][-(-threads // block), block](*(_argument(one) for one in args))

    @property
    def lock(self) -> Any:
        """Held during each call; see `one_thread`."""
        return self._lock

    # Play -----------------------------------------------------------------------------------------------------------

    @one_thread
    def seed(self, seed: int | Sequence[int | None] | None) -> None:
        """Set the random streams, as `BatchEnv.seed` does."""
        self._set_streams(*streams_of(seed, self.num_envs))

    def _set_streams(self, rows: npt.NDArray[np.int64], streams: npt.NDArray[np.uint64]) -> None:
        choices = np.empty_like(streams)
        fork_choices(streams, choices)
        for array, new in ((self._batch.stream, streams), (self._choices, choices)):
            whole = new if len(rows) == self.num_envs else array.copy_to_host()
            whole[rows] = new
            array.copy_to_device(whole)

    @one_thread
    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, streams: None = None, options: None = None
    ) -> TimeStep:
        """Begin a new episode on every table; `seed` reseeds table i with `seed + i`, or `seed[i]`. Raises TypeError or
        ValueError, before anything has changed."""
        for name, given in (("streams", streams), ("options", options)):
            if given is not None:
                raise InvalidValue(f"{name} was given to reset(); a batch on a device has no {name}: {_ON_THE_CPU}.")
        if seed is not None:
            self._set_streams(*streams_of(seed, self.num_envs))
        self._launch("open_each", self.game.options, self._batch, self._fixed)
        self._dealt = True
        return self.time_step

    @one_thread
    def step(self, actions: Any, rows: None = None) -> TimeStep:
        """Play `actions[k]` on table k: whole numbers on the device (a tensor, or anything else with
        `__cuda_array_interface__`), or on the host. All are checked before any is played: one number comes back to the
        host.

        Raises TypeError or ValueError for an array of the wrong type or shape, IllegalAction for an action that is not
        legal, RuntimeError before `reset`.
        """
        if rows is not None:
            raise InvalidValue(f"rows was given to step(); a batch on a device has no rows: {_ON_THE_CPU}.")
        self._check_dealt()
        given = self._numbers(actions, "Actions")
        self._launch("check_each", self._batch, self._fixed, (self._all, given, self._chosen))
        row = self._refused()
        if row < self.num_envs:
            raise self._refusal(row)
        self._launch("step_each", self.game.options, self._batch, self._fixed, (self._chosen,))
        return self.time_step

    def play_random(self, steps: int) -> Played:
        """Play `steps` decisions on each table, every legal action being equally likely; what happened is returned on
        the host. Each table draws from its own stream of choices, as in `BatchEnv.play_random`. Raises TypeError,
        ValueError, or RuntimeError before `reset`."""
        return self._play(random_act, "random", steps)

    def play_bot(self, steps: int, bot: str | None = None) -> Played:
        """Do what `play_random` does with a bot in every seat. Raises RuntimeError, too, for one that cannot be
        compiled for a device; the guide names those that can."""
        player = bot_of(self.game, bot)
        return self._play(player.act, player.name, steps)

    @one_thread
    def _play(self, act: Callable[..., int], name: str, steps: int) -> Played:
        left, size = arguments.count(steps, "steps", 1), self.num_envs
        self._check_dealt()
        if act is not random_act:  # compiled bots trust observations, and callers can write to these
            self._launch("show_each", self.game.options, self._batch, (self._is_over(),))
        threads = min(size, MOST_AT_ONCE) if act is not random_act else size
        memory = _memory(threads, BYTES if act is not random_act else 16)
        reward = _zeros((size, self.num_seats), np.float64)
        played = reward, *(_zeros((size,), np.int64) for _ in range(2))
        given = self._all, memory, self._choices, self._chosen, *played
        while left:
            now = min(left, max(1, _DECISIONS_AT_ONCE // size))
            fixed = self.game.options, self._batch, self._fixed
            try:
                self._launch("play_each", *fixed, now, given, act=act, threads=threads)
            except NotCompiled as error:
                raise InvalidCall(
                    f"The bot {name} of {self.game.name} cannot be compiled for a device ({reason(error)}); play it on "
                    "the CPU, without device='cuda'."
                ) from None
            row = self._refused()
            if row < size:
                raise IllegalAction(f"The bot {name}: {self._refusal(row)}")
            left -= now
        return Played(*(array.copy_to_host() for array in played))

    # What a seat may know -------------------------------------------------------------------------------------------

    @one_thread
    def observe(self, seats: Any) -> DeviceArray:
        """Return what seat `seats[k]` may know at table k, as new flat vectors [B, O] on the device. Raises TypeError,
        ValueError, or RuntimeError before `reset`."""
        self._check_dealt()
        which = cuda.to_device(self._seats(_on_host(seats), np.arange(self.num_envs)))
        flat = _zeros((self.num_envs, self.game.observation_size), self.game.observation_base)
        records = flat.view(aligned(self.game.observation_dtype)).reshape(self.num_envs)
        self._launch("observe_each", self.game.options, self._batch, (which, records))
        return DeviceArray(flat, self._number)

    @one_thread
    def determinize(self, keys: Any, seats: Any = None) -> States:
        """Return each table's state, redrawn on the device by `keys[k]` with what `seats[k]` (by default the seat to
        act) cannot see, as a value on the host. Raises TypeError, ValueError (for a finished table, too), or
        RuntimeError before `reset`."""
        self._check_dealt()
        numbers, every = arguments.words(_on_host(keys), "keys", self.num_envs), np.arange(self.num_envs)
        host = self._on_host("seat", "own_decisions")
        if (host.seat < 0).any():
            raise InvalidValue(f"Table {np.flatnonzero(host.seat < 0)[0]} is over: nobody is to act there.")
        which = host.seat.astype(np.int64) if seats is None else self._seats(_on_host(seats), every)
        raw = _zeros(self._batch.raw.shape, np.uint8)
        raw.copy_to_device(self._batch.raw)
        states = raw.view(self._batch.state.dtype).reshape(self.num_envs)
        threads = min(self.num_envs, MOST_AT_ONCE)
        given = states, cuda.to_device(which), cuda.to_device(numbers), _memory(threads, BYTES)
        self._launch("determinize_each", self.game.options, given, threads=threads)
        return redrawn(self.game, host, every, which, self._packed(states))

    # Tables as values -----------------------------------------------------------------------------------------------

    @one_thread
    def states(self) -> States:
        """Return the states of all tables, with all that is hidden, on the host: `BatchEnv.set_states` takes them.
        Raises RuntimeError before `reset`."""
        self._check_dealt()
        return states_of(self.game, self._on_host(*KEPT), np.arange(self.num_envs))

    @one_thread
    def set_states(self, states: States | Sequence[States]) -> TimeStep:
        """Put `states[k]`, from here or from a batch on the CPU, on table k, which goes on with its own random stream.
        Raises TypeError or ValueError, before anything has changed."""
        given = States.joined(states)
        if given.game != self.game:
            raise InvalidValue(f"The states are of {given.game!r}, and the tables of {self.game!r}.")
        if len(given) != self.num_envs:
            raise InvalidValue(f"{len(given)} states were given for {self.num_envs} tables; give one for each.")
        records = np.zeros(self.num_envs, self._batch.state.dtype)
        records[...] = given.records
        self._batch.raw.copy_to_device(records.view(np.uint8).reshape(self.num_envs, -1))
        for name in ("decisions", "own_decisions", "reward", "terminated", "truncated"):
            getattr(self._batch, name).copy_to_device(np.array(given._arrays[name]))
        self._launch("show_each", self.game.options, self._batch, (cuda.to_device(given.seat < 0),))
        self._dealt = True
        return self.time_step

    # Checks and copies ----------------------------------------------------------------------------------------------

    def _check_dealt(self, rows: Any = None) -> None:
        if not self._dealt:
            raise InvalidCall("The tables have not been dealt; call reset() first.")

    def _numbers(self, given: Any, what: str) -> Any:
        """Whole numbers on the device, one for each table."""
        if isinstance(given, DeviceArray):
            given = given._array
        if not isinstance(given, type(self._all)):
            on_device = hasattr(given, "__cuda_array_interface__")
            given = cuda.as_cuda_array(given) if on_device else cuda.to_device(arguments.whole_numbers(given, what))
        if given.dtype.kind not in "iu" or tuple(given.shape) != (self.num_envs,):
            raise InvalidValue(
                f"{what} have shape {tuple(given.shape)} and type {given.dtype}; {self.num_envs} tables take whole "
                f"numbers of shape ({self.num_envs},)."
            )
        return given

    def _refused(self) -> int:
        """The first table whose action was not legal, or B. It is forgotten."""
        row = int(self._fixed.refused.copy_to_host()[0])
        if row < self.num_envs:
            self._fixed.refused.copy_to_device(np.array([self.num_envs]))
        return row

    def _refusal(self, row: int) -> IllegalAction:
        arrays = self._batch.seat, self._batch.mask, self._chosen
        seat, mask, action = (array[row : row + 1].copy_to_host()[0] for array in arrays)
        return IllegalAction(f"Table {row}: {illegal_action(self.game, seat, mask, int(action))}")

    def _is_over(self) -> Any:
        return cuda.to_device(self._batch.seat.copy_to_host() < 0)

    def _on_host(self, *names: str) -> Any:
        """Copies of some arrays of `Batch`, by their names."""
        found = {name: getattr(self._batch, name).copy_to_host() for name in names if name != "state"}
        return SimpleNamespace(**found, **({"state": self._packed(self._batch.state)} if "state" in names else {}))

    def _packed(self, records: Any) -> npt.NDArray[Any]:
        """State records without the device's padding between fields."""
        found = np.zeros(self.num_envs, self.game.state_dtype)
        found[...] = records.copy_to_host()
        return found

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(BatchEnv, name):
            raise MissingAttribute(f"A batch on a device has no {name!r}: {_ON_THE_CPU}.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> Any:
        raise InvalidType("Tables on a device are not copied or pickled; keep what states() returns.")

    def __repr__(self) -> str:
        given = "" if self.autoreset else ", autoreset=False"
        return f"CudaBatch({self.game!r}, {self.num_envs}{given})"


def _check_device() -> None:
    """Raise RuntimeError where there is no device."""
    if not cuda.is_available():
        raise InvalidCall(
            "device='cuda' plays on an NVIDIA GPU, and neither a GPU nor its driver was found here; leave it out to "
            "play on the CPU, or set NUMBA_ENABLE_CUDASIM=1 before Python starts to try it in CUDA's simulator, slowly."
        )


def _zeros(shape: tuple[int, ...], dtype: Any) -> Any:
    return cuda.to_device(np.zeros(shape, dtype))


def _memory(threads: int, size: int) -> Any:
    """Memory for the arrays of kernels: a row for each thread. A block of threads has no more than it takes."""
    block = min(THREADS, threads)
    return cuda.device_array((math.ceil(threads / block) * block, size), np.uint8)


def _on_host(given: Any) -> Any:
    """A copy of an array that is on the device; anything else as it is."""
    if isinstance(given, DeviceArray):
        return given.copy_to_host()
    return cuda.as_cuda_array(given).copy_to_host() if hasattr(given, "__cuda_array_interface__") else given


def _argument(one: Any) -> Any:
    """An argument of a CUDA kernel; in the simulator NumPy's arrays in tuples, which it leaves as they are."""
    if SIMULATED and isinstance(one, tuple):
        parts = tuple(getattr(part, "_ary", part) for part in one)
        return cast(Any, type(one))(*parts) if hasattr(one, "_fields") else parts
    return one
