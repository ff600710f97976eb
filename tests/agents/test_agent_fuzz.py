"""Agents shown what no table shows answer legally or refuse in a sentence, soon, and touch no memory but their own.

What they are shown: `agent_fuzz.py`. A process of its own plays it, so that one that dies fails a test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from backalley.agents.registry import agent
from backalley.envs.core.compile.kernel import COMPILED
from backalley.envs.core.game.game import Game
from tests import ROOT
from tests.common.agent_fuzz import ANSWERED, REFUSED, became, inputs
from tests.common.cases import BY_NAME


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
    told = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [f"{one['agent']} of {one['game']}: {one['first']}" for one in told if one["first"]]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
    if done.returncode:
        pytest.fail(f"Its process ended with status {done.returncode}: {done.stderr[-2000:]}", pytrace=False)
    return told


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="NumPy checks every index then: see the test of uncompiled agents")
@BY_NAME
def test_whatever_they_are_shown_agents_answer_legally_or_refuse_in_a_sentence(game: Game) -> None:
    """All agents of the game: some 800 calls each."""
    told = fuzz("--rounds", "60", game.spec, longest=1200)
    assert all(one[ANSWERED] > 100 for one in told)
    assert sum(one.get(REFUSED, 0) for one in told) > 100, "what it shows is too tame"


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
