"""A kernel runs as Python until that has cost more than compiling it is worth; nobody can tell but by the time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from backalley.envs.core.compile import tiering
from backalley.envs.core.compile.kernel import COMPILED, bind, compiled
from backalley.envs.core.game.catalogue import own_games
from tests import ROOT
from tests.core.compile.test_kernels import process

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled here")

PLAY = """
import hashlib, os
import numpy as np
import backalley
from backalley.envs.core.compile import tiering
from backalley.envs.core.compile.kernel import bind
from backalley.envs.core.compile.tiering import Interpreted
from backalley.examples import kuhn

def played(steps=120):
    game, found = kuhn.GAME.bind(), hashlib.sha256()
    env, batch = game.make(), game.make_vec(4, seed=5)
    random = np.random.default_rng(0)
    env.reset(seed=5)
    step = batch.reset()
    for _ in range(steps):
        actions = step.action_mask.argmax(1) if random.random() < 0.5 else 1 - step.action_mask[:, ::-1].argmax(1)
        step = batch.step(actions)
        for part in (step.observation, step.action_mask, step.reward, step.seat):
            found.update(part.tobytes())
        shown, reward, *_ = env.last()
        found.update(shown["observation"].tobytes() + str(reward).encode())
        if env.terminations[env.agent_selection]:
            env.reset()
        else:
            env.step(int(shown["action_mask"].argmax()))
    return found.hexdigest()[:16]

def compiled():
    "How many kernels of this game there are machine code of."
    from backalley.envs.core.engine.engine import batch_kernels, constants_of
    return sum(len(kernel.entries) for kernel in batch_kernels(kuhn.GAME, constants_of(kuhn.GAME.bind())).values())
"""


def run(code: str, cache: Path, *, mode: str = "auto", play: str = PLAY) -> tuple[list[str], str]:
    """What code prints in a process of its own, word by word, and its standard error."""
    done = process(play + code, ROOT, BACKALLEY_CACHE=str(cache), BACKALLEY_COMPILE=mode)
    return done.stdout.split(), done.stderr


@pytest.fixture(scope="module")
def as_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of play in Python alone."""
    (digest, count), _ = run("print(played(), compiled())", tmp_path_factory.mktemp("cache"), mode="never")
    assert count == "0"
    return digest


@pytest.mark.slow
def test_play_goes_on_to_the_byte_when_the_compiler_takes_over(tmp_path: Path, as_python: str) -> None:
    code = "tiering._left = {budget}; print(played(), compiled())\n"
    (digest, count), said = run(code.format(budget=60), tmp_path)
    assert (digest, count, said) == (as_python, "0", ""), "within the budget nothing is compiled, and nothing is said"
    (digest, count), _ = run(code.format(budget=1e-9), tmp_path)
    assert (digest, int(count) > 0) == (as_python, True), "the budget ended with the first call"
    (digest, count), said = run(code.format(budget=60), tmp_path)
    assert (digest, int(count) > 0) == (as_python, True), "what is on disk is used at once"
    assert tiering.MESSAGE not in said
    (digest, count), _ = run("print(played(), compiled())", tmp_path, mode="never")
    assert (digest, count) == (as_python, "0"), "`never` also leaves alone what is on disk"


@pytest.mark.slow
def test_many_tables_are_compiled_at_once(tmp_path: Path) -> None:
    code = "kuhn.GAME.bind().make_vec({tables}, seed=0).reset(); print(compiled(), tiering.runs_as_python())\n"
    assert run(code.format(tables=255), tmp_path)[0] == ["0", "True"]
    assert run(code.format(tables=256), tmp_path)[0] == ["1", "False"]


@pytest.mark.slow
def test_one_long_call_goes_on_compiled(tmp_path: Path) -> None:
    code = """
batch = kuhn.GAME.bind().make_vec(1, seed=0)
batch.reset()
batch.play_random(2)
print(tiering.runs_as_python())
tiering._left = 0.05  # spent long before the end of the next call
batch.play_random(50_000)
print(tiering.compile_time().seconds > 0)
again = kuhn.GAME.bind().make_vec(1, seed=0)
again.reset()
again.play_random(50_002)
print((again.time_step.observation == batch.time_step.observation).all())
"""
    assert run(code, tmp_path)[0] == ["True", "True", "True"]


@pytest.mark.slow
def test_a_template_is_compiled_before_its_first_call(tmp_path: Path) -> None:
    code = """
from backalley.envs.core.game.kernels import specialise, template
from backalley.envs.core.engine.batch_play import random_act

@template
def long(times, mask):
    found = 0
    for k in range(times):
        found += ACT(0, 0, mask, np.uint64(k))
    return found

long.__globals__["ACT"] = None
made = specialise([long], {"ACT": random_act})["long"]
print(made(1000, np.ones(2, np.int8)) > 0, len(made.entries), tiering.runs_as_python())
"""
    assert run(code, tmp_path)[0] == ["True", "1", "True"]


@pytest.mark.slow
def test_a_kernel_as_python_sees_python_throughout(tmp_path: Path) -> None:
    """Kernels in modules, in closures, that name themselves, with defaults, of wrapping arithmetic."""
    code = """
from backalley.envs.core.compile.kernel import kernel, wrapping
from backalley.envs.core.rules import rng

def adds(number):
    @kernel
    def add(value, more=number):
        return value + more + number
    return add

@kernel
def factorial(number):
    return 1 if number < 2 else number * factorial(number - 1)

def calls(inner):
    @kernel
    def call(value):
        return inner(value) + factorial(4)
    return call

@kernel
def greatest(numbers):
    return int(numbers.max() + numbers.sum() + numbers.any())

call = bind(calls(adds(3)), 1, at_once=False)
print(greatest(np.arange(4)), (np.arange(3) % 2 == 1).any())
print(type(call).__name__, call(1), adds(1)(5), adds(1)(5, 2))
stream, drawn = rng.below(np.uint64(2**63 + 12345), 10)
print(int(stream), int(drawn))
"""
    python, said = run(code, tmp_path)
    machine, _ = run(code.replace("type(call).__name__", "0"), tmp_path / "other", mode="now")
    assert python[2] == "Interpreted"
    assert (python[:2] + python[3:], said) == (machine[:2] + machine[3:], "")


def test_budgets_of_time_leave_compiling_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    for clock in ("perf_counter", "process_time", "thread_time"):
        monkeypatch.setattr(tiering.time, clock, lambda: now[0])
    before, compiled = tiering.times(), tiering.compile_time()
    now[0] += 2
    with tiering.compiling():
        now[0] += 30
    assert tiering.times() == pytest.approx([one + 2 for one in before])
    assert tiering.compile_time() == pytest.approx([one + 30 for one in compiled])


def test_the_compiler_counts_its_time() -> None:
    def once(number: int) -> int:
        return number + 41

    added, before = compiled(once, keep=False), tiering.compile_time()
    bind(added, 1)
    after = tiering.compile_time()
    bind(added, 1)
    assert after.processor_seconds > before.processor_seconds
    assert tiering.compile_time() == after, "what is compiled already costs nothing"


def test_an_unknown_mode_is_refused() -> None:
    env = {**os.environ, "BACKALLEY_COMPILE": "later", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", "import backalley; backalley.BatchEnv"],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert "The environment variable BACKALLEY_COMPILE is 'later'; it takes auto, now, never." in done.stderr


@pytest.mark.slow
def test_the_first_decisions_of_every_game_compile_nothing(tmp_path: Path) -> None:
    """A table with a bot in every seat, a batch, a Gymnasium environment: none of them asks for machine code. (How much
    of the budget they take is measured by `backalley dev speed --against`.)"""
    code = """
import backalley, gymnasium
from backalley.envs.core.compile import tiering
for game in map(backalley.game, backalley.game_names()):
    tiering._left = 600.0
    bot, env = backalley.agent("bot", game), game.make(render_mode="ansi")
    env.reset(seed=7)
    for player in env.agent_iter(9):
        observation, reward, terminated, truncated, info = env.last()
        env.step(None if terminated or truncated else bot.act(observation))
    assert game.title in env.render()
    batch = game.make_vec(8, seed=0)
    batch.step(batch.reset().action_mask.argmax(1))
    single = gymnasium.make(game.type.gymnasium_id, opponent="bot")
    observation, info = single.reset(seed=1)
    single.step(int(info["action_mask"].argmax()))
    print(game.name, tiering.runs_as_python())
"""
    words, said = run(code, tmp_path / "cache", play="")
    assert words == [word for name in own_games() for word in (name, "True")]
    assert (said, list(tmp_path.rglob("*.nbc"))) == ("", [])
