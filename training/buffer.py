"""The rollout buffer: what every table saw and did, and advantages along each seat's own decisions.

SB3's own buffer takes the next row of a table for the next state of whoever acted, so a player would be bootstrapped
with the value of the opponent. Here a seat's next state is that seat's own next decision, and all it gains until then,
on whosever turn, is the reward of its last decision.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples

from backalley.envs.core.kernel import kernel

from .vec_env import CutOff, SeatsVecEnv

Critic = Callable[[torch.Tensor], torch.Tensor]


@kernel
def seat_advantages(
    seat: npt.NDArray[np.int8],
    learned: npt.NDArray[np.bool_],
    ended: npt.NDArray[np.bool_],
    reward: npt.NDArray[np.float32],
    value: npt.NDArray[np.float32],
    last_value: npt.NDArray[np.float32],
    gamma: float,
    lam: float,
    advantage: npt.NDArray[np.float32],
) -> None:
    """Generalised advantage estimation (Schulman et al. 2016) along each seat's own decisions, for T steps of B tables
    with N seats.

    seat, learned, ended, value [T, B] tell who decided, whether as the learner, whether the episode ended there and
    what the critic said; reward [T, B, N] is what every seat gained by the step; last_value [B, N] each seat's value
    after the last step. Fills advantage [T, B], with 0 where the learner did not decide. `gamma` discounts per decision
    of one's own. What a seat gains before its first decision of an episode is nobody's doing and counts nowhere.
    """
    steps, tables = seat.shape
    seats = reward.shape[2]
    next_value, next_advantage, gained = np.empty(seats), np.empty(seats), np.empty(seats)
    for table in range(tables):
        for who in range(seats):
            next_value[who] = last_value[table, who]
            next_advantage[who] = 0.0
            gained[who] = 0.0
        for step in range(steps - 1, -1, -1):
            if ended[step, table]:
                next_value[:] = 0.0
                next_advantage[:] = 0.0
                gained[:] = 0.0
            for who in range(seats):
                gained[who] += float(reward[step, table, who])
            advantage[step, table] = 0.0
            if learned[step, table]:
                who = int(seat[step, table])
                now = float(value[step, table])
                found = gained[who] + gamma * next_value[who] - now + gamma * lam * next_advantage[who]
                advantage[step, table] = found
                next_value[who] = now
                next_advantage[who] = found
                gained[who] = 0.0


class SeatRolloutBuffer(MaskableRolloutBuffer):  # type: ignore[misc]
    """T steps of B tables. Observations keep their own type (bytes, mostly), masks are one byte an action, and nothing
    is copied to be shuffled. `source` and `critic` are bound by the trainer: as constructor arguments SB3 would pickle
    them, and follow a stale copy."""

    source: SeatsVecEnv
    critic: Critic
    reward_scale: float | None = None
    """Rewards are multiplied by this; None divides them by the spread of returns, so that the critic learns numbers
    around 1."""
    generator: np.random.Generator
    """Shuffles the samples; the trainer sets and saves it."""

    def reset(self) -> None:
        """Forget the rollout; the arrays are made once."""
        if not hasattr(self, "seat"):
            shape = (self.buffer_size, self.n_envs)
            self.mask_dims = int(self.action_space.n)
            self.observations = np.zeros((*shape, *self.obs_shape), self.observation_space.dtype)
            self.action_masks = np.zeros((*shape, self.mask_dims), np.bool_)
            self.actions = np.zeros(shape, np.int64)
            self.log_probs = np.zeros(shape, np.float32)
            self.all_values = np.zeros(shape, np.float32)
            self.all_advantages = np.zeros(shape, np.float32)
            self.seat = np.zeros(shape, np.int8)
            self.learned = np.zeros(shape, np.bool_)
            self.ended = np.zeros(shape, np.bool_)
            self.seat_reward = np.zeros((*shape, 1), np.float32)
        self.pos, self.full = 0, False
        self._cut_off: list[tuple[int, CutOff]] = []

    def add(
        self,
        obs: npt.NDArray[Any],
        action: npt.NDArray[Any],
        reward: npt.NDArray[Any],
        episode_start: npt.NDArray[Any],
        value: torch.Tensor,
        log_prob: torch.Tensor,
        *,
        action_masks: npt.NDArray[Any],
    ) -> None:
        """Keep one step; who acted and what every seat gained come from `source`, which has just played it."""
        step, source = self.pos, self.source
        if self.seat_reward.shape[2] != source.num_seats:
            self.seat_reward = np.zeros((self.buffer_size, self.n_envs, source.num_seats), np.float32)
        self.observations[step] = obs
        self.action_masks[step] = action_masks.reshape(self.n_envs, self.mask_dims)
        self.actions[step] = action.reshape(self.n_envs)
        self.all_values[step] = value.cpu().numpy().reshape(self.n_envs)
        self.log_probs[step] = log_prob.cpu().numpy()
        self.seat[step] = source.acted
        self.learned[step] = source.learned
        self.ended[step] = source.ended
        self.seat_reward[step] = source.reward
        if source.cut_off is not None:
            self._cut_off.append((step, source.cut_off))
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def compute_returns_and_advantage(self, last_values: torch.Tensor, dones: npt.NDArray[np.bool_]) -> None:
        """Advantages and returns of the learner's decisions, in units of `reward_scale`."""
        scale = 1 / self.source.return_spread() if self.reward_scale is None else self.reward_scale
        reward = self.seat_reward * np.float32(scale)
        for step, cut in self._cut_off:
            expected = self._values(cut.observation.reshape(-1, cut.observation.shape[2]))
            reward[step, cut.rows] += self.gamma * expected.reshape(len(cut.rows), -1)
        last = self._last_values(last_values.cpu().numpy().reshape(self.n_envs))
        args = (
            self.seat,
            self.learned,
            self.ended,
            reward,
            self.all_values,
            last,
            float(self.gamma),
            float(self.gae_lambda),
        )
        seat_advantages(*args, self.all_advantages)
        self.kept = np.flatnonzero(self.learned)
        self.values = self.all_values.reshape(-1)[self.kept]
        self.advantages = self.all_advantages.reshape(-1)[self.kept]
        self.returns = self.values + self.advantages

    def _last_values(self, of_acting: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Each seat's value after the last step [B, N]: that of the seat to act is known, the others' are asked for in
        one go."""
        source = self.source
        last = np.zeros((self.n_envs, source.num_seats), np.float32)
        acting = source.to_act().astype(np.int64)
        last[np.arange(self.n_envs), acting] = of_acting
        waiting = np.ones(last.shape, np.bool_)
        waiting[np.arange(self.n_envs), acting] = False
        rows, seats = np.nonzero(waiting)
        if len(rows):
            last[rows, seats] = self._values(source.observe(seats, rows))
        return last

    def _values(self, observation: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        with torch.no_grad():
            found: npt.NDArray[np.float32] = (
                self.critic(torch.from_numpy(observation).to(self.device)).cpu().numpy().reshape(-1)
            )
        return found

    def get(self, batch_size: int | None = None) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """The learner's decisions in random order, in batches of nearly one size around `batch_size`: no small last
        one."""
        assert self.full, "The rollout is not complete."
        order = self.generator.permutation(len(self.kept))
        count = max(1, round(len(order) / batch_size)) if batch_size else 1
        for part in np.array_split(order, count):
            yield self._samples(part)

    def _samples(self, part: npt.NDArray[np.int64]) -> MaskableRolloutBufferSamples:
        rows = self.kept[part]
        data = (
            self.observations.reshape(-1, *self.obs_shape)[rows],
            self.actions.reshape(-1)[rows],
            self.values[part],
            self.log_probs.reshape(-1)[rows],
            self.advantages[part],
            self.returns[part],
            self.action_masks.reshape(-1, self.mask_dims)[rows],
        )
        return MaskableRolloutBufferSamples(*(torch.from_numpy(array).to(self.device) for array in data))
