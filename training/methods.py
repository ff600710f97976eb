"""Ways to train a game's policy beside each other: as the game's settings have it, by PPO from nothing, with the same
labels but without the bot's action as an input, by imitation of the bot alone; each over several training seeds, at
equal processor time, and all policies on the same decks against the best bot and the next best.

    python -m backalley.training.methods pitch --seeds 3 --processor-seconds 120 --json benchmarks/results

Which of them there are follows from the game and its settings. Decks, and how many, are those of publication
(`benchmarks/publication.toml`). A row that stands in the file is not made again, and a run that was stopped goes on.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

import backalley
from backalley.agents.base import Agent
from backalley.agents.learned import PolicyAgent
from backalley.agents.policy_file import CURVE_JSON
from backalley.agents.registry import agent as agent_of
from backalley.benchmarks import comparison, publication, results
from backalley.benchmarks.curves import RUN_FILE
from backalley.benchmarks.evaluate import evaluate
from backalley.benchmarks.keys import Space
from backalley.benchmarks.report import Report
from backalley.benchmarks.tabular import text
from backalley.command import INTERRUPTED, Command
from backalley.envs.core.base import Game
from backalley.envs.core.catalogue import game as game_of
from backalley.envs.core.reading import read_json
from backalley.progress import progress_bar

from . import config as config_rules
from .budget import Budget
from .report import TrainingResult
from .run import PHASES_FOLDER, POLICY_FOLDER
from .train import Progress, Stopped, train
from .ways import Method, methods_of, opponents, plan_of

RUNS = Path("runs") / "methods"
MOST_SEEDS = 100
_CURVE_POINTS = 10
"""Of each run on one core; on two cores half as many."""
_WARMING = {"run.gate_deals": 2, "run.evaluation_deals": 2, "run.curve_every": 0}
Row = dict[str, Any]


@dataclass
class Comparison:
    """What is compared, and the rows there are so far."""

    game: Game
    budget: float
    """Seconds of processor time of each run."""
    num_seeds: int
    methods: Sequence[Method]
    runs: Path
    """Where the runs lie."""
    keep: Path | None = None
    """The file that it is written to."""
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.plan = plan_of(self.game)
        self.stamp = results.stamp(__file__, self.game)

    # What there is to do ----------------------------------------------------------------------------------------------

    def cells(self) -> list[tuple[Method, int | None]]:
        """Who plays untrained, then each way to train with each seed: all ways with the first seed come first."""
        untrained = [(method, None) for method in self.methods if method.agent]
        trained = [method for method in self.methods if not method.agent]
        return [*untrained, *((method, seed) for seed in range(self.num_seeds) for method in trained)]

    def task(self, method: Method, seed: int | None) -> str:
        """What tells a row from all others: a digest of what it follows from."""
        config = config_rules.load(self.game, overrides=method.settings).as_dict()
        trained = {"config": config, "seed": seed, "budget": self.budget, "cores": results.machine()["cores"]}
        about = {
            "game": [self.game.id, self.game.option_values],
            "made": method.agent or trained,
            "against": opponents(self.plan),
            "deals": [publication.seed(), self.plan.method_deals],
            "sources": self.stamp["sources"],
        }
        return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:16]

    def stands(self, method: Method, seed: int | None) -> bool:
        """Whether there is such a row."""
        return any(row["task"] == self.task(method, seed) for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """The comparison as `results.write` takes it."""
        return {
            "kind": "methods",
            "command": self.command(),
            "game": self.game.id,
            "options": self.game.changed_options,
            "seed": publication.seed(),
            "deals": self.plan.method_deals,
            "against": opponents(self.plan),
            "processor_seconds": self.budget,
            "complete": all(self.stands(*cell) for cell in self.cells()),
            "rows": self.rows,
            **self.stamp,
        }

    def command(self) -> str:
        """The line that makes the rows there are, of however many commands they came."""
        made = {row["method"] for row in self.rows} | {method.name for method in self.methods}
        seeds = max([self.num_seeds, *(row["training_seed"] + 1 for row in self.rows if "training_seed" in row)])
        words = [self.game.spec, "--seeds", str(seeds), "--processor-seconds", f"{self.budget:g}"]
        there = [method.name for method in methods_of(self.game)]
        words += [] if made >= set(there) else ["--methods", ",".join(name for name in there if name in made)]
        words += ["--json", self.keep.parent.as_posix()] if self.keep else []
        return shlex.join(["python", "-m", "backalley.training.methods", *words])

    # Doing it ---------------------------------------------------------------------------------------------------------

    def make(self, progress: Progress) -> None:
        """Make all rows that do not stand, and write the file after each. Raises Stopped, and ValueErrors of training
        in a sentence."""
        left = [cell for cell in self.cells() if not self.stands(*cell)]
        self._warm([method for method, seed in left if seed is not None])
        for method, seed in left:
            row = self._untrained(method) if seed is None else self._trained(method, seed, progress)
            row |= {"task": self.task(method, seed)}
            row |= {name: self.stamp[name] for name in ("commit", "sources", "date")}
            self._put(row)
            if self.keep is not None:
                results.write(self.keep, self.to_json())

    def _put(self, row: Row) -> None:
        """Let a row stand, in its place: by ways to train, then by seeds."""
        rows = {(one["method"], one.get("training_seed")): one for one in [*self.rows, row]}
        order = [(method.name, seed) for method in methods_of(self.game) for seed in (None, *range(MOST_SEEDS))]
        self.rows = [rows[cell] for cell in order if cell in rows]

    def _warm(self, methods: Sequence[Method]) -> None:
        """Compile and link what the runs need, so that the first of them does not pay for it."""
        for method in {method.name: method for method in methods}.values():
            with tempfile.TemporaryDirectory(prefix="backalley-methods-") as scratch:
                settings = {**method.settings, **_WARMING}
                train(self.game, out=Path(scratch) / "run", decisions=1, config_overrides=settings)

    def _untrained(self, method: Method) -> Row:
        player = agent_of(method.agent, self.game)
        return {"method": method.name, "agent": method.agent, "against": self._played(player, method.agent)}

    def _trained(self, method: Method, seed: int, progress: Progress) -> Row:
        folder = self.runs / f"{self.game.name}-{method.name}-{seed}-{self.task(method, seed)[:8]}"

        def told(done: float, total: float, words: str) -> None:
            progress(done, total, f"{method.name} with seed {seed}, {words}")

        if (folder / RUN_FILE).is_file():
            result = train(resume=folder, processor_seconds=self.budget, progress=told)
        else:
            settings = {**method.settings, "run.curve_every": self.budget / _CURVE_POINTS}
            spent: dict[str, Any] = {"processor_seconds": self.budget, "seed": seed, "progress": told}
            result = train(self.game, out=folder, config_overrides=settings, **spent)
        last = result.phases[-1]
        learned = folder / PHASES_FOLDER / f"{len(result.phases)}-{last.kind}" / POLICY_FOLDER
        player = PolicyAgent(learned, self.game)
        return {
            "method": method.name,
            "training_seed": seed,
            "settings": dict(method.settings),
            "command": result.command,
            **_spent(result),
            **({"gate": last.gate._asdict()} if last.gate else {}),
            **({"words": last.words} if last.words else {}),
            "policy": player.identity,
            "against": self._played(player),
            "curve": _curve(folder),
        }

    def _played(self, player: Agent, own: str | None = None) -> dict[str, Any]:
        """What a player gains from each opponent but itself."""
        return {name: self._match(player, name) for name in opponents(self.plan) if name != own}

    def _match(self, player: Agent, against: str) -> dict[str, Any]:
        report = evaluate(
            self.game,
            [player, agent_of(against, self.game)],
            deals=self.plan.method_deals,
            seed=publication.seed(),
            num_threads=0,
            space=Space.PUBLICATION,
        )
        if not report.complete:
            raise KeyboardInterrupt
        return _gains(report, alone=self.game.num_sides == 1)


def _gains(report: Report, *, alone: bool) -> dict[str, Any]:
    own, less = report.agents[0], report.differences[0]
    found = {"mean_return": own.mean_return.to_json(), "win_share": own.win_share.to_json()}
    return found | ({"lead": {"mean": -less.mean, "low": -less.high, "high": -less.low}} if alone else {})


def _spent(result: TrainingResult) -> dict[str, Any]:
    used = sum(one.processor_seconds for one in result.phases)
    done = {"decisions": result.decisions, "samples": result.samples}
    return {"processor_seconds": round(used, 1), "seconds": round(result.seconds, 1), **done}


def _curve(folder: Path) -> dict[str, Any]:
    """The run's learning curve; an empty one where the settings want none."""
    path = folder / CURVE_JSON
    found = read_json(path) if path.is_file() else {"opponent": None, "deals": 0, "points": []}
    return {name: found[name] for name in ("opponent", "deals", "points")}


def compare(
    game: str | Game,
    methods: Sequence[str] = (),
    *,
    num_seeds: int = 3,
    processor_seconds: float = 120.0,
    runs: Path = RUNS,
    keep: Path | None = None,
    progress: Progress = lambda done, total, words: None,
) -> dict[str, Any]:
    """Ways to train a game's policy, by default all there are, each over `num_seeds` training seeds of so many seconds
    of processor time, as `results.write` takes it.

    The runs are kept under `runs`. With `keep`, the file is written after each row, and rows that stand there are kept;
    so are those of other ways to train and further seeds.

    Raises ValueError in a sentence for what cannot be compared, and where the file holds a comparison at another
    budget; Stopped or KeyboardInterrupt after Ctrl-C: called again, it goes on.
    """
    found = game_of(game)
    if isinstance(num_seeds, bool) or not isinstance(num_seeds, int) or not 1 <= num_seeds <= MOST_SEEDS:
        raise ValueError(f"num_seeds is {num_seeds!r}; it must be a whole number of 1..{MOST_SEEDS}.")
    Budget(processor_seconds=processor_seconds)
    there = {method.name: method for method in methods_of(found)}
    unknown = [name for name in methods if name not in there]
    if unknown:
        raise ValueError(f"{found.name} is not trained by {unknown[0]!r}; there are: {', '.join(there)}.")
    chosen = [method for name, method in there.items() if name in methods or not methods]
    made = Comparison(found, float(processor_seconds), num_seeds, chosen, runs, keep)
    made.rows = [] if keep is None else _rows(keep, made)
    made.make(progress)
    return made.to_json()


def _rows(path: Path, wanted: Comparison) -> list[Row]:
    """The rows of a file. Raises ValueError in a sentence where it holds something else."""
    if not path.exists():
        return []
    now = wanted.to_json()
    try:
        found = read_json(path)
        rows: list[Row] = found["rows"]
        other = [name for name in ("kind", "game", "options", "processor_seconds") if found[name] != now[name]]
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"{path} holds no comparison of methods; move it away, or name another folder.") from None
    if other:
        raise ValueError(
            f"{path} is a comparison with {other[0]} {found[other[0]]!r}, not {now[other[0]]!r}; move it away, or name "
            "another folder."
        )
    return rows


def table(found: Mapping[str, Any]) -> str:
    """A comparison as text."""
    lines = list(comparison.methods([found]))
    names = dict.fromkeys(name for line in lines for name in line)
    head = [name for name in names if any(line.get(name) for line in lines)]
    shown = [[line.get(name, "").replace("`", "") for name in head] for line in lines]
    plain = [name.replace("`", "") for name in head]
    return "\n\n".join([found["game"], text(plain, shown, left=2), *comparison.notes([found])])


@click.command(cls=Command)
@click.argument("game")
@click.option("--seeds", type=click.IntRange(1, MOST_SEEDS), default=3, show_default=True, help="Runs of each method.")
@click.option(
    "--processor-seconds", type=float, default=120.0, show_default=True, help="Of each run, all cores together."
)
@click.option("--methods", default="", help="Some of the methods, with commas; by default all that the game has.")
@click.option(
    "--runs",
    type=click.Path(path_type=Path, file_okay=False),
    default=RUNS,
    show_default=True,
    help="Where the runs lie.",
)
@click.option("--json", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write a file here.")
def main(game: str, seeds: int, processor_seconds: float, methods: str, runs: Path, folder: Path | None) -> None:
    """Compare ways to train a policy for GAME."""
    found = backalley.game(game)
    path = None if folder is None else folder / f"methods_{found.name}.json"
    if path is not None:
        results.check_place(path)
    chosen = [name.strip() for name in methods.split(",")] if methods else []
    try:
        with progress_bar(found.name) as progress:
            made = compare(
                found,
                chosen,
                num_seeds=seeds,
                processor_seconds=processor_seconds,
                runs=runs,
                keep=path,
                progress=progress,
            )
    except (Stopped, KeyboardInterrupt):
        click.echo("Stopped; the same line goes on.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    click.echo(f"\n{table(made)}\n")
    click.echo(f"Again: {made['command']}", err=True)


if __name__ == "__main__":
    main()
