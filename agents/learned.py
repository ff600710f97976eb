"""Learned players: a trained network, loaded from disk or handed over by the trainer.

Two equal views get equal actions, whatever else is in the batch: rows go through the network in blocks of one size
(matrix products of different heights may round differently), and each row draws its action by its own key.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from backalley.envs.core import rng
from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game as game_of
from backalley.envs.core.kernel import kernel

from .base import DirectAgent
from .network import PolicyNetwork, masked
from .policy_file import PolicyFileError, game_of_policy, read_policy

BLOCK = 64
"""Rows that go through the network at once; a shorter last block is filled up."""
_DRAWS = 2**31


@kernel
def sample_rows(
    log_probability: npt.NDArray[np.float32],
    mask: npt.NDArray[np.int8],
    keys: npt.NDArray[np.uint64],
    out: npt.NDArray[np.int64],
) -> None:
    """`out[k]` becomes a legal action drawn by `keys[k]` with the probabilities of row k (inverse of the distribution
    function)."""
    for k in range(out.shape[0]):
        total = 0.0
        for action in range(mask.shape[1]):
            if mask[k, action]:
                total += math.exp(float(log_probability[k, action]))
        drawn = rng.below(keys[k], _DRAWS)[1]
        left = total * ((drawn + 0.5) / _DRAWS)
        for action in range(mask.shape[1]):
            if mask[k, action]:
                out[k] = action
                left -= math.exp(float(log_probability[k, action]))
                if left <= 0.0:
                    break


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread: for networks this small a second one costs more than it brings."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class NetworkAgent(DirectAgent):
    """Plays by a network: each action with the probability that the network gives it, or the likeliest one if `greedy`.

    `block=0` sends all rows through at once: faster where they are few, but how they round may then depend on how many
    they are.
    """

    def __init__(self, network: PolicyNetwork, name: str, *, greedy: bool = False, block: int = BLOCK) -> None:
        self.network, self.name, self.greedy, self.block = network, name, greedy, block

    def log_probabilities(self, observation: npt.NDArray[Any], mask: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        """The log-probability of every action for each row [n, A]; about -1e9 for illegal ones. Independent of the
        other rows."""
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
        device = self.network.scale.device
        with torch.no_grad(), one_thread():
            logits, _ = self.network(torch.from_numpy(observation).to(device))
            chances = torch.log_softmax(masked(logits, torch.from_numpy(mask).to(device).bool()), 1)
        found: npt.NDArray[np.float32] = chances.cpu().numpy()
        return found

    def choose(
        self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """One legal action for each row [n]. Raises ValueError in a sentence for masks of another game."""
        given, known = action_mask.shape[1], self.network.num_actions
        if given != known:
            raise ValueError(f"{self.name} was given masks of {given} actions; its game has {known}.")
        chances = self.log_probabilities(observation, action_mask)
        if self.greedy:
            likeliest: npt.NDArray[np.int64] = chances.argmax(axis=1)
            return likeliest
        out = np.empty(len(action_mask), np.int64)
        sample_rows(chances, action_mask, key, out)
        return out


class PolicyAgent(NetworkAgent):
    """A policy from disk. `metadata` is its JSON: what it plays and how it was made; `note` says where it was trained
    under other options than it is to play under."""

    def __init__(
        self, folder: str | Path, game: str | Game | GameType | None = None, *, greedy: bool | None = None
    ) -> None:
        """`folder` is a policy's folder or that of a whole training run; the game is the one it was trained for, under
        its options, and whether to be greedy is as the policy says, unless given.

        Raises PolicyFileError, UnknownGame or OptionError in a sentence.
        """
        if not isinstance(folder, (str, Path)):
            raise PolicyFileError(f"A policy is the path of a folder, and {folder!r} was given.")
        self.game = game_of_policy(Path(folder)) if game is None else game_of(game)
        network, self.metadata = read_policy(Path(folder), self.game)
        greedy = self.metadata["greedy"] if greedy is None else greedy
        super().__init__(network.freeze(), self.metadata["name"], greedy=greedy)
        self.identity = self.metadata["weights"]["sha256"]
        self.note = _note(self.metadata["options"], self.game.option_values)


def load_policy(
    folder: str | Path, game: str | Game | GameType | None = None, *, greedy: bool | None = None
) -> PolicyAgent:
    """The policy in a folder, ready to play: `policy.act(observation, action_mask)` in a loop of one's own, or as an
    agent wherever one is asked for.

    `folder` is a policy's folder or that of a whole training run. Game and options are those it was trained for unless
    given, and so is whether it takes its likeliest action or draws (`greedy`). Raises PolicyFileError, UnknownGame or
    OptionError in a sentence.
    """
    return PolicyAgent(folder, game, greedy=greedy)


def _note(trained: Mapping[str, Any], played: Mapping[str, Any]) -> str:
    """A sentence where a policy plays under other options than it was trained under; else nothing."""
    others = [option for option in played if trained.get(option) != played[option]]
    if not others:
        return ""
    then, now = (", ".join(f"{option}={options.get(option)}" for option in others) for options in (trained, played))
    return f"It was trained under {then}, and plays under {now} here."
