"""Arguments that machine code finds laid out, call after call, and kernels that it calls by their addresses."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from backalley.envs.core.compile.addresses import Address, Kept, call
from backalley.envs.core.compile.kernel import COMPILED, bind, kernel


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


class Seen(NamedTuple):
    """What a kernel is shown that is called by its address."""

    many: npt.NDArray[np.uint8]
    few: npt.NDArray[np.int8]


@kernel
def plus(by: Any, shown: Any, row: int, key: np.uint64) -> int:
    share, number, flag = by.values
    if row == 2:
        raise ValueError("no third row")
    return int(share * 2) + int(number) + int(flag) + shown.values[0].many[row, 1] + shown.values[0].few[row] + int(key)


@kernel
def minus(by: Any, shown: Any, row: int, key: np.uint64) -> int:
    return by.values[0] - shown.values[0].few[row]


@kernel
def call_each(
    acts: npt.NDArray[np.int64], by: npt.NDArray[np.int64], shown: Seen, keys: npt.NDArray[np.uint64], out: Any
) -> None:
    for row in range(out.shape[0]):
        out[row] = call(acts[row % 2], by[row % 2], shown, row, keys[row])


@pytest.mark.skipif(not COMPILED, reason="looks for machine code")
@pytest.mark.parametrize("from_disk", [False, True])
def test_a_loop_calls_kernels_by_their_addresses(from_disk: bool) -> None:
    """Kernels that play by different things, in one loop, which is compiled once; and it raises what they raise."""
    seen = Seen(np.arange(12, dtype=np.uint8).reshape(4, 3), np.arange(4, dtype=np.int8))
    by = [Kept.of(np.float32(1.5), np.uint64(7), True), Kept.of(40)]
    for function in (plus, minus):
        if from_disk:
            function.entries.clear()  # type: ignore[attr-defined]
            function._sought.clear()  # type: ignore[attr-defined]
    found = [Address.of(one, own, Kept.of(seen), 0, np.uint64(0)) for one, own in zip((plus, minus), by, strict=True)]
    acts, keys, out = np.array(found, np.int64), np.array([100, 0, 0, 0], np.uint64), np.zeros(2, np.int64)
    call_each(acts, np.array(by, np.int64), seen, keys, out)
    assert out.tolist() == [3 + 7 + 1 + 1 + 0 + 100, 40 - 1]
    with pytest.raises(ValueError, match="no third row"):
        call_each(acts, np.array(by, np.int64), seen, keys, np.zeros(4, np.int64))
