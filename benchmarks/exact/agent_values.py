"""The exact values of agents in games that `exact.solve` can solve: their expected return over every order of the pack,
beside that of optimal play."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.base.action_probabilities import NoProbabilities
from backalley.agents.base.agent import Agent, DirectAgent, name_of
from backalley.cluster.machines import machines
from backalley.cluster.work import LOCAL, Executor, Found, Sizes
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.threads import threads_of
from backalley.envs.core.rules import rng

from ..figures.charts import Dots, Mark, dots
from ..figures.formatting import Line, agent, options, title, with_options
from ..figures.result_kinds import Files, OfGame, of_game
from ..figures.stats import Estimate
from .exact import Solution, Unsolvable, grouped_openings
from .expectimax import Memory, memory
from .reachability import (
    DECISIONS,
    GAINED,
    POSITIONS,
    VARIANCE,
    Following,
    Layer,
    Workspace,
    empty_layer,
    linked,
    workspace,
)

_SMALLEST, _MOST_BYTES = 1 << 14, 1 << 32
_LOTS_SPACE = np.uint64(0x6C6F7473)
"""The key of random draws."""

_Opening = tuple[float, int, npt.NDArray[np.int64]]
"""Its probability, start outcome and leading cards."""


class Worth(NamedTuple):
    """The value of an agent's play. If nothing was sampled, `error` is 0 and the rest exact."""

    name: str
    mean_return: float
    error: float
    """Its standard error is at most this."""
    decisions: float
    """The mean number of an episode's decisions."""
    positions: int
    """The number of positions met."""
    seconds: float


def _gaps(files: Files) -> Iterator[Line]:
    """Agents beside best play, by enumeration."""
    for found in files:
        for one in found["agents"]:
            digits = 9 if not one["error"] else 6
            yield {
                "game": title(found),
                "options": options(found),
                "agent": agent(one),
                "return": f"{one['mean_return']:+.{digits}f}",
                "gap to best play": f"{one['gap']:.{digits}f}",
                "standard error at most": f"{one['error']:.1g}" if one["error"] else "",
                "positions": f"{one['positions']:,}",
            }


@dataclass(frozen=True)
class AgentValues(OfGame, kind="agent_values", heading="Gaps to best play", tables={"gaps": _gaps}):
    """Best play, random play and agents, in the game's rewards."""

    best_return: float
    random_return: float
    least: float
    """Positions rarer than this, after an opening, were sampled."""
    agents: list[Worth]

    def gap(self, worth: Worth) -> float:
        """Return how much more best play gains."""
        return self.best_return - worth.mean_return

    @classmethod
    def charts(cls, files: Files) -> Iterator[Dots]:
        """The gaps."""
        about = "Mean return that each agent falls short of best play, by enumeration."
        for found in files:
            rows = [(one["name"], Estimate(*[one["gap"]] * 3)) for one in found["agents"]]
            yield dots(f"{with_options(found)}: gap to best play", about, "gap", rows, Mark(0.0, "best play"))

    @property
    def title(self) -> str:
        """The baselines of the agents."""
        how = "by enumeration" if self.least else "exactly"
        plays = f"best play returns {self.best_return:+.9f}, random play {self.random_return:+.9f}."
        sampled = f"\nPositions rarer than {self.least:g} after their opening were sampled." if self.least else ""
        return f"{super().title}, {how}: {plays}{sampled}"

    def records(self) -> list[dict[str, Any]]:
        """A row for each agent."""
        return [{"game": self.game, **worth._asdict(), "gap": self.gap(worth)} for worth in self.agents]

    def measured(self) -> dict[str, Any]:
        """What was found, as its file holds it."""
        return {
            "best_return": self.best_return,
            "random_return": self.random_return,
            "least": self.least,
            "agents": [{**worth._asdict(), "gap": self.gap(worth)} for worth in self.agents],
        }


def agent_values(
    game: str | GameType | Game,
    agents: Sequence[Agent],
    solution: Solution,
    *,
    least: float = 0.0,
    num_threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    cluster: str | None = None,
) -> AgentValues:
    """Compute the mean return of each agent in a game of one seat, over all orders of the pack, beside the game's
    `solution`.

    With `least` = 0 every position is followed and the values are exact; otherwise positions rarer than `least`, after
    their opening, are sampled, the same ones on any number of threads. `progress(done, all)` counts openings.
    `cluster` is the address of a Ray cluster that follows them instead. Raises Unsolvable for another game,
    NoProbabilities for an agent that does not tell its probabilities, or has to see a table.
    """
    game = game_of(game)
    if game.type.enumeration is None or game.num_seats != 1:
        raise Unsolvable(f"{game.name} is no game of one seat that hides only the order of the pack.")
    if (solution.game, solution.options) != (game.id, game.option_values):
        raise InvalidValue(f"The solution is of {solution.game} under {solution.options}; agents are to play {game!r}.")
    if not 0 <= least < 1:
        raise InvalidValue(f"least is {least}; it is a probability of 0 or more, below 1.")
    num_threads = threads_of(num_threads)
    every = _every_opening(game)
    total = len(every) * len(agents)
    found = []
    with machines(cluster) as executor:
        for number, one in enumerate(agents):
            before = number * len(every)
            tell = None if progress is None else lambda done, before=before: progress(before + done, total)
            found.append(_Following(game, one, every, least, tell).worth(num_threads, executor))
    return AgentValues(
        **of_game(game, __file__),
        best_return=solution.best_return,
        random_return=solution.random_return,
        least=least,
        agents=found,
    )


def read_solution(path: Path, game: Game) -> Solution:
    """Return the solution that `solve` wrote for this game under these options. Raises OSError, and ValueError for any
    other file."""
    try:
        kept = read_json(path)
        if kept["kind"] != "solution" or kept.get("objective", "reward") != "reward":
            raise KeyError("kind")
        best, drifting = float(kept["best_return"]), float(kept["random_return"])
        positions, taken = int(kept["positions"]), int(kept["openings"])
        made_for = kept["game"], kept["options"]
    except (ValueError, KeyError, TypeError):
        raise InvalidValue(
            f"{path} holds no solution for the reward; backalley solve {game.spec} --json FILE writes one."
        ) from None
    if made_for != (game.id, game.option_values):
        raise InvalidValue(f"{path} holds the solution of {made_for[0]} under {made_for[1]}, not of {game!r}.")
    return Solution(best, drifting, positions, taken, 0.0, **of_game(game))


def _every_opening(game: Game) -> list[_Opening]:
    """All openings, in one order."""
    return [opening for group in grouped_openings(game).values() for opening in group]


class _Following:
    """One agent's play, opening by opening, on several threads or machines."""

    def __init__(
        self, game: Game, agent: Agent, every: list[_Opening], least: float, tell: Callable[[int], None] | None
    ) -> None:
        self.game, self.agent, self.every, self.least, self.tell = game, agent, every, least, tell
        self._found: dict[int, npt.NDArray[np.float64]] = {}
        self._left, self._lock = iter(range(len(every))), threading.Lock()
        self._stopped = threading.Event()

    def worth(self, num_threads: int, executor: Executor) -> Worth:
        """Return the agent's value. Raises Unsolvable."""
        began = time.perf_counter()
        if executor is LOCAL:
            self._share_out(num_threads)
        else:
            self._hand_out(executor)
        chances = [chance for chance, _, _ in self.every]
        rows = [self._found[number] for number in range(len(self.every))]
        low, high = self.game.reward_range

        def mean(place: int) -> float:
            return math.fsum(chance * row[place] for chance, row in zip(chances, rows, strict=True))

        variance = math.fsum(chance**2 * row[VARIANCE] for chance, row in zip(chances, rows, strict=True))
        return Worth(
            name=name_of(self.agent),
            mean_return=mean(GAINED),
            error=(high - low) * math.sqrt(variance),
            decisions=mean(DECISIONS),
            positions=int(sum(row[POSITIONS] for row in rows)),
            seconds=time.perf_counter() - began,
        )

    def _hand_out(self, executor: Executor) -> None:
        with closing(executor.in_order(Openings(self.game, self.agent, self.least), [(0, len(self.every))])) as ranges:
            for done in ranges:
                self._found |= zip(range(done.low, done.high), done.found[0], strict=True)
                if self.tell is not None:
                    self.tell(len(self._found))

    def _share_out(self, num_threads: int) -> None:
        entries = linked(self.game)
        with ThreadPoolExecutor(num_threads) as pool:
            try:
                for thread in [pool.submit(self._follow_on, entries) for _ in range(num_threads)]:
                    thread.result()
            finally:
                self._stopped.set()

    def _follow_on(self, kernels: Following) -> None:
        """Take opening after opening, until none is left."""
        follower = _Follower(self.game, self.agent, self.least, kernels)
        while True:
            with self._lock:
                number = next(self._left, None)
            if number is None or self._stopped.is_set():
                return
            found = follower.follow(number, self.every[number])
            with self._lock:
                self._found[number] = found
                if self.tell is not None:
                    self.tell(len(self._found))


def _direct(agent: Agent) -> DirectAgent:
    """An agent that can be asked at every position. Raises NoProbabilities."""
    if not isinstance(agent, DirectAgent):
        raise NoProbabilities(f"{name_of(agent)} cannot be asked at every position: it has to see a table.")
    return agent


class _Follower:
    """The memory of one thread that follows openings; it grows where that is needed."""

    def __init__(self, game: Game, agent: Agent, least: float, kernels: Following) -> None:
        self.game, self.least, self._kernels = game, least, kernels
        self._agent, self._store, self._space = _direct(agent), memory(game, 2), workspace(game)
        self._size = _SMALLEST
        self._layers = [empty_layer(game, self._size) for _ in range(2)]

    def follow(self, number: int, opening: _Opening) -> npt.NDArray[np.float64]:
        """Return what was found after one opening. Raises Unsolvable."""
        while not self._try(number, opening, self._store, self._space):
            self._size = self._larger(self._size)
            self._layers = [empty_layer(self.game, self._size) for _ in range(2)]
        return self._space.found.copy()

    def _try(self, number: int, opening: _Opening, store: Memory, space: Workspace) -> bool:
        """Follow one opening, layer by layer, into `space.found`; False where a layer is full."""
        options, kernels, (here, there) = self.game.options, self._kernels, self._layers
        space.found[:], space.full[0] = 0, False
        space.stream[0] = rng.fork(_LOTS_SPACE, number)
        store.state[0] = np.zeros((), store.state.dtype)
        _clear(there)
        kernels.opening(options, store, there, space, *opening[1:])
        while there.size[0] and not space.full[0]:
            here, there = there, here
            _clear(there)
            kernels.thin(here, space, self.least)
            count = int(here.size[0])
            here.plays[:count] = self._agent.probabilities(here.shown[:count], here.mask[:count])
            kernels.follow(options, store, here, there, space)
        return not space.full[0]

    def _larger(self, size: int) -> int:
        each = self.game.state_dtype.itemsize + self.game.observation_dtype.itemsize + 9 * self.game.num_actions + 32
        if 8 * size * each > _MOST_BYTES:
            raise Unsolvable(
                f"{self.game.name} has more than {size:,} positions in one layer after an opening; "
                "sample the rare ones (a greater least)."
            )
        return 4 * size


def _clear(layer: Layer) -> None:
    layer.size[0] = 0
    layer.slots[:] = -1


class Openings:
    """Openings by their numbers, followed by one agent: see `cluster.work.Work`."""

    sizes = Sizes(4096)

    def __init__(self, game: Game, agent: Agent, least: float) -> None:
        self.game, self.agent, self.least = game, agent, least
        self._follower: _Follower | None = None
        self._every: list[_Opening] = []

    def begin(self, part: int) -> float:
        """Link the kernels."""
        if self._follower is None:
            self._every = _every_opening(self.game)
            self._follower = _Follower(self.game, self.agent, self.least, linked(self.game))
        return 0.0

    def do(self, part: int, low: int, high: int) -> Found:
        """Follow openings; return a row of what was found for each."""
        assert self._follower is not None
        return (np.array([self._follower.follow(number, self._every[number]) for number in range(low, high)]),)

    def close(self) -> None:
        """Give the memory back."""
        self._follower = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Openings, (self.game, self.agent, self.least)
