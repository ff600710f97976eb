"""`MaskablePPO` with every seat learning: SB3's algorithm, bound to our tables, buffer and policy, with averaged
weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.vec_env import VecEnv

from backalley.agents.network import PolicyNetwork

from .buffer import SeatRolloutBuffer
from .policy import TrunkPolicy
from .vec_env import SeatsVecEnv
from .weights import follow


class SelfPlayMaskablePPO(MaskablePPO):  # type: ignore[misc]
    """PPO over a `SeatsVecEnv`. `iterate()` is one rollout and one update; `learn()` works as in SB3.

    `average` is a network whose weights are the average of those after each update (`weights.follow`).
    """

    policy: TrunkPolicy
    rollout_buffer: SeatRolloutBuffer

    def __init__(
        self, env: SeatsVecEnv, *, averaging: float = 8.0, reward_scale: float | None = None, **kwargs: Any
    ) -> None:
        """The keywords are MaskablePPO's."""
        self.averaging, self.reward_scale = averaging, reward_scale
        self.updates_averaged = 0
        kwargs = {"policy": TrunkPolicy, "rollout_buffer_class": SeatRolloutBuffer, "device": "cpu", "seed": 0} | kwargs
        super().__init__(env=env, **kwargs)

    def _setup_model(self) -> None:
        policy, samples = (int(word) for word in np.random.SeedSequence(self.seed).generate_state(2))
        self.policy_kwargs: dict[str, Any] = {"seed": policy, **self.policy_kwargs}
        super()._setup_model()
        self.rollout_buffer.generator = np.random.default_rng(samples)
        network = self.policy.network
        scale = 1 / network.scale.cpu().numpy().astype(np.float64)
        self.average = PolicyNetwork(scale, network.num_actions, width=network.width, layers=network.layers).to(
            self.device
        )
        self.average.load_state_dict(network.state_dict())
        self._bind()

    def set_env(self, env: VecEnv, force_reset: bool = True) -> None:
        """Go on with other tables."""
        super().set_env(env, force_reset)
        self._bind()

    def _bind(self) -> None:
        """Tie the buffer to the tables and the critic in use: handed over as constructor arguments it would keep the
        first ones."""
        source = self.env.unwrapped
        if not isinstance(source, SeatsVecEnv):
            raise TypeError(f"SelfPlayMaskablePPO learns on a SeatsVecEnv, and this is a {type(source).__name__}.")
        self.rollout_buffer.source = source
        self.rollout_buffer.critic = self.policy.predict_values
        self.rollout_buffer.reward_scale = self.reward_scale

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        states, variables = super()._get_torch_save_params()
        return [*states, "average"], variables

    def collect_rollouts(self, env: VecEnv, *args: Any, **kwargs: Any) -> bool:
        """One rollout; the league chooses anew whom it sends."""
        self.rollout_buffer.source.begin_rollout()
        self.policy.network.freeze()
        try:
            return bool(super().collect_rollouts(env, *args, **kwargs))
        finally:
            self.policy.network.freeze(False)

    def train(self) -> None:
        """One update of the weights, and of their average."""
        super().train()
        self.updates_averaged += 1
        follow(self.average, self.policy.network, self.updates_averaged, self.averaging)

    def _update_info_buffer(self, infos: list[dict[str, Any]], dones: Any = None) -> None:
        """The tables keep their own counts; SB3 would look into one dict per table and step."""

    def iterate(self, callback: BaseCallback | None = None) -> None:
        """One rollout and one update. Between two calls the whole state of the training is in weights, optimizer,
        tables and generators."""
        if self._last_obs is None:
            self.start()
        if callback is None:
            callback = CallbackList([])
            callback.init_callback(self)
        self.collect_rollouts(self.env, callback, self.rollout_buffer, self.n_steps)
        self.train()

    def start(self, observation: Any = None) -> None:
        """Take the tables into use, from new episodes or, after a restore, from the observations they stand at."""
        self._last_obs = self.env.reset() if observation is None else observation
        self._last_episode_starts = np.ones(self.n_envs, np.bool_)
