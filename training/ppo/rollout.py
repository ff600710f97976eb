"""A rollout: what every table saw and did, and advantages along each seat's own decisions.

A buffer for one agent takes a table's next row as the next state of the player that acted, so it would bootstrap a
player with the opponent's value. Here a seat's next state is that seat's own next decision, and the reward of a
decision is all that the seat gains until then, whoever is to act.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..config.config import PPO as Settings
from ..shared.gradients import Outputs, Part
from .advantages import seat_advantages
from .loss import LOGGED, ppo_loss
from .playing import Playing
from .seats import CutOff, SeatTables


class Rollout:
    """T steps of B tables. Observations keep their own type (mostly bytes), masks take one byte for each action, and
    shuffling copies nothing."""

    def __init__(self, tables: SeatTables, settings: Settings, generator: np.random.Generator) -> None:
        """`generator` shuffles the samples. A `reward_scale` of 0 divides rewards by the spread of returns, so that the
        critic learns numbers near 1."""
        self.tables, self.settings, self.generator = tables, settings, generator
        shape, game = (settings.steps, tables.num_envs), tables.game
        self.observations = np.zeros((*shape, game.observation_size), game.observation_base)
        self.action_masks = np.zeros((*shape, game.num_actions), np.bool_)
        self.actions = np.zeros(shape, np.int64)
        self.log_probs, self.all_values, self.all_advantages = (np.zeros(shape, np.float32) for _ in range(3))
        self.seat = np.zeros(shape, np.int8)
        self.learned, self.ended = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        self.seat_reward = np.zeros((*shape, tables.num_seats), np.float32)
        self.clear()

    def clear(self) -> None:
        """Drop the rollout; the arrays are used again."""
        self.pos = 0
        self._cut_off: list[tuple[int, CutOff]] = []

    def play(self, policy: Playing, keys: npt.NDArray[np.uint64], shown: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Keep what every table shows, and let the policy act where the learner is to act, and the league where it
        is; return the learner's actions [B]."""
        step, tables = self.pos, self.tables
        self.observations[step], self.action_masks[step] = shown, tables.action_masks()
        self.learned[step] = tables.learner_acts()
        policy.act(
            self.observations[step],
            self.action_masks[step],
            self.learned[step],
            keys,
            self.actions[step],
            self.log_probs[step],
            self.all_values[step],
            first=[lambda thread: tables.members_act()],
        )
        actions: npt.NDArray[np.int64] = self.actions[step]
        return actions

    def add_played(self) -> None:
        """Add what the tables have just played: who acted and what every seat gained."""
        step, tables = self.pos, self.tables
        self.seat[step], self.ended[step], self.seat_reward[step] = tables.acted, tables.ended, tables.reward
        if tables.cut_off is not None:
            self._cut_off.append((step, tables.cut_off))
        self.pos += 1

    def find_advantages(self, critic: Playing) -> None:
        """Compute advantages and returns of the learner's decisions, in units of `reward_scale`."""
        scale, gamma = self.settings.reward_scale or 1 / self.tables.return_spread(), self.settings.gamma
        reward = self.seat_reward * np.float32(scale)
        for step, cut in self._cut_off:
            expected = critic.values(cut.observation.reshape(-1, cut.observation.shape[2]))
            reward[step, cut.rows] += gamma * expected.reshape(len(cut.rows), -1)
        args = (
            self.seat,
            self.learned,
            self.ended,
            reward,
            self.all_values,
            self.last_values(critic),
            float(gamma),
            float(self.settings.gae_lambda),
        )
        seat_advantages(*args, self.all_advantages)
        self.kept = np.flatnonzero(self.learned)
        self.values = self.all_values.reshape(-1)[self.kept]
        self.advantages = self.all_advantages.reshape(-1)[self.kept]
        self.returns = self.values + self.advantages

    def last_values(self, critic: Playing) -> npt.NDArray[np.float32]:
        """Return each seat's value after the last step [B, N], by what that seat knows then."""
        count, seats = self.tables.num_envs, self.tables.num_seats
        rows, who = np.divmod(np.arange(count * seats), seats)
        return critic.values(self.tables.observe(who, rows)).reshape(count, -1)

    def minibatches(self, size: int) -> Iterator[npt.NDArray[np.int64]]:
        """Yield the numbers of the learner's decisions in random order, in minibatches of nearly equal size near
        `size`, with no small last one."""
        assert self.pos == self.settings.steps, "The rollout is not complete."
        order = self.generator.permutation(len(self.kept))
        yield from np.array_split(order, max(1, round(len(order) / size)))

    def part(
        self, numbers: npt.NDArray[np.int64], advantages: npt.NDArray[np.float32], weights: tuple[float, float, float]
    ) -> Part:
        """Return the observations of some of the learner's decisions, and their loss with these advantages; `weights`
        are clip range, entropy's and value's."""
        rows = self.kept[numbers]
        samples = (
            self.action_masks.reshape(-1, self.action_masks.shape[2])[rows],
            self.actions.reshape(-1)[rows],
            self.log_probs.reshape(-1)[rows],
            advantages,
            self.returns[numbers],
        )

        def loss(outputs: Outputs) -> npt.NDArray[np.float64]:
            sums = np.zeros(1 + len(LOGGED))
            ppo_loss(outputs, *samples, *weights, sums)
            return sums

        return torch.from_numpy(self.observations.reshape(-1, self.observations.shape[2]).take(rows, 0)), loss
