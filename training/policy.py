"""The trainer's policy: the agents' network in the form that `MaskablePPO` asks for."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

from backalley.agents.inference import drawn_rows
from backalley.agents.network import FLOAT32, LOG_ZERO, PolicyNetwork, masked
from backalley.envs.core import rng
from backalley.envs.core.kernel import kernel


@kernel
def next_keys(stream: np.uint64, out: npt.NDArray[np.uint64]) -> np.uint64:
    """The next keys of a stream, one per row; gives back the advanced stream."""
    for k in range(out.shape[0]):
        stream = rng.advance(stream)
        out[k] = rng.mix(stream)
    return stream


class TrunkPolicy(MaskableActorCriticPolicy):  # type: ignore[misc]
    """One trunk for policy and value, masked log-softmax written out, matrices in `precision`.

    `stream` draws the actions: a number, so a checkpoint can keep it, and the same on every device.
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
        """`seed` draws the first weights and the actions. What SB3 passes besides goes to its own class."""
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
        """Logits [n, A], those of illegal actions LOG_ZERO, and values [n, 1]."""
        logits, value = self.network(observation)
        if action_masks is not None:
            logits = masked(logits, torch.as_tensor(action_masks, device=logits.device).reshape(logits.shape).bool())
        return logits, value.unsqueeze(1)

    def _choose(self, chances: torch.Tensor, deterministic: bool) -> torch.Tensor:
        """An action per row of log-probabilities [n, A], drawn from the stream; never one of LOG_ZERO."""
        if deterministic:
            return chances.argmax(1)
        rows = chances.detach().cpu().numpy()
        keys, actions = np.empty(len(rows), np.uint64), np.empty(len(rows), np.int64)
        self.stream = np.uint64(next_keys(self.stream, keys))  # compiled code gives back a Python int
        drawn_rows(rows, (rows > LOG_ZERO / 2).view(np.int8), keys, actions)
        return torch.from_numpy(actions).to(chances.device)

    def forward(
        self, obs: torch.Tensor, deterministic: bool = False, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Actions [n], values [n, 1] and the actions' log-probabilities [n]."""
        logits, values = self._logits(obs, action_masks)
        chances = torch.log_softmax(logits, 1)
        actions = self._choose(chances, deterministic)
        return actions, values, chances.gather(1, actions.unsqueeze(1)).squeeze(1)

    def evaluate_actions(
        self, obs: torch.Tensor, actions: torch.Tensor, action_masks: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Values [n, 1], log-probabilities of `actions` [n] and the entropy over legal actions [n]."""
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
        """SB3's distribution object over the same probabilities."""
        return self.action_dist.proba_distribution(action_logits=self._logits(obs, action_masks)[0])
