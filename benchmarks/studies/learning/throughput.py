"""Measure how fast training is: decisions, samples, targets and rollouts a second for every kind of phase, on one
thread and on more, and for plain Stable-Baselines3. All take turns in one process, so that other load on the machine
affects them alike. `backalley dev study throughput` runs it.

The first step of a phase gives the same weights on any number of threads, which is checked here, too. From the times on
one thread and on most follows the share of the work that is serial, and with it what more cores can give (Amdahl
1967). `sb3` is what a user writes first: `sb3_contrib.MaskablePPO("MlpPolicy",
env)` with every default, over a `DummyVecEnv` of eight one-seat Gymnasium environments of this library, with random
opponents, the cheapest. A turn is a number of whole steps (rollout and update) that takes about as long for all; the
order alternates, and medians are compared.
"""

from __future__ import annotations

import hashlib
import inspect
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv

from backalley.agents.base.rule_based import RandomAgent
from backalley.agents.gymnasium.gymnasium_env import GymnasiumEnv
from backalley.agents.policies.network import one_thread
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game
from backalley.training.config import config as config_rules
from backalley.training.config.config import Config
from backalley.training.config.phases import KINDS
from backalley.training.run.loop import kind
from backalley.training.shared.phase import Phase, training_game

from ...figures.formatting import Found
from ...speed.alone import Alone
from ..runner import Progress, finds, quiet
from .training_speed import Throughput

SB3 = "sb3"
"""The name of Stable-Baselines3 among the phases."""
COUNTED = ("decisions", "samples", "targets", "rollouts")
PREDICTED = (16, 64)
"""Numbers of cores whose speed is predicted."""
_SB3_ENVS = 8
_TURNS = 5

Counts = Counter[str]
"""What was done, by name: samples, targets and so on."""
Step = Callable[[], Counts]
"""Make one step of a trainer; return what it did."""


class Turn(NamedTuple):
    """What a trainer did in one turn."""

    counts: Counts
    seconds: float
    processor: float
    """Processor time, of all threads."""


@finds(Throughput)
def throughput(
    game: Game,
    phases: Sequence[str],
    threads: Sequence[int] = (1, 2),
    seconds: float = 120.0,
    *,
    config_overrides: Mapping[str, Any] | None = None,
    progress: Progress = quiet,
) -> Found:
    """Measure the rates of kinds of phases, including `sb3`.

    This takes about `seconds`, with at least one step in each turn. A sample is a decision that an update learns from:
    decisions of a league's opponents do not count. Raises ValueError, OptionError or ConfigError, and NotAlone where
    others used the machine: rates are by the clock.
    """
    known = (*KINDS, SB3)
    unknown = [name for name in phases if name not in known]
    if unknown or not phases:
        raise InvalidValue(f"{', '.join(unknown) or 'Nothing'} is no kind of phase; there are: {', '.join(known)}.")
    if not seconds > 0:
        raise InvalidValue(f"seconds is {seconds}; it must be greater than 0.")
    config = config_rules.load(game, None, config_overrides)
    with one_thread(), tempfile.TemporaryDirectory(prefix="backalley-throughput-") as scratch, ExitStack() as opened:
        steps: dict[tuple[str, int], Step] = {}
        owners: dict[tuple[str, int], Phase] = {}
        precisions: dict[tuple[str, int], str] = {}
        for name in phases:
            if name == SB3:
                steps[name, 1] = _PlainSB3(training_game(game, config)).step
                continue
            for number, phase in _on_threads(name, game, config, Path(scratch), threads):
                opened.callback(phase.close)
                steps[name, number], precisions[name, number] = _step_of(phase), phase.precision
                owners[name, number] = phase
        for step in steps.values():
            step()  # compiles, and does not count
        learned = {name: _digest(phase) for name, phase in owners.items()}
        alone = Alone()
        turns = _alternate(steps, seconds, progress)
        alone.check()
    return {
        "config": config.as_dict(),
        "torch": torch.__version__,
        "rows": [
            {"phase": name, "threads": number, **_summary(taken), "precision": precisions.get((name, number))}
            | _scaling(turns, name, number)
            for (name, number), taken in turns.items()
        ],
        "same_weights": {name: len({learned[one] for one in learned if one[0] == name}) == 1 for name, _ in learned},
    }


def _on_threads(name: str, game: Game, config: Config, folder: Path, threads: Sequence[int]) -> list[tuple[int, Phase]]:
    """One new phase for each number of threads; a single one if it does not take a number of threads."""
    owner = kind(name)
    spreads = "num_threads" in inspect.signature(owner).parameters
    made = []
    for number in threads if spreads else (1,):
        more: dict[str, Any] = {"num_threads": number} if spreads else {}
        phase = owner(game, config, seed=0, folder=folder / f"{name}-{number}", **more)
        phase.begin()
        made.append((number, phase))
    return made


def _digest(phase: Phase) -> str:
    """The digest of all that the next step depends on."""
    whole = hashlib.sha256()
    for name, array in sorted(phase.arrays().items()):
        whole.update(name.encode() + array.tobytes())
    return whole.hexdigest()


def _step_of(phase: Phase) -> Step:
    def step() -> Counts:
        before = Counts(phase.counts())
        phase.step()
        return Counts(phase.counts()) - before

    return step


class _PlainSB3:
    """MaskablePPO with its defaults, one rollout and one update at a time."""

    def __init__(self, game: Game) -> None:
        env = DummyVecEnv([lambda: GymnasiumEnv(game, seat="random", opponent=RandomAgent())] * _SB3_ENVS)
        self.model = MaskablePPO("MlpPolicy", env, device="cpu", seed=0)
        self.model.set_logger(Logger(None, []))
        self._begun = False

    def step(self) -> Counts:
        """The samples learned from."""
        size = int(self.model.n_steps * _SB3_ENVS)
        self.model.learn(size, reset_num_timesteps=not self._begun)
        self._begun = True
        return Counts(samples=size)


def _alternate(
    steps: Mapping[tuple[str, int], Step], seconds: float, progress: Progress
) -> dict[tuple[str, int], list[Turn]]:
    """Turns of each trainer, for about that many seconds in all."""
    length = seconds / (_TURNS * len(steps))
    turns: dict[tuple[str, int], list[Turn]] = {name: [] for name in steps}
    for turn in range(_TURNS):
        for name, step in list(steps.items())[:: 1 if turn % 2 == 0 else -1]:
            counts, wall, processor = Counts(), time.perf_counter(), time.process_time()
            while not counts.total() or time.perf_counter() - wall < length:
                counts += step()
            turns[name].append(Turn(counts, time.perf_counter() - wall, time.process_time() - processor))
        progress(turn + 1, _TURNS, "")
    return turns


def _summary(turns: list[Turn]) -> dict[str, Any]:
    """Medians over the turns of everything that was done."""
    done = [name for name in COUNTED if any(turn.counts[name] for turn in turns)]
    return {
        "per_second": {name: statistics.median(turn.counts[name] / turn.seconds for turn in turns) for name in done},
        "per_cpu_second": {
            name: statistics.median(turn.counts[name] / turn.processor for turn in turns) for name in done
        },
    }


def _scaling(turns: Mapping[tuple[str, int], list[Turn]], name: str, threads: int) -> dict[str, Any]:
    """How many times as many samples several threads learn from as one, turn by turn, and by Amdahl's law the share of
    the work on one thread that is serial, and how many times as many other numbers of cores would. Nothing for one
    thread."""
    alone = turns.get((name, 1))
    if threads == 1 or alone is None:
        return {}
    ratios = [
        (many.counts["samples"] / many.seconds) / (one.counts["samples"] / one.seconds)
        for one, many in zip(alone, turns[name, threads], strict=True)
    ]
    times = statistics.median(ratios)
    serial = min(max((threads / times - 1) / (threads - 1), 0.0), 1.0)
    predicted = {str(cores): 1 / (serial + (1 - serial) / cores) for cores in PREDICTED}
    return {"times_one_thread": times, "serial_share": serial, "predicted": predicted}
