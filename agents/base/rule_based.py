"""The random player, and players that are one compiled function each, such as the bots in every game's `bot.py`."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.api.compiled_play import bot_of, kernel_names, random_act, random_chances, random_legal
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import (
    Address,
    Bound,
    Kept,
    Player,
    addressed,
    call,
    guarded,
    inlined,
    kernel,
    laid,
    passing,
    specialise,
    template,
    unbound,
)

from .action_probabilities import Probabilities
from .agent import Agent, DirectAgent, Rows, View


@kernel
def random_rows(mask: npt.NDArray[np.int8], keys: npt.NDArray[np.uint64], out: npt.NDArray[np.int64]) -> None:
    """Write to `out[k]` a uniformly drawn legal action of row k, or -1 where there is none."""
    for k in range(out.shape[0]):
        out[k] = random_legal(mask[k], keys[k])


@passing
def seen_record(batch: Any, row: int) -> Any:
    """Return the record, which most kernels read."""
    return batch.observation[row]


@passing
def seen_vector(batch: Any, row: int) -> Any:
    """Return the flat vector."""
    return batch.flat[row]


@inlined
def seen_both(batch: Any, row: int) -> Any:
    """Return both, for a kernel that calls a bot and reads the vector."""
    return batch.observation[row], batch.flat[row]


_SEEN = {"record": seen_record, "vector": seen_vector, "both": seen_both}


def seen_by(agent: Any) -> Callable[..., Any]:
    """Return one of these three for an agent that has a kernel."""
    return _SEEN[getattr(agent, "reads", "record")]


def played_by(agent: Agent, game: Game) -> Any:
    """Return the first argument of an agent's kernel, for one thread."""
    by = agent.plays_by() if isinstance(agent, Agent) else None
    return game.options if by is None else by


ACT = SEEN = unbound
"""The agent's kernel in `act_at`, and its view of a table."""


@template
def act_at(by: Kept, shown: Kept, row: int, key: np.uint64) -> int:
    """Return the kernel's action for a row of `Rows`, drawn by `key`."""
    rows = shown.values[0]
    return int(ACT(by.values[0], SEEN(rows, row), rows.mask[row], key))


@kernel
def act_on_rows(
    acts: npt.NDArray[np.int64],
    by: npt.NDArray[np.int64],
    shown: Rows,
    keys: npt.NDArray[np.uint64],
    out: npt.NDArray[np.int64],
) -> None:
    """Write to `out[k]` the only player's action for row k."""
    rows = laid(shown)
    for k in range(out.shape[0]):
        out[k] = call(acts[0], by[0], rows, k, keys[k])


CHANCES = unbound
"""The agent's `chances` in `chances_rows`."""


@template
def chances_rows(by: Any, rows: Rows, mask: npt.NDArray[np.int8], out: npt.NDArray[np.float64]) -> None:
    """Write the probabilities of the agent's actions for row k to `out[k]`."""
    for k in range(out.shape[0]):
        CHANCES(by, SEEN(rows, k), mask[k], out[k])


@functools.cache
def _act_kernel(kernel: Callable[..., int], seen: Callable[..., Any]) -> Callable[..., int]:
    """`act_at` for one kernel."""
    return addressed(specialise([act_at], {"ACT": kernel, "SEEN": seen})["act_at"])


def player(agent: Agent, game: Game) -> Player:
    """Return the `act_at` of an agent, and what it plays by, for one thread; nobody for an agent without a kernel."""
    act = getattr(agent, "kernel", None)
    if act is None:
        return NOBODY
    if getattr(agent, "is_guarded", False):
        act = guarded(act)
    by, vectors = Kept.of(played_by(agent, game)), np.zeros((1, game.observation_size), game.observation_base)
    shown = Kept.of(Rows(game.records(vectors), vectors, np.zeros((1, game.num_actions), np.int8)))
    kernel = _act_kernel(act, seen_by(agent))
    return Player(functools.partial(Address.of, kernel, by, shown, 0, np.uint64(0)), by)


NOBODY = Player(lambda at_once: Address(0), Kept.of())
"""Where nobody plays in machine code."""


@functools.cache
def _chances_kernel(game: GameType, chances: Callable[..., None], seen: Callable[..., Any]) -> Callable[..., None]:
    """`chances_rows` for one kernel and game."""
    return specialise([chances_rows], {**kernel_names(game), "CHANCES": chances, "SEEN": seen})["chances_rows"]


class RandomAgent(DirectAgent):
    """Every legal action is equally likely."""

    name = "random"
    kernel = staticmethod(random_act)
    chances = staticmethod(random_chances)

    def choose(
        self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Return uniformly drawn legal actions [n]."""
        out = np.empty(len(action_mask), np.int64)
        random_rows(action_mask, key, out)
        return out

    def probabilities(self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8]) -> Probabilities:
        """Return the same probability for every legal action [n, A]."""
        found: Probabilities = action_mask / np.maximum(1, action_mask.sum(1, keepdims=True))
        return found


_OF_THIS_PROCESS = "_chances_rows", "_idle", "guarded"
"""What a kernel's agent holds of compiled code, and what it remembers."""
_ONE_AT_A_TIME = threading.Lock()
"""Held while a guarded kernel runs: all of them count in the same place."""


class KernelAgent(DirectAgent):
    """Plays by `kernel(options, observation, mask, key) -> action`, a compiled function that sees an Observation
    record; or by another kernel, see `Agent.plays_by` and `Agent.reads`.

    If every agent of a match is of this kind, `match.Match` runs whole games in machine code.
    """

    game: Game
    is_guarded: bool = False
    """Whether its kernels run with bounds checks and a limit of steps (see `guarded`)."""

    def __init__(self, name: str, kernel: Callable[..., int], game: Game) -> None:
        self.name, self.kernel, self.game = name, kernel, game

    @functools.cached_property
    def guarded(self) -> KernelAgent:
        """The same player with bounds checks and a limit of steps."""
        careful = object.__new__(type(self))
        own = {name: value for name, value in self.__dict__.items() if name not in _OF_THIS_PROCESS}
        careful.__dict__.update(own, is_guarded=True)
        return careful

    def _run(self, rows: Callable[..., None], *args: Any) -> None:
        if not self.is_guarded:
            rows(*args)
            return
        with _ONE_AT_A_TIME, np.errstate(all="ignore"):  # where it runs as Python, NumPy would warn, and not answer
            rows(*args)

    @functools.cached_property
    def _idle(self) -> list[Bound[None]]:
        """Its kernel over rows, for each thread that does not play by now: what is remembered of a table saves time
        later."""
        return []

    def choose(
        self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8], key: npt.NDArray[np.uint64]
    ) -> npt.NDArray[np.int64]:
        """Return the kernel's actions [n]."""
        shown = np.ascontiguousarray(observation, self.game.observation_base)  # machine code knows this type alone
        rows = Rows(self.game.records(shown), shown, np.ascontiguousarray(action_mask, np.int8))
        out = np.empty(len(action_mask), np.int64)
        try:
            play = self._idle.pop()
        except IndexError:
            play = Bound(lambda: act_on_rows, [player(self, self.game)], at_once=False)
        self._run(play, rows, key, out)
        self._idle.append(play)
        return out

    @functools.cached_property
    def _chances_rows(self) -> Bound[None]:
        """`chances_rows` for its `chances`."""
        assert self.chances is not None
        chances = guarded(self.chances) if self.is_guarded else self.chances
        find = functools.partial(_chances_kernel, self.game.type, chances, seen_by(self))
        return Bound(find, at_once=False)

    def probabilities(self, observation: npt.NDArray[Any], action_mask: npt.NDArray[np.int8]) -> Probabilities:
        """Return what `chances` tells [n, A], or, without it, what a deterministic kernel plays. Raises
        NoProbabilities."""
        if self.chances is None:
            return super().probabilities(observation, action_mask)
        out, rows = np.zeros(action_mask.shape), Rows(self.game.records(observation), observation, action_mask)
        self._run(self._chances_rows, played_by(self, self.game), rows, action_mask, out)
        return out

    def __getstate__(self) -> dict[str, Any]:
        # Machine code stays in its process; it is bound again where the agent arrives.
        return {name: value for name, value in self.__dict__.items() if name not in _OF_THIS_PROCESS}


SOLVES = unbound
"""`Bot.solves` in `tells_solved`."""


@template
def tells_solved(options: Any, observation: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Return 1 where a bot plays exactly, in the form of a bot's kernel."""
    return int(SOLVES(options, observation))


class BotAgent(KernelAgent):
    """A rule-based player of a game's `bot.py`."""

    def __init__(self, game: Game, bot: str | None = None) -> None:
        """`bot` is one of `game.bots`; by default the last, which is the game's best. Raises ValueError."""
        self.bot = bot_of(game, bot)
        super().__init__(f"bot:{self.bot.name}", self.bot.act, game)
        self.chances, self.is_deterministic = self.bot.chances, self.bot.chances is None
        self._solver: KernelAgent | None = None

    def solved(self, view: View) -> npt.NDArray[np.bool_]:
        """Return at which tables of a view the bot plays exactly, so that no search improves on it [n]."""
        if self.bot.solves is None:
            return np.zeros(len(view), np.bool_)
        if self._solver is None:
            tells = specialise([tells_solved], {"SOLVES": self.bot.solves})["tells_solved"]
            self._solver = KernelAgent(self.name, tells, self.game)
        found: npt.NDArray[np.bool_] = self._solver.act(view) == 1
        return found

    def rollout_kernel(self) -> Callable[..., int]:
        """Return the bot's `quick` kernel, if it has one."""
        return self.bot.in_rollouts.act

    def __reduce__(self) -> tuple[Any, ...]:
        return BotAgent, (self.game, self.bot.name)  # by name: a kernel pickled whole would be compiled again


def bots_of(game: Game) -> list[Agent]:
    """Return a game's bots, weakest first."""
    return [BotAgent(game, name) for name in game.bots]
