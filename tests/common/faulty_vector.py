"""A fair vector environment in NumPy alone, and ones that have the faults that are met in the wild."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pettingzoo

ACTIONS, LIMIT, BUST = 4, 6, 15


class Step(NamedTuple):
    observation: npt.NDArray[Any]
    action_mask: npt.NDArray[Any]
    seat: npt.NDArray[Any]
    reward: npt.NDArray[Any]
    terminated: npt.NDArray[Any]
    truncated: npt.NDArray[Any]


class Fair:
    """Two seats in turn play the numbers 0..3, each of their own at most once, and draw a card of as much or more. Who
    goes over 15 loses 1 to the other; after six decisions nobody does."""

    num_seats, num_actions = 2, ACTIONS

    def __init__(self, num_envs: int, autoreset: bool) -> None:
        self.num_envs, self.autoreset = num_envs, autoreset
        self.random = [np.random.default_rng() for _ in range(num_envs)]
        self.sums = np.zeros((num_envs, 2), np.int64)
        self.played = np.zeros((num_envs, 2, ACTIONS), np.bool_)
        self.decisions = np.zeros(num_envs, np.int64)
        self.over = np.ones(num_envs, np.bool_)
        self.reward = np.zeros((num_envs, 2), np.float32)
        self.terminated, self.truncated = np.zeros((2, num_envs), np.bool_)

    def draw(self, row: int) -> int:
        return int(self.random[row].integers(6))

    def begin(self, row: int) -> None:
        self.sums[row] = self.draw(row), self.draw(row)
        self.played[row], self.decisions[row], self.over[row] = False, 0, False

    def seat(self, row: int) -> int:
        return int(self.decisions[row] % 2)

    def reset(self, *, seed: int | None = None) -> Step:
        if seed is not None:
            self.random = [np.random.default_rng(seed + row) for row in range(self.num_envs)]
        return self.restart(range(self.num_envs))

    def restart(self, rows: Any) -> Step:
        for row in rows:
            self.begin(row)
        return self.shown()

    def mask(self, row: int) -> npt.NDArray[np.int8]:
        free: npt.NDArray[np.int8] = (~self.played[row, self.seat(row)]).astype(np.int8)
        return free * (not self.over[row])

    def observe(self, seats: Any, rows: Any = None) -> npt.NDArray[np.float32]:
        rows = range(self.num_envs) if rows is None else rows
        return np.array([self.seen(seat, row) for seat, row in zip(seats, rows, strict=True)], np.float32)

    def seen(self, seat: int, row: int) -> list[float]:
        return [self.sums[row, seat], self.decisions[row], *self.played[row, seat]]

    def shown(self) -> Step:
        every = range(self.num_envs)
        seats = np.array([-1 if self.over[row] else self.seat(row) for row in every], np.int8)
        return Step(
            self.observe(seats % 2),
            np.array([self.mask(row) for row in every]),
            seats,
            self.reward.copy(),
            self.terminated.copy(),
            self.truncated.copy(),
        )

    def check(self, actions: Any, rows: Any) -> None:
        if len(set(rows)) != len(rows) or len(actions) != len(rows) or not set(rows) <= set(range(self.num_envs)):
            raise ValueError("rows")
        for action, row in zip(actions, rows, strict=True):
            if not 0 <= action < ACTIONS or not self.mask(row)[action]:
                raise ValueError(f"{action} is not legal on table {row}")

    def step(self, actions: Any, rows: Any = None) -> Step:
        actions = [int(action) for action in actions]
        rows = list(range(self.num_envs)) if rows is None else [int(row) for row in rows]
        self.check(actions, rows)
        for action, row in zip(actions, rows, strict=True):
            self.play(action, row)
        return self.shown()

    def play(self, action: int, row: int) -> None:
        seat = self.seat(row)
        self.played[row, seat, action] = True
        self.sums[row, seat] += action + self.draw(row)
        self.decisions[row] += 1
        self.report(row, seat)
        self.over[row] = self.terminated[row] or self.truncated[row]
        if self.over[row] and self.autoreset:
            self.begin(row)

    def report(self, row: int, seat: int) -> None:
        self.terminated[row] = self.sums[row, seat] > BUST
        self.truncated[row] = not self.terminated[row] and self.decisions[row] == LIMIT
        self.reward[row] = 0
        if self.terminated[row]:
            self.reward[row] = [1, -1] if seat else [-1, 1]


class Single(pettingzoo.AECEnv):  # type: ignore[misc]
    """One table of it for PettingZoo."""

    metadata = {"name": "single_v0"}  # noqa: RUF012 (as PettingZoo has it)
    possible_agents = ["first", "second"]  # noqa: RUF012

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.table = Fair(1, autoreset=False)
        self.table.reset(seed=seed)
        self.agents = list(self.possible_agents)
        self.agent_selection = self.agents[0]
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.report()

    def observe(self, agent: str) -> dict[str, Any]:
        seat = self.possible_agents.index(agent)
        return {"observation": self.table.observe([seat])[0], "action_mask": self.table.mask(0)}

    def step(self, action: int) -> None:
        self.table.step([action])
        self.agent_selection = self.agents[self.table.seat(0)]
        self.report()

    def report(self) -> None:
        self.rewards = dict(zip(self.agents, self.table.reward[0].tolist(), strict=True))
        self.terminations = dict.fromkeys(self.agents, bool(self.table.terminated[0]))
        self.truncations = dict.fromkeys(self.agents, bool(self.table.truncated[0]))


# Faults --------------------------------------------------------------------------------------------------------------


class FlatReward(Fair):
    """Only the actor's reward, as in environments of one agent."""

    def shown(self) -> Step:
        step = super().shown()
        return step._replace(reward=step.reward[:, 0])


class MaskOfBothSeats(Fair):
    def mask(self, row: int) -> npt.NDArray[np.int8]:
        free: npt.NDArray[np.int8] = (~self.played[row].all(axis=0)).astype(np.int8)
        return free * (not self.over[row])

    def check(self, actions: Any, rows: Any) -> None:
        super().check(actions, rows)
        for action, row in zip(actions, rows, strict=True):
            if self.played[row, self.seat(row), action]:
                raise ValueError(f"{action} has been played")


class PlaysAnything(Fair):
    def check(self, actions: Any, rows: Any) -> None:
        if len(set(rows)) != len(rows) or len(actions) != len(rows) or not set(rows) <= set(range(self.num_envs)):
            raise ValueError("rows")
        if not all(0 <= action < ACTIONS for action in actions):
            raise ValueError("actions")


class PlaysTheRestFirst(Fair):
    """The tables before an illegal action have been played when it raises."""

    def step(self, actions: Any, rows: Any = None) -> Step:
        rows = list(range(self.num_envs)) if rows is None else [int(row) for row in rows]
        if len(set(rows)) != len(rows) or len(actions) != len(rows):
            raise ValueError("rows")
        for action, row in zip(actions, rows, strict=True):
            self.check([int(action)], [row])
            self.play(int(action), row)
        return self.shown()


class PythonsRows(Fair):
    """Row -1 is the last one."""

    def check(self, actions: Any, rows: Any) -> None:
        super().check(actions, [row % self.num_envs if row >= -self.num_envs else row for row in rows])


class RowTwice(Fair):
    def check(self, actions: Any, rows: Any) -> None:
        if len(actions) != len(rows):
            raise ValueError("rows")
        for action, row in zip(actions, rows, strict=True):
            super().check([action], [row])


class ClearsAllRewards(Fair):
    """A step of some rows clears what the others show."""

    def step(self, actions: Any, rows: Any = None) -> Step:
        reward, ends = self.reward.copy(), (self.terminated.copy(), self.truncated.copy())
        self.reward[...] = 0
        try:
            return super().step(actions, rows)
        except ValueError:
            self.reward, (self.terminated, self.truncated) = reward, ends
            raise


class OneStream(Fair):
    """All tables draw from one stream: what a table plays depends on the others."""

    def draw(self, row: int) -> int:
        return super().draw(0)


class SameSeed(Fair):
    def reset(self, *, seed: int | None = None) -> Step:
        if seed is not None:
            self.random = [np.random.default_rng(seed) for row in range(self.num_envs)]
        return self.restart(range(self.num_envs))


class GlobalChance(Fair):
    def draw(self, row: int) -> int:
        return int(np.random.randint(6))  # noqa: NPY002


class CountsOn(Fair):
    """`reset(seed)` does not clear what the last episode left."""

    def begin(self, row: int) -> None:
        kept = self.sums[row] // 8
        super().begin(row)
        self.sums[row] += kept


class FlagsOfTheNext(Fair):
    """A table that resets itself clears its flags: nobody learns of the end."""

    def begin(self, row: int) -> None:
        super().begin(row)
        if self.autoreset:
            self.terminated[row] = self.truncated[row] = False


class RestartClears(Fair):
    def restart(self, rows: Any) -> Step:
        for row in rows:
            self.reward[row] = 0
            self.terminated[row] = self.truncated[row] = False
        return super().restart(rows)


class KeepsItsSeat(Fair):
    """A finished table still says whose turn it would be."""

    def shown(self) -> Step:
        return super().shown()._replace(seat=(self.decisions % 2).astype(np.int8))


class MaskAfterTheEnd(Fair):
    def mask(self, row: int) -> npt.NDArray[np.int8]:
        free: npt.NDArray[np.int8] = (~self.played[row, self.seat(row)]).astype(np.int8)
        return free


class PlaysOn(Fair):
    """A finished table takes actions."""

    def check(self, actions: Any, rows: Any) -> None:
        if not self.over[rows].any():
            super().check(actions, rows)


class BothFlags(Fair):
    def report(self, row: int, seat: int) -> None:
        super().report(row, seat)
        self.truncated[row] = self.decisions[row] == LIMIT


class NextStepResets(Fair):
    """Gymnasium's other kind of autoreset: the step after the end begins the next episode."""

    def play(self, action: int, row: int) -> None:
        auto, self.autoreset = self.autoreset, False
        super().play(action, row)
        self.autoreset = auto

    def step(self, actions: Any, rows: Any = None) -> Step:
        for row in np.flatnonzero(self.over) if self.autoreset else ():
            self.begin(row)
        return super().step(actions, rows)


class OtherObservation(Fair):
    """`observe` shows the table of the seat to act, whoever asks."""

    def observe(self, seats: Any, rows: Any = None) -> npt.NDArray[np.float32]:
        found = super().observe(seats, rows)
        return found if rows is None else found[:, :-1]


class LooksCost(Fair):
    def seen(self, seat: int, row: int) -> list[float]:
        self.sums[row, seat] += self.decisions[row] > 4
        return super().seen(seat, row)

    def shown(self) -> Step:
        sums = self.sums.copy()
        step = super().shown()
        self.sums = sums
        return step


class HandsOutItsOwn(Fair):
    """What is shown is what decides."""

    def shown(self) -> Step:
        step = super().shown()
        return step._replace(terminated=self.terminated, truncated=self.truncated, reward=self.reward)

    def play(self, action: int, row: int) -> None:
        if self.terminated[row] and self.decisions[row]:
            self.sums[row] += 1
        super().play(action, row)


class PaysTheActor(Fair):
    """Seats that are off turn gain nothing."""

    def report(self, row: int, seat: int) -> None:
        super().report(row, seat)
        self.reward[row, 1 - seat] = 0


class ShowsTheLast(Fair):
    """The observation of the seat that has acted."""

    def shown(self) -> Step:
        seats = [(self.seat(row) + (self.decisions[row] > 0)) % 2 for row in range(self.num_envs)]
        return super().shown()._replace(observation=self.observe(seats))


class EndsLate(Fair):
    def report(self, row: int, seat: int) -> None:
        super().report(row, seat)
        self.truncated[row] = not self.terminated[row] and self.decisions[row] == LIMIT + 1


class ReadOnly(Fair):
    """No fault: it has no observe(), and lets nobody write."""

    observe = None  # type: ignore[assignment]

    def shown(self) -> Step:
        every = range(self.num_envs)
        seats = np.array([-1 if self.over[row] else self.seat(row) for row in every], np.int8)
        seen = np.array([self.seen(int(seats[row]) % 2, row) for row in every], np.float32)
        masks = np.array([self.mask(row) for row in every])
        step = Step(seen, masks, seats, self.reward.copy(), self.terminated.copy(), self.truncated.copy())
        for array in step:
            array.flags.writeable = False
        return step
