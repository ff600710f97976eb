"""A fair environment of somebody else's, and ones that have the faults that are met in the wild."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pettingzoo

ACTIONS, ROUNDS = 4, 3


class Fair(pettingzoo.AECEnv):  # type: ignore[misc]
    """Two agents play the numbers 0..3, each of their own at most once, and draw a card after each; who has the higher
    sum at the end wins 1. An agent sees its cards and its numbers, and how many are left to the other."""

    metadata = {"name": "fair_v0"}  # noqa: RUF012 (as PettingZoo has it)

    def __init__(self) -> None:
        self.possible_agents = ["north", "south"]
        box = gymnasium.spaces.Box(0, 99, (2 + ACTIONS,), np.int64)
        masks = gymnasium.spaces.Box(0, 1, (ACTIONS,), np.int8)
        self.action_space = lambda agent: gymnasium.spaces.Discrete(ACTIONS)
        self.observation_space = lambda agent: gymnasium.spaces.Dict({"observation": box, "action_mask": masks})
        self.random = np.random.default_rng()

    def __deepcopy__(self, memo: dict[int, Any]) -> Fair:
        twin = type(self)()  # spaces are functions here
        kept = {name: value for name, value in vars(self).items() if not name.endswith("_space")}
        vars(twin).update(copy.deepcopy(kept, memo))
        return twin

    def draw(self) -> int:
        return int(self.random.integers(10))

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        if seed is not None:
            self.random = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self.numbers: dict[str, list[int]] = {agent: [] for agent in self.agents}
        self.cards = {agent: self.draw() for agent in self.agents}
        self.agent_selection = self.agents[0]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}

    def other(self, agent: str) -> str:
        return self.possible_agents[agent == self.possible_agents[0]]

    def mask(self, agent: str) -> npt.NDArray[np.int8]:
        free = [number not in self.numbers[agent] for number in range(ACTIONS)]
        return np.array(free, np.int8) * (agent == self.agent_selection and not self.terminations[agent])

    def observe(self, agent: str) -> dict[str, Any]:
        mine = [number in self.numbers[agent] for number in range(ACTIONS)]
        seen = np.array([self.cards[agent], len(self.numbers[self.other(agent)]), *mine])
        return {"observation": seen, "action_mask": self.mask(agent)}

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        if action in self.numbers[agent]:
            raise ValueError(f"{action} has been played")
        self.play(agent, action)

    def play(self, agent: str, action: int) -> None:
        self.numbers[agent].append(action)
        self.cards[agent] += self.draw()
        self.agent_selection = self.other(agent)
        self._cumulative_rewards[agent] = 0.0
        if min(map(len, self.numbers.values())) == ROUNDS:
            self.finish()
        self._accumulate_rewards()

    def finish(self) -> None:
        sums = [self.cards[agent] + sum(self.numbers[agent]) for agent in self.agents]
        gain = float(np.sign(sums[0] - sums[1]))
        self.rewards = dict(zip(self.agents, (gain, -gain), strict=True))
        self.terminations = dict.fromkeys(self.agents, True)


class SharedCopy(Fair):
    def __deepcopy__(self, memo: dict[int, Any]) -> Fair:
        return copy.copy(self)


class FreshCopy(Fair):
    """As gymnasium's EzPickle has it."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Fair:
        return type(self)()


class OtherChance(Fair):
    def __deepcopy__(self, memo: dict[int, Any]) -> Fair:
        twin = super().__deepcopy__(memo)
        twin.random = np.random.default_rng(1)
        return twin


class GlobalChance(Fair):
    def draw(self) -> int:
        return int(np.random.randint(10))  # noqa: NPY002


class SeedsTheGlobalChance(GlobalChance):
    def reset(self, seed: int | None = None, options: Any = None) -> None:
        if seed is not None:
            np.random.seed(seed)  # noqa: NPY002
        super().reset(seed, options)


class NoSeed(Fair):
    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(None, options)


class OthersMask(Fair):
    def mask(self, agent: str) -> npt.NDArray[np.int8]:
        acts = agent == self.agent_selection
        return np.array([number not in self.numbers[self.other(agent)] for number in range(ACTIONS)], np.int8) * acts


class EmptyMask(Fair):
    def mask(self, agent: str) -> npt.NDArray[np.int8]:
        return super().mask(agent) * (len(self.numbers[agent]) < 2)


class LongMask(Fair):
    def mask(self, agent: str) -> npt.NDArray[np.int8]:
        return np.append(super().mask(agent), np.int8(0))


class PlaysAnything(Fair):
    def step(self, action: Any) -> None:
        agent = self.agent_selection
        self._was_dead_step(action) if self.terminations[agent] else self.play(agent, action)


class MaskOfTheActor(Fair):
    def observe(self, agent: str) -> dict[str, Any]:
        return {**super().observe(agent), "action_mask": self.mask(self.agent_selection)}


class LooksCost(Fair):
    def observe(self, agent: str) -> dict[str, Any]:
        if agent != self.agent_selection:
            self.cards[agent] += 1
        return super().observe(agent)


class HandsOutItsOwn(Fair):
    def reset(self, seed: int | None = None, options: Any = None) -> None:
        super().reset(seed, options)
        self.shown = {agent: Fair.observe(self, agent) for agent in self.agents}

    def observe(self, agent: str) -> dict[str, Any]:
        self.shown[agent]["action_mask"] = self.mask(agent)
        return self.shown[agent]


class ShowsTheOther(Fair):
    def observe(self, agent: str) -> dict[str, Any]:
        found = super().observe(agent)
        found["observation"][1] = sum(self.numbers[self.other(agent)])
        return found


class KeepsTheReward(Fair):
    def finish(self) -> None:
        super().finish()
        self._cumulative_rewards[self.agents[0]] -= 1


class NobodyLeaves(Fair):
    def step(self, action: Any) -> None:
        if not self.terminations[self.agent_selection]:
            super().step(action)
