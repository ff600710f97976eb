"""A network learned from labels: minibatches in parts of a fixed size, a thread each, whose gradients are added in one
order, so that the weights are the same on any number of cores; and the average of the weights so far."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from backalley.agents.network import PolicyNetwork
from backalley.envs.core.workers import cores

from .checkpoint import Arrays
from .weights import follow, learner_arrays, restore_learner

PARTS = 4
"""Parts of a minibatch: a constant, since sums of floats depend on it."""

Loss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""`loss(outputs, targets, weights)`: the sum over a part, and how much weight it has."""


def squared(outputs: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Weighted squared errors: outputs, targets and weights [n, A]."""
    return (weights * (outputs - targets) ** 2).sum(), weights.sum()


def imitation(outputs: torch.Tensor, targets: torch.Tensor, legal: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross-entropy of the legal actions [n, A] with the one whose target is 1."""
    logits = outputs.masked_fill(legal == 0, -1e9)
    return -(targets * torch.log_softmax(logits, 1)).sum(), torch.tensor(float(len(targets)))


class Fitting:
    """A network, its Adam, and its averaged weights."""

    def __init__(
        self,
        bound: npt.NDArray[np.float64],
        num_actions: int,
        *,
        width: int,
        layers: int,
        precision: str,
        learning_rate: float,
        averaging: float,
        seed: int,
        device: torch.device,
    ) -> None:
        """`averaging` as `weights.follow` takes it."""
        self.network = PolicyNetwork(bound, num_actions, width=width, layers=layers, precision=precision)
        self.network.initialise(torch.Generator().manual_seed(seed))
        self.average = PolicyNetwork(bound, num_actions, width=width, layers=layers, precision=precision)
        self.average.load_state_dict(self.network.state_dict())
        self.device = device
        self.network.to(self.device), self.average.to(self.device)
        self._parameters = list(self.network.parameters())
        self.adam = torch.optim.Adam(self._parameters, lr=learning_rate)
        self.averaging, self.updates = averaging, 0
        self._pool: ThreadPoolExecutor | None = None

    def learn(
        self, inputs: npt.NDArray[Any], targets: npt.NDArray[Any], weights: npt.NDArray[Any], loss: Loss
    ) -> float:
        """One step on a minibatch: inputs [n, I], targets and weights [n, A]. Gives the mean loss."""
        cuts = np.linspace(0, len(inputs), PARTS + 1).astype(int)
        shares = [[array[low:high] for array in (inputs, targets, weights)] for low, high in itertools.pairwise(cuts)]
        tensors = [[torch.from_numpy(array).to(self.device) for array in share] for share in shares]
        found = list(self._threads().map(lambda part: self._gradient(part, loss), tensors))
        total, weight = sum(part[0] for part in found), sum(part[1] for part in found)
        for number, parameter in enumerate(self._parameters):
            gradient = found[0][2][number]
            for _, _, more in found[1:]:
                gradient = gradient + more[number]
            parameter.grad = gradient / max(weight, 1e-9)
        self.adam.step()
        self.updates += 1
        follow(self.average, self.network, self.updates, self.averaging)
        return total / max(weight, 1e-9)

    def _gradient(self, part: Sequence[torch.Tensor], loss: Loss) -> tuple[float, float, Sequence[torch.Tensor]]:
        inputs, targets, weights = part
        total, weight = loss(self.network(inputs)[0], targets, weights)
        gradients = torch.autograd.grad(total, self._parameters)
        return float(total.detach()), float(weight), gradients

    def outputs(self, inputs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """What the averaged network says of inputs [n, I]: float32 [n, A]."""
        with torch.no_grad():
            found: npt.NDArray[np.float32] = self.average(torch.from_numpy(inputs).to(self.device))[0].cpu().numpy()
        return found

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(min(PARTS, cores()), thread_name_prefix="backalley-learn")
        return self._pool

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def arrays(self) -> Arrays:
        """All that what follows depends on, beside the number of updates."""
        return learner_arrays(self.network, self.average, self.adam)

    def restore(self, arrays: Arrays, updates: int) -> None:
        """Take up from `arrays()` after so many updates."""
        restore_learner(arrays, self.network, self.average, self.adam)
        self.updates = updates
