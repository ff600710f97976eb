"""Compare methods of training a game's policy: by the game's settings; from random weights by PPO, by MMD, or by
rollouts of the policy's own play; by PPO of the whole observation where the others read features. Each is trained with
several seeds at equal processor time, and all policies play the same decks against the best bot and the second best.

The methods depend on the game and its settings. The decks and their number are those of publication
(`benchmarks/studies/publication.toml`). A row that the file already has is not made again, and a stopped run continues.
"""

from __future__ import annotations

import hashlib
import json
import math
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.planner import plans_of
from backalley.agents.policies.policy_file import CURVE_JSON, RUN_FILE
from backalley.agents.registry import agent as agent_of
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.reading import read_json
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game
from backalley.training.config import config as config_rules
from backalley.training.config.config import SELF
from backalley.training.config.phases import Budget
from backalley.training.run.run import PHASES_FOLDER, POLICY_FOLDER
from backalley.training.train import Stopped, train

from ...figures import results
from ...figures.charts import EVEN, Dots, dots
from ...figures.formatting import Found, Line, changed, decimals, signed, title
from ...figures.result_kinds import Files, Kept, again
from ...figures.stats import Estimate, interquartile_mean, probability_of_improvement, t_critical
from ...matches.evaluate import evaluate
from ...matches.seeding import Space
from .. import publication
from ..publication import Publication, publications
from ..runner import FOLDER, GAME, Progress, Row, count, kept_rows, make_rows, quiet, rows_by, seconds, study, words
from .learners import unsigned

RUNS = Path("runs") / "methods"
_CURVE_POINTS = 10
FROM_NOTHING = {
    "ppo": {"run.phases": "ppo"},
    "mmd": {"run.phases": "mmd"},
    "rollouts": {"run.phases": "rollouts", "rollouts.base": "self"},
}
"""The methods that every game has, by name, with their settings over the game's own."""
_WARMING = {"run.gate_deals": 2, "run.evaluation_deals": 2, "run.curve_every": 0}
FIRST = "default"
"""The game's own method, the baseline of the others."""


def lead(rows: Sequence[Found], over: Sequence[Found], against: str) -> Estimate | None:
    """Return by how much the mean return against a bot is greater in some rows than in others, with its 95 % interval;
    None if there is only a single training seed."""
    sides = [[value(row, against) for row in side] for side in (rows, over)]
    if any(
        len(side) < 2 and "training_seed" in side_rows[0] for side, side_rows in zip(sides, (rows, over), strict=True)
    ):
        return None
    means = [np.array([one.mean for one in side]) for side in sides]
    spreads = [float(side.var(ddof=1)) / len(side) if len(side) > 1 else 0.0 for side in means]
    # Policies of one method may share the luck of these deals, so their intervals do not shrink with the seeds.
    variance = sum(float(np.mean([one.half_width for one in side])) ** 2 for side in sides)
    if sum(spreads):
        parts = sum(part**2 / (len(side) - 1) for part, side in zip(spreads, means, strict=True) if part)
        freedom = max(1, math.floor(sum(spreads) ** 2 / parts + 1e-9))
        variance += t_critical(freedom) ** 2 * sum(spreads)
    mean, reach = float(means[0].mean() - means[1].mean()), math.sqrt(variance)
    return Estimate(mean, mean - reach, mean + reach)


def value(row: Found, against: str) -> Estimate:
    """Return a row's mean return against a bot or, where each plays alone, its lead over the bot's."""
    played = row["against"][against]
    return Estimate(**played.get("lead", played["mean_return"]))


def _line(found: Found, rows: Sequence[Found]) -> Line:
    """One run, or the mean of the runs of a method, or an untrained player."""
    trained, one = "training_seed" in rows[0], len(rows) == 1
    seed = f"{rows[0]['training_seed']}" if trained and one else f"mean of {len(rows)}" if trained else "untrained"
    line = {"method": f"`{rows[0]['method']}`", "seed": seed}
    for bot in found["against"]:
        if bot in rows[0]["against"]:
            gains = [value(row, bot) for row in rows]
            if "lead" not in rows[0]["against"][bot]:
                line[f"wins against `{bot}`"] = f"{_spread([_share(row, bot) for row in rows], 2, '')} %"
            line[f"return against `{bot}`"] = _spread(gains, decimals(gains), "+")
    gated = [row["gate"]["passed"] for row in rows if "gate" in row]
    if gated:
        shown = f"passed by {sum(gated)} of {len(gated)}"
        line["gate"] = ("passed" if gated[0] else "refused") if one and trained else shown
    return line | ({"processor seconds": f"{rows[0]['processor_seconds']:.0f}"} if one and trained else {})


def _share(row: Found, bot: str) -> Estimate:
    return Estimate(**row["against"][bot]["win_share"]).percent


def _spread(values: Sequence[Estimate], digits: int, plus: str) -> str:
    """The mean with the standard deviation of the seeds; for a single one, its interval."""
    means = np.array([one.mean for one in values])
    shown = signed(float(means.mean()), digits) if plus else f"{float(means.mean()):.{digits}f}"
    if len(values) == 1:
        return f"{shown} {values[0].spread(digits, plus)}"
    return f"{shown} ({float(means.std(ddof=1)):.{digits}f})"


def _mean(found: Found, rows: Sequence[Found]) -> Line:
    """The mean of a method's runs, and what it is less than that of the game's own method."""
    line, best, first = _line(found, rows), found["against"][0], rows_by("method", found).get(FIRST, [])
    if rows[0]["method"] != FIRST and first and best in rows[0]["against"]:
        difference = lead(rows, first, best)
        line[f"less `{FIRST}`"] = "one seed only" if difference is None else _difference(difference)
    return line


def _difference(difference: Estimate) -> str:
    digits = decimals([difference])
    shown = f"{signed(difference.mean, digits)} ± {difference.half_width:.{digits}f}"
    return f"{shown}, not significant" if difference.low <= 0 <= difference.high else shown


def _methods(files: Files) -> Iterator[Line]:
    """Every run, and the means."""
    for found in files:
        for rows in rows_by("method", found).values():
            for row in rows if len(rows) > 1 else ():
                yield {"options": changed(found["options"]), **_line(found, [row])}
            yield {"options": changed(found["options"]), **_mean(found, rows)}


def _means(files: Files) -> Iterator[Line]:
    """Only the means, of several games, in columns that do not name bots."""
    for found in files:
        names = dict(zip(found["against"], ("the best bot", "the next best"), strict=False))
        for rows in rows_by("method", found).values():
            line = _mean(found, rows)
            for bot, shown in names.items():
                line = {column.replace(f"`{bot}`", shown): cell for column, cell in line.items()}
            yield {"game": title(found), **line}


def _beginnings(files: Files) -> str:
    """The results of training from the best bot, and from random weights, in a sentence."""
    (found,) = files
    best, shares, seconds = found["against"][0], _shares(found), f"{found['processor_seconds']:g}"
    wins = {name: f"{float(np.mean(each)):.1f} %" for name, each in shares.items()}
    ways = {"rollouts": "by rollouts of its own play", "ppo": "by PPO"}
    alone = [f"{wins[name]} {words} (`{name}`)" for name, words in ways.items() if name in wins]
    return (
        f"After {seconds} s of processor time (mean of {len(shares[FIRST])} runs), a policy that starts from `{best}` "
        f"wins {wins[FIRST]} against that bot, and one that starts from nothing wins {' or '.join(alone)}. Measured by "
        f"`{again(found)}`."
    )


def _shares(found: Found) -> dict[str, list[float]]:
    """Of every trained method the wins against the best bot, by seed, in hundredths; none where each plays alone."""
    best = found["against"][0]
    trained = {name: [row for row in rows if "training_seed" in row] for name, rows in rows_by("method", found).items()}
    alone = any("lead" in row["against"].get(best, ()) for row in found["rows"])
    return {name: [_share(row, best).mean for row in rows] for name, rows in trained.items() if rows and not alone}


def _summary(files: Files) -> Iterator[Line]:
    """The share of wins that each method has, where 1 is the share by chance, over the games that all of them have
    learned, with as many seeds of each; and how probably its mean return is greater than PPO's."""
    names, found = (FIRST, *FROM_NOTHING), [table for one in files if (table := _scores(one))]
    least = min((len(runs) for table in found for runs in table), default=0)
    for number, name in enumerate(names if found else ()):
        line = {"method": f"`{name}`", "games": f"{len(found)}", "seeds": f"{least}"}
        for k, equal in enumerate(("equal time, against the best bot", "equal samples, on the curve")):
            (wins, gains), (_, base) = (
                np.array([table[one][:least, k] for table in found]).transpose(2, 1, 0) for one in (number, 1)
            )
            line[f"wins at {equal}"] = unsigned(interquartile_mean(wins), 2)
            better = probability_of_improvement(gains, base)
            line[f"better than `ppo` at {equal.split(',')[0]}"] = "" if number == 1 else unsigned(better, 2)
        yield line


def _scores(found: Found) -> list[npt.NDArray[np.float64]] | None:
    """Wins, where 1 is the share by chance, and mean return of every run [seeds, 2, 2] of the game's own method and of
    each from nothing: at the end, and in the learning curve after as many samples as the slowest run has learned from.
    None where a method is missing, and where each plays alone, so that nobody wins against anybody."""
    game, by = game_of(found["game"], **found["options"]), rows_by("method", found)
    own = {method.name for method in variants_of(game)}
    # A method that the game's own settings are has no row of its own.
    runs = [by.get(name if name in own else FIRST, []) for name in (FIRST, *FROM_NOTHING)]
    if game.num_sides == 1 or any(len(rows) < 2 for rows in runs):
        return None
    samples, best = min(row["samples"] for rows in runs for row in rows), found["against"][0]

    def scores(row: Found) -> list[list[float]]:
        names, points = ("samples", "win_share", "mean_return"), row["curve"]["points"]
        seen, *curve = np.array([[point[name] for name in names] for point in points]).T
        played = [row["against"][best]["win_share"]["mean"], value(row, best).mean]
        return [played, [float(np.interp(samples, seen, one)) for one in curve]]

    return [np.array([scores(row) for row in rows]) * (game.num_sides, 1) for rows in runs]


class Comparison(
    Kept,
    kind="methods",
    heading="Methods of training",
    tables={"methods": _methods, "methods_means": _means, "beginnings": _beginnings, "methods_summary": _summary},
):
    """Training methods beside each other."""

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Notes for readers, in sentences."""
        budgets = sorted({f"{found['processor_seconds']:g}" for found in files}, key=float)
        deals = sorted({found["deals"] for found in files})
        said = [
            f"Each run had {' or '.join(budgets)} s of processor time, all cores together, and its policy played "
            f"{' or '.join(f'{number:,}' for number in deals)} deals against each bot, the same for all. ± is the "
            "95 % interval over deals; of a mean, the standard deviation of the seeds is in brackets. A difference "
            "has the 95 % interval over seeds (Welch) and deals together, and is not significant where that holds 0. "
            "In a game of one seat, the return is what the policy gains beyond the bot on the same decks."
        ]
        if any("gate" in row and not row["gate"]["passed"] for found in files for row in found["rows"]):
            said.append(
                "A policy that the gate refuses is played here all the same; `backalley train` would leave the bot in "
                "its place."
            )
        return said

    brief = frozenset({"methods_summary"})

    @classmethod
    def summary(cls, files: Files) -> Dots:
        """Wins against the best bot of every game, method by method."""
        rows = [
            (f"{title(found)}: {name}", Estimate(float(np.mean(wins)), min(wins), max(wins)))
            for found in files
            for name, wins in _shares(found).items()
        ]
        budgets = " or ".join(sorted({f"{found['processor_seconds']:g}" for found in files}, key=float))
        about = f"Means over training seeds of {budgets} s of processor time each; lines from the worst to the best."
        return dots("Methods of training: wins against the best bot", about, "wins, %", rows)

    @classmethod
    def charts(cls, files: Files) -> Iterator[Dots]:
        """Every run against each bot."""
        for found in files:
            for bot in found["against"]:
                rows = [
                    (f"{row['method']}, seed {row['training_seed']}" if "training_seed" in row else row["method"], gain)
                    for row in found["rows"]
                    if bot in row["against"]
                    for gain in [value(row, bot)]
                ]
                about = f"{found['processor_seconds']:g} s of processor time each, {found['deals']:,} deals; 95 %."
                alone = any("lead" in row["against"].get(bot, ()) for row in found["rows"])
                unit = f"mean return less that of {bot}" if alone else "mean return"
                yield dots(f"{title(found)}: methods of training, against {bot}", about, unit, rows, EVEN)


# Measuring ------------------------------------------------------------------------------------------------------------


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
    own = names[0] if len(names) == 1 and (names != ["rollouts"] or config.rollouts.base == SELF) else ""
    found = [Method(FIRST, {}), *(Method(*one) for one in FROM_NOTHING.items() if one[0] != own)]
    if config.network.features:
        found.append(Method("ppo-observation", {"run.phases": "ppo", "network.features": False}))
    if "plans" in names:
        plans_of(game)
        found.append(Method("plans", {}, "plans"))
    if game.bots:
        best = publications(game)[0].against
        found.append(Method(best, {}, best))
    return found


def opponents(plan: Publication) -> list[str]:
    """Return the baseline bot of a game and the second-best one; random play if the game has no bots."""
    bots = [f"bot:{name}" for name in plan.game.bots]
    place = bots.index(plan.against) if plan.against in bots else 0
    others = bots[place - 1] if place else "random"
    return list(dict.fromkeys([plan.against, others]))


@study(
    "compare",
    Comparison,
    GAME,
    count("--seeds num_seeds", 3, "Runs of each method.", 1, 100),
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
    plan, stamp = publications(game)[0], {name: about[name] for name in ("commit", "sources", "date")}
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
