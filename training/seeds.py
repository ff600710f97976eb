"""Runs of several seeds, which are otherwise alike: `backalley train GAME --seeds 0-4`.

FOLDER/
    seeds.json     the seeds, and at the end what came of them, with means     seed-0/, seed-1/, ...    a run each

They are made one after the other. Stopped or killed, `--resume FOLDER` goes on with all of them. Each folder is a run
as any other: it can be resumed by itself, evaluated, and named as an agent.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from backalley.benchmarks import results
from backalley.benchmarks.stats import Estimate, mean_interval
from backalley.benchmarks.tabular import Figures, Tabular
from backalley.envs.core import durable
from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game as game_of
from backalley.envs.core.reading import read_json

from .budget import Budget, TrainingError
from .course import Say
from .report import TrainingResult
from .run import SEEDS_FILE, begin, path_of
from .train import Progress, Stopped, train

KIND = "seeds"
MOST_SEEDS = 1000


def read_seeds(given: Any) -> list[int]:
    """Seeds from `0-4`, `3,7` or `0-4,9`, or from a list of numbers. Raises TrainingError."""
    wrong = TrainingError(
        f"seeds is {given!r}; it takes different whole numbers of 0..{2**32 - 1}, with commas or as a span: 0-4."
    )
    parts = given.split(",") if isinstance(given, str) else given
    if not isinstance(parts, list | tuple):
        raise wrong
    found: list[int] = []
    for part in parts:
        if not isinstance(part, str | int) or isinstance(part, bool):
            raise wrong
        first, dash, last = str(part).partition("-")
        ends = [end.strip() for end in (first, last if dash else first)]
        if not all(end.isdecimal() and end.isascii() and len(end) < 11 for end in ends):
            raise wrong
        low, high = map(int, ends)
        if not low <= high < 2**32 or len(found) + high - low >= MOST_SEEDS:
            raise wrong
        found += range(low, high + 1)
    if not found or len(set(found)) < len(found):
        raise wrong
    return found


@dataclass(frozen=True)
class SeedsResult(Tabular):
    """What `train_seeds` gives: the result of each seed's run, and the mean over seeds with its interval."""

    folder: Path
    results: Mapping[int, TrainingResult]
    command: str
    """The line that trains them all again."""

    def means(self) -> dict[str, dict[str, Estimate]]:
        """By opponent, the mean over the seeds of `mean_return` and `win_share`, with the 95 % interval by Student's t
        over the seeds: what another seed may be expected to give on average. Needs two seeds."""
        found = {}
        for name, rows in self._rows().items():
            found[name] = {
                measure: mean_interval(np.array([row[measure].mean for row in rows]))
                for measure in ("mean_return", "win_share")
            }
        return found

    def _rows(self) -> dict[str, list[dict[str, Estimate]]]:
        """What each seed's policy gains from each opponent, or beside it in a game of one seat."""
        found: dict[str, list[dict[str, Estimate]]] = {}
        for result in self.results.values():
            for report in result.reports:
                own, *others = report.agents
                for other in others[: 1 if result.game.num_seats == 1 else None]:
                    name = "alone" if result.game.num_seats == 1 else other.name
                    found.setdefault(name, []).append({"mean_return": own.mean_return, "win_share": own.win_share})
        return found

    def to_json(self) -> dict[str, Any]:
        """The result as `results.write` takes it."""
        return {
            "kind": KIND,
            "command": self.command,
            "seeds": {str(seed): result.to_json() for seed, result in self.results.items()},
            "means": {
                name: {measure: one.to_json() for measure, one in both.items()} for name, both in self.means().items()
            }
            if len(self.results) > 1
            else {},
        }

    def records(self) -> list[dict[str, Any]]:
        """A row for each seed and opponent."""
        seeds = list(self.results)
        return [
            {
                "seed": seed,
                "opponent": name,
                **row["mean_return"].columns("mean_return"),
                **row["win_share"].columns("win_share"),
            }
            for name, rows in self._rows().items()
            for seed, row in zip(seeds, rows, strict=True)
        ]

    def figures(self) -> Figures:
        """A row for each seed and a row for their mean, against each opponent."""
        rows: list[list[str]] = []
        for name, found in self._rows().items():
            each = zip(self.results, found, strict=True)
            rows += [[name, str(seed), *_cells(row["mean_return"], row["win_share"])] for seed, row in each]
            if len(found) > 1:
                mean = self.means()[name]
                rows.append([name, "mean", *_cells(mean["mean_return"], mean["win_share"])])
        first = next(iter(self.results.values()))
        several = len(self.results) > 1
        title = f"{first.game.id}, {len(self.results)} training seed{'s' * several}"
        notes = [
            "± is the 95 % interval over deals"
            + ", of a mean over seeds (by Student's t)." * several
            + "." * (not several),
            f"The runs are in {self.folder}. The same again: {self.command}",
        ]
        return Figures(title, ["opponent", "seed", "mean return", "win share"], rows, notes, left=2)


def _cells(gained: Estimate, share: Estimate) -> list[str]:
    percent = share.percent
    return [f"{gained.mean:+.4f} ± {gained.half_width:.4f}", f"{percent.mean:.1f} ± {percent.half_width:.1f} %"]


def train_seeds(
    game: str | Game | GameType | None = None,
    seeds: Any = None,
    *,
    out: str | Path | None = None,
    seconds: float | None = None,
    decisions: int | Sequence[int] | None = None,
    processor_seconds: float | None = None,
    config: str | Path | None = None,
    config_overrides: Mapping[str, Any] | None = None,
    resume: str | Path | None = None,
    restart: bool = False,
    device: str = "auto",
    progress: Progress = lambda done, total, words: None,
    say: Say = lambda sentence: None,
) -> SeedsResult:
    """Train a policy with each of several seeds (`"0-4"`, or a list), all else being as `train` takes it and the same,
    in folders seed-0, seed-1, ... of `out`, by default a new one under runs/.

    With `resume`, the folder of such runs, all of them go on: a new budget, settings, or `restart` are of each, and
    those that are finished only play their matches again. Raises what `train` does; Stopped says how to go on with all.
    """
    spent: dict[str, Any] = {"seconds": seconds, "decisions": decisions, "processor_seconds": processor_seconds}
    if resume is None:
        if game is None or seeds is None or restart:
            raise TrainingError(
                "Several seeds need a game and the seeds; runs that there are go on by --resume FOLDER."
            )
        about = {"config": config, "overrides": config_overrides, "budget": Budget(**spent), "device": device}
        folder = _begin(game_of(game), read_seeds(seeds), out, about)
        rest: dict[str, Any] = {}
    else:
        if seeds is not None or config is not None or out is not None or device != "auto":
            raise TrainingError("Resumed runs keep their seeds, options, settings, folder and device; leave them out.")
        folder = path_of("resume", resume)
        rest = {"game": game, "config_overrides": config_overrides, "restart": restart, **spent}
    wanted = _seeds_in(folder)
    made: dict[int, TrainingResult] = {}
    for number, seed in enumerate(wanted):

        def told(done: float, total: float, words: str, number: int = number, seed: int = seed) -> None:
            progress(number + done / max(total, 1e-9), len(wanted), f"seed {seed}, {words}")

        say(f"Seed {seed}, {number + 1} of {len(wanted)}.")
        try:
            made[seed] = train(resume=folder / f"seed-{seed}", progress=told, say=say, **rest)
        except Stopped:
            line = shlex.join(["backalley", "train", "--resume", str(folder)])
            raise Stopped(
                f"Stopped with seed {seed}, {number + 1} of {len(wanted)}; all is saved. Go on with: {line}"
            ) from None
    result = SeedsResult(folder, made, _command(made))
    results.write(folder / SEEDS_FILE, result.to_json())
    return result


def _begin(game: Game, seeds: Sequence[int], out: str | Path | None, about: Mapping[str, Any]) -> Path:
    """A folder of runs that have yet to begin, written beside and renamed. Raises TrainingError or ConfigError."""
    new = Path("runs") / f"{game.name}-seeds-{datetime.now():%Y%m%d-%H%M%S}"
    folder = new if out is None else path_of("out", out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = f"; go on with the runs there by --resume {folder}" if (folder / SEEDS_FILE).is_file() else ""
        raise TrainingError(f"{folder} is not an empty folder; name another one with --out{hint}.")
    if folder.resolve() == Path.cwd():
        raise TrainingError(f"{folder} is the folder that you are in; name another one with --out.")
    beside = folder.with_name(folder.name + durable.PARTIAL)
    shutil.rmtree(beside, ignore_errors=True)
    try:
        for seed in seeds:
            run = begin(game, out=beside / f"seed-{seed}", seed=seed, **about)
            run.folder.mkdir(parents=True)
            run.write()
        results.write(beside / SEEDS_FILE, {"kind": KIND, "seeds": {str(seed): None for seed in seeds}})
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside.rename(folder)
    except OSError as error:
        raise TrainingError(
            f"No runs can begin in {folder}: {error.strerror or error}. Make room or put it right, or name another "
            "folder with --out."
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return folder


def _seeds_in(folder: Path) -> list[int]:
    """The seeds of the runs in a folder. Raises TrainingError."""
    path = folder / SEEDS_FILE
    try:
        found = read_json(path)
        if found["kind"] != KIND:
            raise ValueError
        return read_seeds(list(found["seeds"]))
    except OSError as error:
        raise TrainingError(f"There are no runs of several seeds in {folder}: {error.strerror or error}.") from None
    except (ValueError, KeyError, TypeError):
        raise TrainingError(f"{path} is damaged, or no file of this trainer.") from None


def _command(made: Mapping[int, TrainingResult]) -> str:
    """The line that trains them all again, to the same weights where their decisions are the same."""
    lines = [result.command for result in made.values()]
    plain = {line.replace(f"--seed {seed} ", "--seed 0 ") for seed, line in zip(made, lines, strict=True)}
    if len(plain) > 1:
        return " && ".join(lines)
    return plain.pop().replace("--seed 0 ", f"--seeds {_written(list(made))} ")


def _written(seeds: Sequence[int]) -> str:
    whole = list(seeds) == list(range(seeds[0], seeds[-1] + 1)) and len(seeds) > 1
    return f"{seeds[0]}-{seeds[-1]}" if whole else ",".join(map(str, seeds))
