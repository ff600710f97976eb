"""Compare methods of training a game's policy: by the game's settings; from random weights by PPO, or by rollouts of
the policy's own play; with the bot's rollouts but without its action as an input; by imitation of the bot alone. Each
is trained with several seeds at equal processor time, and all policies play the same decks against the best bot and the
second best.

The methods depend on the game and its settings. The decks and their number are those of publication
(`benchmarks/studies/publication.toml`). A row that the file already has is not made again, and a stopped run continues.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from backalley.agents.base.agent import Agent
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.planner import plans_of
from backalley.agents.policies.policy_file import CURVE_JSON, RUN_FILE
from backalley.agents.registry import agent as agent_of
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.game import Game
from backalley.training.config import config as config_rules
from backalley.training.config.config import Base, Learned
from backalley.training.run.budget import Budget
from backalley.training.run.run import PHASES_FOLDER, POLICY_FOLDER
from backalley.training.train import Stopped, train

from ...figures import results
from ...matches.evaluate import evaluate
from ...matches.seeding import Space
from .. import publication
from ..publication import Publication, publications
from ..runner import FOLDER, GAME, Progress, Row, count, kept_rows, make_rows, quiet, seconds, study, words
from .comparison import FIRST, Comparison

RUNS = Path("runs") / "methods"
MOST_SEEDS = 100
_CURVE_POINTS = 10
_FROM_NOTHING = {"run.phases": "rollouts", "rollouts.base": "self"}
_WARMING = {"run.gate_deals": 2, "run.evaluation_deals": 2, "run.curve_every": 0}


class Method(NamedTuple):
    """A method of training, or an untrained player."""

    name: str
    settings: Mapping[str, Any]
    """Settings over the game's own, by dotted names."""
    agent: str | None = None
    """Who plays untrained."""


def variants_of(game: Game) -> list[Method]:
    """Return the training methods worth comparing for a game, its own first; then the untrained players."""
    config = config_rules.load(game)
    names = config.run.phases.names
    found = [Method(FIRST, {})]
    if names != ["ppo"]:
        found.append(Method("ppo", {"run.phases": "ppo"}))
    if "rollouts" in names and config.rollouts.base == Base.BOT:
        plain = [learned for learned in (Learned.ADVANTAGES, Learned.IMITATION) if learned != config.rollouts.learned]
        found += [Method(one.name.lower(), {"rollouts.learned": one.name.lower()}) for one in plain]
    if names != ["rollouts"] or config.rollouts.base == Base.BOT:
        found.append(Method("rollouts", _FROM_NOTHING))
    if "plans" in names:
        plans_of(game)
        found.append(Method("plans", {}, "plans"))
    if game.bots:
        best = plan_of(game).against
        found.append(Method(best, {}, best))
    return found


def opponents(plan: Publication) -> list[str]:
    """Return the baseline bot of a game and the second-best one; random play if the game has no bots."""
    bots = [f"bot:{name}" for name in plan.game.bots]
    place = bots.index(plan.against) if plan.against in bots else 0
    others = bots[place - 1] if place else "random"
    return list(dict.fromkeys([plan.against, others]))


def plan_of(game: Game) -> Publication:
    """Return how the game is measured."""
    return publications(game)[0]


@study(
    "compare",
    Comparison,
    GAME,
    count("--seeds num_seeds", 3, "Runs of each method.", 1, MOST_SEEDS),
    seconds("--processor-seconds", 120.0),
    words("--methods", "", "Some of the methods, with commas; by default all that the game has."),
    click.option("--runs", type=FOLDER, default=RUNS, show_default=True, help="Their folder."),
    file="methods_{game}",
)
def compare(
    game: Game,
    methods: Sequence[str] = (),
    *,
    about: Row,
    num_seeds: int = 3,
    processor_seconds: float = 120.0,
    runs: Path = RUNS,
    keep: Path | None = None,
    progress: Progress = quiet,
) -> Row:
    """Compare the methods of training a policy for GAME, each over several training seeds.

    The runs are kept under `runs`. With `keep`, the file is written after each row, and existing rows are kept,
    including those of other methods and further seeds, so that the result has a command of its own. Raises ValueError
    for what cannot be compared, and where the file holds a comparison at another budget; KeyboardInterrupt after
    Ctrl-C: called again, it continues.
    """
    Budget(processor_seconds=processor_seconds)
    there, budget = {method.name: method for method in variants_of(game)}, float(processor_seconds)
    unknown = [name for name in methods if name not in there]
    if unknown:
        raise InvalidValue(f"{game.name} is not trained by {unknown[0]!r}; there are: {', '.join(there)}.")
    chosen = [method for name, method in there.items() if name in methods or not methods]
    plan, stamp = plan_of(game), {name: about[name] for name in ("commit", "sources", "date")}
    about = {
        **about,
        "seed": publication.seed(),
        "deals": plan.method_deals,
        "against": opponents(plan),
        "processor_seconds": budget,
    }

    def row_of(method: Method, seed: int | None, task: str) -> Row:
        if seed is None:
            made = {"method": method.name, "agent": method.agent}
            return {**made, "against": _played(plan, agent_of(str(method.agent), game), method.agent), **stamp}
        folder = runs / f"{game.name}-{method.name}-{seed}-{task[:8]}"

        def callback(done: float, total: float, words: str) -> None:
            progress(done, total, f"{method.name} with seed {seed}, {words}")

        return {"method": method.name, **_trained(plan, method, seed, budget, folder, callback), **stamp}

    untrained = [(method, None) for method in chosen if method.agent]
    trained = [method for method in chosen if not method.agent]
    pairs: list[tuple[Method, int | None]] = [
        *untrained,
        *((one, seed) for seed in range(num_seeds) for one in trained),
    ]
    tasks = [_task(plan, method, seed, budget, about["sources"]) for method, seed in pairs]
    cells: list[tuple[Row, Callable[[], Row]]] = [
        ({"task": task}, partial(row_of, *pair, task)) for pair, task in zip(pairs, tasks, strict=True)
    ]

    def file(rows: list[Row]) -> Row:
        """The rows with the command that makes them, even if several commands made them."""
        made = {row["method"] for row in rows} | {method.name for method in chosen}
        seeds = max([num_seeds, *(row["training_seed"] + 1 for row in rows if "training_seed" in row)])
        line = [game.spec, "--seeds", str(seeds), "--processor-seconds", f"{budget:g}"]
        line += [] if made >= {*there} else ["--methods", ",".join(name for name in there if name in made)]
        line += ["--json", keep.parent.as_posix()] if keep else []
        again = shlex.join(["backalley", "dev", "study", "compare", *line])
        return {**about, "command": again, "complete": {*tasks} <= {row["task"] for row in rows}, "rows": rows}

    order = list(there)
    rows = [row for row in kept_rows(keep, about) if row["method"] in there]
    kept = {row["task"] for row in rows}
    try:
        left = [method for (method, seed), task in zip(pairs, tasks, strict=True) if task not in kept]
        _warm(game, {method.name: method for method in left if not method.agent}.values())
        return make_rows(
            keep, file, rows, cells, lambda row: (order.index(row["method"]), row.get("training_seed", -1))
        )
    except Stopped:
        raise KeyboardInterrupt from None


def _task(plan: Publication, method: Method, seed: int | None, budget: float, sources: str) -> str:
    """What identifies a row: a digest of everything it depends on."""
    config = config_rules.load(plan.game, overrides=method.settings).as_dict()
    trained = {"config": config, "seed": seed, "budget": budget, "cores": results.machine()["cores"]}
    about = {
        "game": [plan.game.id, plan.game.option_values],
        "made": method.agent or trained,
        "against": opponents(plan),
        "deals": [publication.seed(), plan.method_deals],
        "sources": sources,
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _warm(game: Game, methods: Iterable[Method]) -> None:
    """Compile what the runs need, so that the first of them does not pay for it."""
    for method in methods:
        with tempfile.TemporaryDirectory(prefix="backalley-methods-") as scratch:
            settings = {**method.settings, **_WARMING}
            train(game, out=Path(scratch) / "run", decisions=1, config_overrides=settings)


def _trained(plan: Publication, method: Method, seed: int, budget: float, folder: Path, progress: Progress) -> Row:
    """Train, or go on in a folder that holds a run, and play."""
    if (folder / RUN_FILE).is_file():
        result = train(resume=folder, processor_seconds=budget, progress=progress)
    else:
        settings = {**method.settings, "run.curve_every": budget / _CURVE_POINTS}
        spent: dict[str, Any] = {"processor_seconds": budget, "seed": seed, "progress": progress}
        result = train(plan.game, out=folder, config_overrides=settings, **spent)
    last = result.phases[-1]
    learned = folder / PHASES_FOLDER / f"{len(result.phases)}-{last.kind}" / POLICY_FOLDER
    player, curve = PolicyAgent(learned, plan.game), folder / CURVE_JSON
    points = read_json(curve) if curve.is_file() else {"opponent": None, "deals": 0, "points": []}
    return {
        "training_seed": seed,
        "settings": dict(method.settings),
        "command": result.command,
        "processor_seconds": round(sum(one.processor_seconds for one in result.phases), 1),
        "seconds": round(result.seconds, 1),
        "decisions": result.decisions,
        "samples": result.samples,
        **({"gate": last.gate._asdict()} if last.gate else {}),
        **({"words": last.words} if last.words else {}),
        "policy": player.identity,
        "against": _played(plan, player),
        "curve": {name: points[name] for name in ("opponent", "deals", "points")},
    }


def _played(plan: Publication, player: Agent, own: str | None = None) -> Row:
    """The gains of a player against each opponent except itself."""
    return {name: _match(plan, player, name) for name in opponents(plan) if name != own}


def _match(plan: Publication, player: Agent, against: str) -> Row:
    report = evaluate(
        plan.game,
        [player, agent_of(against, plan.game)],
        deals=plan.method_deals,
        seed=publication.seed(),
        num_threads=0,
        space=Space.PUBLICATION,
    )
    if not report.complete:
        raise KeyboardInterrupt
    own, less = report.agents[0], report.differences[0]
    found = {"mean_return": own.mean_return.to_json(), "win_share": own.win_share.to_json()}
    alone = plan.game.num_sides == 1
    return found | ({"lead": {"mean": -less.mean, "low": -less.high, "high": -less.low}} if alone else {})
