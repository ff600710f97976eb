"""The trainer's policy: the agents' network in the form that `MaskablePPO` needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from backalley.agents.policies.inference import Net, drawn, drawn_rows, forward, net_of, own_room
from backalley.agents.policies.network import FLOAT32, LOG_ZERO, PolicyNetwork, masked, weights_of
from backalley.envs.core.game.kernels import kernel
from backalley.envs.core.rules import rng

from ..shared.thread_pool import Task, ThreadPool

_FEWEST_ROWS = 16
"""Rows that a thread plays at once."""


@kernel
def next_keys(stream: np.uint64, out: npt.NDArray[np.uint64]) -> np.uint64:
    """Write the next keys of a stream, one per row; return the advanced stream."""
    for k in range(out.shape[0]):
        stream = rng.advance(stream)
        out[k] = rng.mix(stream)
    return stream


@kernel
def play_rows(
    net: Net,
    shown: npt.NDArray[Any],
    mask: npt.NDArray[np.bool_],
    wanted: npt.NDArray[np.bool_],
    keys: npt.NDArray[np.uint64],
    actions: npt.NDArray[np.int64],
    log_probs: npt.NDArray[np.float32],
    values: npt.NDArray[np.float32],
) -> None:
    """Draw an action for each row that is `wanted`, by its key, and write it with its log-probability and the value of
    the observation."""
    legal = mask.view(np.int8)
    for row in range(wanted.shape[0]):
        if wanted[row]:
            outputs = forward(net, shown[row])
            action = drawn(outputs, legal[row], keys[row])
            highest, total = float(outputs[action]), 0.0
            for one in range(legal.shape[1]):
                if legal[row, one]:
                    total += math.exp(float(outputs[one]) - highest)
            actions[row], log_probs[row], values[row] = action, -math.log(total), outputs[legal.shape[1]]


@kernel
def value_rows(net: Net, shown: npt.NDArray[Any], values: npt.NDArray[np.float32]) -> None:
    """Write the value of each observation."""
    for row in range(values.shape[0]):
        outputs = forward(net, shown[row])
        values[row] = outputs[outputs.shape[0] - 1]


class Playing:
    """A network as it plays during one rollout: compiled, in single precision, on every thread of a pool."""

    def __init__(self, network: PolicyNetwork, pool: ThreadPool) -> None:
        bound = 1 / network.scale.cpu().numpy().astype(np.float64)
        net = net_of(weights_of(network), bound, greedy=False, value=True)
        self._pool, self._nets = pool, [own_room(net) for _ in range(pool.num_threads)]

    def act(
        self,
        shown: npt.NDArray[Any],
        mask: npt.NDArray[np.bool_],
        wanted: npt.NDArray[np.bool_],
        keys: npt.NDArray[np.uint64],
        actions: npt.NDArray[np.int64],
        log_probs: npt.NDArray[np.float32],
        values: npt.NDArray[np.float32],
        first: Sequence[Task] = (),
    ) -> None:
        """Play as `play_rows` does, after the tasks `first`."""

        def work(thread: int, low: int, high: int) -> None:
            rows = slice(low, high)
            drawn_by, written = keys[rows], (actions[rows], log_probs[rows], values[rows])
            play_rows(self._nets[thread], shown[rows], mask[rows], wanted[rows], drawn_by, *written)

        self._pool.share_rows(len(shown), _FEWEST_ROWS, work, first)

    def values(self, shown: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the values of observations [n, O]."""
        found = np.empty(len(shown), np.float32)
        self._pool.share_rows(
            len(shown),
            _FEWEST_ROWS,
            lambda thread, low, high: value_rows(self._nets[thread], shown[low:high], found[low:high]),
        )
        return found


class TrunkPolicy(MaskableActorCriticPolicy):  # type: ignore[misc]
    """One trunk for policy and value, with its own masked log-softmax and matrices in `precision`.

    `stream` draws the actions: a number, so a checkpoint can save it, and it is the same on every device.
    """

    def __init__(
        self,
        observation_space: gymnasium.spaces.Box,
        action_space: gymnasium.spaces.Discrete[Any],
        lr_schedule: Any,
        *,
        width: int = 256,
        layers: int = 2,
        precision: str = FLOAT32,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        """`seed` draws the initial weights and the actions. SB3's other arguments go to its own class."""
        self._network_size: dict[str, Any] = {"width": width, "layers": layers, "precision": precision}
        self._seed = seed
        self.stream = rng.stream_of(seed)
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def _build(self, lr_schedule: Any) -> None:
        space = self.observation_space
        bound = np.maximum(np.abs(space.low.astype(np.float64)), np.abs(space.high.astype(np.float64)))
        self.network = PolicyNetwork(bound, int(self.action_space.n), **self._network_size)
        self.network.initialise(torch.Generator().manual_seed(self._seed))
        self.optimizer = self.optimizer_class(self.network.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        own = self._network_size | {"seed": self._seed}
        kept: dict[str, Any] = super()._get_constructor_parameters()
        return kept | own

    def _logits(self, observation: torch.Tensor, action_masks: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits [n, A], with LOG_ZERO for illegal actions, and values [n, 1]."""
        logits, value = self.network(observation)
        if action_masks is not None:
            logits = masked(logits, torch.as_tensor(action_masks, device=logits.device).reshape(logits.shape).bool())
        return logits, value.unsqueeze(1)

    def _choose(self, chances: torch.Tensor, deterministic: bool) -> torch.Tensor:
        """An action per row of log-probabilities [n, A], drawn from the stream; never one of LOG_ZERO."""
        if deterministic:
            return chances.argmax(1)
        rows = chances.detach().cpu().numpy()
        keys, actions = self.keys(len(rows)), np.empty(len(rows), np.int64)
        drawn_rows(rows, (rows > LOG_ZERO / 2).view(np.int8), keys, actions)
        return torch.from_numpy(actions).to(chances.device)

    def keys(self, count: int) -> npt.NDArray[np.uint64]:
        """Return the stream's next keys [count]."""
        keys = np.empty(count, np.uint64)
        self.stream = np.uint64(next_keys(self.stream, keys))  # compiled code returns a Python int
        return keys

    def forward(
        self, obs: torch.Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return actions [n], values [n, 1] and the actions' log-probabilities [n]."""
        logits, values = self._logits(obs, action_masks)
        chances = torch.log_softmax(logits, 1)
        actions = self._choose(chances, deterministic)
        return actions, values, chances.gather(1, actions.unsqueeze(1)).squeeze(1)

    def evaluate_actions(
        self, obs: torch.Tensor, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return values [n, 1], log-probabilities of `actions` [n] and the entropy over legal actions [n]."""
        logits, values = self._logits(obs, action_masks)
        chances = torch.log_softmax(logits, 1)
        entropy = -(torch.softmax(logits, 1) * chances).sum(
            1
        )  # exp(chances) would take ten times as long at LOG_ZERO (*measured*)
        return values, chances.gather(1, actions.unsqueeze(1)).squeeze(1), entropy

    def predict_values(self, obs: torch.Tensor) -> torch.Tensor:
        """Values [n, 1]."""
        values: torch.Tensor = self.network(obs)[1].unsqueeze(1)
        return values

    def _predict(
        self, observation: torch.Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> torch.Tensor:
        return self._choose(torch.log_softmax(self._logits(observation, action_masks)[0], 1), deterministic)

    def get_distribution(self, obs: torch.Tensor, action_masks: Any = None) -> Any:
        """Return SB3's distribution object with the same probabilities."""
        return self.action_dist.proba_distribution(action_logits=self._logits(obs, action_masks)[0])
