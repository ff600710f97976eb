"""The C functions that JAX calls, in the form of XLA's foreign function interface (header `xla/ffi/api/c_api.h`).

A call frame is read as 64-bit words, at the places that version 0 of the interface fixes.
"""

from __future__ import annotations

from typing import Any

import numba
from numba import carray
from numba.extending import intrinsic

from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import passing

from .functions import BATCH, functions_of
from .translate import Argument, Function

GIVEN = ("state", "stream", "mask", "seat", "terminated", "truncated", "decisions", "own_decisions")
"""What a step takes of a batch's arrays, in order; then come the actions and whether to begin again."""
_FRAME = Argument("frame", "frame*")
_EXTENSION, _ARGUMENTS, _RESULTS = 1, 9, 14
_DATA, _RANK, _SIZES = 3, 4, 5


@intrinsic  # type: ignore[untyped-decorator]
def _at(typing_context: Any, address: Any, number: Any) -> Any:
    """An address as a pointer to numbers of a type."""
    result = numba.types.CPointer(number.instance_type)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(result))

    return result(address, number), code


@intrinsic  # type: ignore[untyped-decorator]
def _record_at(typing_context: Any, address: Any, like: Any) -> Any:
    """An address as a pointer of the type of another."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(like))

    return like(address, like), code


def calls_of(game: Game, version: tuple[int, int]) -> list[Function]:
    """Return `jax_init` and `jax_step` of a game, for that version of the interface."""
    major, minor = version
    found = {one.name: one for one in functions_of(game)}
    open_rows, play_rows = passing(found["open"].kernel), passing(found["play"].kernel)
    state_bytes, seen_bytes = game.state_dtype.itemsize, game.observation_dtype.itemsize
    actions, seats, low = game.num_actions, game.num_seats, float(game.reward_range[0])
    sizes = (state_bytes, 8, actions, 1, 1, 1, 4, 4 * seats)
    places = tuple(list(BATCH).index(name) for name in GIVEN)
    state, seen = numba.from_dtype(game.state_dtype), numba.from_dtype(game.observation_dtype)
    byte, word, short, number = numba.uint8, numba.int64, numba.int32, numba.float32

    @passing
    def asked(frame: Any) -> bool:
        """Answer a question for the version, in place of a call."""
        extension = carray(frame, (15,))[_EXTENSION]
        if extension == 0 or carray(_at(extension, short), (3,))[2] != 1:
            return False
        answer = carray(_at(carray(_at(extension, word), (4,))[3], short), (9,))
        answer[6], answer[7], answer[8] = major, minor, 0
        return True

    @passing
    def data_of(frame: Any, part: int, which: int) -> int:
        """The address of an argument's or a result's numbers."""
        buffers = carray(_at(carray(frame, (15,))[part], word), (which + 1,))
        return int(carray(_at(buffers[which], word), (6,))[_DATA])

    @passing
    def count_of(frame: Any, inner: int) -> int:
        """How many tables the first argument has: the product of its sizes but the last `inner`."""
        buffer = carray(_at(carray(_at(carray(frame, (15,))[_ARGUMENTS], word), (1,))[0], word), (6,))
        dims, count = carray(_at(buffer[_SIZES], word), (buffer[_RANK],)), 1
        for axis in range(buffer[_RANK] - inner):
            count *= dims[axis]
        return count

    @passing
    def copied(frame: Any, given: int, made: int, size: int) -> None:
        source = carray(_at(data_of(frame, _ARGUMENTS, given), byte), (size,))
        target = carray(_at(data_of(frame, _RESULTS, made), byte), (size,))
        for place in range(size):
            target[place] = source[place]

    @passing
    def tables(frame: Any) -> tuple[Any, ...]:
        """The arrays of a batch, where the results lie."""
        return (
            _at(data_of(frame, _RESULTS, 0), state),
            _at(data_of(frame, _RESULTS, 1), numba.uint64),
            _at(data_of(frame, _RESULTS, 2), seen),
            _at(data_of(frame, _RESULTS, 3), numba.int8),
            _at(data_of(frame, _RESULTS, 4), numba.int8),
            _at(data_of(frame, _RESULTS, 5), number),
            _at(data_of(frame, _RESULTS, 6), byte),
            _at(data_of(frame, _RESULTS, 7), byte),
            _at(data_of(frame, _RESULTS, 8), short),
            _at(data_of(frame, _RESULTS, 9), short),
        )

    @passing
    def opened(frame: Any, first: int, count: int) -> None:
        open_rows(*tables(frame), first, count)

    @passing
    def played(frame: Any, row: int, again: int) -> int:
        actions = _at(data_of(frame, _ARGUMENTS, 8), short)
        return play_rows(*tables(frame), actions, row, 1, again)  # type: ignore[no-any-return]

    def init(frame):  # type: ignore[no-untyped-def]
        if not asked(frame):
            count = count_of(frame, 1)
            copied(frame, 0, 1, 8 * count)
            opened(frame, 0, count)
        return numba.uint64(0)

    def step(frame):  # type: ignore[no-untyped-def]
        if asked(frame):
            return numba.uint64(0)
        count = count_of(frame, 1)
        for part in range(8):
            copied(frame, part, places[part], sizes[part] * count)
        again = int(carray(_at(data_of(frame, _ARGUMENTS, 9), short), (1,))[0])
        shown = carray(_at(data_of(frame, _RESULTS, 2), byte), (count, seen_bytes))
        mask = carray(_at(data_of(frame, _RESULTS, 3), byte), (count, actions))
        seat = carray(_at(data_of(frame, _RESULTS, 4), numba.int8), (count,))
        reward = carray(_at(data_of(frame, _RESULTS, 5), number), (count, seats))
        terminated = carray(_at(data_of(frame, _RESULTS, 6), byte), (count,))
        for row in range(count):
            who = int(seat[row])
            if who >= 0 and played(frame, row, again) < 0:
                continue
            if who >= 0 and again != 0:
                opened(frame, row, 1)
            elif who >= 0:
                seat[row] = -2
            if seat[row] < 0:
                for place in range(seen_bytes):
                    shown[row, place] = 0
                for action in range(actions):
                    mask[row, action] = 0
            for place in range(seats):
                reward[row, place] = low if place == who else 0.0
            if who >= 0:
                terminated[row] = 1
        return numba.uint64(0)

    kinds = (numba.types.CPointer(word),)
    return [
        Function("jax_init", "", (_FRAME,), "uint64", init, kinds),
        Function("jax_step", "", (_FRAME,), "uint64", step, kinds),
    ]
