"""Speed: decisions a second of random legal play, through the batch and through the AEC loop, rollouts a second of a
search, the wait before the first decision, and the cost of a decision of named agents.

The timed code is what a caller would write. A batch step is `tables.step(actions)` together with drawing the actions
from the mask, or a decision of `tables.play_random`, which draws in the kernel; either writes observation, mask, seat
and rewards of every table. The tables are at different points of their
episodes, so that deals and endings have their natural share. Every number is the median of several repetitions, with
the extremes beside it.
"""

from __future__ import annotations

import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backalley.agents.base.agent import Agent, answer, name_of, view_of
from backalley.agents.base.rule_based import RandomAgent, bots_of
from backalley.agents.gymnasium.gymnasium_env import GymnasiumEnv
from backalley.agents.policies.pretrained import NoPolicy
from backalley.agents.registry import agent as agent_of
from backalley.agents.search.flat_monte_carlo import SearchAgent
from backalley.console.errors import InvalidValue
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.files.durable import Unfinished
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.threads import cores

from ..figures import results
from ..figures.charts import Dots, Mark, dots
from ..figures.formatting import Found, Line, bound, changed, given_options, options, title
from ..figures.result_kinds import Files, Kept, Result
from ..figures.stats import Estimate
from .alone import Alone
from .processor_time import Timed, cost
from .random_play import RandomPlay, episode_length

TABLES = (1, 64, 1024, 4096, 16384)
FLOOR_TABLES = 4096
"""With this many tables one core reaches the game's `speed_floor`."""
AEC_FLOOR, REPEATS, SECONDS = 40_000, 5, 0.4
SEARCH_TABLES, SEARCH_DETERMINIZATIONS = 64, 8
"""Tables at different points of their episodes, and determinizations for each decision, for timing a search."""
_ASKED_EVERY = 7
"""Decisions between two timed ones of an agent, so that every phase of a game is included."""
_MOST_DECISIONS = 1_000_000
_STEPS = 64
"""Steps of a Gymnasium environment between two looks at the clock."""
_QUIET = 0.5
"""Above this load, other processes disturb a measurement."""

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


def _whole(pace: Estimate) -> dict[str, int]:
    """A pace as JSON: the median, the slowest and the fastest, in whole decisions a second."""
    return {"median": round(pace.mean), "low": round(pace.low), "high": round(pace.high)}


def _pace(run: Callable[[], int], seconds: float, repeats: int) -> Estimate:
    """Decisions a second: the median of `repeats` repetitions, the slowest and the fastest. `run` makes some decisions
    and gives their number; it is repeated for `seconds`."""
    found = []
    for _ in range(repeats):
        decisions, began = 0, time.perf_counter()
        while (spent := time.perf_counter() - began) < seconds:
            decisions += run()
        found.append(decisions / spent)
    return Estimate(statistics.median(found), min(found), max(found))


def batch_pace(
    game: Game,
    num_envs: int,
    num_threads: int,
    *,
    length: float = 1.0,
    in_kernel: bool = False,
    seconds: float = SECONDS,
    repeats: int = REPEATS,
) -> Estimate:
    """Measure decisions a second of `num_envs` tables, staggered over episodes of `length` decisions; `in_kernel` says
    that `play_random` draws the actions."""
    tables = RandomPlay(game, num_envs, num_threads)
    tables.stagger(round(length))
    play = tables.play if in_kernel else tables.step
    play()
    steps = max(1, 256 // num_envs)
    try:
        return _pace(lambda: sum(play() for _ in range(steps)), seconds, repeats)
    finally:
        tables.tables.close()


def rollout_pace(game: Game, *, length: float = 1.0, seconds: float = SECONDS, repeats: int = REPEATS) -> Estimate:
    """Measure rollouts a second of `mc:DETERMINIZATIONS` on one core: determinizations drawn, an action played in each,
    and the bot to the end."""
    play = RandomPlay(game, SEARCH_TABLES, 1)
    play.stagger(round(length))
    search = SearchAgent(game, SEARCH_DETERMINIZATIONS, num_threads=1)
    keys = np.random.default_rng(2).integers(2**64, size=SEARCH_TABLES, dtype=np.uint64)

    def search_once() -> int:
        before = search.rollouts
        while search.rollouts == before:  # tables without a choice take no rollouts
            search.act(view_of(play.tables, np.arange(SEARCH_TABLES), keys))
            play.step()
        return search.rollouts - before

    search_once()
    return _pace(search_once, seconds, repeats)


def episode_at_random(env: AECEnv, chance: random.Random) -> int:
    """Play an episode in PettingZoo's usual loop; return its decisions."""
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


def aec_pace(game: Game, *, seconds: float = SECONDS, repeats: int = REPEATS) -> Estimate:
    """Measure decisions a second of PettingZoo's usual loop, with actions drawn by `np.flatnonzero`."""
    env, chance = AECEnv(game), random.Random(0)
    env.reset(seed=0)

    episode_at_random(env, chance)
    return _pace(lambda: episode_at_random(env, chance), seconds, repeats)


def gymnasium_paces(game: Game, *, seconds: float = SECONDS, repeats: int = REPEATS) -> dict[str, dict[str, Any]]:
    """Measure steps a second of one Gymnasium environment, resets included, against a random opponent, the game's best
    bot and its policy, as far as it has them; actions are drawn as in the AEC loop."""
    opponents: list[Agent] = [RandomAgent(), *bots_of(game)[-1:]]
    with suppress(NoPolicy):
        opponents.append(agent_of("policy", game))
    return {
        name_of(one).partition(":")[0]: _whole(_pace(_steps(GymnasiumEnv(game, opponent=one)), seconds, repeats))
        for one in opponents
    }


def _steps(env: GymnasiumEnv) -> Callable[[], int]:
    chance, mask = random.Random(0), env.reset(seed=0)[1]["action_mask"]

    def steps() -> int:
        nonlocal mask
        for _ in range(_STEPS):
            legal = np.flatnonzero(mask)
            *_, terminated, truncated, info = env.step(legal[int(chance.random() * len(legal))])
            mask = env.reset()[1]["action_mask"] if terminated or truncated else info["action_mask"]
        return _STEPS

    steps()
    return steps


def first_step(game: Game) -> dict[str, dict[str, float]]:
    """Measure the seconds that a new process takes to import the package, and from `make_vec` to the end of the first
    step: with an empty cache of machine code (`cold`), and with a filled one (`warm`)."""
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


def decision_cost(game: Game, spec: str, seconds: float = SECONDS) -> dict[str, Any]:
    """Return the milliseconds and the determinizations of a decision of an agent, alone at a table of bots, on one
    thread, and the number of decisions in that mean. Raises ValueError for a game in which nobody has a choice."""
    timed, bot = Timed(agent_of(spec, game, num_threads=1)), agent_of("bot" if game.bots else "random", game)
    tables, row, choices, asked = BatchEnv(game, 1, seed=0), np.zeros(1, np.int64), 0, 0
    try:
        tables.reset()
        for decision in range(_MOST_DECISIONS):
            view = view_of(tables, row, np.array([decision], np.uint64))
            if view.action_mask.sum() > 1:
                choices += 1
                if choices % _ASKED_EVERY == 1:
                    answer(timed, view)
                    asked += 1
            if timed.spent[0] >= seconds and asked > 1:
                return {"agent": spec, "decisions": asked - 1, **cost(timed.spent)}
            tables.step(answer(bot, view))
    finally:
        timed.close()
        tables.close()
    raise InvalidValue(f"In {game.name} {spec} has too few choices under these options to be timed.")


def measure(
    game: Game,
    *,
    tables: Sequence[int] = TABLES,
    seconds: float = SECONDS,
    repeats: int = REPEATS,
    agents: Sequence[str] = (),
) -> dict[str, Any]:
    """Return all results of one game, as JSON can hold them."""
    length, batch = episode_length(game), []
    for threads in sorted({1, cores()}):
        for size in tables:
            how: dict[str, Any] = {"length": length, "seconds": seconds, "repeats": repeats}
            pace, fused = (batch_pace(game, size, threads, in_kernel=each, **how) for each in (False, True))
            batch.append({"tables": size, "threads": threads, **_whole(pace), "in_kernel": _whole(fused)})
    return {
        "game": game.id,
        "options": game.option_values,
        "seats": game.num_seats,
        "actions": game.num_actions,
        "observation_bytes": game.observation_dtype.itemsize,
        "state_bytes": game.state_dtype.itemsize,
        "decisions_per_episode": round(length, 1),
        "batch": batch,
        "rollouts": _whole(rollout_pace(game, length=length, seconds=seconds, repeats=repeats)),
        "floor": game.type.speed_floor,
        "aec": _whole(aec_pace(game, seconds=seconds, repeats=repeats)),
        "gymnasium": gymnasium_paces(game, seconds=seconds, repeats=repeats),
        "seconds_to_first_step": first_step(game),
        **({"agents": [decision_cost(game, spec, seconds * repeats) for spec in agents]} if agents else {}),
    }


def _speed(files: Files) -> Iterator[Line]:
    """Millions of decisions a second, and the rest of what `speed` measures."""
    for game in (game for found in files for game in found["games"]):
        yield {
            "game": title(game),
            **{
                _tables(entry): f"{entry['median'] / 1e6:.2f}"
                for entry in game["batch"]
                if entry["threads"] == 1 or entry["tables"] == FLOOR_TABLES
            },
            **{
                f"{_tables(one)}, drawn in the kernel": f"{one['in_kernel']['median'] / 1e6:.2f}"
                for one in game["batch"]
                if one["tables"] == FLOOR_TABLES and "in_kernel" in one
            },
            "AEC loop, thousands": f"{game['aec']['median'] / 1e3:.0f}",
            **{
                f"Gymnasium against `{name}`, thousands of steps": f"{one['median'] / 1e3:.0f}"
                for name, one in game.get("gymnasium", {}).items()
            },
            "search rollouts, thousands": f"{game['rollouts']['median'] / 1e3:,.0f}",
            "first step ever": f"{game['seconds_to_first_step']['cold']['first_step']:.1f} s",
            "in a later process": f"{game['seconds_to_first_step']['warm']['first_step']:.1f} s",
            **{f"ms a decision of `{one['agent']}`": f"{one['milliseconds']:.3g}" for one in game.get("agents", ())},
        }


def _brief(files: Files) -> Iterator[Line]:
    """The numbers that most readers look for."""
    for game in (game for found in files for game in found["games"]):
        yield {
            "game": title(game),
            "decisions a second": f"{_batch(game, FLOOR_TABLES) / 1e6:.1f} million",
            "in the AEC loop": f"{game['aec']['median']:,}",
            "rollouts a second": f"{game['rollouts']['median']:,}",
            "first step": f"{game['seconds_to_first_step']['warm']['first_step']:.1f} s",
        }


def _tables(entry: Found) -> str:
    threads = "" if entry["threads"] == 1 else f" on {entry['threads']} threads"
    return f"{entry['tables']:,} table{'' if entry['tables'] == 1 else 's'}{threads}"


def _size(files: Files) -> Iterator[Line]:
    """One game under options that change its size: present bytes, and millions of decisions a second on one thread."""
    for found in files:
        (measured,) = found["games"]
        game = game_of(measured["game"]).bind(dict(given.split("=", 1) for given in given_options(found)))
        yield {
            "options": options(found),
            "state, bytes": f"{game.state_dtype.itemsize:,}",
            "observation, bytes": f"{game.observation_dtype.itemsize:,}",
            **{
                f"millions of decisions a second, {_tables(entry)}": f"{entry['median'] / 1e6:.1f}"
                for entry in measured["batch"]
                if entry["threads"] == 1
            },
        }


def _range(files: Files) -> str:
    """The slowest and the fastest game of a speed file, in a sentence."""
    paces = {title(game): _batch(game, FLOOR_TABLES) for found in files for game in found["games"]}
    slowest, fastest = (choose(paces, key=lambda title: paces[title]) for choose in (min, max))
    return (
        f"{paces[slowest] / 1e6:.1f} ({slowest}) to {paces[fastest] / 1e6:.1f} ({fastest}) million decisions a second "
        f"on one core of an {files[0]['machine']['processor']}, each with observation and mask written."
    )


def _batch(game: Found, tables: int) -> float:
    """Decisions a second of that many tables on one thread; infinite where that was not measured."""
    paces = {(entry["tables"], entry["threads"]): float(entry["median"]) for entry in game["batch"]}
    return paces.get((tables, 1), math.inf)


def large_tables(files: Files) -> Iterator[Line]:
    """The cost of a decision by the number of seats. Files of the kind `crowds` hold it as rows."""
    for row in (row for found in files for row in found.get("rows", found.get("games", ()))):
        last = row["agents"][-1]
        yield {
            "game": title(row),
            "options": changed(game.changed_options if (game := bound(row)) else row["options"]),
            "seats": f"{row['seats']}",
            **{f"ms a decision of `{one['agent']}`": f"{one['milliseconds']:.3g}" for one in row["agents"]},
            f"determinizations of `{last['agent']}`": f"{last['determinizations']:.1f}"
            if "determinizations" in last
            else "",
            "decisions": f"{last['decisions']:,}",
        }


class LargeTables(Kept, kind="crowds", heading="What a decision costs", tables={"large_tables": large_tables}):
    """The cost of searches at large tables, as measured before `speed` had agents."""


@dataclass(frozen=True)
class Speeds(
    Result, kind="speed", heading="Speed", tables={"speed": _speed, "fastest": _brief, "size": _size, "pace": _range}
):
    """The results of `speed`, game by game."""

    brief, in_title = frozenset({"fastest"}), frozenset()

    games: list[dict[str, Any]]
    planned: int
    load: float | None
    """The mean number of processes waiting for a core in the minute before: near 0 on a quiet machine. None where the
    system does not report it."""
    stamp: dict[str, Any]
    command: str = ""

    @property
    def complete(self) -> bool:
        """Whether all games were measured."""
        return len(self.games) == self.planned

    def to_json(self) -> dict[str, Any]:
        """Return the results in the form that `results.write` takes."""
        floors = {"tables": FLOOR_TABLES, "threads": 1, "aec_decisions_per_second": AEC_FLOOR}
        facts = {
            "kind": self.kind,
            "command": self.command,
            "complete": self.complete,
            "load_before": self.load,
            "floor": floors,
        }
        return {**facts, "games": self.games, **self.stamp}

    def records(self) -> list[dict[str, Any]]:
        """Return rows for each number of tables and threads (`batch`: drawn outside; `in_kernel`), and one for the AEC
        loop and the search: decisions (or rollouts of a search) a second."""
        found = []
        for game in self.games:
            name = {"game": game["game"]}
            for entry in map(dict, game["batch"]):
                fused = entry.pop("in_kernel", None)
                found.append({**name, "what": "batch", **entry})
                found += [{**name, "what": "in_kernel", **entry, **fused}] if fused else []
            found += [{**name, "what": what, "tables": 1, "threads": 1, **game[what]} for what in ("aec", "rollouts")]
        return found

    @property
    def title(self) -> str:
        """The machine, and how busy it was."""
        if not self.games:
            return "Nothing was measured."
        machine = self.stamp["machine"]
        head = (
            f"Random legal play on {machine['processor']}, Python {machine['python']}, Numba {machine['numba']}; "
            "millions of decisions a second where no other unit is named"
        )
        return "\n".join([head, *self._warnings])

    @property
    def _warnings(self) -> Iterator[str]:
        """Warnings about the machine, and results below the floor of their game."""
        if self.load is not None and self.load >= _QUIET:
            yield f"The machine was busy (load {self.load:.1f} before the start): a quiet one gives higher figures."
        for game in self.games:
            for what, pace, floor in (
                (f"with {FLOOR_TABLES:,} tables on one thread", _batch(game, FLOOR_TABLES), game["floor"]),
                ("in the AEC loop", game["aec"]["median"], AEC_FLOOR),
            ):
                if pace < floor:
                    yield f"{game['game']} is below its floor {what}: {pace:,.0f} decisions a second, not {floor:,}."

    @classmethod
    def summary(cls, files: Files) -> Dots:
        """Return a chart of decisions a second of every game with 4,096 tables on one thread."""
        rows = []
        for game in (game for found in files for game in found["games"]):
            for one in game["batch"]:
                if (one["tables"], one["threads"]) == (FLOOR_TABLES, 1):
                    pace = Estimate(*(one[name] / 1e6 for name in ("median", "low", "high")))
                    rows.append((title(game), pace))
        about = (
            f"{FLOOR_TABLES:,} tables, one thread; lines reach from the slowest to the fastest of several repetitions."
        )
        unit = "millions of decisions a second"
        return dots("Decisions a second of random legal play", about, unit, rows, Mark(0.0, ""))


def speed(
    games: Sequence[str | GameType | Game],
    *,
    tables: Sequence[int] = TABLES,
    seconds: float = SECONDS,
    repeats: int = REPEATS,
    agents: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
    keep: Path | None = None,
) -> Speeds:
    """Measure games, by name or bound to their options, and the cost of a decision of `agents`, by name. `progress` is
    called with the games done and all games.

    Ctrl-C ends the measurement and returns what is finished; with `keep`, the file of the results (`results.write`),
    that is saved beside it until it is written, and the same call continues from there (on the same machine only).
    Raises ValueError if unfinished work of another task is beside `keep`, and NotAlone where results are to be written
    and others used the machine.
    """
    chosen = [game_of(game) for game in games]
    stamp, load = results.stamp(__file__, *chosen), os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    task = {
        "speed of": [[game.id, game.option_values] for game in chosen],
        "tables": list(tables),
        "seconds": seconds,
        "repeats": repeats,
        "agents": list(agents),
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
            alone = Alone()
            measured = measure(game, tables=tables, seconds=seconds, repeats=repeats, agents=agents)
            if keep is not None:
                alone.check()
            done.append(measured)
            unfinished.save({"games": np.array(json.dumps(done))})
    except KeyboardInterrupt:
        if not done:
            raise
    return Speeds(done, len(chosen), load, stamp)
