"""The phase `mmd`: magnetic mirror descent in self-play (Sokota et al. 2023, arXiv 2206.05825, section 5), from random
weights. A step is one episode on every table, from which it learns `epochs` times in minibatches.

Where PPO clips, the policy pi is held by two divergences. With the advantages A under the policy so far pi_t, in units
of their root mean square in the step, an update maximises

    E[pi(a) / pi_t(a) * A(a)] - temperature * KL(pi, uniform) - KL(pi, pi_t) / step size

The first, to a magnet (uniform play over legal actions), makes the fixed point a quantal response equilibrium, which
self-play without it circles around; the second keeps the step small where the advantages were measured. Both weights
follow the paper's schedule for equilibria, 1 / sqrt(updates): the temperature falls, so the fixed point moves to an
equilibrium, and so does the step size. Nothing depends on a horizon. Both divergences are over all legal actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from backalley.agents.policies.inference import FeatureRows
from backalley.agents.policies.learned import inputs_bound
from backalley.agents.policies.network import masked, one_thread, weights_of
from backalley.agents.policies.policy_file import observation_bound, save_policy
from backalley.agents.policies.policy_kinds import network_player
from backalley.benchmarks.figures import stats
from backalley.envs.core.game.game import Game

from ..config.config import Config, MMDSettings, Objective
from ..ppo.kernels import seat_advantages
from ..shared.checkpoint import Arrays
from ..shared.learner import Learner, ThreadPool
from ..shared.phase import Phase, training_game


class Decisions(NamedTuple):
    """What was decided at the tables of a step."""

    shown: torch.Tensor
    """[n, O]"""
    legal: torch.Tensor
    """[n, A]"""
    log_probs: torch.Tensor
    """[n, A] of the policy that played."""
    action: torch.Tensor
    """[n, 1]"""
    advantage: torch.Tensor
    """[n]"""
    target: torch.Tensor
    """[n] what the critic is to say."""


class MMD(Phase):
    """Magnetic mirror descent in memory."""

    kind, algorithm = "mmd", "magnetic mirror descent, every seat learning, averaged weights"
    reads_features = True

    def __init__(self, game: Game, config: Config, **loop: Any) -> None:
        """Like any `Phase`; it plays and learns on one thread. Raises ConfigError where the training tables have
        another observation layout."""
        super().__init__(game, config, **loop)
        self.settings: MMDSettings = config.mmd
        plays, features = training_game(game, config), self.action_features(game, config)
        self.batch = plays.make_vec(self.settings.tables, seed=0, autoreset=False)
        self.entropy = self.seeds().generate_state(2).tolist()
        self.learner = Learner(
            inputs_bound(game, features, False),
            1 if features else game.num_actions,
            width=config.network.width,
            layers=config.network.layers,
            seed=self.entropy[0],
            learning_rate=self.settings.learning_rate,
            averaging=self.settings.averaging,
            pool=ThreadPool(1),
            eps=1e-5,
            critic=observation_bound(game) if features else None,
        )
        self.network, self.policy = self.learner.network, self.learner.average
        self.rated = FeatureRows(plays, features) if features else None
        """Reads the features of actions, if the network rates these."""
        self.moments = [0.0, 0.0, 0.0]
        self.logged = {"entropy": 0.0, "divergence": 0.0, "value_loss": 0.0}

    @classmethod
    def check(cls, game: Game, config: Config) -> None:
        """The training tables must have the game's observation layout."""
        training_game(game, config)
        cls.action_features(game, config)

    def begin(self) -> None:
        """Nothing: every step deals again."""

    @one_thread()
    def step(self) -> None:
        """Play an episode on every table, learn from it, and average the weights."""
        random = np.random.default_rng([*self.entropy, self.steps])  # so no generator has to be kept
        decisions = self.play(random)
        self.learn(decisions, random)
        self.learner.follow()

    @property
    def steps(self) -> int:
        """Steps so far."""
        return self.learner.averaged

    # Play ---------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def play(self, random: np.random.Generator) -> Decisions:
        """Play an episode on every table; return its decisions with their advantages. An episode that a limit of
        decisions cuts off counts as it is then."""
        tables = self.settings.tables
        step = self.batch.reset(streams=random.integers(2**63, size=tables, dtype=np.uint64))
        kept, turns, rows = [], [], np.arange(tables)
        while rows.size:
            shown, mask = torch.from_numpy(step.observation[rows]), torch.from_numpy(step.action_mask[rows] != 0)
            log_probs, value = self.outputs(shown, mask)
            noise = torch.from_numpy(random.gumbel(size=mask.shape).astype(np.float32))
            action = (log_probs + noise).argmax(1)  # a draw by the policy
            turn = np.zeros(tables, self.turn)
            turn["acted"][rows], turn["seat"][rows], turn["value"][rows] = True, step.seat[rows], value.numpy()
            step = self.batch.step(action.numpy(), rows)
            turn["reward"][rows] = step.reward[rows]
            kept.append((shown, mask, log_probs, action[:, None]))
            turns.append(turn)
            self.decisions += len(rows)
            rows = rows[~(step.terminated[rows] | step.truncated[rows])]
        advantage, target = self.advantages(turns)
        advantage /= max(np.square(advantage).mean() ** 0.5, 1e-6)  # in a long game one decision moves little
        shown, mask, log_probs, action = (torch.cat(parts) for parts in zip(*kept, strict=True))
        return Decisions(shown, mask, log_probs, action, torch.from_numpy(advantage), torch.from_numpy(target))

    def outputs(self, shown: torch.Tensor, legal: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the log-probabilities [n, A] and the values [n] at observations [n, O]."""
        if self.rated is None or self.learner.critic is None:
            logits, value = self.network(shown)
        else:
            rates = self.network(torch.from_numpy(self.rated(shown.numpy(), legal.numpy())))[0]
            logits = torch.zeros(legal.shape).masked_scatter(legal, rates)
            value = self.learner.critic.network(shown)[1]
        return torch.log_softmax(masked(logits, legal), 1), value

    @property
    def turn(self) -> list[Any]:
        """One decision on every table that is not over, and what it gained, as fields of an array over all tables."""
        return [("acted", "?"), ("seat", "i1"), ("value", "f4"), ("reward", "f4", (self.game.num_seats,))]

    def advantages(self, turns: list[npt.NDArray[Any]]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return the advantages of all decisions and the critic's targets, in units of the spread of returns."""
        acted, seat, value, reward = (np.stack([turn[name] for turn in turns]) for name, *_ in self.turn)
        returns = reward.sum(0, dtype=np.float64)
        if self.config.run.objective == Objective.GAMES:  # nothing is gained but the share of the win, at the end
            returns = stats.win_shares(returns, self.game.sides) - 1 / max(self.game.num_sides, 2)
            reward[:-1], reward[-1] = 0, returns
        for power in range(3):
            self.moments[power] += float((returns**power).sum())
        count, total, squares = self.moments
        reward /= np.float32(max(squares / count - (total / count) ** 2, 1e-12) ** 0.5)
        found = np.zeros_like(value)
        nothing = np.zeros((value.shape[1], self.game.num_seats), np.float32)
        args = seat, acted, np.zeros_like(acted), reward, value, nothing, 1.0, self.settings.gae_lambda
        seat_advantages(*args, found)
        return found[acted], (found + value)[acted]

    # Learn --------------------------------------------------------------------------------------------------------

    def learn(self, decisions: Decisions, random: np.random.Generator) -> None:
        """Make the updates of a step. Steps get smaller, and uniform play draws less, by the square root of time."""
        settings, count = self.settings, len(decisions.action)
        fallen = (1 + 3 * self.steps / settings.halving) ** -0.5
        adams = [one.adam for one in (self.learner, self.learner.critic) if one]
        parameters = [one for adam in adams for one in adam.parameters]
        temperature, proximity = settings.temperature * fallen, settings.proximity / fallen
        for _ in range(settings.epochs):
            order = torch.from_numpy(random.permutation(count))
            for part in order.tensor_split(max(1, round(count / settings.batch_size))):
                shown, legal, before, action, advantage, target = (array[part] for array in decisions)
                log_probs, value = self.outputs(shown, legal)
                probs = log_probs.exp()
                ratio = (log_probs.gather(1, action) - before.gather(1, action))[:, 0].exp()
                entropy = -(probs * log_probs).sum(1).mean()
                divergence = (probs * (log_probs - before)).sum(1).mean()
                value_loss = (value - target).square().mean()
                held = proximity * divergence - temperature * entropy
                loss = held - (ratio * advantage).mean() + settings.value_weight * value_loss
                for adam in adams:
                    adam.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(parameters, settings.max_grad_norm)
                for adam in adams:
                    adam.learning_rate = settings.learning_rate * fallen
                    adam.step()
        self.samples += count
        self.logged = {"entropy": entropy.item(), "divergence": divergence.item(), "value_loss": value_loss.item()}

    # What a run needs ---------------------------------------------------------------------------------------------

    def save_policy(self, folder: Path, made: Mapping[str, Any]) -> None:
        """Write the averaged policy. Raises OSError."""
        weights, name = weights_of(self.policy), f"{self.kind}-s{self.seed}-{self.decisions_in_short}"
        player = network_player(weights, greedy=self.config.run.greedy, features=self.rated is not None)
        save_policy(folder, weights, self.game, name=name, player=player, made={**self.about(self.algorithm), **made})

    def summary(self) -> str:
        """Return decisions, and what the latest minibatch came to."""
        return f"{self.decisions:,} decisions, " + ", ".join(f"{name} {now:.4f}" for name, now in self.logged.items())

    def log_values(self) -> dict[str, float]:
        """Return what the latest minibatch came to."""
        return {f"{self.kind}/{name}": now for name, now in self.logged.items()}

    def arrays(self) -> Arrays:
        """Return weights, averaged weights and Adam's moments."""
        return self.learner.arrays()

    def facts(self) -> dict[str, Any]:
        """Return the counts, and the moments of returns."""
        counts = {"decisions": self.decisions, "samples": self.samples, "steps": self.steps}
        return counts | {"moments": [*self.moments], "logged": self.logged}

    def restore(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Continue from a checkpoint of the same game and config."""
        self.learner.restore(arrays, int(facts["steps"]))
        self.decisions, self.samples = int(facts["decisions"]), int(facts["samples"])
        self.moments, self.logged = [float(one) for one in facts["moments"]], dict(facts["logged"])

    def close(self) -> None:
        """End the tables' threads."""
        self.batch.close()
