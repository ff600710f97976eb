"""Runs of several seeds with the same settings: `backalley train GAME --seeds 0-4`.

FOLDER/
    seeds.json     the seeds, and at the end their results, with means     seed-0/, seed-1/, ...    a run each

The runs are made one after the other, or on the machines of a cluster, each on one. `--resume FOLDER` continues all of
them after a stop or a kill. Each folder is an ordinary run: it can be resumed by itself, evaluated, and used as an
agent's name.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from backalley.agents.policies.policy_file import RUN_FILE
from backalley.benchmarks.figures import results
from backalley.benchmarks.figures.formatting import Figures, Tabular
from backalley.benchmarks.figures.stats import Estimate, mean_interval
from backalley.cluster import machines
from backalley.cluster.ray_cluster import ClusterError
from backalley.cluster.work import Found, Sizes
from backalley.envs.core.files import durable
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType

from .config.phases import Budget, TrainingError
from .run.loop import Log
from .run.run import SEEDS_FILE, begin, new_folder, path_of, resume_line
from .train import Progress, Stopped, TrainingResult, naming, points, share, train

KIND = "seeds"
MOST_SEEDS = 1000


def read_seeds(given: Any) -> list[int]:
    """Return the seeds of `0-4`, `3,7` or `0-4,9`, or of a list of numbers. Raises TrainingError."""
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
    """The result of `train_seeds`: the result of each seed's run, and the mean over seeds with its interval."""

    folder: Path
    results: Mapping[int, TrainingResult]
    command: str
    """The command that trains them all again."""

    def means(self) -> dict[str, dict[str, Estimate]]:
        """By opponent, the mean over the seeds of `mean_return` and `win_share`, with the 95 % interval by Student's t
        over the seeds: the expected result of another seed. Needs two seeds."""
        found = {}
        for name, rows in self._rows().items():
            found[name] = {
                measure: mean_interval(np.array([row[measure].mean for row in rows]))
                for measure in ("mean_return", "win_share")
            }
        return found

    def _rows(self) -> dict[str, list[dict[str, Estimate]]]:
        """The return of each seed's policy against each opponent, or beside it in a game of one seat."""
        found: dict[str, list[dict[str, Estimate]]] = {}
        for result in self.results.values():
            for report in result.reports:
                own, *others = report.agents
                for other in others[: 1 if result.game.num_seats == 1 else None]:
                    name = "alone" if result.game.num_seats == 1 else other.name
                    found.setdefault(name, []).append({"mean_return": own.mean_return, "win_share": own.win_share})
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the result in the form that `results.write` takes."""
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
            rows += [[name, str(seed), points(row["mean_return"]), share(row["win_share"])] for seed, row in each]
            if len(found) > 1:
                mean = self.means()[name]
                rows.append([name, "mean", points(mean["mean_return"]), share(mean["win_share"])])
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
    against: str | Path | None = None,
    begins: str | Path | None = None,
    resume: str | Path | None = None,
    agents: Sequence[str] = (),
    restart: bool = False,
    device: str = "auto",
    cluster: str | None = None,
    progress: Progress = lambda done, total, words: None,
    log: Log = lambda sentence: None,
) -> SeedsResult:
    """Train a policy with each of several seeds (`"0-4"`, or a list), with the other arguments of `train` the same for
    all, in folders seed-0, seed-1, ... of `out`, by default a new one under runs/.

    With `resume`, the folder of such runs, all of them continue: a new budget or `restart` applies to each, and
    finished ones only play their matches again. With a `cluster`, the address of a Ray cluster, its machines make the
    runs, in folders on a disk that all of them share; the run of a machine that dies goes on elsewhere from its last
    checkpoint. Raises what `train` raises; Stopped says how to continue all.
    """
    spent: dict[str, Any] = {"seconds": seconds, "decisions": decisions, "processor_seconds": processor_seconds}
    if resume is None:
        if game is None or seeds is None or restart:
            raise TrainingError("Several seeds need a game and the seeds; existing runs continue by --resume FOLDER.")
        overrides = naming(game, config, config_overrides, against=against, begins=begins)
        about = {"config": config, "overrides": overrides, "budget": Budget(**spent), "device": device}
        folder = _begin(game_of(game), read_seeds(seeds), out, about)
        rest: dict[str, Any] = {"agents": _facts(folder)["own_agents"]}  # the caller's own, written a moment ago
    else:
        new = (seeds, config, config_overrides or None, out, against, begins)
        if any(given is not None for given in new) or device != "auto":
            raise TrainingError("Resumed runs keep their seeds, options, settings, folder and device; leave them out.")
        folder = path_of("resume", resume)
        rest = {"game": game, "agents": agents, "restart": restart, **spent}
    wanted = _seeds_in(folder)
    if cluster is not None:
        if restart:  # a node that takes over from a dead one would begin again
            raise TrainingError("A restart of runs is made on one machine; leave --cluster or --restart out.")
        _hand_out(Runs(folder.resolve(), wanted, rest), cluster, progress, log)
        rest = {"agents": rest["agents"]}  # the rest is in the runs by now, which only play their matches again
    made: dict[int, TrainingResult] = {}
    for number, seed in enumerate(wanted):

        def callback(done: float, total: float, words: str, number: int = number, seed: int = seed) -> None:
            progress(number + done / max(total, 1e-9), len(wanted), f"seed {seed}, {words}")

        log(f"Seed {seed}, {number + 1} of {len(wanted)}.")
        try:
            made[seed] = train(resume=folder / f"seed-{seed}", progress=callback, log=log, **rest)
        except Stopped:
            raise Stopped(
                f"Stopped with seed {seed}, {number + 1} of {len(wanted)}; all is saved. Go on with: {_line(folder)}"
            ) from None
    result = SeedsResult(folder, made, _command(made))
    results.write(folder / SEEDS_FILE, result.to_json())
    return result


def _line(folder: Path, cluster: str | None = None) -> str:
    facts = _facts(folder)
    modules, agents = facts.get("phase_modules", []), facts.get("own_agents", [])
    return resume_line(folder, facts["found_by"], modules, agents, cluster)


def _facts(folder: Path) -> dict[str, Any]:
    """What `run.json` of the first of several runs says."""
    found: dict[str, Any] = read_json(folder / f"seed-{_seeds_in(folder)[0]}" / RUN_FILE)
    return found


class Runs:
    """Runs by the numbers of their seeds: see `cluster.work.Work`. What a run finds is in its folder."""

    sizes = Sizes(1, whole_machine=True)

    def __init__(self, folder: Path, seeds: Sequence[int], more: Mapping[str, Any]) -> None:
        """`more` is what `train` takes besides `resume`. A node must find in the folder what is there now."""
        self.folder, self.seeds, self.more = folder, list(seeds), dict(more)
        facts = [read_json(folder / f"seed-{seed}" / RUN_FILE) for seed in seeds]
        self.modules = {module for one in facts for module in [one["found_by"], *one.get("phase_modules", [])]}
        self.seen = (folder / SEEDS_FILE).read_text("utf-8")

    def begin(self, part: int) -> float:
        """Raise ClusterError where the folder is not that of the machine that gave the command."""
        path = self.folder / SEEDS_FILE
        if not path.is_file() or path.read_text("utf-8") != self.seen:
            raise ClusterError(
                f"A node of the cluster does not see {self.folder}: runs on a cluster need a folder on a disk that all "
                "machines share; name one with --out."
            )
        return 0.0

    def do(self, part: int, low: int, high: int) -> Found:
        """Train with the seeds of these numbers, from where each run is; return the decisions made [n]."""
        runs = [train(resume=self.folder / f"seed-{seed}", **self.more) for seed in self.seeds[low:high]]
        return (np.array([run.decisions for run in runs]),)

    def close(self) -> None:
        """Nothing is open between two runs."""


def _hand_out(runs: Runs, cluster: str, progress: Progress, log: Log) -> None:
    """Let the machines of a cluster make all runs. Raises Stopped."""
    count = len(runs.seeds)
    log(f"{count} runs on the cluster, each on a machine; {runs.folder} is on a disk that all of them share.")
    try:
        with machines(cluster) as executor, closing(executor.in_order(runs, [(0, count)])) as ranges:
            progress(0, count, f"0 of {count} seeds")
            for done in ranges:
                log(f"Seed {runs.seeds[done.low]} has made {int(done.found[0][0]):,} decisions.")
                progress(done.high, count, f"{done.high} of {count} seeds")
    except KeyboardInterrupt:
        line = _line(runs.folder, cluster)
        raise Stopped(f"Stopped; every run has saved what it had. Go on with: {line}") from None


def _begin(game: Game, seeds: Sequence[int], out: str | Path | None, about: Mapping[str, Any]) -> Path:
    """Make a folder of runs that have yet to begin, beside the target, then rename it. Raises TrainingError or
    ConfigError."""
    new = Path("runs") / f"{game.name}-seeds-{datetime.now():%Y%m%d-%H%M%S}"
    folder = new_folder(out, new, SEEDS_FILE)
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
    """The command that trains them all again, to the same weights if their decisions are the same."""
    lines = [result.command for result in made.values()]
    plain = {line.replace(f"--seed {seed} ", "--seed 0 ") for seed, line in zip(made, lines, strict=True)}
    if len(plain) > 1:
        return " && ".join(lines)
    return plain.pop().replace("--seed 0 ", f"--seeds {_written(list(made))} ")


def _written(seeds: Sequence[int]) -> str:
    whole = list(seeds) == list(range(seeds[0], seeds[-1] + 1)) and len(seeds) > 1
    return f"{seeds[0]}-{seeds[-1]}" if whole else ",".join(map(str, seeds))
