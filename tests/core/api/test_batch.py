"""Batches, single tables, threads, copies and saved states agree to the byte."""

from __future__ import annotations

import copy
import pickle
import threading
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import backalley
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.tables import IllegalAction
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.compile.interfaces import OVER
from backalley.envs.core.game.game import Game
from backalley.examples.kuhn import GAME as KUHN
from backalley.testing.play import random_action, random_actions
from tests.common.cases import BY_NAME, GAMES, option_sets, own_shape


def test_snapshots_of_other_games_are_refused() -> None:
    env, other = AECEnv(GAMES[0]), AECEnv(KUHN.bind())
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
    for nothing in (None, "table", [[1], [2, 3]], damaged["state"], damaged[:0]):
        with pytest.raises(ValueError, match="no snapshot of"):
            env.restore(nothing)  # type: ignore[arg-type]
    assert env.engine.batch.raw.tobytes() == before


@BY_NAME
def test_snapshots_made_under_other_options_are_refused(game: Game) -> None:
    """Where the record has the same form, too."""
    env = AECEnv(game)
    env.reset(seed=0)
    kept, before = env.snapshot(), env.engine.batch.raw.tobytes()
    others = [game.bind(given) for given in option_sets(game, mixed=2) if given and not own_shape(game, given)]
    for other in others:
        if other != game:
            with pytest.raises(ValueError, match="This is no snapshot of"):
                AECEnv(other).restore(kept)
            there = AECEnv(other)
            there.reset(seed=0)
            with pytest.raises(ValueError, match="This is no snapshot of"):
                env.restore(there.snapshot())
    assert env.engine.batch.raw.tobytes() == before


def in_mid_game(game: Game, seed: int, options: dict[str, Any] | None = None) -> AECEnv:
    """A table after some random decisions."""
    env, random = AECEnv(game), np.random.default_rng(seed)
    env.reset(seed=seed, options=options)
    for _ in range(int(random.integers(1, 25))):
        env.step(random_action(env, random))
        if env.engine.batch.seat[0] == OVER:
            env.reset(options=options)
    return env


@BY_NAME
def test_forged_snapshots_are_refused_or_tables_that_can_be_reached(game: Game) -> None:
    """Whatever is written into one, with a checksum that fits."""
    env, random = in_mid_game(game, 6), np.random.default_rng(6)
    kept, other = env.snapshot(), AECEnv(game)
    other.reset(seed=1)
    before = other.snapshot().tobytes()
    said: list[str] = []
    for number in range(150):
        forged = kept.copy()
        names = [name for name in kept.dtype.names if name != "check" and kept[name].size]
        field = forged[names[number % len(names)]].reshape(-1).view(np.uint8)
        where = random.integers(0, field.size, int(random.integers(1, 4)))
        field[where] = random.choice(np.array([0, 1, 127, 128, 254, 255, 99], np.uint8), len(where))
        forged["check"] = zlib.crc32(forged.tobytes()[:-4])
        try:
            other.restore(forged)
        except ValueError as error:
            said.append(str(error))
            assert other.snapshot().tobytes() == before
        else:
            assert other.snapshot().tobytes() == forged.tobytes()
            assert other.engine.batch.mask.any()
            other.reset(seed=1)
    assert all(game.name in one and len(one) > 40 for one in said)
    assert len(said) > 75  # a few change nothing, or only what is yet to be dealt


@BY_NAME
def test_a_snapshot_holds_packs_that_are_yet_to_be_dealt(game: Game) -> None:
    deck = [number % game.deck_size for number in range(game.cards_drawn)][::-1]
    env = AECEnv(game)
    env.reset(seed=3, options={"decks": [deck] * 5, "start_outcome": game.num_start_outcomes - 1})
    twin, random = AECEnv(game), np.random.default_rng(3)
    twin.reset(seed=1)
    twin.step(random_action(twin, random))  # from now on without given packs
    twin.restore(env.snapshot())
    while env.engine.batch.seat[0] != OVER:
        assert twin.engine.batch.raw.tobytes() == env.engine.batch.raw.tobytes()
        action = random_action(env, random)
        env.step(action)
        twin.step(action)
    assert twin.engine.batch.raw.tobytes() == env.engine.batch.raw.tobytes()


@BY_NAME
def test_what_is_handed_out_decides_nothing(game: Game) -> None:
    """Whatever a caller writes into it, or makes of its form, what is legal and what is played stay as they are."""
    batch, twin = BatchEnv(game, 6, seed=3), BatchEnv(game, 6, seed=3)
    batch.reset()
    other = twin.reset()
    random = np.random.default_rng(3)
    for _ in range(30):
        actions = random_actions(other.action_mask, random)
        for array in batch.time_step:
            array[...] = 1
            array.base.shape = (array.base.size,)
            array.base.flags.writeable = False
        illegal = np.argmin(other.action_mask, axis=1)
        row = int(np.argmin(other.action_mask[np.arange(6), illegal]))
        if not other.action_mask[row, illegal[row]]:
            with pytest.raises(IllegalAction):
                batch.step(illegal[row : row + 1], rows=[row])
        batch.step(actions)
        other = twin.step(actions)
        assert batch.engine.batch.raw.tobytes() == twin.engine.batch.raw.tobytes()
        fresh = pickle.loads(pickle.dumps(batch)).time_step
        assert all(np.array_equal(mine, its) for mine, its in zip(fresh, other, strict=True))


@BY_NAME
def test_a_batch_has_spaces_and_says_what_it_is(game: Game) -> None:
    batch = BatchEnv(game, 5, seed=0, num_threads=2, autoreset=False)
    assert repr(batch) == f"BatchEnv({game!r}, 5, num_threads=2, autoreset=False)"
    step = batch.reset()
    assert batch.observation_space.contains(step.observation)
    assert batch.single_observation_space.contains(step.observation[0])
    assert batch.single_action_space.n == game.num_actions
    for _ in range(20):
        if (batch.engine.batch.seat < 0).any():
            batch.reset()
        actions = batch.action_space.sample()
        assert batch.action_space.contains(actions)
        batch.step(actions)


BAD_SIZES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"num_envs": 0}, ValueError, "num_envs is 0"),
    ({"num_envs": -3}, ValueError, "num_envs is -3"),
    ({"num_envs": 1.5}, TypeError, "num_envs is 1.5"),
    ({"num_envs": "4"}, TypeError, "num_envs is '4'"),
    ({"num_envs": None}, TypeError, "num_envs is None"),
    ({"num_envs": True}, TypeError, "num_envs is True"),
    ({"num_envs": 10**12}, ValueError, "TiB in all, and this machine has"),
    ({"num_envs": 2**63}, ValueError, "EiB in all, and this machine has"),
    ({"num_threads": -1}, ValueError, "num_threads is -1"),
    ({"num_threads": 1.5}, TypeError, "num_threads is 1.5"),
    ({"num_threads": 100_000}, ValueError, r"num_threads is 100000; it takes 0, which is every core .* to 1024"),
    ({"autoreset": "no"}, TypeError, "takes True or False"),
    ({"seed": -1}, ValueError, "A seed is -1"),
    ({"seed": 1.5}, TypeError, "The seed is 1.5"),
    ({"seed": "7"}, TypeError, "The seed is '7'"),
    ({"seed": True}, TypeError, "The seed is True"),
    ({"seed": [1, 2]}, ValueError, "2 seeds were given for 3 tables"),
    ({"seed": [1, 2.0, 3]}, ValueError, "A seed is 2.0"),
    ({"seed": [1, 2, -3]}, ValueError, "A seed is -3"),
]


@pytest.mark.parametrize(("given", "error", "says"), BAD_SIZES)
def test_seeds_and_sizes_are_checked(given: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        backalley.make_vec(GAMES[0].name, **{"num_envs": 3, **given})


def test_a_seed_for_each_table_and_many_threads() -> None:
    """Far more threads than tables cost nothing; a table without a seed keeps its stream."""
    batch = backalley.make_vec(GAMES[0].name, num_envs=np.int64(3), seed=5, num_threads=1024)  # type: ignore[arg-type]
    before = batch.engine.batch.stream.copy()
    batch.seed([6, None, np.uint8(7)])  # type: ignore[list-item]
    after = batch.engine.batch.stream
    assert after[1] == before[1]
    assert after[0] == before[1]
    assert after[2] == before[2]
    batch.reset(streams=[1, 2, 3])  # type: ignore[arg-type]
    for bad in ([1.0, 2.0, 3.0], [True, False, True]):
        with pytest.raises(ValueError, match="tream"):
            batch.reset(streams=bad)  # type: ignore[arg-type]


def test_actions_are_read_for_rows_of_any_kind() -> None:
    batch = backalley.make_vec(GAMES[0].name, num_envs=3)
    assert batch.actions([1, 0, 99]).tolist() == [1, 0, 99]
    assert batch.actions((0, 1), [2, 0]).dtype == np.int64


def from_another_thread(calls: dict[str, Callable[[], Any]]) -> list[str]:
    """Which of the calls, made in a thread of their own, are refused because of this one."""
    refused = []

    def ask() -> None:
        for name, call in calls.items():
            try:
                call()
            except RuntimeError as error:
                busy = "Another thread is in the middle of a call on these tables" in str(error)
                refused.append(name if busy else str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return refused


def meddle(engine: Any, batch_kernel: str, calls: dict[str, Callable[[], Any]]) -> list[str]:
    """Make those calls in another thread while `engine` plays; the list fills with those that are refused."""
    refused: list[str] = []
    play = getattr(engine, batch_kernel)

    def meddled(*given: Any, **named: Any) -> Any:
        refused.extend(from_another_thread(calls))
        return play(*given, **named)

    setattr(engine, batch_kernel, meddled)
    return refused


@pytest.mark.parametrize("events", [False, True])
def test_one_thread_at_a_time_plays_a_batch(events: bool) -> None:
    batch, twin = (BatchEnv(GAMES[0], 4, seed=0, events=events) for _ in range(2))
    legal = batch.reset().action_mask.argmax(1)
    twin.reset()
    held, saved = batch.states([0]), batch.save([0])
    calls: dict[str, Callable[[], Any]] = {
        "step": lambda: batch.step(legal),
        "restart": lambda: batch.restart([0]),
        "reset": lambda: batch.reset(seed=1),
        "forfeit": lambda: batch.forfeit([0]),
        "observe": lambda: batch.observe([0] * 4),
        "play_random": lambda: batch.play_random(1),
        "play_bot": lambda: batch.play_bot(1),
        "seed": lambda: batch.seed(3),
        "use_buffers": lambda: batch.use_buffers({}),
        "refresh": batch.refresh,
        "states": lambda: batch.states([0]),
        "set_states": lambda: batch.set_states(held, [0]),
        "determinize": lambda: batch.determinize([1], [0]),
        "copy_rows": lambda: batch.copy_rows([0], [1]),
        "save": lambda: batch.save([0]),
        "load": lambda: batch.load([0], saved),
        "events": batch.events,
        "information_state_tensor": batch.information_state_tensor,
        "information_state_string": batch.information_state_string,
        "state_tensor": batch.state_tensor,
        "position": batch.position,
        "refusal": lambda: batch.refusal(0, 0),
        "random_legal": lambda: batch.random_legal(0),
        "close": batch.close,
    }
    own = [vars(one) for one in BatchEnv.__mro__ if one.__module__.startswith("backalley.")]
    public = {name for one in own for name, value in one.items() if callable(value) and not name.startswith("_")}
    assert set(calls) == public - {"actions", "for_kernels", "advise_other_ways"}  # which look at no table
    with_events = {"events", "information_state_tensor", "information_state_string"}
    for name in {"play_random", "play_bot", "set_states"} if events else with_events:
        del calls[name]
    calls |= {"pickle": lambda: pickle.dumps(batch), "deepcopy": lambda: copy.deepcopy(batch)}
    refused = meddle(batch.engine, "step_rows", calls)
    step, other = batch.step(legal), twin.step(legal)
    assert refused == list(calls)
    assert all(np.array_equal(mine, its) for mine, its in zip(step, other, strict=True))
    del batch.engine.step_rows  # type: ignore[attr-defined]
    with pytest.raises(IllegalAction):
        batch.step(np.full(4, -1))
    assert from_another_thread(calls) == []  # one after another is fine


def test_one_thread_at_a_time_plays_a_table() -> None:
    env = AECEnv(GAMES[0], render_mode="ansi")
    env.reset(seed=0)
    kept, legal = env.snapshot(), int(env.engine.batch.mask[0].argmax())
    calls: dict[str, Callable[[], Any]] = {
        "step": lambda: env.step(legal),
        "reset": env.reset,
        "observe": lambda: env.observe("player_0"),
        "last": env.last,
        "state": env.state,
        "snapshot": env.snapshot,
        "restore": lambda: env.restore(kept),
        "render": env.render,
        "refresh": env.refresh,
        "position": env.position,
        "refusal": lambda: env.refusal(0, 0),
        "random_legal": lambda: env.random_legal(0),
        "pickle": lambda: pickle.dumps(env),
    }
    refused = meddle(env.engine, "play_one", calls)
    env.step(legal)
    assert refused == list(calls)
    assert env.engine.batch.decisions[0] == 1


def test_tables_have_to_be_dealt_first() -> None:
    batch = backalley.make_vec(GAMES[0].name, num_envs=3)
    for ask in (lambda: batch.step([0, 0, 0]), lambda: batch.observe([0, 0, 0]), lambda: batch.forfeit([0])):
        with pytest.raises(RuntimeError, match=r"Table 0 has not been dealt; call reset\(\)"):
            ask()
    batch.restart([0, 2])
    with pytest.raises(RuntimeError, match="Table 1 has not been dealt"):
        batch.observe([0, 0, 0])
    batch.observe([0, 0], rows=[2, 0])


def test_finished_tables_take_no_action_until_they_are_restarted() -> None:
    batch = backalley.make_vec(GAMES[0].name, num_envs=2, seed=1, autoreset=False)
    step, random = batch.reset(), np.random.default_rng(1)
    rows = np.arange(2)
    while len(rows):
        step = batch.step(random_actions(step.action_mask[rows], random), rows)
        rows = np.flatnonzero(step.seat >= 0)
    with pytest.raises(IllegalAction, match="Table 0: The game is over"):
        batch.step([0, 0])
    with pytest.raises(ValueError, match="Table 1: the game is over"):
        batch.forfeit([1])
    batch.observe([0, 0])
    step = batch.restart([1])
    assert step.seat[1] >= 0 > step.seat[0]
