"""`MaskablePPO` with every seat learning: SB3's algorithm with our tables, buffer and policy, and averaged weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.utils import explained_variance
from stable_baselines3.common.vec_env import VecEnv

from backalley.agents.policies.network import PolicyNetwork
from backalley.console.errors import InvalidType, InvalidValue

from ..shared.averaging import follow
from ..shared.gradients import Gradients, Part
from ..shared.thread_pool import ThreadPool
from .buffer import SeatRolloutBuffer
from .loss import LOGGED
from .policy import Playing, TrunkPolicy
from .vec_env import SeatsVecEnv


class SelfPlayMaskablePPO(MaskablePPO):  # type: ignore[misc]
    """PPO over a `SeatsVecEnv`. `iterate()` is one rollout and one update; `learn()` works as in SB3.

    `average` is a network with the average of the weights after each update (`averaging.follow`).
    """

    _last_obs: Any
    policy: TrunkPolicy
    rollout_buffer: SeatRolloutBuffer

    def __init__(
        self,
        env: SeatsVecEnv,
        *,
        averaging: float = 8.0,
        reward_scale: float | None = None,
        num_threads: int = 1,
        **kwargs: Any,
    ) -> None:
        """The other keywords are MaskablePPO's, without `target_kl` and `clip_range_vf`. Any `num_threads` (0: every
        core) gives the same weights. Raises ValueError."""
        for name in ("target_kl", "clip_range_vf"):
            if kwargs.get(name) is not None:
                raise InvalidValue(f"{name} is {kwargs[name]!r}, and SelfPlayMaskablePPO does without; leave it out.")
        self.averaging, self.reward_scale, self.num_threads = averaging, reward_scale, num_threads
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
        self.pool = ThreadPool(self.num_threads)
        self._gradients = Gradients(network, self.pool)
        self._bind()

    def set_env(self, env: VecEnv, force_reset: bool = True) -> None:
        """Continue with other tables."""
        super().set_env(env, force_reset)
        self._bind()

    def _bind(self) -> None:
        """Bind the buffer to the present tables: passed as a constructor argument, the first ones would stay."""
        source = self.env.unwrapped
        if not isinstance(source, SeatsVecEnv):
            raise InvalidType(f"SelfPlayMaskablePPO learns on a SeatsVecEnv, and this is a {type(source).__name__}.")
        self.rollout_buffer.source = source
        self.rollout_buffer.reward_scale = self.reward_scale

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "pool", "_gradients"]

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        states, variables = super()._get_torch_save_params()
        return [*states, "average"], variables

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: SeatRolloutBuffer,
        n_rollout_steps: int,
        use_masking: bool = True,
    ) -> bool:
        """Play one rollout by the present weights, compiled; the league first chooses its members for it."""
        buffer, policy = rollout_buffer, Playing(self.policy.network, self.pool)
        buffer.source.begin_rollout()
        buffer.reset()
        callback.on_rollout_start()
        for _ in range(n_rollout_steps):
            actions = buffer.play(policy, self.policy.keys(env.num_envs), self._last_obs)
            self._last_obs, rewards, dones, infos = env.step(actions)
            buffer.add_played()
            self.num_timesteps += env.num_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return False
        buffer.find_advantages(policy)
        callback.on_rollout_end()
        return True

    def train(self) -> None:
        """Learn from the rollout, minibatch after minibatch; then update the average of the weights."""
        policy, buffer, optimizer = self.policy, self.rollout_buffer, self.policy.optimizer
        self._update_learning_rate(optimizer)
        weights = (self.clip_range(self._current_progress_remaining), self.ent_coef, self.vf_coef)
        logged = []
        for _ in range(self.n_epochs):
            for numbers in buffer.minibatches(self.batch_size):
                advantages = buffer.advantages[numbers]
                if self.normalize_advantage:
                    advantages = (advantages - advantages.mean()) / (advantages.std(ddof=1) + np.float32(1e-8))

                def part(low: int, high: int, numbers: Any = numbers, advantages: Any = advantages) -> Part:
                    return buffer.part(numbers[low:high], advantages[low:high], weights)

                sums = self._gradients.write(len(numbers), part)
                torch.nn.utils.clip_grad_norm_(policy.network.parameters(), self.max_grad_norm)
                optimizer.step()
                logged.append(sums[1:] / sums[0])
            self._n_updates += 1
        self.updates_averaged += 1
        follow(self.average, policy.network, self.updates_averaged, self.averaging)
        found = dict(zip(LOGGED, np.mean(logged, 0).tolist(), strict=True))
        loss = (
            found["policy_gradient_loss"] + self.ent_coef * found["entropy_loss"] + self.vf_coef * found["value_loss"]
        )
        for name, value in {**found, "loss": loss}.items():
            self.logger.record(f"train/{name}", value)
        self.logger.record("train/explained_variance", explained_variance(buffer.values, buffer.returns))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _update_info_buffer(self, infos: list[dict[str, Any]], dones: Any = None) -> None:
        """Do nothing: the tables count for themselves; SB3 would read one dict per table and step."""

    def iterate(self, callback: BaseCallback | None = None) -> None:
        """Play one rollout and make one update. Between two calls the whole state of the training is in weights,
        optimizer, tables and generators."""
        if self._last_obs is None:
            self.start()
        if callback is None:
            callback = CallbackList([])
            callback.init_callback(self)
        self.collect_rollouts(self.env, callback, self.rollout_buffer, self.n_steps)
        self.train()

    def close(self) -> None:
        """End the threads."""
        self.pool.close()
        self.env.close()

    def start(self, observation: Any = None) -> None:
        """Begin to play the tables, with new episodes or, after a restore, from the restored observations."""
        self._last_obs = self.env.reset() if observation is None else observation
        self._last_episode_starts = np.ones(self.n_envs, np.bool_)
