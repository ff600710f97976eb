"""PPO over all seats of many tables, and what a library for one agent would quietly get wrong there, each trap of it
with a test."""

from __future__ import annotations

import dataclasses
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from torch.nn import functional as F

from backalley.agents.base.agent import View
from backalley.agents.policies.network import BFLOAT16, FLOAT32, PolicyNetwork, masked
from backalley.envs.core.api.vector import BatchEnv
from backalley.examples import kuhn
from backalley.training.config import config
from backalley.training.ppo.kernels import LOGGED, ppo_loss, seat_advantages
from backalley.training.ppo.ppo import PPO
from backalley.training.ppo.seats import League, SeatTables
from backalley.training.ppo.vec_env import SeatsVecEnv
from backalley.training.rollouts.fitting import squared
from backalley.training.shared.learner import Gradients, Outputs, Part, ThreadPool

GAME = kuhn.GAME.bind()
TABLES, STEPS = 16, 12


SETTINGS = config.load(GAME).ppo._replace(
    steps=STEPS, batch_size=64, epochs=1, gamma=1.0, gae_lambda=0.9, learning_rate=3e-4, entropy=0.0, reward_scale=0.0
)


def model_of(
    tables: SeatTables, *, seed: int = 0, precision: str = FLOAT32, num_threads: int = 1, **settings: Any
) -> PPO:
    size: dict[str, Any] = {"width": 16, "layers": 2, "precision": precision, "num_threads": num_threads}
    return PPO(tables, SETTINGS._replace(**settings), seed=seed, **size)


def values_of(model: PPO, shown: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    with torch.no_grad():
        found: npt.NDArray[np.float32] = model.network(torch.from_numpy(shown))[1].numpy()
    return found


def test_masks_reach_the_policy_before_every_choice() -> None:
    """Trap 1: SB3 asks for masks by `get_attr` and `env_method`, before the step."""
    env = SeatsVecEnv(GAME, TABLES)
    env.reset()
    assert is_masking_supported(env)
    assert env.get_attr("render_mode") == [None] * TABLES
    masks = get_action_masks(env)
    assert masks.reshape(TABLES, -1).shape == (TABLES, GAME.num_actions)
    np.testing.assert_array_equal(masks.reshape(TABLES, -1), env.tables.time_step.action_mask)
    env.step(np.zeros(TABLES, np.int64))
    kept = masks.copy()
    env.step(np.ones(TABLES, np.int64))
    np.testing.assert_array_equal(
        masks, kept, "SB3 stores the masks after the step that follows them, so they must not be a view"
    )


def test_observations_outlive_the_next_step() -> None:
    """Trap 2: SB3 stores an observation after the step that follows it."""
    env = SeatsVecEnv(GAME, TABLES)
    shown = env.reset()
    kept = shown.copy()
    after = np.asarray(env.step(np.ones(TABLES, np.int64))[0])
    np.testing.assert_array_equal(shown, kept)
    assert not np.array_equal(after, kept)


def test_the_buffer_holds_what_was_seen_and_done() -> None:
    """Traps 1 to 3 together: a rollout replayed on tables of its own shows the same observations, masks, seats and
    rewards."""
    env = SeatsVecEnv(GAME, TABLES, seed=5)
    model = model_of(env, seed=5)
    model.start()
    streams = env.tables.engine.batch.stream
    replay = BatchEnv(GAME, TABLES, autoreset=True)
    decks = np.random.SeedSequence([0x6C6561726E, 5]).spawn(2)[0]
    time_step = replay.reset(streams=decks.generate_state(TABLES, np.uint64).astype(np.uint64))
    np.testing.assert_array_equal(replay.engine.batch.stream, streams)
    model.iterate()
    buffer = model.rollout
    for step in range(STEPS):
        np.testing.assert_array_equal(buffer.observations[step], time_step.observation)
        np.testing.assert_array_equal(buffer.action_masks[step], time_step.action_mask)
        np.testing.assert_array_equal(buffer.seat[step], time_step.seat)
        time_step = replay.step(buffer.actions[step])
        np.testing.assert_array_equal(buffer.seat_reward[step], time_step.reward)
        np.testing.assert_array_equal(buffer.ended[step], time_step.terminated)


def advantages_by_hand(
    seat: npt.NDArray[Any],
    learned: npt.NDArray[Any],
    ended: npt.NDArray[Any],
    reward: npt.NDArray[Any],
    value: npt.NDArray[Any],
    last_value: npt.NDArray[Any],
    gamma: float,
    lam: float,
) -> npt.NDArray[np.float64]:
    """Straight from the definition: a seat's decisions of one episode in order, each with its gains until the next, and
    the sum of discounted one-step errors."""
    steps, tables = seat.shape
    found = np.zeros((steps, tables))
    for table, who in itertools.product(range(tables), range(reward.shape[2])):
        first = 0
        bounds = [*(np.flatnonzero(ended[:, table]) + 1).tolist(), steps]
        for end in dict.fromkeys(bounds):
            mine = [step for step in range(first, end) if seat[step, table] == who and learned[step, table]]
            over = end > 0 and bool(ended[end - 1, table])
            closing = 0.0 if over else float(last_value[table, who])
            values = [float(value[step, table]) for step in mine] + [closing]
            gains = [reward[a:b, table, who].sum(dtype=np.float64) for a, b in zip(mine, [*mine, end][1:], strict=True)]
            errors = [gains[k] + gamma * values[k + 1] - values[k] for k in range(len(mine))]
            for k, step in enumerate(mine):
                found[step, table] = sum((gamma * lam) ** (j - k) * errors[j] for j in range(k, len(mine)))
            first = end
    return found


@pytest.mark.parametrize("seats", [1, 2, 4])
@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.9), (0.97, 0.8), (1.0, 1.0), (0.5, 0.0)])
def test_advantages_follow_each_seats_own_decisions(seats: int, gamma: float, lam: float) -> None:
    """Trap 3: whose value bootstraps whom, against the definition, on random logs with episodes of any length."""
    random = np.random.default_rng([seats, int(100 * gamma), int(100 * lam)])
    shape = (40, 9)
    seat = random.integers(0, seats, shape).astype(np.int8)
    learned, ended = random.random(shape) < 0.8, random.random(shape) < 0.15
    reward = random.normal(size=(*shape, seats)).astype(np.float32)
    value, last = random.normal(size=shape).astype(np.float32), random.normal(size=(shape[1], seats)).astype(np.float32)
    found = np.full(shape, np.nan, np.float32)
    seat_advantages(seat, learned, ended, reward, value, last, gamma, lam, found)
    np.testing.assert_allclose(
        found, advantages_by_hand(seat, learned, ended, reward, value, last, gamma, lam), rtol=2e-5, atol=2e-5
    )
    assert (found[~learned] == 0).all()


def test_one_thread_at_a_time_steps_the_seats() -> None:
    env, twin = SeatsVecEnv(GAME, TABLES, seed=1), SeatsVecEnv(GAME, TABLES, seed=1)
    env.reset()
    twin.reset()
    play, actions, said = env.tables.engine.step_rows, np.zeros(TABLES, np.int64), []

    def ask() -> None:
        for call in (env.reset, lambda: env.step(actions + 1), lambda: env.observe(actions, np.arange(TABLES))):
            try:
                call()
            except RuntimeError as error:
                said.append(str(error))

    def meddled(*given: Any, **named: Any) -> None:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        play(*given, **named)

    env.tables.engine.step_rows = meddled  # type: ignore[method-assign]
    for mine, its in zip(env.step(actions), twin.step(actions), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert len(said) == 3
    assert all("Another thread is in the middle of a call" in one for one in said)


def test_bytes_stay_bytes() -> None:
    """Trap 7: observations keep their own type in the buffer, and a mask takes one byte an action, not four."""
    model = model_of(SeatsVecEnv(GAME, TABLES))
    model.iterate()
    buffer = model.rollout
    assert buffer.observations.dtype == GAME.observation_base == np.uint8
    assert buffer.action_masks.nbytes == STEPS * TABLES * GAME.num_actions
    inputs, _ = buffer.part(np.arange(32), buffer.advantages[:32], (0.2, 0.0, 0.5), None)
    assert inputs.dtype == torch.uint8


def test_infos_are_one_reused_list_of_nothing() -> None:
    """Trap 9: SB3 walks `infos` at every step."""
    env = SeatsVecEnv(GAME, TABLES)
    env.reset()
    first, second = (env.step(np.ones(TABLES, np.int64))[3] for _ in range(2))
    assert first is second
    assert not any(first)


def test_masked_actions_get_no_probability() -> None:
    network = PolicyNetwork(np.ones(4), 5, width=8, layers=1)
    network.initialise(torch.Generator().manual_seed(0))
    mask = torch.tensor([[1, 0, 0, 1, 0]]).bool()
    with torch.no_grad():
        chances = torch.softmax(masked(network(torch.ones((1, 4), dtype=torch.uint8))[0], mask), 1)[0]
    assert (chances[~mask[0]] == 0).all()
    assert torch.allclose(chances[mask[0]], torch.tensor(0.5), atol=0.1), "weights start nearly uniform"


def test_bfloat16_and_float32_agree() -> None:
    """The faster arithmetic rounds, and does nothing else."""
    first, second = (PolicyNetwork(np.full(50, 9), 6, precision=kind) for kind in (FLOAT32, BFLOAT16))
    first.initialise(torch.Generator().manual_seed(1))
    second.load_state_dict(first.state_dict())
    observation = torch.randint(0, 10, (256, 50), dtype=torch.uint8)
    with torch.no_grad():
        for mine, its in zip(first(observation), second(observation), strict=True):
            assert torch.allclose(mine, its, atol=0.05)


def test_an_episode_cut_short_goes_on_in_the_critics_eyes() -> None:
    """A limit of decisions is no end of the game: what each seat still expects there counts, and the next episode does
    not."""
    short = dataclasses.replace(kuhn.GAME, max_decisions=lambda options: 1).bind()
    env = SeatsVecEnv(short, TABLES)
    model = model_of(env, learning_rate=0.0, gae_lambda=0.0)
    seen = []
    play = env.play

    def watch(actions: npt.NDArray[Any]) -> Any:
        played = play(actions)
        assert env.cut_off is not None
        np.testing.assert_array_equal(env.cut_off.rows, np.arange(TABLES))
        seen.append(env.cut_off.observation[:, 0])
        return played

    env.play = watch  # type: ignore[method-assign]
    model.iterate()
    buffer = model.rollout
    assert buffer.ended.all()
    assert (buffer.seat == 0).all()
    after = np.stack([values_of(model, shown) for shown in seen])
    np.testing.assert_allclose(buffer.all_advantages, after - buffer.all_values, atol=1e-5)


def test_league_decisions_are_no_samples() -> None:
    """Where a member sits, its own action is played, and neither its decisions nor its rewards are learned from."""
    agent = AlwaysBets()
    league = League([agent])
    env = SeatsVecEnv(GAME, TABLES, league=league, league_share=0.5)
    model = model_of(env)
    model.iterate()
    buffer = model.rollout
    others = ~buffer.learned
    assert others[:, : TABLES // 2].any()
    assert not others[:, TABLES // 2 :].any()
    np.testing.assert_array_equal(buffer.kept, np.flatnonzero(buffer.learned))
    assert sum(len(numbers) for numbers in buffer.minibatches(10)) == buffer.learned.sum()
    assert agent.asked == others.sum()
    # Kuhn's second observation field holds the bets in order: a member's decision shows as a bet, whatever the learner
    # proposed.
    for step, table in zip(*np.nonzero(others[:-1] & ~buffer.ended[:-1]), strict=True):
        bets = buffer.observations[step + 1, table, 3:].reshape(3, 2)
        assert bets[bets.any(axis=1).sum() - 1, 1] == 1
    assert league.members[0].games == (buffer.ended[:, : TABLES // 2]).sum()


class AlwaysBets:
    """A member who bets and calls."""

    name = "always bets"
    asked = 0

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """One bet a table."""
        self.asked += len(view)
        return np.ones(len(view), np.int64)


def test_batches_are_of_one_size_and_hold_every_sample_once() -> None:
    model = model_of(SeatsVecEnv(GAME, TABLES))
    model.iterate()
    parts = list(model.rollout.minibatches(50))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert sorted(np.concatenate(parts).tolist()) == list(range(TABLES * STEPS))


# Gradients, and the threads that work them out ------------------------------------------------------------------------

INPUTS, ACTIONS, ROWS = 23, 7, 500
CLIP, ENTROPY, VALUE = 0.2, 0.03, 0.4
Arrays = tuple[npt.NDArray[Any], ...]


def network(precision: str = FLOAT32) -> PolicyNetwork:
    bound = np.where(np.arange(INPUTS) % 3 == 0, 5.0, np.inf)
    made = PolicyNetwork(bound, ACTIONS, width=19, layers=2, precision=precision)
    made.initialise(torch.Generator().manual_seed(1))
    with torch.no_grad():
        made.head.weight[:-1].mul_(30)
    return made


def samples(name: str) -> Arrays:
    """Inputs and what the loss takes besides the outputs."""
    random = np.random.default_rng(7)
    inputs = random.integers(-3, 4, (ROWS, INPUTS)).astype(np.int8)
    legal = random.random((ROWS, ACTIONS)) < 0.6
    chosen = random.integers(ACTIONS, size=ROWS)
    legal[np.arange(ROWS), chosen] = True
    if name == "squared":
        return inputs, random.normal(size=legal.shape).astype(np.float32), legal.astype(np.float32)
    # Log-probabilities of about now, some of them far enough away to be clipped.
    with torch.no_grad():
        now = torch.log_softmax(masked(network()(torch.from_numpy(inputs))[0], torch.from_numpy(legal)), 1).numpy()
    old = now[np.arange(ROWS), chosen] + random.normal(0, 0.3, ROWS).astype(np.float32)
    gains, returns = random.normal(size=(2, ROWS)).astype(np.float32)
    return inputs, legal, chosen, old, gains, returns


def by_torch(name: str, outputs: tuple[torch.Tensor, torch.Tensor], given: list[torch.Tensor]) -> torch.Tensor:
    """The mean loss as the literature writes it."""
    logits, value = outputs
    if name == "squared":
        targets, weights = given
        return (weights * (logits - targets) ** 2).sum() / weights.sum()
    legal, chosen, old, gains, returns = given
    chances = torch.log_softmax(masked(logits, legal), 1)
    entropy = -(chances.exp() * chances).sum(1).mean()
    ratio = torch.exp(chances.gather(1, chosen[:, None])[:, 0] - old)
    gain = torch.min(ratio * gains, ratio.clamp(1 - CLIP, 1 + CLIP) * gains).mean()
    return -gain - ENTROPY * entropy + VALUE * F.mse_loss(value, returns)


def parts_of(name: str) -> Callable[[int, int], Part]:
    inputs, *given = samples(name)
    kernel: Any = {"squared": squared, "ppo": ppo_loss}[name]
    fixed = (CLIP, ENTROPY, VALUE) if name == "ppo" else ()

    def part(low: int, high: int) -> Part:
        def loss(outputs: Outputs) -> npt.NDArray[np.float64]:
            sums = np.zeros(1 + len(LOGGED) if name == "ppo" else 2)
            kernel(outputs, *(array[low:high] for array in given), *fixed, sums)
            return sums

        return torch.from_numpy(inputs[low:high]), loss

    return part


@pytest.mark.parametrize("name", ["squared", "ppo"])
def test_gradients_are_those_of_autograd(name: str) -> None:
    mine, theirs, (inputs, *given) = network(), network(), samples(name)
    sums = Gradients(mine, ThreadPool(1)).write(ROWS, parts_of(name))
    loss = by_torch(name, theirs(torch.from_numpy(inputs)), [torch.from_numpy(array) for array in given])
    loss.backward()
    for parameter, expected in zip(mine.parameters(), theirs.parameters(), strict=True):
        assert parameter.grad is not None
        assert expected.grad is not None
        assert expected.grad.abs().max() > 1e-3
        torch.testing.assert_close(parameter.grad, expected.grad, rtol=1e-4, atol=1e-5)
    if name == "ppo":
        weight, gain, missed, entropy, divergence, clipped = sums
        assert (gain + ENTROPY * entropy + VALUE * missed) / weight == pytest.approx(loss.item(), rel=1e-4)
        assert divergence > 0
        assert 0.1 < clipped / weight < 0.9
    else:
        assert sums[1] / sums[0] == pytest.approx(loss.item(), rel=1e-4)


# Threads --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_threads_run_than_there_are(threads: int) -> None:
    """The caller's is one of them, and prepared tasks leave what is shared its turn."""
    pool, lock = ThreadPool(threads), threading.Lock()
    running, most, seen, done = set[int](), 0, set[int](), list[str]()

    def task(name: str) -> Callable[[int], None]:
        def work(thread: int) -> None:
            nonlocal most
            with lock:
                assert thread not in running
                running.add(thread)
                seen.add(thread)
                most = max(most, len(running))
            time.sleep(0.002)
            with lock:
                running.remove(thread)
                done.append(name)

        return work

    pool.prepare([task("prepared")] * 20)
    for _ in range(3):
        pool.share([task("shared")] * 7)
    pool.finish()
    assert sorted(done) == ["prepared"] * 20 + ["shared"] * 21
    assert most <= threads
    assert seen <= set(range(threads))
    assert 0 in seen
    if threads == 1:
        assert done[:21] == ["shared"] * 21, "what is prepared waits until it is asked for"
    pool.close()
    pool.share([task("again")])
    assert done[-1] == "again"
    pool.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_task_raises_reaches_the_caller(threads: int) -> None:
    pool = ThreadPool(threads)

    def fail(thread: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        pool.share([fail] * 3)
    pool.prepare([fail])
    with pytest.raises(ZeroDivisionError):
        pool.finish()
    pool.share([lambda thread: None] * 3)
    pool.close()
