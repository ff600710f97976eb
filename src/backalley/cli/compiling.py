"""`backalley compile`: compile games ahead of time, each game in a process of its own.

It compiles what the library does with a game under its default options: environments, bots, matches of bots, the
search, the pretrained policy; and play under all options with tables of the same shape, which share machine code.
Options that change the shape of a table are compiled at their first use.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress

import numpy as np

from backalley.agents.base.rule_based import BotAgent, RandomAgent
from backalley.agents.gymnasium.gymnasium_env import GymnasiumEnv
from backalley.agents.policies.pretrained import NoPolicy
from backalley.agents.registry import agent
from backalley.benchmarks.matches.evaluate import evaluate
from backalley.envs.core.api.tables import TimeStep
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import compile_from_now_on
from backalley.envs.core.rules.options import OptionError


def compile_game(name: str) -> None:
    """Compile one game, in this process."""
    compile_from_now_on()
    game = game_of(name)
    step = _play(game)
    other = of_same_shape(game)
    if other is not None:
        _play(other)
    bots = [BotAgent(game, name) for name in game.bots]
    for opponent in (RandomAgent(), *bots[-1:]):
        env = GymnasiumEnv(game, opponent=opponent)
        env.step(env.reset(seed=0)[1]["action_mask"].argmax())
    evaluate(game, [*bots[-1:], RandomAgent(), RandomAgent()][:2], deals=2)
    for bot in bots:
        bot.act(step.observation, step.action_mask, key=0)
    for search in ("mc:1", "search:1"):
        evaluate(game, [agent(search, game), RandomAgent()], deals=2)
    with suppress(NoPolicy):
        evaluate(game, [agent("policy", game), *bots[-1:], RandomAgent()][:2], deals=2)


def _play(game: Game) -> TimeStep:
    """Compile an environment and a batch; return what the batch shows after a step."""
    env = game.make()
    env.reset(seed=0)
    env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0]))
    batch = game.make_vec(4, seed=0)
    step = batch.step(batch.reset().action_mask.argmax(1))
    batch.observe(step.seat)
    return step


def of_same_shape(game: Game) -> Game | None:
    """Return the game with one option changed that leaves the shape of its records; None if there is no such option."""
    for name, value in game.option_values.items():
        values = [not value] if isinstance(value, bool) else [value + 1, value - 1] if isinstance(value, int) else []
        for one in values:
            with suppress(OptionError):
                other = game.bind({name: one})
                if (other.state_dtype, other.observation_dtype) == (game.state_dtype, game.observation_dtype):
                    return other
    return None


def compile_games(names: Sequence[str], threads: int, done: Callable[[str, float, str], None]) -> None:
    """Compile games in parallel; `done(name, seconds, error)` is called after each, with an empty error on success."""

    def work(name: str) -> tuple[float, str]:
        began = time.perf_counter()
        code = f"from {__name__} import compile_game; compile_game({name!r})"
        made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        return time.perf_counter() - began, made.stderr.strip() if made.returncode else ""

    with ThreadPoolExecutor(threads) as pool:
        waiting = {pool.submit(work, name): name for name in names}
        for finished in as_completed(waiting):
            done(waiting[finished], *finished.result())
