"""Players that torch computes: networks in training, and models of other libraries.

Equal views get equal actions, whatever else is in the batch: rows go through the network in blocks of one size (matrix
products of different heights may round differently), and each row draws its action by its own key.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from backalley.console.errors import InvalidValue

from ..base.action_probabilities import Probabilities
from ..base.agent import DirectAgent
from .inference import chances_of_rows, drawn_rows
from .network import masked

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
    """Plays by a network: each action with its probability, or the most likely one if `greedy`.

    `block=0` sends all rows through at once: faster for few rows, but the rounding may then depend on their number.
    """

    def __init__(self, network: nn.Module, name: str, *, greedy: bool = False, block: int = BLOCK) -> None:
        self.network, self.name, self.greedy, self.block = network, name, greedy, block

    def log_probabilities(self, observation: npt.NDArray[Any], mask: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        """Return the log-probability of every action for each row [n, A]; about -1e9 for illegal ones. Rows do not
        affect each other."""
        if not self.block or not len(mask):
            return self._pass(observation, mask)
        short = -len(mask) % self.block
        shown = np.concatenate([observation, np.zeros((short, observation.shape[1]), observation.dtype)])
        legal = np.concatenate([mask, np.ones((short, mask.shape[1]), np.int8)])
        parts = [
            self._pass(shown[low : low + self.block], legal[low : low + self.block])
            for low in range(0, len(legal), self.block)
        ]
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
