"""Batches, single tables, threads, copies and saved states agree to the byte."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given as hypothesis_given
from hypothesis import settings
from hypothesis import strategies as st

import backalley
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import Game
from backalley.envs.core.engine import IllegalAction
from backalley.envs.core.parts import OVER
from backalley.envs.core.vector import BatchEnv
from tests.cases import CASES, GAMES, random_action
from tests.kuhn import GAME as KUHN

BY_NAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)


def chosen(mask: np.ndarray[Any, Any], random: np.random.Generator) -> np.ndarray[Any, Any]:
    """One random legal action per row."""
    weights = random.random(mask.shape) * mask
    return np.argmax(weights, axis=1)


@pytest.mark.parametrize("game", CASES)
def test_row_i_equals_the_aec_environment_with_that_rows_seed(game: Game) -> None:
    tables = BatchEnv(game, 3, seed=40)
    time_step = tables.reset()
    envs = [AECEnv(game) for _ in range(3)]
    for row, env in enumerate(envs):
        env.reset(seed=40 + row)
    random = np.random.default_rng(3)
    for _ in range(150):
        for row, env in enumerate(envs):
            assert env.engine.batch.seat[0] == time_step.seat[row]
            shown = env.observe(env.agent_selection)
            assert np.array_equal(shown["observation"], time_step.observation[row])
            assert np.array_equal(shown["action_mask"], time_step.action_mask[row])
        actions = chosen(time_step.action_mask, random)
        time_step = tables.step(actions)
        for row, env in enumerate(envs):
            env.step(int(actions[row]))
            assert np.array_equal(env.engine.batch.reward[0], time_step.reward[row])
            assert env.terminations["player_0"] == time_step.terminated[row]
            if env.engine.batch.seat[0] == OVER:
                env.reset()


@BY_NAME
def test_the_number_of_threads_changes_no_byte(game: Game) -> None:
    runs = []
    for threads in (1, 2, 3):
        tables = BatchEnv(game.bind(), 1024, seed=9, num_threads=threads)
        time_step = tables.reset()
        random = np.random.default_rng(5)
        parts = []
        for _ in range(60):
            time_step = tables.step(chosen(time_step.action_mask, random))
            parts += [time_step.observation.tobytes(), time_step.reward.tobytes(), time_step.terminated.tobytes()]
        runs.append(b"".join(parts) + tables.engine.batch.raw.tobytes())
        tables.close()
    assert runs[0] == runs[1] == runs[2]


@BY_NAME
def test_the_same_seed_gives_the_same_episodes_and_another_seed_others(game: Game) -> None:
    def shown(seed: int) -> bytes:
        env = AECEnv(game.bind())
        random = np.random.default_rng(1)
        env.reset(seed=seed)
        parts = []
        while env.engine.batch.seat[0] != OVER:
            parts.append(env.engine.batch.raw.tobytes())
            env.step(random_action(env, random))
        return b"".join(parts)

    assert shown(5) == shown(5)
    assert shown(5) != shown(6)


@BY_NAME
@pytest.mark.parametrize("copied", ["deepcopy", "pickle", "snapshot"])
def test_a_copy_in_mid_game_plays_on_identically(game: Game, copied: str, tmp_path: Any) -> None:
    env = AECEnv(game.bind())
    random = np.random.default_rng(2)
    for steps in (1, 3, 11):
        env.reset(seed=steps)
        for _ in range(steps):
            if env.engine.batch.seat[0] != OVER:
                env.step(random_action(env, random))
        if env.engine.batch.seat[0] == OVER:
            env.reset()
        if copied == "deepcopy":
            twin = copy.deepcopy(env)
        elif copied == "pickle":
            twin = pickle.loads(pickle.dumps(env))
        else:
            np.save(tmp_path / "table.npy", env.snapshot())
            twin = AECEnv(game.bind())
            twin.restore(np.load(tmp_path / "table.npy", allow_pickle=False))
        for _ in range(2):
            while env.engine.batch.seat[0] != OVER:
                action = random_action(env, random)
                assert twin.agent_selection == env.agent_selection
                mine, its = env.observe(env.agent_selection), twin.observe(env.agent_selection)
                assert all(np.array_equal(mine[name], its[name]) for name in mine)
                env.step(action)
                twin.step(action)
                assert twin._cumulative_rewards == env._cumulative_rewards
            assert twin.engine.batch.seat[0] == OVER
            env.reset()
            twin.reset()


@BY_NAME
def test_a_batch_copied_in_mid_game_plays_on_identically(game: Game) -> None:
    tables = BatchEnv(game.bind(), 7, seed=1)
    time_step = tables.reset()
    random = np.random.default_rng(4)
    for _ in range(9):
        time_step = tables.step(chosen(time_step.action_mask, random))
    twin = pickle.loads(pickle.dumps(tables))
    for _ in range(40):
        actions = chosen(time_step.action_mask, random)
        time_step, other = tables.step(actions), twin.step(actions)
        assert all(np.array_equal(a, b) for a, b in zip(time_step, other, strict=True))


def test_snapshots_of_other_games_are_refused() -> None:
    env, other = AECEnv(GAMES[0], GAMES[0].options()), AECEnv(KUHN, KUHN.options())
    env.reset(seed=0)
    other.reset(seed=0)
    before = env.engine.batch.raw.tobytes()
    with pytest.raises(ValueError, match="no snapshot of"):
        env.restore(other.snapshot())
    with pytest.raises(ValueError, match="no snapshot of"):
        env.restore(np.zeros(3))
    damaged = env.snapshot()
    damaged["state"][0, 3] ^= 64
    with pytest.raises(ValueError, match="is damaged"):
        env.restore(damaged)
    assert env.engine.batch.raw.tobytes() == before


BAD_ACTIONS: list[tuple[Any, type[Exception], str]] = [
    (np.zeros(3, int), ValueError, "shape"),
    (np.zeros((4, 1), int), ValueError, "shape"),
    (np.zeros(4), TypeError, "float64"),
    (np.zeros(4, bool), TypeError, "bool"),
    (["a"] * 4, TypeError, "whole numbers"),
    (np.full(4, -1), IllegalAction, "legal:"),
    (np.full(4, 10**12), IllegalAction, "no action"),
    (0, ValueError, "shape"),
    (None, TypeError, "object"),
]


@pytest.mark.parametrize(("actions", "error", "says"), BAD_ACTIONS)
def test_bad_arrays_of_actions_are_sentences_and_change_nothing(
    actions: Any, error: type[Exception], says: str
) -> None:
    tables = backalley.make_vec(GAMES[0].id, num_envs=4, seed=0)
    tables.reset()
    before = tables.engine.batch.raw.tobytes() + tables.engine.batch.stream.tobytes()
    with pytest.raises(error, match=says):
        tables.step(actions)
    assert tables.engine.batch.raw.tobytes() + tables.engine.batch.stream.tobytes() == before


@settings(max_examples=60, deadline=None)
@hypothesis_given(st.integers(0, 2**32), st.integers(1, 40), st.data())
def test_one_illegal_action_among_many_leaves_every_table_as_it_was(seed: int, size: int, data: st.DataObject) -> None:
    game = data.draw(st.sampled_from(GAMES))
    tables = BatchEnv(game.bind(), size, seed=seed)
    time_step = tables.reset()
    actions = chosen(time_step.action_mask, np.random.default_rng(seed))
    bad = data.draw(st.integers(0, size - 1))
    actions[bad] = data.draw(st.sampled_from(np.flatnonzero(time_step.action_mask[bad] == 0).tolist()))
    before = tables.engine.batch.raw.tobytes()
    with pytest.raises(IllegalAction, match=f"^Table {bad}: "):
        tables.step(actions)
    assert tables.engine.batch.raw.tobytes() == before


def test_turns_cannot_be_written_to() -> None:
    time_step = backalley.make_vec(GAMES[0].id, num_envs=2, seed=0).reset()
    for array in time_step:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_seeds_and_sizes_are_checked() -> None:
    name = GAMES[0].name
    for bad in (0, -3):
        with pytest.raises(ValueError, match="num_envs is"):
            backalley.make_vec(name, num_envs=bad)
    with pytest.raises(ValueError, match="2 seeds were given for 3 tables"):
        backalley.make_vec(name, num_envs=3, seed=[1, 2])
    with pytest.raises(ValueError, match="0 or more"):
        backalley.make_vec(name, num_envs=2, seed=-1)
    with pytest.raises(RuntimeError, match="call reset"):
        backalley.make_vec(name, num_envs=2).step([0, 0])
