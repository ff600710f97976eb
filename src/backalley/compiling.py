"""`backalley compile`: the machine code of games made ahead of time, each game in a process of its own.

What is compiled is what the library does with a game under its default options: environments, bots, matches of bots,
the search, the policy that comes with the game. Options that change the shape of a table are compiled when they are
first used.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress

import numpy as np

from backalley.agents.registry import agent
from backalley.agents.rule_based import BotAgent, RandomAgent
from backalley.agents.shipped import NoPolicy
from backalley.benchmarks.evaluate import evaluate
from backalley.envs.core.catalogue import game as game_of


def compile_game(name: str) -> None:
    """Compile one game, in this process."""
    game = game_of(name)
    env = game.make()
    env.reset(seed=0)
    env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0]))
    batch = game.make_vec(4, seed=0)
    step = batch.step(batch.reset().action_mask.argmax(1))
    batch.observe(step.seat)
    bots = [BotAgent(game, name) for name in game.bots]
    evaluate(game, [*bots[-1:], RandomAgent(), RandomAgent()][:2], deals=2)
    for bot in bots:
        bot.act(step.observation, step.action_mask, key=0)
    for search in ("mc:1", "search:1"):
        evaluate(game, [agent(search, game), RandomAgent()], deals=2)
    with suppress(NoPolicy):
        evaluate(game, [agent("policy", game), *bots[-1:], RandomAgent()][:2], deals=2)


def compile_games(names: Sequence[str], threads: int, done: Callable[[str, float, str], None]) -> None:
    """Compile games side by side; `done(name, seconds, error)` follows each, with an empty error where all went
    well."""

    def work(name: str) -> tuple[float, str]:
        began = time.perf_counter()
        code = f"from {__name__} import compile_game; compile_game({name!r})"
        made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        return time.perf_counter() - began, made.stderr.strip() if made.returncode else ""

    with ThreadPoolExecutor(threads) as pool:
        waiting = {pool.submit(work, name): name for name in names}
        for finished in as_completed(waiting):
            done(waiting[finished], *finished.result())
