"""Kernels compiled as whole programs: what Numba's own compiler gives, also where other people's code is in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from backalley.envs.core.compile.kernel import COMPILED, passing
from backalley.envs.core.compile.whole_program import POSSIBLE
from tests.core.compile.test_kernels import process

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled here")

PROGRAM = """
import pickle
import numba
import numpy as np
from backalley.envs.core.compile.kernel import bind, kernel

@numba.njit
def plain(value):
    return value + 1

@kernel
def ours(value):
    return plain(value) * 2

@numba.njit
def theirs(value):
    return ours(value) + plain(value)

@kernel
def through_theirs(value):
    return theirs(value) + ours(value)

@kernel
def factorial(number):
    return 1 if number < 2 else number * factorial(number - 1)

@kernel
def even(number):
    return True if number == 0 else odd(number - 1)

@kernel
def odd(number):
    return False if number == 0 else even(number - 1)

@kernel
def falls(number, step):
    return step if number == 0 else rises(number - 1, np.int8(step + 1))

@kernel
def rises(number, step):
    return step if number == 0 else falls(number - 1, 5)

@kernel
def circle_of_small_numbers(number):
    return falls(number, np.int8(1))

@kernel
def part_of_a_circle(number):
    return odd(number)

@kernel
def made(size):
    numbers = np.zeros(size)
    numbers[0] = size
    return numbers

@kernel
def sum_of_made(size):
    return made(size).sum() + made(size)[0]

@kernel
def refuses(value):
    if value > 3:
        raise ValueError("the value is above 3")
    return value

@kernel
def asks(value):
    return refuses(value) + 1

calls = [
    (ours, 1), (theirs, 1), (through_theirs, 2), (factorial, 10), (even, 7), (odd, 7), (part_of_a_circle, 4),
    (circle_of_small_numbers, 3),
    (made, 3), (sum_of_made, 4), (asks, 2), (asks, 5), (refuses, 5),
]
for function, given in calls if order == "forwards" else calls[::-1]:
    for call in (function, bind(function, given)):
        try:
            print(function.__name__, given, call(given), end="; ")
        except ValueError as error:
            print(function.__name__, given, error, end="; ")
print(pickle.loads(pickle.dumps(ours))(5), plain(5))
"""


def run(path: Path, cache: Path, *, whole: bool = True, order: str = "forwards") -> list[str]:
    """What PROGRAM prints in a process of its own."""
    (path / "program.py").write_text(f"order = {order!r}\n{PROGRAM}", encoding="utf-8")
    environment = {"BACKALLEY_CACHE": str(cache), "BACKALLEY_WHOLE_PROGRAM": "1" if whole else "0"}
    shown = process("import program", path, BACKALLEY_COMPILE="now", **environment).stdout
    return sorted(shown.replace("\n", ";").split("; "))


@pytest.mark.slow
@pytest.mark.skipif(not POSSIBLE, reason="this Numba compiles kernels by itself")
def test_whole_programs_do_what_numba_does(tmp_path: Path) -> None:
    """Called in any order, compiled or read from disk, kernels give what they give where Numba's own compiler, the way
    back for a version that lacks something, compiles them."""
    theirs = run(tmp_path, tmp_path / "forwards", whole=False)  # its machine code is not taken for ours
    assert "factorial 10 3628800" in theirs
    for order in ("forwards", "backwards"):
        for _ in ("compiled", "from disk"):
            assert run(tmp_path, tmp_path / order, order=order) == theirs


@pytest.mark.skipif(not POSSIBLE, reason="this Numba compiles kernels by itself")
def test_a_callee_is_compiled_into_its_callers_alone() -> None:
    """Machine code is made of kernels that Python calls; what they call has none of its own until Python calls it."""

    @passing  # has no file, so that it is compiled here
    def inner(value: int) -> int:
        return value + 1

    @passing
    def outer(value: int) -> int:
        return inner(value) + inner(value)

    assert outer(1) == 4
    assert (len(inner.overloads), len(inner.entries)) == (1, 0)  # type: ignore[attr-defined]
    assert inner(1) == 2
    assert (len(inner.overloads), len(inner.entries)) == (1, 1)  # type: ignore[attr-defined]
