"""Learning on any number of threads: the gradients themselves, and the threads that work them out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch.nn import functional as F

from backalley.agents.policies.network import FLOAT32, PolicyNetwork, masked
from backalley.training.ppo.loss import LOGGED, ppo_loss
from backalley.training.rollouts.fitting import imitation, squared
from backalley.training.shared.gradients import Gradients, Outputs, Part
from backalley.training.shared.thread_pool import ThreadPool

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
    if name == "imitation":
        return inputs, np.eye(ACTIONS, dtype=np.float32)[chosen], legal.astype(np.float32)
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
    if name == "imitation":
        targets, legal = given
        return -(targets * torch.log_softmax(masked(logits, legal.bool()), 1)).sum(1).mean()
    legal, chosen, old, gains, returns = given
    chances = torch.log_softmax(masked(logits, legal), 1)
    entropy = -(chances.exp() * chances).sum(1).mean()
    ratio = torch.exp(chances.gather(1, chosen[:, None])[:, 0] - old)
    gain = torch.min(ratio * gains, ratio.clamp(1 - CLIP, 1 + CLIP) * gains).mean()
    return -gain - ENTROPY * entropy + VALUE * F.mse_loss(value, returns)


def parts_of(name: str) -> Callable[[int, int], Part]:
    inputs, *given = samples(name)
    kernel: Any = {"squared": squared, "imitation": imitation, "ppo": ppo_loss}[name]
    fixed = (CLIP, ENTROPY, VALUE) if name == "ppo" else ()

    def part(low: int, high: int) -> Part:
        def loss(outputs: Outputs) -> npt.NDArray[np.float64]:
            sums = np.zeros(1 + len(LOGGED) if name == "ppo" else 2)
            kernel(outputs, *(array[low:high] for array in given), *fixed, sums)
            return sums

        return torch.from_numpy(inputs[low:high]), loss

    return part


@pytest.mark.parametrize("name", ["squared", "imitation", "ppo"])
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
