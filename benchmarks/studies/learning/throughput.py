"""Measure how fast training is: decisions, samples, targets and rollouts a second for every kind of phase, on one
thread and on more, and for plain Stable-Baselines3. All take turns in one process, so that other load on the machine
affects them alike.

The first step of a phase gives the same weights on any number of threads, which is checked here, too. From the times on
one thread and on most follows the share of the work that is serial, and with it what more cores can give (Amdahl 1967).
`sb3` is what a user writes first: `sb3_contrib.MaskablePPO("MlpPolicy", env)` with every default, over a `DummyVecEnv`
of eight one-seat Gymnasium environments of this library, with random opponents, the cheapest. A turn is a number of
whole steps (rollout and update) that takes about as long for all; the order alternates, and medians are compared.
"""

from __future__ import annotations

import hashlib
import inspect
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import torch

from backalley.agents.base.rule_based import RandomAgent
from backalley.agents.gymnasium.gymnasium_env import GymnasiumEnv
from backalley.agents.policies.network import one_thread
from backalley.console.command import whole_numbers
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game
from backalley.training.config import config as config_rules
from backalley.training.config.config import Config
from backalley.training.config.phases import KINDS
from backalley.training.run.loop import kind
from backalley.training.shared.phase import Phase, training_game

from ...figures.formatting import Found, Line, title
from ...figures.result_kinds import Files, Kept
from ...speed.alone import Alone
from ..runner import GAME, Progress, quiet, seconds, study, words

SB3 = "sb3"
"""The name of Stable-Baselines3 among the phases."""
COUNTED = ("decisions", "samples", "targets", "rollouts")
PREDICTED = (16, 64)
"""Numbers of cores whose speed is predicted."""
_SB3_ENVS = 8
_TURNS = 5

Counts = Counter[str]
"""What was done, by name: samples, targets and so on."""


class Turn(NamedTuple):
    """What a trainer did in one turn."""

    counts: Counts
    seconds: float


def _throughput(files: Files) -> Iterator[Line]:
    """How fast the phases of training are, and MaskablePPO with its defaults."""
    for found in files:
        for row in found["rows"]:
            pace = {f"{name} a second": f"{number:,.0f}" for name, number in row["per_second"].items()}
            name = "`MaskablePPO`, its defaults" if row["phase"] == "sb3" else f"`{row['phase']}`"
            line = {"game": title(found), "phase": name, "threads": f"{row['threads']}", **pace}
            if "serial_share" in row:
                line |= {"times one thread": f"{row['times_one_thread']:.2f}", "serial": f"{row['serial_share']:.1%}"}
                line |= {f"{cores} cores": f"{times:.1f}" for cores, times in row["predicted"].items()}
            yield line


def _beside_sb3(files: Files) -> str:
    """How many times as fast PPO here is as Stable-Baselines3 with its defaults, in a sentence."""
    (found,) = files
    samples = {row["phase"]: row["per_second"]["samples"] for row in found["rows"] if row["threads"] == 1}
    return (
        f"At {title(found)} PPO here learns from {samples['ppo'] / samples['sb3']:.0f} times as many samples a second "
        f"as `sb3_contrib.MaskablePPO` with its defaults, side by side on one {found['machine']['processor']}."
    )


class Throughput(
    Kept,
    kind="throughput",
    heading="Throughput of training",
    tables={"throughput": _throughput, "training_pace": _beside_sb3},
):
    """Rates of the phases of training."""


@study(
    "throughput",
    Throughput,
    GAME,
    words("--phases", "ppo,rollouts", "Kinds of phases, and sb3, with commas."),
    words("--threads", "1,2", "Numbers of threads, with commas.", whole_numbers),
    seconds("--seconds", 120.0, ""),
    file="throughput_{game}",
)
def throughput(
    game: Game,
    phases: Sequence[str],
    threads: Sequence[int] = (1, 2),
    seconds: float = 120.0,
    *,
    config_overrides: Mapping[str, Any] | None = None,
    progress: Progress = quiet,
) -> Found:
    """Measure how many decisions and samples a second the phases of training GAME make.

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
    trainers: dict[tuple[str, int], Phase | _PlainSB3] = {}
    with one_thread(), tempfile.TemporaryDirectory(prefix="backalley-throughput-") as scratch, ExitStack() as opened:
        for name in phases:
            if name == SB3:
                trainers[name, 1] = _PlainSB3(training_game(game, config))
                continue
            for number in threads if takes_threads(name) else (1,):
                folder = Path(scratch) / f"{name}-{number}"
                trainers[name, number] = phase = begun(name, game, config, 0, folder, number)
                opened.callback(phase.close)
        for trainer in trainers.values():
            trainer.step()  # compiles, and does not count
        learned = {one: _digest(trainer) for one, trainer in trainers.items() if isinstance(trainer, Phase)}
        alone = Alone()
        turns = _alternate(trainers, seconds, progress)
        alone.check()
    return {
        "config": config.as_dict(),
        "torch": torch.__version__,
        "rows": [
            {"phase": name, "threads": number, "per_second": _rates(taken)}
            | {"precision": getattr(trainers[name, number], "precision", None), **_scaling(turns, name, number)}
            for (name, number), taken in turns.items()
        ],
        "same_weights": {name: len({learned[one] for one in learned if one[0] == name}) == 1 for name, _ in learned},
    }


def takes_threads(name: str) -> bool:
    """Whether a kind of phase takes a number of threads."""
    return "num_threads" in inspect.signature(kind(name)).parameters


def begun(name: str, game: Game, config: Config, seed: int, folder: Path, threads: int) -> Phase:
    """Return a new phase of a kind that has begun, on so many threads if it takes a number of them."""
    more: dict[str, Any] = {"num_threads": threads} if takes_threads(name) else {}
    phase = kind(name)(game, config, seed=seed, folder=folder, **more)
    phase.begin()
    return phase


def _digest(phase: Phase) -> str:
    """The digest of all that the next step depends on."""
    whole = hashlib.sha256()
    for name, array in sorted(phase.arrays().items()):
        whole.update(name.encode() + array.tobytes())
    return whole.hexdigest()


class _PlainSB3:
    """MaskablePPO with its defaults, one rollout and one update at a time."""

    def __init__(self, game: Game) -> None:
        from sb3_contrib import MaskablePPO
        from stable_baselines3.common.logger import Logger
        from stable_baselines3.common.vec_env import DummyVecEnv

        env = DummyVecEnv([lambda: GymnasiumEnv(game, seat="random", opponent=RandomAgent())] * _SB3_ENVS)
        self.model = MaskablePPO("MlpPolicy", env, device="cpu", seed=0)
        self.model.set_logger(Logger(None, []))
        self._samples = 0

    def counts(self) -> dict[str, int]:
        """The samples learned from."""
        return {"samples": self._samples}

    def step(self) -> None:
        """As a phase does."""
        size = int(self.model.n_steps * _SB3_ENVS)
        self.model.learn(size, reset_num_timesteps=not self._samples)
        self._samples += size


def _alternate(
    trainers: Mapping[tuple[str, int], Phase | _PlainSB3], seconds: float, progress: Progress
) -> dict[tuple[str, int], list[Turn]]:
    """Turns of each trainer, for about that many seconds in all."""
    length = seconds / (_TURNS * len(trainers))
    turns: dict[tuple[str, int], list[Turn]] = {name: [] for name in trainers}
    for turn in range(_TURNS):
        for name, trainer in list(trainers.items())[:: 1 if turn % 2 == 0 else -1]:
            before, began = Counts(trainer.counts()), time.perf_counter()
            while not (counts := Counts(trainer.counts()) - before) or time.perf_counter() - began < length:
                trainer.step()
            turns[name].append(Turn(counts, time.perf_counter() - began))
        progress(turn + 1, _TURNS, "")
    return turns


def _rates(turns: list[Turn]) -> dict[str, float]:
    """How much of each was done a second, as medians over the turns."""
    done = [name for name in COUNTED if any(turn.counts[name] for turn in turns)]
    return {name: statistics.median(turn.counts[name] / turn.seconds for turn in turns) for name in done}


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
