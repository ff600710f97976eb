"""What agents are worth, exactly, in games that `exact.solve` can solve: their expected return over every order of the
pack, beside that of best play."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.base import Agent, name_of
from backalley.envs.core import rng
from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game as game_of

from . import results
from .asking import Asked
from .enumeration import Memory, memory
from .exact import Solution, Unsolvable, grouped_openings
from .following import DECISIONS, GAINED, POSITIONS, VARIANCE, Following, Ledger, Room, ledger, linked, room
from .report import options_text
from .tabular import Figures, Tabular

_SMALLEST, _MOST_BYTES = 1 << 14, 1 << 32
_LOTS_SPACE = np.uint64(0x6C6F7473)
"""The key that lots are drawn by."""

_Opening = tuple[float, int, npt.NDArray[np.int64]]
"""Its probability, start outcome and leading cards."""


class Worth(NamedTuple):
    """What an agent's play comes to. Where nothing was drawn by lot `error` is 0, and the rest exact."""

    name: str
    mean_return: float
    error: float
    """Its standard error is at most this."""
    decisions: float
    """How many an episode takes on average."""
    positions: int
    """How many were met."""
    seconds: float


@dataclass(frozen=True)
class AgentValues(Tabular):
    """Best play, random play and agents, in the game's rewards."""

    game: str
    options: dict[str, Any]
    changed: dict[str, Any]
    best_return: float
    random_return: float
    least: float
    """Positions rarer than this, after an opening, were followed by lot."""
    agents: list[Worth]
    stamp: dict[str, Any]
    command: str = ""

    def gap(self, worth: Worth) -> float:
        """What best play gains more."""
        return self.best_return - worth.mean_return

    def figures(self) -> Figures:
        """Expected returns, and gaps to best play."""
        by_lot = any(worth.error for worth in self.agents)
        fixed = [("best", self.best_return), ("random", self.random_return)]
        rows = [[name, f"{gain:+.9f}", f"{self.best_return - gain:.9f}", ""] for name, gain in fixed]
        for worth in self.agents:
            digits = 9 if not worth.error else max(2, 1 - math.floor(math.log10(worth.error)))
            gap = f"{self.gap(worth):.{digits}f}"
            rows.append([worth.name, f"{worth.mean_return:+.{digits}f}", gap, f"{worth.error:.1g}" if by_lot else ""])
        note = f"Positions rarer than {self.least:g} after their opening were followed by lot." if by_lot else ""
        head = ["play", "expected return", "gap to best", "standard error at most"]
        if not by_lot:
            head, rows = head[:3], [row[:3] for row in rows]
        title = f"{self.game}{options_text(self.changed)}, {'by enumeration' if by_lot else 'exactly'}"
        return Figures(title, head, rows, [note] if note else [])

    def records(self) -> list[dict[str, Any]]:
        """A row for each agent."""
        return [{"game": self.game, **worth._asdict(), "gap": self.gap(worth)} for worth in self.agents]

    def to_json(self) -> dict[str, Any]:
        """The values as `results.write` takes them."""
        return {
            "kind": "agent_values",
            "command": self.command,
            "game": self.game,
            "options": self.options,
            "best_return": self.best_return,
            "random_return": self.random_return,
            "least": self.least,
            "agents": [{**worth._asdict(), "gap": self.gap(worth)} for worth in self.agents],
            **self.stamp,
        }


def agent_values(
    game: str | GameType | Game,
    agents: Sequence[Agent],
    solution: Solution,
    *,
    least: float = 0.0,
    num_threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> AgentValues:
    """What each agent returns on average in a game of one seat, over all orders of the pack, beside the game's
    `solution`.

    With `least` = 0 every position is followed and the values are exact; otherwise those rarer than `least`, after
    their opening, are followed by lot, the same ones on any number of threads. `progress(done, all)` counts openings.
    Raises Unsolvable in a sentence for another game, Unasked for an agent whose play cannot be enumerated.
    """
    game = game_of(game)
    if game.type.enumeration is None or game.num_seats != 1:
        raise Unsolvable(f"{game.name} is no game of one seat that hides only the order of the pack.")
    if (solution.game, solution.options) != (game.id, game.option_values):
        raise ValueError(f"The solution is of {solution.game} under {solution.options}; agents are to play {game!r}.")
    if not 0 <= least < 1:
        raise ValueError(f"least is {least}; it is a probability of 0 or more, below 1.")
    every = [opening for group in grouped_openings(game).values() for opening in group]
    total = len(every) * len(agents)
    found = []
    for number, agent in enumerate(agents):
        before = number * len(every)
        tell = None if progress is None else lambda done, before=before: progress(before + done, total)
        found.append(_Following(game, agent, every, least, tell).worth(num_threads))
    return AgentValues(
        game=game.id,
        options=game.option_values,
        changed=game.changed_options,
        best_return=solution.best_return,
        random_return=solution.random_return,
        least=least,
        agents=found,
        stamp=results.stamp(__file__, game),
    )


def read_solution(path: Path, game: Game) -> Solution:
    """What `solve` wrote to a file for this game under these options. Raises OSError, and ValueError in a sentence for
    any other file."""
    try:
        kept = json.loads(path.read_bytes())
        if kept["kind"] != "solution" or kept.get("objective", "reward") != "reward":
            raise KeyError("kind")
        best, drifting = float(kept["best_return"]), float(kept["random_return"])
        positions, taken = int(kept["positions"]), int(kept["openings"])
        made_for = kept["game"], kept["options"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            f"{path} holds no solution for the reward; backalley solve {game.spec} --json FILE writes one."
        ) from None
    if made_for != (game.id, game.option_values):
        raise ValueError(f"{path} holds the solution of {made_for[0]} under {made_for[1]}, not of {game!r}.")
    return Solution(game.id, game.option_values, game.changed_options, best, drifting, positions, taken, 0.0, {})


class _Following:
    """One agent's play, opening by opening, on several threads."""

    def __init__(
        self, game: Game, agent: Agent, every: list[_Opening], least: float, tell: Callable[[int], None] | None
    ) -> None:
        self.game, self.agent, self.every, self.least, self.tell = game, agent, every, least, tell
        self._found: dict[int, npt.NDArray[np.float64]] = {}
        self._left, self._lock = iter(range(len(every))), threading.Lock()
        self._stopped = threading.Event()

    def worth(self, num_threads: int) -> Worth:
        """The agent's value. Raises Unsolvable."""
        began = time.perf_counter()
        entries = linked(self.game)
        with ThreadPoolExecutor(num_threads) as pool:
            try:
                for thread in [pool.submit(self._follow_on, entries) for _ in range(num_threads)]:
                    thread.result()
            finally:
                self._stopped.set()
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

    def _follow_on(self, kernels: Following) -> None:
        """Take opening after opening, until none is left."""
        asked, store, space = Asked(self.game, self.agent), memory(self.game, 2), room(self.game)
        size = _SMALLEST
        layers = [ledger(self.game, size) for _ in range(2)]
        while True:
            with self._lock:
                number = next(self._left, None)
            if number is None or self._stopped.is_set():
                return
            while not self._follow(number, kernels, asked, store, space, layers):
                size = self._larger(size)
                layers = [ledger(self.game, size) for _ in range(2)]
            with self._lock:
                self._found[number] = space.found.copy()
                if self.tell is not None:
                    self.tell(len(self._found))

    def _follow(
        self, number: int, kernels: Following, asked: Asked, store: Memory, space: Room, layers: list[Ledger]
    ) -> bool:
        """Follow one opening, layer by layer, into `space.found`; False where a ledger has no room for it."""
        options, (here, there) = self.game.options, layers
        space.found[:], space.full[0] = 0, False
        space.stream[0] = rng.fork(_LOTS_SPACE, number)
        store.state[0] = np.zeros((), store.state.dtype)
        _clear(there)
        kernels.opening(options, store, there, space, *self.every[number][1:])
        while there.size[0] and not space.full[0]:
            here, there = there, here
            _clear(there)
            kernels.thin(here, space, self.least)
            count = int(here.size[0])
            asked(here.shown[:count], here.mask[:count], here.plays[:count])
            kernels.follow(options, store, here, there, space)
        return not space.full[0]

    def _larger(self, size: int) -> int:
        each = self.game.state_dtype.itemsize + self.game.observation_dtype.itemsize + 9 * self.game.num_actions + 32
        if 8 * size * each > _MOST_BYTES:
            raise Unsolvable(
                f"{self.game.name} has more than {size:,} positions in one layer after an opening; "
                "follow the rare ones by lot (a greater least)."
            )
        return 4 * size


def _clear(layer: Ledger) -> None:
    layer.size[0] = 0
    layer.slots[:] = -1
