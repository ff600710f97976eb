"""The gradient of a minibatch, on any number of threads to the same bits.

A minibatch is cut into parts by its size alone. Each part goes through the network and back on one thread, and the
parts' gradients are added in their order. Backpropagation is written out: recording it for every part took as long
as a small network's arithmetic (*measured*), and a loss is a kernel that holds no interpreter lock.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F

from backalley.agents.policies.network import PolicyNetwork
from backalley.agents.policies.network_agent import one_thread
from backalley.envs.core.game.kernels import kernel

from .thread_pool import ThreadPool

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
