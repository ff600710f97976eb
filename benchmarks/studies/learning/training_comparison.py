"""Compare methods of training a game's policy: by the game's settings; from random weights by PPO, or by rollouts of
the policy's own play; with the bot's rollouts but without its action as an input; by imitation of the bot alone. Each
is trained with several seeds at equal processor time, and all policies play the same decks against the best bot and the
second best. `backalley dev study compare` runs it.

The methods depend on the game and its settings. The decks and their number are those of publication
(`benchmarks/studies/publication.toml`). A row that the file already has is not made again, and a stopped run continues.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backalley.agents.base.agent import Agent
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.policy_file import CURVE_JSON, RUN_FILE
from backalley.agents.registry import agent as agent_of
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game
from backalley.training.config import config as config_rules
from backalley.training.config.phases import Budget
from backalley.training.run.run import PHASES_FOLDER, POLICY_FOLDER
from backalley.training.train import Stopped, TrainingResult, train

from ...figures import results
from ...matches.evaluate import evaluate
from ...matches.report import Report
from ...matches.seeding import Space
from .. import publication
from ..runner import Progress, kept_rows, quiet
from . import comparison
from .variants import Method, opponents, plan_of, variants_of

RUNS = Path("runs") / "methods"
MOST_SEEDS = 100
_CURVE_POINTS = 10
"""Processor seconds of each run, by default; on two cores a run takes half as long."""
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
    """The folder of the runs."""
    keep: Path | None = None
    """The file that the comparison is written to."""
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.plan = plan_of(self.game)
        self.stamp = results.stamp(__file__, self.game)

    # What there is to do ----------------------------------------------------------------------------------------------

    def cells(self) -> list[tuple[Method, int | None]]:
        """Return the untrained players, then each method with each seed: all methods with the first seed come first."""
        untrained = [(method, None) for method in self.methods if method.agent]
        trained = [method for method in self.methods if not method.agent]
        return [*untrained, *((method, seed) for seed in range(self.num_seeds) for method in trained)]

    def task(self, method: Method, seed: int | None) -> str:
        """Return what identifies a row: a digest of everything it depends on."""
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
        """Return whether the row exists."""
        return any(row["task"] == self.task(method, seed) for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison in the form that `results.write` takes."""
        return {
            "kind": comparison.Comparison.kind,
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
        """Return the command that makes the present rows, even if several commands made them."""
        made = {row["method"] for row in self.rows} | {method.name for method in self.methods}
        seeds = max([self.num_seeds, *(row["training_seed"] + 1 for row in self.rows if "training_seed" in row)])
        words = [self.game.spec, "--seeds", str(seeds), "--processor-seconds", f"{self.budget:g}"]
        there = [method.name for method in variants_of(self.game)]
        words += [] if made >= set(there) else ["--methods", ",".join(name for name in there if name in made)]
        words += ["--json", self.keep.parent.as_posix()] if self.keep else []
        return shlex.join(["backalley", "dev", "study", "compare", *words])

    # Doing it ---------------------------------------------------------------------------------------------------------

    def make(self, progress: Progress) -> None:
        """Make all missing rows, and write the file after each. Raises Stopped, and the ValueErrors of training."""
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
        """Insert a row in order: by methods, then by seeds."""
        rows = {(one["method"], one.get("training_seed")): one for one in [*self.rows, row]}
        order = [(method.name, seed) for method in variants_of(self.game) for seed in (None, *range(MOST_SEEDS))]
        self.rows = [rows[cell] for cell in order if cell in rows]

    def _warm(self, methods: Sequence[Method]) -> None:
        """Compile what the runs need, so that the first of them does not pay for it."""
        for method in {method.name: method for method in methods}.values():
            with tempfile.TemporaryDirectory(prefix="backalley-methods-") as scratch:
                settings = {**method.settings, **_WARMING}
                train(self.game, out=Path(scratch) / "run", decisions=1, config_overrides=settings)

    def _untrained(self, method: Method) -> Row:
        player = agent_of(method.agent, self.game)
        return {"method": method.name, "agent": method.agent, "against": self._played(player, method.agent)}

    def _trained(self, method: Method, seed: int, progress: Progress) -> Row:
        folder = self.runs / f"{self.game.name}-{method.name}-{seed}-{self.task(method, seed)[:8]}"

        def callback(done: float, total: float, words: str) -> None:
            progress(done, total, f"{method.name} with seed {seed}, {words}")

        if (folder / RUN_FILE).is_file():
            result = train(resume=folder, processor_seconds=self.budget, progress=callback)
        else:
            settings = {**method.settings, "run.curve_every": self.budget / _CURVE_POINTS}
            spent: dict[str, Any] = {"processor_seconds": self.budget, "seed": seed, "progress": callback}
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
        """The gains of a player against each opponent except itself."""
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
    """The run's learning curve; empty if the settings turn it off."""
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
    progress: Progress = quiet,
    command: str = "",
) -> comparison.Comparison:
    """Compare methods of training a game's policy, by default all, each over `num_seeds` training seeds of that many
    seconds of processor time.

    The runs are kept under `runs`. With `keep`, the file is written after each row, and existing rows are kept,
    including those of other methods and further seeds, so that the result has a command of its own.

    Raises ValueError for what cannot be compared, and where the file holds a comparison at another budget;
    KeyboardInterrupt after Ctrl-C: called again, it continues.
    """
    found = game_of(game)
    Budget(processor_seconds=processor_seconds)
    there = {method.name: method for method in variants_of(found)}
    unknown = [name for name in methods if name not in there]
    if unknown:
        raise InvalidValue(f"{found.name} is not trained by {unknown[0]!r}; there are: {', '.join(there)}.")
    chosen = [method for name, method in there.items() if name in methods or not methods]
    made = Comparison(found, float(processor_seconds), num_seeds, chosen, runs, keep)
    made.rows = kept_rows(keep, made.to_json())
    try:
        made.make(progress)
    except Stopped:
        raise KeyboardInterrupt from None
    return comparison.Comparison(made.to_json())
