"""The exact values of agents in games that `exact.solve` can solve: their expected return over every order of the pack,
beside that of optimal play."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from backalley.agents.base.action_probabilities import NoProbabilities
from backalley.agents.base.agent import Agent, DirectAgent, name_of
from backalley.cluster import machines
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
from .exact import Solution, Unsolvable
from .expectimax import memory
from .openings import Opening, Row, grouped_openings, share_out
from .reachability import DECISIONS, GAINED, POSITIONS, VARIANCE, clear, linked, two_layers

_SMALLEST, _MOST_BYTES = 1 << 14, 1 << 32
_LOTS_SPACE = np.uint64(0x6C6F7473)
"""The key of random draws."""


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
        return [{"game": self.game, **one} for one in self.measured()["agents"]]

    def measured(self) -> dict[str, Any]:
        """What was found, as its file holds it."""
        return {**super().measured(), "agents": [{**one._asdict(), "gap": self.gap(one)} for one in self.agents]}


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
    check_followed(game)
    if (solution.game, solution.options) != (game.id, game.option_values):
        raise InvalidValue(f"The solution is of {solution.game} under {solution.options}; agents are to play {game!r}.")
    if not 0 <= least < 1:
        raise InvalidValue(f"least is {least}; it is a probability of 0 or more, below 1.")
    num_threads = threads_of(num_threads)
    every, done, found = _every_opening(game), 0, list[Worth]()

    def note(rows: dict[int, Row], number: int, row: Row) -> None:
        nonlocal done
        rows[number], done = row, done + 1
        if progress is not None:
            progress(done, len(every) * len(agents))

    with machines(cluster) as executor:
        for one in agents:
            began, rows = time.perf_counter(), dict[int, Row]()
            make = partial(_Follower, game, one, least)
            share_out(make, range(len(every)), partial(note, rows), num_threads, executor)
            found.append(_worth(game, one, [rows[number] for number in range(len(every))], began))
    return AgentValues(
        **of_game(game, __file__),
        best_return=solution.best_return,
        random_return=solution.random_return,
        least=least,
        agents=found,
    )


def check_followed(game: Game) -> None:
    """Raise Unsolvable for a game whose agents have no exact values."""
    if game.type.enumeration is None or game.num_seats != 1:
        raise Unsolvable(f"{game.name} is no game of one seat that hides only the order of the pack.")


def _worth(game: Game, agent: Agent, rows: list[Row], began: float) -> Worth:
    """Return an agent's value, of what was found for all openings."""
    chances = [chance for chance, _, _ in _every_opening(game)]
    low, high = game.reward_range

    def mean(place: int) -> float:
        return math.fsum(chance * row[place] for chance, row in zip(chances, rows, strict=True))

    variance = math.fsum(chance**2 * row[VARIANCE] for chance, row in zip(chances, rows, strict=True))
    return Worth(
        name=name_of(agent),
        mean_return=mean(GAINED),
        error=(high - low) * math.sqrt(variance),
        decisions=mean(DECISIONS),
        positions=int(sum(row[POSITIONS] for row in rows)),
        seconds=time.perf_counter() - began,
    )


def _every_opening(game: Game) -> list[Opening]:
    """All openings, in one order."""
    return [opening for group in grouped_openings(game).values() for opening in group]


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


def _direct(agent: Agent) -> DirectAgent:
    """An agent that can be asked at every position. Raises NoProbabilities."""
    if not isinstance(agent, DirectAgent) or agent.reads_events:
        raise NoProbabilities(f"{name_of(agent)} cannot be asked at every position: it has to see a table.")
    return agent


class _Follower:
    """Follows openings, by their numbers, in a memory that grows where that is needed."""

    def __init__(self, game: Game, agent: Agent, least: float) -> None:
        self._game, self._least, self._every = game, least, _every_opening(game)
        self._agent, self._store, self._size = _direct(agent), memory(game, 2), _SMALLEST
        self._layers = two_layers(game, self._size)
        self._kernels = linked(game)

    def __call__(self, number: int) -> Row:
        """Return what was found after one opening. Raises Unsolvable."""
        while not self._try(number):
            self._size = self._larger(self._size)
            self._layers = two_layers(self._game, self._size)
        return self._layers[0].found.copy()

    def _try(self, number: int) -> bool:
        """Follow one opening, layer by layer, into `found`; False where a layer is full."""
        options, store, (here, there) = self._game.options, self._store, self._layers
        here.found[:], here.full[0] = 0, False
        here.stream[0] = rng.fork(_LOTS_SPACE, number)
        store.state[0] = np.zeros((), store.state.dtype)
        clear(there)
        self._kernels.opening(options, store, there, *self._every[number][1:])
        while there.size[0] and not there.full[0]:
            here, there = there, here
            clear(there)
            self._kernels.thin(here, self._least)
            count = int(here.size[0])
            here.plays[:count] = self._agent.probabilities(here.shown[:count], here.mask[:count])
            self._kernels.follow(options, store, here, there)
        return not there.full[0]

    def _larger(self, size: int) -> int:
        game = self._game
        each = game.state_dtype.itemsize + game.observation_dtype.itemsize + 9 * game.num_actions + 32
        if 8 * size * each > _MOST_BYTES:
            raise Unsolvable(
                f"{game.name} has more than {size:,} positions in one layer after an opening; "
                "sample the rare ones (a greater least)."
            )
        return 4 * size
