"""Arguments that machine code finds laid out, call after call, and kernels that it calls by their addresses."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from backalley.envs.core.compile.addresses import Address, Kept, addressed, call, laid
from backalley.envs.core.compile.kernel import COMPILED, Bound, Player, bind, kernel


class Settings(NamedTuple):
    """Numbers and truth values, as a game's options are, a share among them."""

    first: int
    flag: bool
    other: bool
    share: float
    last: int


class Flags(NamedTuple):
    """Truth values alone."""

    one: bool
    two: bool
    three: bool


@kernel
def read(kept: Any, out: npt.NDArray[np.int64]) -> None:
    flag, settings, flags, (numbers, records), number = kept.values
    out[0], out[1], out[2] = settings.first, settings.last, number + int(1000 * settings.share)
    out[3] = flag + 2 * settings.flag + 4 * settings.other + 8 * flags.one + 16 * flags.two + 32 * flags.three
    for row in range(numbers.shape[0]):
        out[4] += numbers[row, 1] * records[row].seat
    numbers[1, 2] = 77


def arguments(flag: bool = True, size: int = 3) -> tuple[Any, ...]:
    """What `read` takes; not all arrays are contiguous."""
    numbers = np.arange(8 * size).reshape(size, 8)[:, ::2]
    records = np.zeros(size, [("card", "i4"), ("seat", "i1")])
    records["seat"] = 5 + np.arange(size)
    return flag, Settings(-3, not flag, flag, 0.05, 2**40), Flags(flag, not flag, flag), (numbers, records), -1


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("flag", [False, True])
def test_kernels_find_what_was_kept(flag: bool, copied: bool) -> None:
    """Also in a copy, whose arrays are others. The kernel is bound once; the arrays' sizes are no part of that."""
    out, size = np.zeros(5, np.int64), 3 + flag
    kept = Kept.of(*arguments(flag, size))
    if copied:
        kept, source = pickle.loads(pickle.dumps(kept)), kept
    bind(read, Kept.of(*arguments()), out)(kept, out)
    flags = (1 + 4 + 8 + 32) if flag else (2 + 16)
    assert out.tolist() == [-3, 2**40, 49, flags, sum((8 * row + 2) * (5 + row) for row in range(size))]
    assert kept.values[3][0][1, 2] == 77
    if copied:
        assert source.values[3][0][1, 2] == 12, "the source's memory is its own"


@pytest.mark.parametrize("wrong", ["words", None, {}, (1, "words")])
def test_what_machine_code_cannot_find_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="cannot be kept for kernels"):
        Kept.of(wrong)


@addressed
@kernel
def plus(by: Any, shown: Any, row: int, key: np.uint64) -> int:
    if row == 2:
        raise ValueError("no third row")
    share, number, flag = by.values
    return int(2 * share) + int(number) + int(flag) + shown.values[0][0][row, 1] + int(key)


@addressed
@kernel
def minus(by: Any, shown: Any, row: int, key: np.uint64) -> int:
    return by.values[0] - shown.values[0][0][row, 1]


@kernel
def call_each(acts: Any, by: Any, shown: Any, keys: npt.NDArray[np.uint64], out: npt.NDArray[np.int64]) -> None:
    rows = laid(shown)
    for row in range(out.shape[0]):
        out[row] = call(acts[row % 2], by[row % 2], rows, row, keys[row])


@pytest.mark.parametrize("again", [False, True])
def test_a_loop_calls_kernels_by_their_addresses(again: bool) -> None:
    """Kernels that play by different things, in one loop; it raises what they raise. Machine code is loaded `again`."""
    shown, keys = (np.arange(12, dtype=np.uint8).reshape(4, 3),), np.array([100, 0, 0, 0], np.uint64)
    players = []
    for function, by in ((plus, Kept.of(np.float32(1.5), np.uint64(7), True)), (minus, Kept.of(40))):
        for known in ("entries", "_sought") if again and COMPILED else ():
            getattr(function, known).clear()
        players.append(Player(partial(Address.of, function, by, Kept.of(shown), 0, np.uint64(0)), by))
    play, out = Bound(lambda: call_each, players), np.zeros(4, np.int64)
    play(shown, keys, out[:2])
    assert out.tolist() == [3 + 7 + 1 + 1 + 100, 40 - 4, 0, 0]
    with pytest.raises(ValueError, match="no third row"):
        play(shown, keys, out)


def test_the_address_of_another_kernel_is_refused() -> None:
    with pytest.raises(TypeError, match="call_each is called by its address, so it has to be marked as `addressed`"):
        Address.of(call_each, 0)
