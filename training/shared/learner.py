"""A network that learns from minibatches, on any number of threads to the same bits; its averaged weights, and its form
in a checkpoint.

The threads of a phase are as many as `num_threads` says, whatever runs on them: kernels and torch's operations run
without the interpreter lock. Which thread takes a task never matters: a task writes to rows or parts of its own, and
whoever adds these up does so in one order.

A minibatch is cut into parts by its size alone. Each part goes through the network and back on one thread, and the
parts' gradients are added in their order. Backpropagation is written out: recording it for every part took as long
as a small network's arithmetic (*measured*), and a loss is a kernel that holds no interpreter lock.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F
from torch.optim.adam import adam

from backalley.agents.policies.network import FLOAT32, PolicyNetwork, one_thread, weights_of
from backalley.envs.core.game.kernels import kernel
from backalley.envs.core.game.threads import threads_of

from .checkpoint import Arrays

# Threads --------------------------------------------------------------------------------------------------------------

Task = Callable[[int], Any]
"""Called with the number of the thread that runs it, from 0."""
_Done = queue.SimpleQueue[BaseException | None]
"""What became of each task of a batch."""
_END, _SHARED, _PREPARED = range(3)
"""The order in which threads take what waits for them."""


class ThreadPool:
    """`num_threads` threads (0: every core), of which the caller's is the first. `share` runs tasks at once; `prepare`
    gives tasks that the others take whenever nothing is shared, and `finish` completes them."""

    def __init__(self, num_threads: int) -> None:
        """Raises TypeError or ValueError in a sentence."""
        self.num_threads = threads_of(num_threads)
        self._forget()

    def _forget(self) -> None:
        self._waiting: queue.PriorityQueue[tuple[int, int, Task | None, _Done]] = queue.PriorityQueue()
        self._numbers, self._threads, self._process = itertools.count(), list[threading.Thread](), os.getpid()
        self._ahead, self._prepared = 0, _Done()
        """How many tasks are prepared, and what became of them."""

    def share(self, tasks: Sequence[Task]) -> None:
        """Run tasks on all threads and wait for them. Raises what one of them raises."""
        if self.num_threads == 1:
            for task in tasks:
                task(0)
            return
        self._start()
        done = _Done()
        self._put(_SHARED, tasks, done)
        self._complete(_SHARED, len(tasks), done)

    def share_rows(
        self, rows: int, least: int, work: Callable[[int, int, int], Any], first: Sequence[Task] = ()
    ) -> None:
        """Call `work(thread, low, high)` over even parts of the rows, each of at least about `least`, after the tasks
        `first`; wait for all."""
        parts = max(1, min(2 * self.num_threads if first else self.num_threads, rows // least))
        edges = np.linspace(0, rows, parts + 1).astype(int).tolist()
        self.share([*first, *(_part(work, low, high) for low, high in itertools.pairwise(edges))])

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Give the other threads tasks to run whenever nothing is shared."""
        self._start()
        self._put(_PREPARED, tasks, self._prepared)
        self._ahead += len(tasks)

    def finish(self) -> None:
        """Complete all prepared tasks, the caller's thread helping. Raises what one of them raises."""
        self._start()
        count, self._ahead = self._ahead, 0
        self._complete(_PREPARED, count, self._prepared)

    def close(self) -> None:
        """End the threads, dropping what is prepared; they start again when needed."""
        if self._process == os.getpid():
            for _ in self._threads:
                self._waiting.put((_END, next(self._numbers), None, _Done()))
            for thread in self._threads:
                thread.join()
        self._forget()

    def _start(self) -> None:
        if self._process != os.getpid():  # forked: the threads are the parent's, and what it had prepared
            self._forget()
        if not self._threads:
            self._threads = [
                threading.Thread(target=self._work, args=(number,), name=f"backalley-learn-{number}", daemon=True)
                for number in range(1, self.num_threads)
            ]
            for thread in self._threads:
                thread.start()

    def _put(self, when: int, tasks: Sequence[Task], done: _Done) -> None:
        for task in tasks:
            self._waiting.put((when, next(self._numbers), task, done))

    def _complete(self, when: int, count: int, done: _Done) -> None:
        """Help with what is to be taken at that time or earlier, and wait for so many tasks to be done."""
        with contextlib.suppress(queue.Empty):
            while (found := self._waiting.get_nowait())[0] <= when:
                self._run(0, *found[2:])
            self._waiting.put(found)
        failed = [error for error in (done.get() for _ in range(count)) if error is not None]
        if failed:
            raise failed[0]

    def _work(self, thread: int) -> None:
        waiting = self._waiting
        while (found := waiting.get())[2] is not None:
            self._run(thread, *found[2:])

    @staticmethod
    def _run(thread: int, task: Task | None, done: _Done) -> None:
        assert task is not None, "the caller's thread takes nothing once the others were asked to end"
        failure = None
        try:
            task(thread)
        except BaseException as error:
            failure = error
        done.put(failure)


def _part(work: Callable[[int, int, int], Any], low: int, high: int) -> Task:
    return lambda thread: work(thread, low, high)


# Learning -------------------------------------------------------------------------------------------------------------

PARTS = 16
"""The most parts of a minibatch: a constant, since sums of floats depend on it. More threads than this do not help."""
_FEWEST_ROWS = 64
"""Rows of a part: with fewer, Python's share of the time shows."""
_FEWEST_NUMBERS = 1 << 14
"""Numbers of a gradient that a thread adds up."""

Outputs = npt.NDArray[np.float32]
"""Of the network for some rows: the logits and the value [n, A + 1]."""
Part = tuple[torch.Tensor, Callable[[Outputs], npt.NDArray[np.float64]]]
"""The inputs of some rows [n, I], and their loss. The loss writes its derivative by every output over the outputs, and
returns sums over the rows: first their weight, by which the gradient is divided, then whatever is logged."""


@kernel
def add_parts(parts: npt.NDArray[np.float32], count: int, weight: float, low: int, high: int) -> None:
    """Add the gradients of the first `count` parts [parts, P] in their order, and divide them by their weight; write
    the numbers `low` to `high` of the result to the first."""
    factor = np.float32(1.0 / weight)
    for part in range(1, count):
        for number in range(low, high):
            parts[0, number] += parts[part, number]
    for number in range(low, high):
        parts[0, number] *= factor


class Gradients:
    """Writes the gradients of a network's parameters to their `grad`."""

    def __init__(self, network: PolicyNetwork, pool: ThreadPool) -> None:
        """The network has to be on its device already."""
        self.network, self._pool = network, pool
        self._parameters = [tensor for layer in (*network.trunk, network.head) for tensor in layer.parameters()]
        self._shapes = [parameter.shape for parameter in self._parameters]
        self._size = sum(shape.numel() for shape in self._shapes)
        self._on_processor = network.scale.device.type == "cpu"
        most = PARTS if self._on_processor else 1
        self._parts = torch.zeros((most, -(-self._size // 16) * 16), device=network.scale.device)
        self._views = [self._cut(part) for part in self._parts]

    def _cut(self, vector: torch.Tensor) -> list[torch.Tensor]:
        """A vector of all parameters, as weight and bias of each layer."""
        pieces = torch.split(vector[: self._size], [shape.numel() for shape in self._shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self._shapes, strict=True)]

    def write(self, rows: int, part: Callable[[int, int], Part]) -> npt.NDArray[np.float64]:
        """Write the gradient of the mean loss of a minibatch of `rows` rows; `part(low, high)` has inputs and loss of
        some of them, and is called on any thread. Return the loss's sums."""
        count = max(1, min(len(self._parts), rows // _FEWEST_ROWS))
        edges = np.linspace(0, rows, count + 1).astype(int).tolist()
        found: list[Any] = [None] * count
        with torch.no_grad(), one_thread():
            matrices = self.network.matrices()

            def work(number: int, thread: int) -> None:
                torch.set_num_threads(1)  # each thread has a setting of its own, besides that of the process
                inputs, loss = part(edges[number], edges[number + 1])
                with torch.no_grad():
                    found[number] = backpropagate(matrices, inputs, loss, self._views[number])

            self._pool.share([functools.partial(work, number) for number in range(count)])
            sums: npt.NDArray[np.float64] = sum(found[1:], found[0])
            weight = max(float(sums[0]), 1e-9)

            def add(thread: int, low: int, high: int) -> None:
                add_parts(self._parts.numpy(), count, weight, low, high)

            if self._on_processor:
                self._pool.share_rows(self._size, _FEWEST_NUMBERS, add)
            else:
                self._parts[0] /= weight
            self._views[0][0] *= self.network.scale  # the first layer sees its inputs divided by their bounds
        for parameter, view in zip(self._parameters, self._views[0], strict=True):
            parameter.grad = view
        return sums


def backpropagate(
    matrices: list[tuple[torch.Tensor, torch.Tensor]],
    inputs: torch.Tensor,
    loss: Callable[[Outputs], npt.NDArray[np.float64]],
    gradients: list[torch.Tensor],
) -> npt.NDArray[np.float64]:
    """Write the gradient of the sum of a loss over inputs [n, I] to `gradients`, weight and bias of each layer in turn;
    return the loss's sums. `matrices` are the weights and biases of each layer, as they are multiplied."""
    kind, device = matrices[0][0].dtype, matrices[0][0].device
    layers = [inputs.to(device=device, dtype=kind)]
    for weight, bias in matrices[:-1]:
        layers.append(F.relu(F.linear(layers[-1], weight, bias)))
    outputs = F.linear(layers[-1], *matrices[-1]).float().cpu()
    sums = loss(outputs.numpy())
    back = outputs.to(device=device, dtype=kind)
    for number in reversed(range(len(matrices))):
        weight_gradient, bias_gradient = gradients[2 * number : 2 * number + 2]
        if kind == torch.float32:
            torch.mm(back.T, layers[number], out=weight_gradient)
        else:
            weight_gradient.copy_(back.T @ layers[number])
        torch.sum(back, 0, dtype=torch.float32, out=bias_gradient)
        if number:
            back = torch.ops.aten.threshold_backward(back @ matrices[number][0], layers[number], 0)
    return sums


class Adam:
    """Adam (Kingma and Ba 2015), by torch's own function. The first `torch.optim.Adam` of a process imports torch's
    compiler, which takes a second (*measured*)."""

    def __init__(self, parameters: Iterable[torch.nn.Parameter], learning_rate: float, eps: float) -> None:
        self.parameters, self.learning_rate, self.eps = [*parameters], learning_rate, eps
        self.steps = [torch.tensor(0.0) for _ in self.parameters]
        self.means, self.squares = ([torch.zeros_like(each) for each in self.parameters] for _ in range(2))

    def zero_grad(self) -> None:
        """Forget the parameters' gradients."""
        for each in self.parameters:
            each.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Follow the parameters' gradients once."""
        gradients: list[Any] = [each.grad for each in self.parameters]  # one of each: they are paired by their places
        adam(
            [*self.parameters], gradients, self.means, self.squares, [], self.steps, lr=self.learning_rate, beta1=0.9,
            beta2=0.999, eps=self.eps, weight_decay=0.0, amsgrad=False, maximize=False,
        )  # fmt: skip

    def state(self, number: int) -> dict[str, torch.Tensor]:
        """Return what it remembers of a parameter, by its names in checkpoints."""
        return {"step": self.steps[number], "exp_avg": self.means[number], "exp_avg_sq": self.squares[number]}


def under(begin: str, arrays: Arrays) -> Arrays:
    """Return those whose names begin so, by the rest of their names."""
    return {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}


class Learner:
    """A network that learns, Adam, and the average of the network's weights, which plays better. If it rates actions
    by features, a critic of the same size, which reads the observation, is another learner beside it."""

    def __init__(
        self,
        bound: npt.NDArray[np.float64],
        num_actions: int,
        *,
        width: int,
        layers: int,
        seed: int,
        learning_rate: float,
        averaging: float,
        pool: ThreadPool,
        precision: str = FLOAT32,
        device: str | torch.device = "cpu",
        eps: float = 1e-8,
        critic: npt.NDArray[np.float64] | None = None,
    ) -> None:
        """`bound`, `width`, `layers` and `precision` are those of PolicyNetwork; `seed` draws the first weights;
        `learning_rate` and `eps` are Adam's; `averaging` as in `follow`; `critic` is the bound of a critic's inputs."""
        size: dict[str, Any] = {"width": width, "layers": layers, "precision": precision}
        adam: dict[str, Any] = {"learning_rate": learning_rate, "averaging": averaging, "eps": eps}
        self.critic: Learner | None = None
        if critic is not None:
            self.critic = Learner(critic, 0, **size, **adam, seed=seed, pool=pool, device=device)
        self.network, self.average = (PolicyNetwork(bound, num_actions, **size) for _ in range(2))
        self.network.initialise(torch.Generator().manual_seed(seed))
        self.average.load_state_dict(self.network.state_dict())
        self.network.to(device), self.average.to(device)
        self.adam = Adam(self.network.parameters(), learning_rate, eps)
        self.device, self.averaging, self.averaged = torch.device(device), averaging, 0
        """`averaged` counts the weights in the average."""
        self._gradients = Gradients(self.network, pool)

    def descend(
        self, rows: int, part: Callable[[int, int], Part], greatest_norm: float | None = None
    ) -> npt.NDArray[np.float64]:
        """Make a step of Adam on a minibatch, whose arguments are those of `Gradients.write`; return the loss's sums.
        Gradients are clipped to `greatest_norm`."""
        sums = self._gradients.write(rows, part)
        if greatest_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), greatest_norm)
        self.adam.step()
        return sums

    def follow(self) -> None:
        """Add the present weights to the average, with more weight on later ones: with `averaging` = e the t-th has
        weight (e + 1) / (t + e) when it is added, so that at any time about the last 1 / (e + 1) of the run counts; 0
        is the plain mean. There is no horizon, so a run does not depend on its budget. (Shamir and Zhang 2013,
        polynomial-decay averaging.)"""
        self.averaged += 1
        share = (self.averaging + 1) / (self.averaged + self.averaging)
        with torch.no_grad():
            for kept, new in zip(self.average.parameters(), self.network.parameters(), strict=True):
                kept.lerp_(new, share)

    def begin_from(self, weights: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from the arrays of a policy's network of the same shapes."""
        tensors = {name: torch.from_numpy(weights[name].copy()) for name, _ in self.network.named_parameters()}
        for network in (self.network, self.average):
            network.load_state_dict(tensors | {"scale": network.scale})

    def arrays(self) -> Arrays:
        """Return weights, their average and Adam's moments, by name."""
        kept: Arrays = {f"network.{name}": array for name, array in weights_of(self.network).items()}
        kept |= {f"average.{name}": array for name, array in weights_of(self.average).items()}
        for number, (name, _) in enumerate(self.network.named_parameters()):
            kept |= {f"adam.{name}.{key}": value.cpu().numpy() for key, value in self.adam.state(number).items()}
        critic = self.critic.arrays() if self.critic else {}
        return kept | {f"critic.{name}": array for name, array in critic.items()}

    def restore(self, arrays: Arrays, averaged: int) -> None:
        """Restore from `arrays` after so many averaged weights. Raises KeyError or RuntimeError where they do
        not fit."""
        for part, target in (("network", self.network), ("average", self.average)):
            target.load_state_dict({name: torch.from_numpy(arrays[f"{part}.{name}"]) for name in target.state_dict()})
        for number, (name, _) in enumerate(self.network.named_parameters()):
            for key, value in self.adam.state(number).items():
                value.copy_(torch.from_numpy(arrays[f"adam.{name}.{key}"]).view_as(value))
        self.averaged = averaged
        if self.critic:
            self.critic.restore(under("critic.", arrays), 0)
