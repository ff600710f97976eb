"""Kernels for arguments that may be anything: they answer as the trusting ones do, or raise, soon."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.envs.core.compile.guarded import ONE_AT_A_TIME, _known, guarded
from backalley.envs.core.compile.kernel import COMPILED, kernel, passing, uncompiled
from backalley.envs.core.compile.tiering import Interpreted, TookTooLong
from backalley.envs.core.game.game import Game
from tests.common.cases import BY_NAME

NUMBERS = np.arange(8)
ONE = np.ones(1, np.int8)


@kernel
def looks_up(by: int, shown: npt.NDArray[np.int64], mask: npt.NDArray[np.int8], key: int) -> int:
    return int(shown[by])


@passing
def counts_down(left: int) -> int:
    while left != 0:
        left -= 2
    return left


@kernel
def never_ends(by: int, shown: npt.NDArray[np.int64], mask: npt.NDArray[np.int8], key: int) -> int:
    return counts_down(by)


@kernel
def ranges(by: int, shown: npt.NDArray[np.int64], mask: npt.NDArray[np.int8], key: int) -> int:
    found = 0
    for number in range(by):
        found ^= number * int(shown[number & 7])
    return found


@kernel
def fills(by: int, shown: npt.NDArray[np.int64], mask: npt.NDArray[np.int8], key: int) -> int:
    return len(np.zeros((by, 2)))


def ways(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """As machine code, and as Python."""
    made: Any = guarded(function)
    return [made, Interpreted(made)] if hasattr(made, "py_func") else [made]


@pytest.mark.parametrize(
    ("function", "good", "bad", "error"),
    [
        (looks_up, 5, 8, IndexError),
        (looks_up, -1, 2**40, IndexError),
        (never_ends, 6, 7, TookTooLong),
        (ranges, 9, 2**62, TookTooLong),
        (fills, 3, 2**31, TookTooLong),
        (fills, 0, -1, TookTooLong),
    ],
)
def test_they_answer_alike_or_raise(function: Any, good: int, bad: int, error: type[Exception]) -> None:
    for asked in ways(function):
        with ONE_AT_A_TIME:
            for _ in range(3):
                assert asked(good, NUMBERS, ONE, 0) == function(good, NUMBERS, ONE, 0)
                with pytest.raises(error):
                    asked(bad, NUMBERS, ONE, 0)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_a_kernel_without_a_source_has_its_bounds_checked() -> None:
    """One that was typed at a prompt, or whose file was changed since it was imported, counts no steps."""
    scope: dict[str, Any] = {}
    exec("def act(by, shown, mask, key):\n    for _ in range(by):\n        pass\n    return shown[by]", scope)
    made = guarded(kernel(scope["act"]))
    assert made(3, NUMBERS, ONE, 0) == 3
    with pytest.raises(IndexError):
        made(9, NUMBERS, ONE, 0)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
@BY_NAME
def test_every_loop_of_a_bot_that_may_not_end_is_counted(game: Game) -> None:
    for bot in game.bots.values():
        guarded(bot.act)
    for original, made in _known.items():
        ours = str(uncompiled(original).__module__).startswith("backalley.")
        if ours and re.search(r"^ +while .*:$", inspect.getsource(uncompiled(original)), re.MULTILINE):
            assert "_count_step" in uncompiled(made).__code__.co_names, f"{original} is not counted"
