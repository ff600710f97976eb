"""The rollout buffer: what every table saw and did, and advantages along each seat's own decisions.

SB3's own buffer takes a table's next row as the next state of the player that acted, so it would bootstrap a player
with the opponent's value. Here a seat's next state is that seat's own next decision, and the reward of a decision is
all that the seat gains until then, whoever is to act.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer

from ..shared.gradients import Outputs, Part
from .advantages import seat_advantages
from .loss import LOGGED, ppo_loss
from .policy import Playing
from .vec_env import CutOff, SeatsVecEnv


class SeatRolloutBuffer(MaskableRolloutBuffer):  # type: ignore[misc]
    """T steps of B tables. Observations keep their own type (mostly bytes), masks take one byte for each action, and
    shuffling copies nothing. The trainer binds `source`: SB3 would pickle constructor arguments, and then use a stale
    copy."""

    source: SeatsVecEnv
    reward_scale: float | None = None
    """Rewards are multiplied by this; None divides them by the spread of returns, so that the critic learns numbers
    near 1."""
    generator: np.random.Generator
    """Shuffles the samples; the trainer sets and saves it."""

    def reset(self) -> None:
        """Drop the rollout; the arrays are reused."""
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

    def play(self, policy: Playing, keys: npt.NDArray[np.uint64], shown: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Keep what every table shows, and let the policy act where the learner is to act, and the league where it
        is; return the learner's actions [B]."""
        step, source = self.pos, self.source
        self.observations[step], self.action_masks[step] = shown, source.action_masks()
        self.learned[step] = source.learner_acts()
        policy.act(
            self.observations[step],
            self.action_masks[step],
            self.learned[step],
            keys,
            self.actions[step],
            self.log_probs[step],
            self.all_values[step],
            first=[lambda thread: source.members_act()],
        )
        actions: npt.NDArray[np.int64] = self.actions[step]
        return actions

    def add_played(self) -> None:
        """Add what `source` has just played: who acted and what every seat gained."""
        step, source = self.pos, self.source
        if self.seat_reward.shape[2] != source.num_seats:
            self.seat_reward = np.zeros((self.buffer_size, self.n_envs, source.num_seats), np.float32)
        self.seat[step], self.ended[step], self.seat_reward[step] = source.acted, source.ended, source.reward
        if source.cut_off is not None:
            self._cut_off.append((step, source.cut_off))
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def find_advantages(self, critic: Playing) -> None:
        """Compute advantages and returns of the learner's decisions, in units of `reward_scale`."""
        scale = 1 / self.source.return_spread() if self.reward_scale is None else self.reward_scale
        reward = self.seat_reward * np.float32(scale)
        for step, cut in self._cut_off:
            expected = critic.values(cut.observation.reshape(-1, cut.observation.shape[2]))
            reward[step, cut.rows] += self.gamma * expected.reshape(len(cut.rows), -1)
        args = (
            self.seat,
            self.learned,
            self.ended,
            reward,
            self.all_values,
            self.last_values(critic),
            float(self.gamma),
            float(self.gae_lambda),
        )
        seat_advantages(*args, self.all_advantages)
        self.kept = np.flatnonzero(self.learned)
        self.values = self.all_values.reshape(-1)[self.kept]
        self.advantages = self.all_advantages.reshape(-1)[self.kept]
        self.returns = self.values + self.advantages

    def last_values(self, critic: Playing) -> npt.NDArray[np.float32]:
        """Return each seat's value after the last step [B, N], by what that seat knows then."""
        rows, seats = np.divmod(np.arange(self.n_envs * self.source.num_seats), self.source.num_seats)
        return critic.values(self.source.observe(seats, rows)).reshape(self.n_envs, -1)

    def minibatches(self, size: int) -> Iterator[npt.NDArray[np.int64]]:
        """Yield the numbers of the learner's decisions in random order, in minibatches of nearly equal size near
        `size`, with no small last one."""
        assert self.full, "The rollout is not complete."
        order = self.generator.permutation(len(self.kept))
        yield from np.array_split(order, max(1, round(len(order) / size)))

    def part(
        self, numbers: npt.NDArray[np.int64], advantages: npt.NDArray[np.float32], weights: tuple[float, float, float]
    ) -> Part:
        """Return the observations of some of the learner's decisions, and their loss with these advantages; `weights`
        are clip range, entropy's and value's."""
        rows = self.kept[numbers]
        samples = (
            self.action_masks.reshape(-1, self.mask_dims)[rows],
            self.actions.reshape(-1)[rows],
            self.log_probs.reshape(-1)[rows],
            advantages,
            self.returns[numbers],
        )

        def loss(outputs: Outputs) -> npt.NDArray[np.float64]:
            sums = np.zeros(1 + len(LOGGED))
            ppo_loss(outputs, *samples, *weights, sums)
            return sums

        return torch.from_numpy(self.observations.reshape(-1, *self.obs_shape).take(rows, 0)), loss
