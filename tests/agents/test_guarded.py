"""Agents and kernels that are shown what no table shows: they answer as the trusting ones do, legally, or refuse in a
sentence, soon, and touch no memory but their own.

What agents are shown: `agent_fuzz.py`. A process of its own plays it, so that one that dies fails a test.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from backalley.agents.base.rule_based import _ONE_AT_A_TIME
from backalley.agents.registry import agent
from backalley.envs.core.compile.guarded import _known, guarded
from backalley.envs.core.compile.kernel import COMPILED, kernel, passing, uncompiled
from backalley.envs.core.compile.tiering import Interpreted, TookTooLong
from backalley.envs.core.game.game import Game
from tests import ROOT
from tests.common.agent_fuzz import ANSWERED, REFUSED, became, inputs
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
        with _ONE_AT_A_TIME:
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


def fuzz(*words: str, longest: float, **environment: str) -> list[dict[str, Any]]:
    """What the process tells of each agent; fails the test in a sentence where any call did what none may."""
    command = [sys.executable, "-m", "tests.common.agent_fuzz", *words]
    # Memory that nobody has written to, or that was given back, holds no zeros.
    env = {**os.environ, "MALLOC_PERTURB_": "165", "MALLOC_CHECK_": "3", **environment}
    try:
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=longest, check=False)
    except subprocess.TimeoutExpired as error:
        said = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else error.stderr or ""
        pytest.fail(f"It was not over after {longest:g} seconds. The last of it: {said[-300:]}", pytrace=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [f"{one['agent']} of {one['game']}: {one['first']}" for one in rows if one["first"]]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
    if done.returncode:
        pytest.fail(f"Its process ended with status {done.returncode}: {done.stderr[-2000:]}", pytrace=False)
    return rows


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="NumPy checks every index then: see the test of uncompiled agents")
@BY_NAME
@pytest.mark.sampled
def test_whatever_they_are_shown_agents_answer_legally_or_refuse_in_a_sentence(game: Game) -> None:
    """All agents of the game: some 800 calls each."""
    rows = fuzz("--rounds", "60", game.spec, longest=1200)
    assert all(one[ANSWERED] > 100 for one in rows)
    assert sum(one.get(REFUSED, 0) for one in rows) > 100, "what it shows is too tame"


@pytest.mark.uncompiled
@BY_NAME
def test_uncompiled_agents_answer_legally_or_refuse_in_a_sentence(game: Game) -> None:
    """The bots that take microseconds; those that search, and networks, are compiled above."""
    cases = list(inputs(game, seed=3, rounds=4, tables=2))
    for name in [name for name, bot in game.bots.items() if bot.fast]:
        player = agent(f"bot:{name}", game)
        for number, shown in enumerate(cases):
            found = became(player, shown, number)
            assert found in (ANSWERED, REFUSED), f"{player.name}, call {number}, {shown.kind}: {found}"
