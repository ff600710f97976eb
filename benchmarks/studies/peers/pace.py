"""Time the card games of one library: `python -P pace.py LIBRARY SECONDS`, in that library's environment, where nothing
of ours is, except for our own games.

A line of JSON is printed for each game: decisions a second of processor time, the median of three repetitions. A
library is a generator of names, each with a function that makes a table (or several) and returns what plays some
decisions at random and returns their number.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

REPEATS = 3
PGX_SIZES, PGX_STEPS, PUFFERLIB_TABLES = (64, 1024, 8192), 16, 1024

Play = Callable[[], int]
Games = Iterator[tuple[str, Callable[[], Play]]]


def _one_of(legal: Any, chance: random.Random) -> Any:
    return legal[int(chance.random() * len(legal))]


def _aec(make: Callable[[], Any]) -> Play:
    """PettingZoo's usual loop: `last()`, a draw from the mask, `step()`."""
    import numpy as np

    env, chance = make(), random.Random(0)
    env.reset(seed=0)

    def play() -> int:
        """An episode."""
        env.reset()
        decisions = 0
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            env.step(int(_one_of(np.flatnonzero(observation["action_mask"]), chance)))
            decisions += 1
        return decisions

    return play


def backalley() -> Games:
    """Our own games: a batch on one thread, and PettingZoo's loop."""
    from backalley.envs.core.game.catalogue import games

    random_play = importlib.import_module("backalley.benchmarks.speed.random_play")
    tables: int = importlib.import_module("backalley.benchmarks.speed.speed").FLOOR_TABLES

    def batch(game: Any) -> Play:
        play: Play = random_play.RandomPlay(game, tables, 1).step
        return play

    for game in games():
        yield f"{game.name} batch", partial(batch, game)
        yield f"{game.name} aec", partial(_aec, game.make)


def open_spiel() -> Games:
    """Through its Python API. Observations come from its fastest observer, which writes to a NumPy array; games that
    have none give the tensor of the information state."""
    import numpy as np
    import pyspiel
    from open_spiel.python.observation import make_observation

    def drawn(outcomes: list[tuple[int, float]], left: float) -> int:
        """The outcome at which the probabilities reach `left`, 0 to 1; `random.choices` takes three times as long."""
        for outcome, probability in outcomes:
            left -= probability
            if left <= 0:
                return outcome
        return outcomes[-1][0]

    def make(name: str) -> Play:
        game, chance = pyspiel.load_game(name), random.Random(0)
        mask = np.zeros(game.num_distinct_actions(), np.int8)
        observer = make_observation(game) if game.get_type().provides_observation_tensor else None

        def play() -> int:
            """An episode."""
            state, decisions = game.new_initial_state(), 0
            while not state.is_terminal():
                if state.is_chance_node():
                    state.apply_action(drawn(state.chance_outcomes(), chance.random()))
                    continue
                legal = state.legal_actions()
                mask[:] = 0
                mask[legal] = 1
                if observer is None:
                    state.information_state_tensor(state.current_player())
                else:
                    observer.set_from(state, state.current_player())
                state.apply_action(_one_of(legal, chance))
                decisions += 1
            return decisions

        return play

    for name in ("kuhn_poker", "leduc_poker", "blackjack", "spades", "skat", "euchre", "hearts", "oh_hell", "gin_rummy",
                 "dou_dizhu", "hanabi", "crazy_eights"):  # fmt: skip
        yield name, partial(make, name)
    yield "bridge", partial(make, "bridge(use_double_dummy_result=false)")  # else every end is solved, for seconds


def rlcard() -> Games:
    """By `env.step`, which gives the next observation with its legal actions."""
    import rlcard as library

    def make(name: str) -> Play:
        env, chance = library.make(name, config={"seed": 0}), random.Random(0)

        def play() -> int:
            """An episode."""
            (state, _), decisions = env.reset(), 0
            while not env.is_over():
                state, _ = env.step(_one_of(list(state["legal_actions"]), chance))
                decisions += 1
            return decisions

        return play

    for name in ("blackjack", "leduc-holdem", "limit-holdem", "no-limit-holdem", "bridge", "gin-rummy", "doudizhu",
                 "uno", "mahjong"):  # fmt: skip
        yield name, partial(make, name)


def pettingzoo() -> Games:
    """The classic card games of the installed version."""
    import pettingzoo.classic as classic

    cards = ("hanabi_v", "leduc_holdem_v", "texas_holdem_v", "texas_holdem_no_limit_v", "gin_rummy_v")
    for name in (module.name for module in pkgutil.iter_modules(classic.__path__)):
        if name.rstrip("0123456789") in cards:
            module = importlib.import_module(f"pettingzoo.classic.{name}")
            yield name.rpartition("_v")[0], partial(_aec, module.env)


def pgx() -> Games:
    """On the processor: many tables in one compiled scan, finished ones starting again, in some batch sizes, of which
    the best counts."""
    import jax
    import jax.numpy as jnp
    import pgx as library
    from pgx.experimental import auto_reset

    def make(name: str, size: int) -> Play:
        env = library.make(name)
        begin, step = jax.vmap(env.init), jax.vmap(auto_reset(env.step, env.init))

        def decide(carry, key):  # type: ignore[no-untyped-def]
            state, seen = carry
            draw, chance = jax.random.split(key)
            noise = jax.random.gumbel(draw, state.legal_action_mask.shape)
            action = jnp.argmax(jnp.where(state.legal_action_mask, noise, -jnp.inf), 1)
            state = step(state, action, jax.random.split(chance, size))
            return (state, seen + state.observation.sum(dtype=jnp.float32)), None  # so that every observation is made

        @jax.jit
        def steps(state, key):  # type: ignore[no-untyped-def]
            return jax.lax.scan(decide, (state, jnp.float32(0)), jax.random.split(key, PGX_STEPS))[0]

        held = [jax.jit(begin)(jax.random.split(jax.random.PRNGKey(0), size)), jax.random.PRNGKey(1)]

        def play() -> int:
            """Some decisions of every table."""
            held[1], key = jax.random.split(held[1])
            held[0], seen = steps(held[0], key)
            seen.block_until_ready()
            return size * PGX_STEPS

        return play

    for name in ("kuhn_poker", "leduc_holdem", "sparrow_mahjong"):
        for size in PGX_SIZES:
            yield name, partial(make, name, size)


def pufferlib() -> Games:
    """Its card game in C. Written from its source (version 3); it has not been run where its build could not be made.
    It has no action masks: an action that is not allowed does nothing or ends the game."""
    import numpy as np
    from pufferlib.ocean import env_creator

    def make() -> Play:
        env = env_creator("puffer_tripletriad")(num_envs=PUFFERLIB_TABLES)
        env.reset(seed=0)
        chance = np.random.default_rng(0)

        def play() -> int:
            """A decision of every table."""
            env.step(chance.integers(env.single_action_space.n, size=PUFFERLIB_TABLES).astype(np.int32))
            return PUFFERLIB_TABLES

        return play

    yield "triple_triad", make


def pace(make: Callable[[], Play], seconds: float) -> dict[str, float]:
    """Decisions a second of processor time: median, slowest and fastest repetition."""
    play, found = make(), []
    play()  # compiles, where a library does
    for _ in range(REPEATS):
        decisions, began = 0, time.process_time()
        while (spent := time.process_time() - began) < seconds:
            decisions += play()
        found.append(decisions / spent)
    return {"median": statistics.median(found), "low": min(found), "high": max(found)}


def show(games: Games, seconds: float) -> None:
    """Print a line of JSON for each game."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # one core for all, whatever threads a library starts
    for game, make in games:
        try:
            found: dict[str, Any] = pace(make, seconds)
        except Exception as error:  # of another library: one game that fails must not hide the rest
            found = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps({"game": game, **found}), flush=True)


if __name__ == "__main__":
    show(globals()[sys.argv[1]](), float(sys.argv[2]))
