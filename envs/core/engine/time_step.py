"""`TimeStep`: what callers of many tables see, and the memory it is in: the engine's own, or the caller's."""

from __future__ import annotations

import itertools
import math
import sys
import threading
import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall, InvalidType, InvalidValue

from ..compile.interfaces import OVER
from ..game.game import Game

_ALIGNMENT = 64
"""Bytes. JAX takes an array without a copy only where its memory begins at a multiple of this."""


class TimeStep(NamedTuple):
    """The present data of B tables. The next step overwrites the arrays: copy what you keep. Writing to them changes
    nothing else: the batch has its own copies of legal actions and turns.

    Where a table's episode has just ended, `reward`, `terminated` and `truncated` belong to that episode, and
    `observation`, `action_mask` and `seat` already to the next one.
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


Layout = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]


def layout_of(game: Game, size: int) -> Layout:
    """Return the shape and the type of each array of a TimeStep of `size` tables, by its name."""
    seats, flag = (size, game.num_seats), np.dtype(np.bool_)
    return {
        "observation": ((size, game.observation_size), game.observation_base),
        "action_mask": ((size, game.num_actions), np.dtype(np.int8)),
        "seat": ((size,), np.dtype(np.int8)),
        "reward": (seats, np.dtype(np.float32)),
        "terminated": ((size,), flag),
        "truncated": ((size,), flag),
    }


class Memory:
    """The arrays of a TimeStep of `size` tables.

    `buffers` holds those that are the caller's, by their names in TimeStep: NumPy arrays, also over shared memory or a
    file, and torch tensors on the CPU, pinned or not. Each has exactly the shape and type of `layout_of`, is
    C-contiguous, aligned and writable, and overlaps with no other. The rest is made here, or is that of `before`, which
    these take the place of, with what it shows.
    """

    shown: TimeStep
    _buffers: dict[str, Any]

    def __init__(
        self, game: Game, size: int, buffers: Mapping[str, Any] | None = None, before: Memory | None = None
    ) -> None:
        """Raises TypeError or ValueError, before anything has been written."""
        layout = layout_of(game, size)
        if buffers is None:
            buffers = {}
        if not isinstance(buffers, Mapping):
            raise InvalidType(
                f"buffers is of type {type(buffers).__name__}; it takes a dictionary of arrays by their names in "
                f"TimeStep: {', '.join(layout)}."
            )
        for name in buffers:
            if name not in layout:
                raise InvalidValue(
                    f"buffers has {name!r}, which is no array of TimeStep; it takes {', '.join(layout)}."
                )
        buffers = buffers if before is None else {**before._buffers, **buffers}
        tensors = list[tuple[str, Any, int]]()
        given = {name: _array(name, one, tensors) for name, one in buffers.items()}
        for name, array in given.items():
            _check(name, array, *layout[name])
        _check_apart(given)
        _check_free(given, before)
        self._buffers: dict[str, Any] = dict(buffers)
        self._given = list(given.values())
        """The caller's, as they were given and as arrays, which no other batch may write to while these tables are in
        use."""
        if before is not None:
            before.release()
        if given:
            _in_use.add(self)
        # Callers get views of an owner that is used nowhere here: reshaping it, or its base, reshapes nothing that
        # compiled code uses.
        earlier = {} if before is None else before.shown._asdict()
        now = {name: np.array(earlier[name]) for name in given if name in earlier}
        made = {name: earlier[name] if name in earlier else _zeros(*like) for name, like in layout.items()}
        self.shown: TimeStep = TimeStep(**{name: given[name][:] if name in given else made[name] for name in layout})
        for name, array in given.items():
            array[...] = now.get(name, 0)
        if before is None:
            self.shown.seat[...] = OVER
        self.lock: Any = _LockOfTensors(tensors) if tensors else threading.RLock()
        """Held by the thread that is in a method of these tables' environment; see `engine.one_thread`."""

    def release(self) -> None:
        """Leave the caller's arrays to others."""
        _in_use.discard(self)


_in_use: weakref.WeakSet[Memory] = weakref.WeakSet()
"""The memories of callers that batches write to now."""


class _LockOfTensors:
    """A lock that nobody gets after torch has put a tensor's numbers elsewhere: `share_memory_()`, and sending a tensor
    to another process, free the memory that compiled code would write to."""

    def __init__(self, tensors: list[tuple[str, Any, int]]) -> None:
        self._tensors, self._lock = tensors, threading.RLock()

    def acquire(self, blocking: bool = True) -> bool:
        for name, tensor, address in self._tensors:
            if tensor.data_ptr() != address:
                raise InvalidCall(
                    f"torch has moved the buffer {name!r} to other memory since the batch was made, so nothing was "
                    "done. Call share_memory_() on a tensor before it becomes a buffer, and make the batch again."
                )
        return self._lock.acquire(blocking)

    def release(self) -> None:
        self._lock.release()


def _array(name: str, given: Any, tensors: list[tuple[str, Any, int]]) -> npt.NDArray[Any]:
    """Return the array of a buffer, in its memory; note tensors with their addresses."""
    if isinstance(given, np.ndarray):
        return np.asarray(given)
    torch = sys.modules.get("torch")  # whoever gives a tensor has imported it
    if torch is None or not isinstance(given, torch.Tensor):
        raise InvalidType(
            f"The buffer {name!r} is of type {type(given).__name__}; it takes a NumPy array or a torch tensor."
        )
    if given.device.type != "cpu":
        raise InvalidValue(
            f"The buffer {name!r} is on {given.device}; tables are played on the CPU and write to its memory. Give a "
            "tensor there (pin_memory() makes copies to a GPU fast)."
        )
    if given.requires_grad:
        raise InvalidValue(f"The buffer {name!r} requires a gradient; give a tensor with requires_grad=False.")
    own = given.detach()  # which the caller cannot turn to other memory by `set_` or `data`
    try:
        array: npt.NDArray[Any] = own.numpy()
    except (TypeError, RuntimeError) as error:  # sparse, or of a type that NumPy lacks
        raise InvalidType(f"The buffer {name!r} cannot be used as a NumPy array: {error}") from None
    tensors.append((name, own, own.data_ptr()))
    return array


def _check(name: str, array: npt.NDArray[Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if array.shape != shape or array.dtype != dtype:
        raise InvalidValue(
            f"The buffer {name!r} has shape {array.shape} and type {array.dtype}; these tables take shape {shape} and "
            f"type {dtype}."
        )
    for kept, what in (
        (array.flags.c_contiguous, "contiguous in C order"),
        (array.flags.aligned, "aligned to its type"),
        (array.flags.writeable, "writable"),
    ):
        if not kept:
            raise InvalidValue(f"The buffer {name!r} is not {what}, which it has to be: the tables write to it.")


def _check_apart(given: Mapping[str, npt.NDArray[Any]]) -> None:
    """Raise ValueError for two buffers that share memory."""
    placed = sorted((array.ctypes.data, array.nbytes, name) for name, array in given.items())
    for (begins, size, name), (after, _, other) in itertools.pairwise(placed):
        if begins + size > after:
            raise InvalidValue(f"The buffers {name!r} and {other!r} share memory; each takes memory of its own.")


def _check_free(given: Mapping[str, npt.NDArray[Any]], before: Memory | None) -> None:
    """Raise ValueError for a buffer to which another batch than that of `before` writes."""
    others = [array for memory in _in_use if memory is not before for array in memory._given]
    for name, array in given.items():
        if any(np.may_share_memory(array, other) for other in others):
            raise InvalidValue(
                f"The buffer {name!r} is memory of another batch that is still in use; each batch takes buffers of its "
                "own. Delete the other one, or close it, before its buffers are used again."
            )


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    size = math.prod(shape) * dtype.itemsize
    owner = np.zeros(size + _ALIGNMENT, np.uint8)
    begin = -owner.ctypes.data % _ALIGNMENT
    return owner[begin : begin + size].view(dtype).reshape(shape)
