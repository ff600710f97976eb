"""Checks that a seed decides everything: alone, in a batch, on any number of threads, in a copy, compiled or not."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from backalley.console.errors import BrokenPromise, InvalidCall
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import COMPILED

from .aec import COPIES, STEPS_OF_COPIES, check_aec_copies
from .play import Table, random_actions
from .report import NOT_TRIED

STEPS_IN_A_BATCH = 150 if COMPILED else 40
TABLES_FOR_THREADS = 1024 if COMPILED else 8


def check_seeds(game: Game, *, seed: int = 0) -> str:
    """Check that the same seed gives the same episode, and other seeds others."""
    # Many seeds: a game of few cards could give the same short episode twice by chance.
    seeds, env = [seed + number for number in range(9)], AECEnv(game)
    shown = [_shown(env, one, play_seed=seed) for one in seeds]
    for made in (env, AECEnv(game)):
        for one, first in zip(seeds, shown, strict=True):
            if _shown(made, one, play_seed=seed) != first:
                raise BrokenPromise(f"{game!r}, seed {one}: a second episode with that seed was another one.")
    if len(set(shown)) == 1:
        raise BrokenPromise(f"{game!r}, seed {seed}: the {len(seeds) - 1} seeds after it give the same episode.")
    return f"Each of {len(seeds)} seeds gave the same episode three times; the episodes of some of them differ."


def _shown(env: AECEnv, seed: int, play_seed: int) -> bytes:
    table = Table(env, seed)
    table.random = np.random.default_rng(play_seed)
    parts = []
    while not table.over:
        parts.append(table.batch.raw.tobytes())
        table.play()
    return b"".join(parts)


def check_batch(
    game: Game, *, seed: int = 0, steps: int = STEPS_IN_A_BATCH, options: Mapping[str, Any] | None = None
) -> str:
    """Check that row i of a batch equals the AEC environment with that row's seed. `options` are those of `reset`."""
    batch, envs = BatchEnv(game, 3, seed=seed), [AECEnv(game) for _ in range(3)]
    time_step, random = batch.reset(options=options), np.random.default_rng(seed)
    tables = [Table(env, seed + row) for row, env in enumerate(envs)]
    for env, table in zip(envs, tables, strict=True):
        env.reset(seed=table.seed, options=options)
    for _ in range(steps):
        for row, table in enumerate(tables):
            its = time_step.seat[row], time_step.observation[row], time_step.action_mask[row], batch.arrays.raw[row]
            _hold_same(table, its, f"row {row} of a batch")
        actions = random_actions(time_step.action_mask, random)
        time_step = batch.step(actions)
        for row, table in enumerate(tables):
            reward = table.play(int(actions[row]))
            table.hold(np.array_equal(reward, time_step.reward[row]), f"the rewards of row {row} of a batch differ.")
            ended = table.env.terminations["player_0"], table.env.truncations["player_0"]
            flags = bool(time_step.terminated[row]), bool(time_step.truncated[row])
            table.hold(ended == flags, f"row {row} of a batch ends at another decision.")
            if table.over:
                table.env.reset()
    return f"{len(tables)} rows of a batch equalled single tables in {steps} steps."


def _hold_same(table: Table, its: Sequence[Any], whose: str) -> None:
    """Hold that a table shows the same as another: the seat to act, its observation and mask, and the State record."""
    shown = table.env.observe(table.env.agent_selection)
    mine = table.batch.seat[0], shown["observation"], shown["action_mask"], table.batch.raw[0]
    for name, one, other in zip(("seat to act", "observation", "action mask", "state"), mine, its, strict=True):
        table.hold(np.array_equal(one, other), f"the {name} of {whose} differs.")


def check_state(game: Game, *, seed: int = 0, steps: int = STEPS_IN_A_BATCH) -> str:
    """Check that `Game.new_state` plays as the AEC environment with the same seed, and its clones as itself."""
    env, random = AECEnv(game), np.random.default_rng(seed)
    table, state, number = Table(env, seed), game.new_state(seed), seed
    for step in range(steps):
        twin = state.clone()
        records = state.states().records.view(np.uint8)
        _hold_same(table, (state.seat, state.observation(state.seat), state.action_mask(), records), "a GameState")
        action = int(random.choice(state.legal_actions()))
        reward = table.play(action)
        state.apply(action)
        table.hold(np.array_equal(reward, state.rewards()), "the rewards of a GameState differ.")
        table.hold(table.over == state.is_over, "a GameState ends at another decision.")
        if step % 10 == 0:
            twin.apply(action)
            same = twin.states().records.tobytes() == state.states().records.tobytes()
            table.hold(same, "the clone of a GameState plays otherwise.")
        if state.is_over:
            number += 1
            table, state = Table(env, number), game.new_state(number)
    return f"A GameState equalled the AEC environment in {steps} steps."


def check_threads(game: Game, *, seed: int = 0, num_tables: int = TABLES_FOR_THREADS, steps: int = 60) -> str:
    """The number of threads changes no byte."""
    runs, threads = [], (1, 2, 3)
    for num_threads in threads:
        batch = BatchEnv(game, num_tables, seed=seed, num_threads=num_threads)
        time_step, random = batch.reset(), np.random.default_rng(seed)
        parts = []
        for _ in range(steps):
            time_step = batch.step(random_actions(time_step.action_mask, random))
            parts += [time_step.observation.tobytes(), time_step.reward.tobytes(), time_step.terminated.tobytes()]
        runs.append(b"".join(parts) + batch.arrays.raw.tobytes())
        batch.close()
    for num_threads, found in zip(threads, runs, strict=True):
        if found != runs[0]:
            raise BrokenPromise(f"{game!r}, seed {seed}: {num_threads} threads play otherwise than one.")
    return f"1, 2 and 3 threads gave {num_tables:,} tables the same {steps} steps, to the byte."


def snapshot(env: AECEnv) -> AECEnv:
    """Return a copy made from a snapshot in a file. It does not have the rewards of the latest action, which were
    reported already."""
    file, twin = io.BytesIO(), AECEnv(env.game)
    np.save(file, env.snapshot())
    file.seek(0)
    twin.restore(np.load(file, allow_pickle=False))
    twin.rewards = dict(env.rewards)
    return twin


def check_copies(game: Game, *, seed: int = 0, steps: int = STEPS_OF_COPIES) -> str:
    """Check that copies in mid-game by deepcopy, pickle and snapshot play identically, also of a batch."""
    said = check_aec_copies(lambda: AECEnv(game), {**COPIES, "snapshot": snapshot}, seed=seed, steps=steps)
    batch, random = BatchEnv(game, 7, seed=seed), np.random.default_rng(seed)
    time_step = batch.reset()
    for _ in range(9):
        time_step = batch.step(random_actions(time_step.action_mask, random))
    twins = {"pickle": pickle.loads(pickle.dumps(batch)), "deepcopy": copy.deepcopy(batch)}
    for number in range(40):
        actions = random_actions(time_step.action_mask, random)
        time_step = batch.step(actions)
        for name, twin in twins.items():
            if not all(map(np.array_equal, time_step, twin.step(actions))):
                raise BrokenPromise(
                    f"{game!r}, seed {seed}, step {9 + number}: a batch copied by {name} plays otherwise."
                )
    return f"{said} A batch copied by pickle and deepcopy did so, too."


def digest(game: Game, seed: int, episodes: int, most: int) -> str:
    """Return a digest of all that random play shows: states, masks, observations of every seat, determinizations,
    actions of the bots in turn, rewards; of `most` decisions an episode."""
    found, env = hashlib.sha256(), AECEnv(game)
    bots = list(game.bots.values())
    for number in range(episodes):
        table = Table(env, seed + number)
        batch, random = table.batch, table.random
        while not table.over and batch.decisions[0] < most:
            position = env.position()
            for seat in range(game.num_seats):
                found.update(position.determinize(seat, int(random.integers(2**63))).record().tobytes())
                found.update(position.observation(seat).tobytes())
            found.update(batch.mask.tobytes() + batch.raw.tobytes())
            if bots:
                bot, key = bots[int(batch.decisions[0]) % len(bots)], np.uint64(random.integers(2**63))
                action = int(bot.act(game.options, batch.observation[0], batch.mask[0], key))
                table.hold(batch.mask[0, action], f"bot {bot.name} chose {action}, which is not legal.")
                found.update(str(action).encode())
            found.update(table.play().tobytes())
    return found.hexdigest()


def check_compiled(*games: Game, seed: int = 0, episodes: int = 2, most: int = 60) -> str:
    """Check that random play, bots and determinizations give the same bytes compiled and, in another process, as
    Python (`BACKALLEY_COMPILE=never`); `most` decisions of each episode. Raises RuntimeError where that process
    fails."""
    if not COMPILED:
        return f"{NOT_TRIED}nothing is compiled in this process (NUMBA_DISABLE_JIT)."
    asked = [[game.spec, game.option_values, seed, episodes, most] for game in games]
    environment = {**os.environ, "BACKALLEY_COMPILE": "never", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", __name__, json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise InvalidCall(f"the process that plays {games[0]!r} without the compiler failed: {done.stderr[-2000:]}")
    for game, found in zip(games, done.stdout.split(), strict=True):
        if found != digest(game, seed, episodes, most):
            raise BrokenPromise(f"{game!r}, seed {seed}: compiled, it plays otherwise than line by line in Python.")
    return (
        f"The first {most} decisions of {episodes * len(games)} random episodes were the same, compiled and in Python."
    )


if __name__ == "__main__":
    for spec, given, *rest in json.loads(sys.argv[1]):
        print(digest(game_of(spec, **given), *rest))
