"""The speed of this checkout against an earlier commit, in pairs.

The files of the commit are laid out in a temporary folder, and each side plays in processes of its own, with a cache of
machine code of its own. A pair is one process of each side; they take turns at the same decisions from the same seeds,
so that other load on the machine meets both alike. Time is processor time. First use is a whole process, with an empty
cache: an environment, a bot and a batch of the game.
"""

from __future__ import annotations

import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import numpy as np

from backalley.agents.registry import agent as agent_of
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.durable import Unfinished
from backalley.envs.core.game.game import Game

from ...figures import results
from ...figures.formatting import Found, Line, changed, title
from ...figures.result_kinds import Files, Kept
from ...figures.stats import mean_interval
from ..runner import GAMES, Progress, count, quiet, seconds, study

TURNS = 4
"""Of a pair."""
SIDES = ("before", "now")
NOTICED = 0.98
"""A game is named as slower if its whole interval is below this: where memory lies makes a percent, too."""
WHAT = {
    "batch_1": "batch of 1",
    "batch_16": "batch of 16",
    "batch_64": "batch of 64",
    "batch": "batch of 4,096",
    "events": "the same with events",
    "aec": "AEC loop",
    "gymnasium": "Gymnasium, one environment",
    "gymnasium_64": "Gymnasium, a batch of 64",
    "search": "decisions of `search:8`",
    "policy": "decisions of `policy`",
}
"""What is timed. A game without a policy for its options has no decisions of one."""
_ROOT = Path(__file__).resolve().parents[3]
_TRIED = dict.fromkeys(WHAT, 20) | {"aec": 500, "search": 3}
"""Steps by which their cost is found out before the first turn."""

_GAME = """
import json, random, sys, time
import numpy as np
import backalley
name, options = sys.argv[1], json.loads(sys.argv[2])
"""

FIRST_USE = f"""{_GAME}
game = backalley.game(name, **options)
bot = backalley.agent("bot" if game.bots else "random", game)
env = game.make(render_mode="ansi")
env.reset(seed=7)
for player in env.agent_iter(9):
    observation, reward, terminated, truncated, info = env.last()
    env.step(None if terminated or truncated else bot.act(observation))
env.render()
tables = game.make_vec(64, seed=0)
tables.step(tables.reset().action_mask.argmax(1))
"""

PLAY = f"""{_GAME}
import gymnasium
from backalley.agents.base.agent import answer, view_of

def batch(num_envs, **settings):
    tables = backalley.make_vec(name, num_envs=num_envs, seed=0, **settings, **options)
    step = tables.reset()
    noise = [np.random.default_rng(one).random(step.action_mask.shape, np.float32) for one in range(13)]
    def play(count):
        spent = 0.0
        for number in range(count):
            actions = (noise[number % 13] * step.action_mask).argmax(1)
            began = time.process_time()
            tables.step(actions)
            spent += time.process_time() - began
        return spent
    return play

def aec():
    env, chance = backalley.make(name, **options), random.Random(0)
    env.reset(seed=0)
    def play(count):
        began = time.process_time()
        while count:
            observation, reward, terminated, truncated, info = env.last()
            if terminated or truncated:
                env.reset()
                continue
            legal = np.flatnonzero(observation["action_mask"])
            env.step(int(legal[int(chance.random() * len(legal))]))
            count -= 1
        return time.process_time() - began
    return play

def single():
    env = gymnasium.make(backalley.game(name).type.gymnasium_id, opponent="random", disable_env_checker=True, **options)
    info = env.reset(seed=0)[1]
    def play(count):
        nonlocal info
        began = time.process_time()
        for _ in range(count):
            observation, reward, terminated, truncated, info = env.step(info["action_mask"].argmax())
            if terminated or truncated:
                info = env.reset()[1]
        return time.process_time() - began
    return play

def several(num_envs):
    place = backalley.game(name).type.gymnasium_id
    envs = gymnasium.make_vec(
        place, num_envs=num_envs, vectorization_mode="vector_entry_point", opponent="random", **options
    )
    info = envs.reset(seed=0)[1]
    def play(count):
        nonlocal info
        began = time.process_time()
        for _ in range(count):
            info = envs.step(info["action_mask"].argmax(1))[-1]
        return time.process_time() - began
    return play

def decisions(spec, num_envs):
    game = backalley.game(name, **options)
    agent, tables = backalley.agent(spec, game, num_threads=1), game.make_vec(num_envs, seed=0)
    tables.reset()
    seen = tables if hasattr(tables, "arrays") else tables.engine  # as in commits before this attribute
    def play(count):
        spent = 0.0
        for number in range(count):
            view = view_of(seen, np.arange(num_envs), np.arange(num_envs, dtype=np.uint64) + np.uint64(number))
            began = time.process_time()
            actions = answer(agent, view)
            spent += time.process_time() - began
            tables.step(actions)
        return spent
    return play

make = {{
    "batch_1": lambda: batch(1), "batch_16": lambda: batch(16), "batch_64": lambda: batch(64),
    "batch": lambda: batch(4096), "events": lambda: batch(4096, events=True), "aec": aec,
    "gymnasium": single, "gymnasium_64": lambda: several(64),
    "search": lambda: decisions("search:8", 16), "policy": lambda: decisions("policy", 64),
}}
made = {{}}
for line in sys.stdin:
    what, count = line.split()
    if what not in made:
        made[what] = make[what]()
    print(made[what](int(count)), flush=True)
"""
"""Plays as many steps as a line asks for, and answers with the processor seconds. Drawing actions for the batch is not
counted: that is the caller's."""


def _lines(files: Files) -> Iterator[Line]:
    """Ratios of speeds, with their intervals, and the processor time of a first use: a column for each game."""
    games = [game for found in files for game in found["games"]]
    for what, shown in WHAT.items():
        line = {"measured": shown}
        for game in games:
            ratio = "{mean:.2f} ({low:.2f} to {high:.2f})".format(**game[what]["ratio"]) if what in game else ""
            line[_headed(game)] = ratio
        if any(what in game for game in games):
            yield line
    for side in SIDES:
        spent = {_headed(game): game["first_use"][side] for game in games if "first_use" in game}
        if spent:
            line = {"measured": f"first use {side}, s"}
            yield line | {name: f"{statistics.median(each):.1f}" for name, each in spent.items()}


def _headed(game: dict[str, Any]) -> str:
    return f"{title(game)} {changed(game['options'])}".strip()


class Against(Kept, kind="against", heading="Speed against an earlier commit", tables={"against": _lines}):
    """Ratios of speeds, game by game."""

    @property
    def title(self) -> str:
        """What is compared."""
        return f"This checkout against {self.found['against'][:12]}, by processor time; above 1 it is faster"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Say what the intervals are, and name what is slower."""
        slower = [
            f"{title(game)} ({shown}, {game[what]['ratio']['mean']:.2f})"
            for found in files
            for game in found["games"]
            for what, shown in WHAT.items()
            if what in game and game[what]["ratio"]["high"] < NOTICED
        ]
        pairs, against = files[0]["pairs"], files[0]["against"][:12]
        about = f"Against {against}: means of {pairs} pairs of processes with their 95 % intervals."
        return [about, f"Slower, the whole interval below {NOTICED}: {', '.join(slower) or 'nothing'}."]


@study(
    "speed",
    Against,
    GAMES,
    click.option("--against", "commit", metavar="COMMIT", default="HEAD", show_default=True, help="An earlier one."),
    count("--pairs", 5, "Pairs of processes of each game.", 2),
    seconds("--seconds", 0.25, "Processor time of a side in each of the four turns of a pair."),
    count("--first-uses", 1, "Processes of each side that begin with an empty cache of machine code.", 0),
    top=True,
)
def against(
    games: Sequence[Game],
    commit: str,
    *,
    pairs: int,
    seconds: float = 0.25,
    first_uses: int = 1,
    progress: Progress = quiet,
    keep: Path | None = None,
) -> Found:
    """Compare the speed of GAMES, by default all, with that of an earlier commit: play and first use, by processor
    time, in pairs.

    Finished games are saved beside `keep`, the file of the results, and the same call continues after them. Raises
    ValueError where there is no such commit, or where it cannot play a game.
    """
    if pairs < 2:
        raise InvalidValue(f"pairs is {pairs}; an interval needs 2 or more.")
    sha = _commit(commit)
    stamp = results.stamp(__file__, *games)
    task = {
        "speed of": [[game.id, game.option_values] for game in games],
        "against": sha,
        "now": stamp["commit"],
        "settings": [pairs, seconds, first_uses],
    }
    unfinished = Unfinished(keep, task, stamp["sources"])
    done: list[dict[str, Any]] = json.loads(str(unfinished.load().get("games", "[]")))
    with tempfile.TemporaryDirectory(prefix="backalley-against-") as place:
        roots = {"before": Path(place) / "before", "now": _ROOT}
        _lay_out(sha, roots["before"])
        for number, game in list(enumerate(games))[len(done) :]:
            progress(number, len(games), game.name)
            done.append(_compare(game, roots, Path(place), pairs, seconds, first_uses))
            unfinished.save({"games": np.array(json.dumps(done))})
    return {"against": sha, "pairs": pairs, "seconds": seconds, "games": done}


def _compare(
    game: Game, roots: dict[str, Path], place: Path, pairs: int, seconds: float, first_uses: int
) -> dict[str, Any]:
    """All that is measured of one game."""
    first: dict[str, list[float]] = {side: [] for side in SIDES}
    for number in range(first_uses):
        for side in SIDES[:: 1 if number % 2 == 0 else -1]:
            first[side].append(_first_use(game, roots[side], place / f"{game.name}-{side}-{number}"))
    with ExitStack() as opened:  # machine code for all that follows
        for side in SIDES:
            player = opened.enter_context(_Player(game, roots[side], place / f"{game.name}-{side}-0"))
            steps = {what: _steps(player, what, seconds) for what in _timed(game)}
    ratios: dict[str, list[float]] = {what: [] for what in steps}
    for _ in range(pairs):
        with ExitStack() as opened:
            players = {}
            for side in SIDES:
                players[side] = opened.enter_context(_Player(game, roots[side], place / f"{game.name}-{side}-0"))
            for what in steps:
                ratios[what].append(_ratio(players, what, steps[what]))
    return {
        "game": game.id,
        "options": game.changed_options,
        **{what: {"ratio": ratio_interval(found), "pairs": found} for what, found in ratios.items()},
        **({"first_use": first} if first_uses else {}),
    }


def _timed(game: Game) -> list[str]:
    """What is timed of a game."""
    try:
        agent_of("policy", game)
    except ValueError:
        return [what for what in WHAT if what != "policy"]
    return list(WHAT)


def _steps(player: _Player, what: str, seconds: float) -> int:
    """How many steps take about `seconds`."""
    player.play(what, _TRIED[what])
    return max(1, round(seconds * _TRIED[what] / max(player.play(what, _TRIED[what]), 1e-6)))


def _ratio(players: dict[str, _Player], what: str, steps: int) -> float:
    """How many times as fast the second is: the median over turns, each of the same decisions on both sides."""
    for player in players.values():
        player.play(what, _TRIED[what])
    found = []
    for turn in range(TURNS):
        spent = {side: players[side].play(what, steps) for side in SIDES[:: 1 if turn % 2 == 0 else -1]}
        found.append(spent["before"] / spent["now"])
    return statistics.median(found)


def ratio_interval(ratios: Sequence[float]) -> dict[str, float]:
    """Return the geometric mean of ratios and its 95 % interval."""
    found = mean_interval(np.log(ratios))
    return {name: float(np.exp(value)) for name, value in found.to_json().items()}


def _first_use(game: Game, root: Path, cache: Path) -> float:
    """The processor seconds of a process that uses the game for the first time, and of those that it starts."""
    before = os.times()
    words, environment = _process(FIRST_USE, game, root, cache)
    done = subprocess.run(words, env=environment, cwd=cache.parent, capture_output=True, text=True)
    after = os.times()
    if done.returncode:
        raise InvalidValue(_refusal(game, root, done.stderr))
    return after.children_user + after.children_system - before.children_user - before.children_system


class _Player:
    """A process that plays one game of one side."""

    def __init__(self, game: Game, root: Path, cache: Path) -> None:
        # What is measured is compiled play, also where the rules would be run uncompiled at first.
        words, environment = _process(PLAY, game, root, cache)
        environment["BACKALLEY_COMPILE"] = "now"
        pipe = subprocess.PIPE
        self._game, self._root = game, root
        self._process = subprocess.Popen(
            words, env=environment, cwd=cache.parent, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def play(self, what: str, steps: int) -> float:
        """Play; return the processor seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{what} {steps}\n")
            self._process.stdin.flush()
            return float(self._process.stdout.readline())
        except (ValueError, OSError):
            raise InvalidValue(_refusal(self._game, self._root, self._process.communicate()[1])) from None

    def __enter__(self) -> _Player:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()


def _process(code: str, game: Game, root: Path, cache: Path) -> tuple[list[str], dict[str, str]]:
    """The words and the environment of a process that finds the package under `root` alone."""
    words = [sys.executable, "-P", "-c", code, game.name, json.dumps(game.changed_options)]
    return words, {**os.environ, "PYTHONPATH": str(root / "src"), "BACKALLEY_CACHE": str(cache)}


def _refusal(game: Game, root: Path, said: str) -> str:
    """Why a process could not play, in a sentence."""
    which = "This checkout" if root == _ROOT else "The earlier commit"
    return f"{which} could not play {game!r}: {(said.strip().splitlines() or ['it said nothing'])[-1]}"


def _commit(name: str) -> str:
    """The full name of a commit."""
    done = _git("rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")
    if done is None:
        raise InvalidValue(
            f"There is no commit {name!r} in {_ROOT}; name one that is in this checkout's history (a shallow clone has "
            "only its latest)."
        )
    return done.decode().strip()


def _lay_out(sha: str, folder: Path) -> None:
    """Write the files of a commit to a folder."""
    packed = _git("archive", "--format=tar", sha)
    if packed is None:
        raise InvalidValue(f"git could not give the files of {sha}.")
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(folder, filter="tar")


def _git(*words: str) -> bytes | None:
    try:
        return subprocess.run(["git", *words], cwd=_ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
