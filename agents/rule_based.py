"""The random player, and players that are one compiled function each, such as the bots that every game's `bot.py`
brings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.kernel import bind, inlined, kernel, passing
from backalley.envs.core.specialise import specialise, template, unbound

from .base import Agent, DirectAgent, Rows, View


@kernel
def random_legal(mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """A uniformly drawn legal action, or -1 where the mask is all zero."""
    count = 0
    for action in range(mask.shape[0]):
        count += int(mask[action])
    if count == 0:
        return -1
    key, chosen = rng.below(key, count)
    for action in range(mask.shape[0]):
        chosen -= int(mask[action])
        if chosen < 0:
            return action
    return -1


@kernel
def random_rows(mask: npt.NDArray[np.int8], keys: npt.NDArray[np.uint64], out: npt.NDArray[np.int64]) -> None:
    """`out[k]` becomes a uniformly drawn legal action of row k, or -1 where there is none."""
    for k in range(out.shape[0]):
        out[k] = random_legal(mask[k], keys[k])


@passing
def random_act(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """The random player in the form of a bot's kernel."""
    return random_legal(mask, key)


@passing
def random_chances(options: Any, observation: Any, mask: npt.NDArray[np.int8], out: npt.NDArray[np.float64]) -> None:
    """Every legal action is as likely."""
    count = 0
    for action in range(mask.shape[0]):
        count += int(mask[action])
    for action in range(mask.shape[0]):
        out[action] = int(mask[action]) / max(1, count)


@passing
def seen_record(batch: Any, row: int) -> Any:
    """What most kernels are shown of a table."""
    return batch.observation[row]


@passing
def seen_vector(batch: Any, row: int) -> Any:
    """What is shown to a kernel that reads the vector."""
    return batch.flat[row]


@inlined
def seen_both(batch: Any, row: int) -> Any:
    """What is shown to a kernel that asks a bot, and reads the vector."""
    return batch.observation[row], batch.flat[row]


_SEEN = {"record": seen_record, "vector": seen_vector, "both": seen_both}


def seen_by(agent: Any) -> Callable[..., Any]:
    """One of these three for an agent that has a kernel."""
    return _SEEN[getattr(agent, "reads", "record")]


def played_by(agent: Agent, game: Game) -> Any:
    """What an agent's kernel takes first, for one thread."""
    by = agent.plays_by() if isinstance(agent, Agent) else None
    return game.options if by is None else by


ACT = SEEN = unbound
"""The agent's kernel in `kernel_rows`, and what it is shown."""


@template
def kernel_rows(
    by: Any,
    rows: Rows,
    mask: npt.NDArray[np.int8],
    keys: npt.NDArray[np.uint64],
    out: npt.NDArray[np.int64],
) -> None:
    """`out[k]` becomes the kernel's action for row k."""
    for k in range(out.shape[0]):
        out[k] = ACT(by, SEEN(rows, k), mask[k], keys[k])


@functools.cache
def _rows_driver(kernel: Callable[..., int], seen: Callable[..., Any]) -> Callable[..., None]:
    """`kernel_rows` for one kernel."""
    return specialise([kernel_rows], {"ACT": kernel, "SEEN": seen})["kernel_rows"]


class RandomAgent(DirectAgent):
    """Every legal action is equally likely."""

    name = "random"
    kernel = staticmethod(random_act)
    chances = staticmethod(random_chances)

    def choose(
        self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Uniformly drawn legal actions [n]."""
        out = np.empty(len(action_mask), np.int64)
        random_rows(action_mask, key, out)
        return out


class KernelAgent(DirectAgent):
    """Plays by `kernel(options, observation, mask, key) -> action`, a compiled function that sees an Observation
    record; or by another one, see `Agent.plays_by` and `Agent.reads`.

    Where every agent of a match is of this kind, `match.Match` runs whole games in machine code.
    """

    game: Game

    def __init__(self, name: str, kernel: Callable[..., int], game: Game) -> None:
        self.name, self.kernel, self.game = name, kernel, game
        self._entry: Callable[..., Any] | None = None

    def choose(
        self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """The kernel's actions [n]."""
        out = np.empty(len(action_mask), np.int64)
        rows = Rows(self.game.records(observation), observation)
        args = (played_by(self, self.game), rows, action_mask, key, out)
        if self._entry is None:
            self._entry = bind(_rows_driver(self.kernel, seen_by(self)), *args)
        self._entry(*args)
        return out

    def __getstate__(self) -> dict[str, Any]:
        # Machine code stays in its process; it is bound anew where the agent arrives.
        return {**self.__dict__, "_entry": None}


SOLVES = unbound
"""`Bot.solves` in `tells_solved`."""


@template
def tells_solved(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """1 where a bot plays exactly, in the form of its other kernel."""
    return int(SOLVES(options, observation))


class BotAgent(KernelAgent):
    """A rule-based player of a game's `bot.py`."""

    def __init__(self, game: Game, bot: str | None = None) -> None:
        """`bot` is one of `game.bots`; by default the last, which is the game's best. Raises ValueError in a
        sentence."""
        bots = game.bots
        if not bots:
            raise ValueError(f"{game.name} has no bots; other agents play it.")
        if bot is not None and bot not in bots:
            raise ValueError(f"{game.name} has no bot {bot!r}; it has: {', '.join(bots)}.")
        self.bot = bots[bot] if bot else list(bots.values())[-1]
        super().__init__(f"bot:{self.bot.name}", self.bot.act, game)
        self._solver: KernelAgent | None = None

    def solved(self, view: View) -> npt.NDArray[np.bool_]:
        """At which tables of a view the bot plays exactly, so that no search betters it [n]."""
        if self.bot.solves is None:
            return np.zeros(len(view), np.bool_)
        if self._solver is None:
            tells = specialise([tells_solved], {"SOLVES": self.bot.solves})["tells_solved"]
            self._solver = KernelAgent(self.name, tells, self.game)
        found: npt.NDArray[np.bool_] = self._solver.act(view) == 1
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return BotAgent, (self.game, self.bot.name)  # by name: a kernel pickled whole would be compiled anew
