"""The network of every learned policy: one shared trunk, and a head with action logits and a value. It is in agents,
not in training, because playing a trained policy needs nothing of the trainer.

And players that torch computes: networks in training, and models of other libraries. Equal views get equal actions,
whatever else is in the batch: rows go through the network in blocks of one size (matrix products of different heights
may round differently), and each row draws its action by its own key.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional as F

from backalley.console.errors import InvalidValue

from ..base.action_probabilities import Probabilities
from ..base.agent import DirectAgent
from .inference import chances_of_rows, drawn_rows, scale_of

LOG_ZERO = -1e9
"""Logit of an illegal action: its probability is exactly 0, and `0 * LOG_ZERO` is 0 where minus infinity would give
NaN."""

FLOAT32, BFLOAT16 = "float32", "bfloat16"


def best_precision(device: torch.device) -> str:
    """Return `"bfloat16"` where the processor multiplies it in hardware (there it is twice as fast, *measured*), else
    `"float32"`."""
    if device.type == "cuda":
        return BFLOAT16 if torch.cuda.is_bf16_supported() else FLOAT32
    # torch names these checks with an underscore and offers no other; other versions without them compute in float32.
    checks = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return BFLOAT16 if device.type == "cpu" and any(check is not None and check() for check in checks) else FLOAT32


class PolicyNetwork(nn.Module):
    """Observations [n, O] to logits [n, A] and values [n], both float32.

    The trunk is `layers` fully connected layers of `width` units with ReLU. Every number of the observation is divided
    by its declared bound, so the network sees -1..1; the division is folded into the first layer's weights. `precision`
    is the number format of matrix products; the weights themselves are float32.
    """

    scale: torch.Tensor

    def __init__(
        self, bound: npt.NDArray[Any], num_actions: int, *, width: int = 256, layers: int = 2, precision: str = FLOAT32
    ) -> None:
        """`bound` [O]: the greatest absolute value of each number of the observation; a number without a bound is not
        scaled."""
        super().__init__()
        bound = np.asarray(bound, np.float64)
        self.register_buffer("scale", torch.from_numpy(scale_of(bound)))
        sizes = [len(bound)] + [width] * layers
        self.trunk = nn.ModuleList(nn.Linear(*pair) for pair in itertools.pairwise(sizes))
        self.head = nn.Linear(width, num_actions + 1)
        """The last output is the value: one matrix product instead of two."""
        self.width, self.layers, self.num_actions, self.precision = width, layers, num_actions, precision

    def initialise(self, generator: torch.Generator) -> None:
        """PPO's usual initialisation: orthogonal weights (gain sqrt 2 for the trunk, 1 for the value, 0.01 for the
        policy, so that play begins nearly uniform) and no bias."""
        for layer in self.trunk:
            assert isinstance(layer, nn.Linear)
            nn.init.orthogonal_(layer.weight, 2**0.5, generator=generator)
            nn.init.zeros_(layer.bias)
        nn.init.orthogonal_(self.head.weight[: self.num_actions], 0.01, generator=generator)
        nn.init.orthogonal_(self.head.weight[self.num_actions :], 1.0, generator=generator)
        nn.init.zeros_(self.head.bias)

    @property
    def _kind(self) -> torch.dtype:
        return torch.bfloat16 if self.precision == BFLOAT16 else torch.float32

    def matrices(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Weights and biases, layer by layer, as they are multiplied."""
        layers = [*self.trunk, self.head]
        weights = [layer.weight * self.scale if number == 0 else layer.weight for number, layer in enumerate(layers)]
        return [
            (weight.to(self._kind), layer.bias.to(self._kind)) for weight, layer in zip(weights, layers, strict=True)
        ]

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits and values of observations of any number type."""
        *trunk, head = self.matrices()
        x = observation.to(self._kind)
        for weight, bias in trunk:
            x = F.relu(F.linear(x, weight, bias))
        out = F.linear(x, *head).float()
        return out[:, : self.num_actions], out[:, self.num_actions]


def weights_of(network: nn.Module) -> dict[str, npt.NDArray[Any]]:
    """Return the network's arrays by name, as copies on the processor."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}


def masked(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the logits [n, A] with LOG_ZERO where the bool `mask` is False: log-softmax makes it LOG_ZERO, softmax
    exactly 0."""
    return logits.masked_fill(~mask, LOG_ZERO)


# Players that torch computes ------------------------------------------------------------------------------------------

BLOCK = 64
"""Rows that go through the network at once; a shorter last block is filled up."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: for networks this small a second one costs more than it saves."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class NetworkAgent(DirectAgent):
    """Plays by a network: each action with its probability, or the most likely one if `greedy`."""

    def __init__(self, network: nn.Module, name: str, *, greedy: bool = False) -> None:
        self.network, self.name, self.greedy = network, name, greedy

    def log_probabilities(self, observation: npt.NDArray[Any], mask: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        """Return the log-probability of every action for each row [n, A]; about -1e9 for illegal ones. Rows do not
        affect each other."""
        short = -len(mask) % BLOCK if len(mask) else BLOCK
        shown = np.concatenate([observation, np.zeros((short, observation.shape[1]), observation.dtype)])
        legal = np.concatenate([mask, np.ones((short, mask.shape[1]), np.int8)])
        parts = [self._pass(shown[low : low + BLOCK], legal[low : low + BLOCK]) for low in range(0, len(legal), BLOCK)]
        return np.concatenate(parts)[: len(mask)]

    def _pass(self, observation: npt.NDArray[Any], mask: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        device = next(self.network.parameters()).device
        with torch.no_grad(), one_thread():
            logits, _ = self.network(torch.from_numpy(observation).to(device))
            chances = torch.log_softmax(masked(logits, torch.from_numpy(mask).to(device).bool()), 1)
        found: npt.NDArray[np.float32] = chances.cpu().numpy()
        return found

    def choose(
        self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Return one legal action for each row [n]. Raises ValueError for masks of another game."""
        chances = self._checked(observation, action_mask)
        if self.greedy:
            likeliest: npt.NDArray[np.int64] = chances.argmax(axis=1)
            return likeliest
        out = np.empty(len(action_mask), np.int64)
        drawn_rows(chances, action_mask, key, out)
        return out

    def probabilities(self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8]) -> Probabilities:
        """Return the network's probabilities [n, A]; if `greedy`, 1 for the most likely action."""
        out = np.zeros(action_mask.shape)
        chances_of_rows(self._checked(observation, action_mask), action_mask, self.greedy, out)
        return out

    def _checked(self, observation: npt.NDArray[Any], mask: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        """`log_probabilities`. Raises ValueError for masks of another game."""
        given, known = mask.shape[1], self.network.num_actions
        if given != known:
            raise InvalidValue(f"{self.name} was given masks of {given} actions; its game has {known}.")
        return self.log_probabilities(observation, mask)
