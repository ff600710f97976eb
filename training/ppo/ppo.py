"""PPO (Schulman et al. 2017) with illegal actions masked and every seat learning: play a rollout, find the advantages
along each seat's own decisions, learn from minibatches, average the weights.

Nothing else decides what is learned: the same seed gives the same weights on any number of threads. `trainer.py` makes
a phase of a run from it, with a league, checkpoints and a gate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from backalley.agents.policies.network import FLOAT32, PolicyNetwork
from backalley.agents.policies.policy_file import observation_bound

from ..config.config import PPO as Settings
from ..shared.averaging import follow
from ..shared.gradients import Gradients, Part
from ..shared.thread_pool import ThreadPool
from .loss import LOGGED
from .playing import Playing, next_keys, stream_of
from .rollout import Rollout
from .seats import SeatTables


class PPO:
    """One network that decides at every seat and learns from every decision of its own.

    `network` learns; `average` holds the average of its weights after each update (`averaging.follow`), which plays
    better; `decisions` counts those made on the tables. Between two calls of `iterate`, weights, optimizer, tables,
    `stream` and the rollout's generator are all that the next one depends on.
    """

    def __init__(
        self,
        tables: SeatTables,
        settings: Settings,
        *,
        seed: int = 0,
        width: int = 256,
        layers: int = 2,
        precision: str = FLOAT32,
        device: str | torch.device = "cpu",
        num_threads: int = 1,
    ) -> None:
        """`settings.tables` and `settings.symmetry` are those of `tables`, and not read. `seed` draws the first
        weights, the actions and the minibatches. `num_threads` (0: every core) changes nothing that is learned."""
        self.tables, self.settings = tables, settings
        first, samples = (int(word) for word in np.random.SeedSequence(seed).generate_state(2))
        bound, actions = observation_bound(tables.game), tables.game.num_actions
        self.network, self.average = (
            PolicyNetwork(bound, actions, width=width, layers=layers, precision=kind) for kind in (precision, FLOAT32)
        )
        self.network.initialise(torch.Generator().manual_seed(first))
        self.network.to(device)
        self.average.load_state_dict(self.network.state_dict())
        self.average.to(device)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=settings.learning_rate, eps=1e-5)
        self.stream = stream_of(first)
        """Draws the actions."""
        self.rollout = Rollout(tables, settings, np.random.default_rng(samples))
        self.pool = ThreadPool(num_threads)
        self._gradients = Gradients(self.network, self.pool)
        self.decisions = self.updates = self.updates_averaged = 0
        self.logged: dict[str, float] = {}
        """What the latest update came to, by name."""
        self._shown: npt.NDArray[Any] | None = None

    def start(self, observation: npt.NDArray[Any] | None = None) -> None:
        """Begin to play the tables: with new episodes, or from the observations [B, O] of restored ones."""
        self._shown = self.tables.reset() if observation is None else observation

    def learn(self, decisions: int) -> None:
        """Play and learn until at least so many decisions have been made, in all."""
        while self.decisions < decisions:
            self.iterate()

    def iterate(self) -> None:
        """Play one rollout by the present weights, and make one update."""
        if self._shown is None:
            self.start()
        self._play()
        self._update()

    def _play(self) -> None:
        rollout, playing, tables = self.rollout, Playing(self.network, self.pool), self.tables
        tables.begin_rollout()
        rollout.clear()
        for _ in range(self.settings.steps):
            keys = np.empty(tables.num_envs, np.uint64)
            self.stream = np.uint64(next_keys(self.stream, keys))  # compiled code returns a Python int
            assert self._shown is not None
            self._shown = tables.play(rollout.play(playing, keys, self._shown))
            rollout.add_played()
            self.decisions += tables.num_envs
        rollout.find_advantages(playing)

    def _update(self) -> None:
        """Learn from the rollout, minibatch after minibatch; then update the average of the weights."""
        settings, rollout, parameters = self.settings, self.rollout, self.network.parameters
        weights, found = (settings.clip, settings.entropy, settings.value_weight), []
        for _ in range(settings.epochs):
            for numbers in rollout.minibatches(settings.batch_size):
                advantages = rollout.advantages[numbers]
                advantages = (advantages - advantages.mean()) / (advantages.std(ddof=1) + np.float32(1e-8))

                def part(low: int, high: int, numbers: Any = numbers, advantages: Any = advantages) -> Part:
                    return rollout.part(numbers[low:high], advantages[low:high], weights)

                sums = self._gradients.write(len(numbers), part)
                torch.nn.utils.clip_grad_norm_(parameters(), settings.max_grad_norm)
                self.optimizer.step()
                found.append(sums[1:] / sums[0])
            self.updates += 1
        self.updates_averaged += 1
        follow(self.average, self.network, self.updates_averaged, settings.averaging)
        means = dict(zip(LOGGED, np.mean(found, 0).tolist(), strict=True))
        loss = means["policy_gradient_loss"] + settings.entropy * means["entropy_loss"]
        spread, missed = np.var(rollout.returns), np.var(rollout.returns - rollout.values)
        about = {
            "learning_rate": settings.learning_rate,
            "loss": loss + settings.value_weight * means["value_loss"],
            "explained_variance": float(1 - missed / spread) if spread else float("nan"),
            "n_updates": float(self.updates),
        }
        self.logged = {f"train/{name}": value for name, value in {**means, **about}.items()}

    def close(self) -> None:
        """End the threads."""
        self.pool.close()
        self.tables.close()
