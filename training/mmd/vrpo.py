# mypy: ignore-errors
"""The phase `vrpo`: variance-reduced policy optimisation in self-play (Fan and Farina 2026, arXiv 2605.19235), from
random weights. A step is one episode on every table and one update.

PPO's advantages add up what critics say along sampled actions, so they carry the noise of one's own later choices even
if the critic is exact. Here a central critic Q(all seats' observations, action) is asked for every action, and a
decision's return is traced by Expected SARSA(lambda) along the seat's own decisions, each of which averages over the
policy. The advantage is that return less the policy's mean of Q; the update is PPO's, clipped, with an entropy bonus.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import torch

from backalley.agents.policies.network import PolicyNetwork, masked
from backalley.agents.policies.network_agent import one_thread
from backalley.agents.policies.policy_file import observation_bound
from backalley.envs.core.game.game import Game
from backalley.envs.core.rules.options import option

from ..config.config import Config
from ..config.phases import PhaseKind
from ..shared.averaging import follow
from .mmd import MMD


class VRPOSettings(NamedTuple):
    tables: Annotated[int, option("episodes in a step", low=1, high=65536)] = 512
    batch_size: Annotated[int, option("decisions in a minibatch", low=2)] = 1024
    epochs: Annotated[int, option("passes over the decisions of a step", low=1, high=100)] = 4
    learning_rate: Annotated[float, option("Adam's step size at first", low=0, high=1)] = 2e-3
    temperature: Annotated[float, option("weight of the entropy bonus at first", low=0)] = 0.2
    clip: Annotated[float, option("clip range of the probability ratio", low=0, high=10)] = 0.2
    halving: Annotated[int, option("updates after which the schedule has halved the step", low=1)] = 200
    trace: Annotated[float, option("lambda of Expected SARSA", low=0, high=1)] = 0.95
    max_grad_norm: Annotated[float, option("gradients are clipped to this norm", low=0)] = 0.5
    averaging: Annotated[float, option("the policy averages the last 1 / (averaging + 1) of the run", low=0)] = 8.0


class VRPO(MMD):
    def __init__(self, game: Game, config: Config, **loop: Any) -> None:
        config = config._replace(kinds={**config.kinds, "mmd": config.vrpo})
        super().__init__(game, config, **loop)
        size = {"width": config.network.width, "layers": config.network.layers}
        bound = np.tile(observation_bound(game), game.num_seats)
        self.critic = PolicyNetwork(bound, game.num_actions, **size)
        self.critic.initialise(torch.Generator().manual_seed(self.entropy[1]))
        self.critic_adam = torch.optim.Adam(self.critic.parameters(), lr=self.settings.learning_rate, eps=1e-5)

    @one_thread()
    def step(self) -> None:
        random = np.random.default_rng([*self.entropy, self.steps])
        rows = self.play(random)
        self.learn(rows, random)
        self.steps += 1
        follow(self.average, self.network, self.steps, self.settings.averaging)

    @torch.no_grad()
    def play(self, random):
        tables, seats = self.settings.tables, self.game.num_seats
        step = self.batch.reset(streams=random.integers(2**63, size=tables, dtype=np.uint64))
        kept, turns = [], []
        while (rows := np.flatnonzero(step.seat >= 0)).size:
            seat = step.seat[rows].copy()
            shown, mask = torch.from_numpy(step.observation[rows]), torch.from_numpy(step.action_mask[rows] != 0)
            whole = [shown] + [
                torch.from_numpy(self.batch.observe((seat + other) % seats, rows)) for other in range(1, seats)
            ]
            whole = torch.cat(whole, 1)
            log_probs = torch.log_softmax(masked(self.network(shown)[0], mask), 1)
            noise = torch.from_numpy(random.gumbel(size=mask.shape).astype(np.float32))
            action = (log_probs + noise).argmax(1)[:, None]
            q = self.critic(whole)[0]
            value, taken = (log_probs.exp() * q).sum(1).numpy(), q.gather(1, action)[:, 0].numpy()
            step = self.batch.step(action[:, 0].numpy(), rows)
            kept.append((shown, whole, mask, log_probs, action))
            turns.append((rows, seat, value, taken, step.reward.copy() * (np.isin(np.arange(tables), rows)[:, None])))
            self.decisions += len(rows)
        advantage, target = self.traced(turns)
        return [*(torch.cat(parts) for parts in zip(*kept, strict=True)), advantage, target]

    def traced(self, turns):
        returns = sum(turn[-1] for turn in turns).astype(np.float64)
        for power in range(3):
            self.moments[power] += float((returns**power).sum())
        count, total, squares = self.moments
        scale = np.float32(1 / max(squares / count - (total / count) ** 2, 1e-12) ** 0.5)
        following, error, gained = (np.zeros_like(turns[0][-1]) for _ in range(3))
        advantages, targets = [], []
        for rows, seat, value, taken, reward in reversed(turns):
            gained += reward * scale
            own = rows, seat
            error[own] = gained[own] + following[own] - taken + self.settings.trace * error[own]
            targets.append(taken + error[own])
            advantages.append(targets[-1] - value)
            following[own], gained[own] = value, 0
        return (torch.from_numpy(np.concatenate(found[::-1])) for found in (advantages, targets))

    def learn(self, decisions, random):
        settings, count = self.settings, len(decisions[-1])
        fallen = (1 + 3 * self.steps / settings.halving) ** -0.5
        for adam in (self.adam, self.critic_adam):
            adam.param_groups[0]["lr"] = settings.learning_rate * fallen
        for _ in range(settings.epochs):
            order = torch.from_numpy(random.permutation(count))
            for part in order.tensor_split(max(1, round(count / settings.batch_size))):
                shown, whole, legal, before, action, advantage, target = (array[part] for array in decisions)
                log_probs = torch.log_softmax(masked(self.network(shown)[0], legal), 1)
                ratio = (log_probs.gather(1, action) - before.gather(1, action))[:, 0].exp()
                clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
                entropy = -(log_probs.exp() * log_probs).sum(1).mean()
                loss = -torch.min(ratio * advantage, clipped * advantage).mean()
                self.update(self.network, self.adam, loss - settings.temperature * fallen * entropy)
                missed = self.critic(whole)[0].gather(1, action)[:, 0] - target
                self.update(self.critic, self.critic_adam, missed.square().mean())
        self.samples += count
        self.logged = {"entropy": entropy.item(), "missed": missed.square().mean().item()}

    def update(self, network, adam, loss):
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), self.settings.max_grad_norm)
        adam.step()


PHASE = PhaseKind("vrpo", VRPOSettings, VRPO)
