"""How fast: decisions a second of random legal play, through the batch and through the AEC loop, games a second that a
search plays out, and the wait before the first decision of all.

What is timed is what a caller would write. A batch step is `tables.step(actions)` together with drawing the actions
from the mask; it writes observation, mask, seat and rewards of every table. The tables stand at different points of
their episodes, so that deals and endings come in their natural share. Every figure is the median of several
repetitions, with the extremes beside it.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.base import view_of
from backalley.agents.rule_based import random_legal
from backalley.agents.search import SearchAgent
from backalley.envs.core import rng
from backalley.envs.core.aec import AECEnv
from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game as game_of
from backalley.envs.core.durable import Unfinished
from backalley.envs.core.kernel import kernel
from backalley.envs.core.vector import BatchEnv
from backalley.envs.core.workers import cores

from . import results
from .tabular import Figures, Tabular

TABLES = (1, 64, 1024, 4096, 16384)
FLOOR_TABLES = 4096
"""With this many tables one core reaches the game's `speed_floor`."""
AEC_FLOOR = 40_000
REPEATS, SECONDS = 5, 0.4
SEARCH_TABLES, SEARCH_WORLDS = 64, 8
"""Tables at different points of their episodes, and worlds for each decision, from which a search's pace is taken."""
_LONGEST_STAGGER = 1000
_QUIET = 0.5
"""Load above which a measurement is of the other processes, too."""

FIRST_STEP = """
import json, sys, time
began = time.perf_counter()
import backalley
imported = time.perf_counter()
tables = backalley.make_vec(sys.argv[1], num_envs=64, seed=0, **json.loads(sys.argv[2]))
time_step = tables.reset()
tables.step(time_step.action_mask.argmax(1))
print(json.dumps({"import": imported - began, "first_step": time.perf_counter() - imported}))
"""


@kernel
def draw(mask: npt.NDArray[np.int8], streams: npt.NDArray[np.uint64], out: npt.NDArray[np.int64]) -> None:
    """A uniformly drawn legal action for every table [B], from each table's own stream."""
    for row in range(out.shape[0]):
        out[row] = random_legal(mask[row], streams[row])
        streams[row] = rng.advance(streams[row])


@dataclass(frozen=True)
class Pace:
    """Decisions a second: the median of several repetitions, the slowest and the fastest."""

    median: float
    low: float
    high: float

    def to_json(self) -> dict[str, float]:
        """Whole decisions a second."""
        return {"median": round(self.median), "low": round(self.low), "high": round(self.high)}


def _pace(run: Callable[[], int], seconds: float, repeats: int) -> Pace:
    """`run` makes some decisions and gives their number; it is repeated for `seconds`, `repeats` times over."""
    found = []
    for _ in range(repeats):
        decisions, began = 0, time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds:
            decisions += run()
        found.append(decisions / spent)
    return Pace(statistics.median(found), min(found), max(found))


class _RandomPlay:
    """B tables and actions drawn for them."""

    def __init__(self, game: Game, num_envs: int, num_threads: int) -> None:
        self.tables = BatchEnv(game, num_envs, seed=0, num_threads=num_threads)
        self.time_step = self.tables.reset()
        self._streams: npt.NDArray[np.uint64] = np.random.default_rng(1).integers(2**64, size=num_envs, dtype=np.uint64)
        self._actions = np.zeros(num_envs, np.int64)

    def step(self) -> int:
        """One decision on every table."""
        draw(self.time_step.action_mask, self._streams, self._actions)
        self.tables.step(self._actions)
        return len(self._actions)

    def stagger(self, length: int) -> None:
        """Play table i some way into an episode of about `length` decisions, each table another way."""
        ahead = np.arange(self.tables.num_envs) * min(length, _LONGEST_STAGGER) // self.tables.num_envs
        for played in range(int(ahead.max())):
            rows = np.flatnonzero(ahead > played)
            draw(self.time_step.action_mask, self._streams, self._actions)
            self.tables.step(self._actions[rows], rows)


def episode_length(game: Game) -> float:
    """Decisions in an episode of random play, on average over some hundred episodes."""
    play, decisions, ended = _RandomPlay(game, 64, 1), 0, 0
    while ended < 256:
        decisions += play.step()
        ended += int((play.time_step.terminated | play.time_step.truncated).sum())
    return decisions / ended


def batch_pace(
    game: Game,
    num_envs: int,
    num_threads: int,
    *,
    length: float = 1.0,
    seconds: float = SECONDS,
    repeats: int = REPEATS,
) -> Pace:
    """Decisions a second of `num_envs` tables, staggered over episodes of `length` decisions."""
    play = _RandomPlay(game, num_envs, num_threads)
    play.stagger(round(length))
    play.step()
    steps = max(1, 256 // num_envs)
    try:
        return _pace(lambda: sum(play.step() for _ in range(steps)), seconds, repeats)
    finally:
        play.tables.close()


def playout_pace(game: Game, *, length: float = 1.0, seconds: float = SECONDS, repeats: int = REPEATS) -> Pace:
    """Games a second that `mc:WORLDS` plays out on one core: worlds drawn, an action played in each, and the bot to the
    end."""
    play = _RandomPlay(game, SEARCH_TABLES, 1)
    play.stagger(round(length))
    search = SearchAgent(game, SEARCH_WORLDS, num_threads=1)
    keys = np.random.default_rng(2).integers(2**64, size=SEARCH_TABLES, dtype=np.uint64)

    def search_once() -> int:
        before = search.playouts
        while search.playouts == before:  # tables without a choice take no playouts
            search.act(view_of(play.tables.engine, np.arange(SEARCH_TABLES), keys))
            play.step()
        return search.playouts - before

    search_once()
    return _pace(search_once, seconds, repeats)


def aec_pace(game: Game, *, seconds: float = SECONDS, repeats: int = REPEATS) -> Pace:
    """Decisions a second of PettingZoo's usual loop, with actions drawn by `np.flatnonzero`."""
    env, chance = AECEnv(game), random.Random(0)
    env.reset(seed=0)

    def episode() -> int:
        decisions = 0
        env.reset()
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            assert observation is not None
            legal = np.flatnonzero(observation["action_mask"])
            env.step(legal[int(chance.random() * len(legal))])
            decisions += 1
        return decisions

    episode()
    return _pace(episode, seconds, repeats)


def first_step(game: Game) -> dict[str, dict[str, float]]:
    """Seconds that a new process takes to import the package, and from `make_vec` to the end of the first step: with an
    empty cache of machine code (`cold`), and with a filled one (`warm`)."""
    with tempfile.TemporaryDirectory(prefix="backalley-cold-") as cache:
        return {name: _first_step(game, cache) for name in ("cold", "warm")}


def _first_step(game: Game, cache: str) -> dict[str, float]:
    arguments = [game.id, json.dumps(game.changed_options)]
    environment = {**os.environ, "BACKALLEY_CACHE": cache}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_STEP, *arguments], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"A new process could not play {game.id}:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(
    game: Game, *, tables: Sequence[int] = TABLES, seconds: float = SECONDS, repeats: int = REPEATS
) -> dict[str, Any]:
    """All figures of one game, as JSON can hold them."""
    length, batch = episode_length(game), []
    for threads in sorted({1, cores()}):
        for size in tables:
            pace = batch_pace(game, size, threads, length=length, seconds=seconds, repeats=repeats)
            batch.append({"tables": size, "threads": threads, **pace.to_json()})
    return {
        "game": game.id,
        "options": game.option_values,
        "seats": game.num_seats,
        "actions": game.num_actions,
        "observation_bytes": game.observation_dtype.itemsize,
        "state_bytes": game.state_dtype.itemsize,
        "decisions_per_episode": round(length, 1),
        "batch": batch,
        "playouts": playout_pace(game, length=length, seconds=seconds, repeats=repeats).to_json(),
        "floor": game.type.speed_floor,
        "aec": aec_pace(game, seconds=seconds, repeats=repeats).to_json(),
        "seconds_to_first_step": first_step(game),
    }


@dataclass(frozen=True)
class Speeds(Tabular):
    """What `speed` measured, game by game."""

    games: list[dict[str, Any]]
    planned: int
    load: float | None
    """Processes that wanted a core, on average over the minute before: near 0 on a quiet machine. None where the system
    does not tell."""
    stamp: dict[str, Any]
    command: str = ""

    @property
    def complete(self) -> bool:
        """Whether all games were measured."""
        return len(self.games) == self.planned

    def to_json(self) -> dict[str, Any]:
        """The figures as `results.write` takes them."""
        floors = {"tables": FLOOR_TABLES, "threads": 1, "aec_decisions_per_second": AEC_FLOOR}
        facts = {
            "kind": "speed",
            "command": self.command,
            "complete": self.complete,
            "load_before": self.load,
            "floor": floors,
        }
        return {**facts, "games": self.games, **self.stamp}

    def records(self) -> list[dict[str, Any]]:
        """A row for each number of tables and threads, and one for the AEC loop and the search: decisions (or games
        that a search plays out) a second."""
        found = []
        for game in self.games:
            name = {"game": game["game"]}
            found += [{**name, "what": "batch", **entry} for entry in game["batch"]]
            found += [{**name, "what": what, "tables": 1, "threads": 1, **game[what]} for what in ("aec", "playouts")]
        return found

    def figures(self) -> Figures:
        """Decisions a second in millions, the AEC loop's and a search's playouts in thousands, seconds to the first
        step; `!` marks a figure below its floor."""
        if not self.games:
            return Figures("Nothing was measured.", [], [])
        columns = [(entry["threads"], entry["tables"]) for entry in self.games[0]["batch"]]
        head = [
            "game",
            *(f"{tables:,} x {threads}" for threads, tables in columns),
            "AEC, k/s",
            "playouts, k/s",
            "first, cold",
            "warm",
        ]
        rows = [
            [game["game"], *_batch_cells(game), _aec_cell(game), *_search_cells(game), *_wait_cells(game)]
            for game in self.games
        ]
        machine = self.stamp["machine"]
        floors = " or ".join(f"{floor / 1e6:g} million" for floor in sorted({game["floor"] for game in self.games}))
        return Figures(
            f"Random legal play on {machine['processor']}, Python {machine['python']}, Numba {machine['numba']}",
            head,
            rows,
            [
                "Columns `tables x threads` are millions of decisions a second, medians of several repetitions; the "
                "waits are seconds from",
                "make_vec to the end of the first step in a new process. Playouts are a search's, on one core. ! marks "
                "less than",
                f"the game's floor ({floors}) at {FLOOR_TABLES:,} tables on one thread, or {AEC_FLOOR:,} in the AEC "
                "loop.",
                *self._busy(),
            ],
        )

    def _busy(self) -> list[str]:
        if self.load is None or self.load < _QUIET:
            return []
        return [f"The machine was busy (load {self.load:.1f} before the start): a quiet one gives higher figures."]


def _batch_cells(game: Mapping[str, Any]) -> Iterable[str]:
    for entry in game["batch"]:
        short = entry["tables"] == FLOOR_TABLES and entry["threads"] == 1 and entry["median"] < game["floor"]
        yield f"{entry['median'] / 1e6:.2f}{'!' if short else ''}"


def _aec_cell(game: Mapping[str, Any]) -> str:
    median = game["aec"]["median"]
    return f"{median / 1e3:.0f}{'!' if median < AEC_FLOOR else ''}"


def _search_cells(game: Mapping[str, Any]) -> list[str]:
    return [f"{game['playouts']['median'] / 1e3:.3g}"]


def _wait_cells(game: Mapping[str, Any]) -> list[str]:
    waits = game["seconds_to_first_step"]
    return [f"{waits['cold']['first_step']:.1f}", f"{waits['warm']['first_step']:.1f}"]


def speed(
    games: Sequence[str | GameType | Game],
    *,
    tables: Sequence[int] = TABLES,
    seconds: float = SECONDS,
    repeats: int = REPEATS,
    progress: Callable[[int, int], None] | None = None,
    keep: Path | None = None,
) -> Speeds:
    """Measure games, by name or bound to their options. `progress` is called with the games done and all games.

    Ctrl-C ends the measuring and gives what is finished; with `keep`, the file that the figures will be written to
    (`results.write`), that is kept beside it until then and the same call goes on from there (on the same machine
    only). Raises ValueError where unfinished work of another task lies beside `keep`.
    """
    chosen = [game_of(game) for game in games]
    stamp, load = results.stamp(__file__, *chosen), os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    task = {
        "speed of": [[game.id, game.option_values] for game in chosen],
        "tables": list(tables),
        "seconds": seconds,
        "repeats": repeats,
        "machine": stamp["machine"],
    }
    unfinished = Unfinished(keep, task, stamp["sources"])
    done: list[dict[str, Any]] = json.loads(str(unfinished.load().get("games", "[]")))
    try:
        for number, game in enumerate(chosen):
            if number < len(done):
                continue
            if progress:
                progress(number, len(chosen))
            done.append(measure(game, tables=tables, seconds=seconds, repeats=repeats))
            unfinished.save({"games": np.array(json.dumps(done))})
    except KeyboardInterrupt:
        if not done:
            raise
    return Speeds(done, len(chosen), load, stamp)
