"""Compare learning algorithms by exact exploitability, at equal processor time, in games small enough to compute it.

All begin from random weights, have the same network, and play and learn on one thread. A learner's policy is written as
a run would write it, at some shares of the budget; what that takes, and what compiling takes, counts for nobody. A row
that the file already has is not made again, and a stopped comparison continues after its last whole run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import RandomAgent
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.network import one_thread
from backalley.cli.shared import option_option
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game
from backalley.training.config import config as config_rules
from backalley.training.config.phases import Budget, register_phase

from ...exact.exploit import agent_probabilities
from ...exact.solver import Solver, solver_of
from ...figures.charts import Dots, dots
from ...figures.formatting import Found, Line, options, title
from ...figures.result_kinds import Files, Kept
from ...figures.stats import Estimate, interquartile_mean, probability_of_improvement
from ..runner import GAME, Progress, Row, count, kept_rows, make_rows, quiet, rows_by, seconds, study, words
from .guides import program_of_the_guide
from .throughput import begun

MARKS = (0.25, 0.5, 1.0)
"""Shares of the budget at which policies are measured."""
SHARED = {"network.width": 128, "network.layers": 2, "network.precision": "float32", "network.features": False}
"""Settings of all learners: what reads the observation can tell any two information sets apart."""


class Learner(NamedTuple):
    """A learning algorithm with its settings."""

    name: str
    phase: str
    settings: Mapping[str, Any]
    """Over the defaults, by dotted names."""


_SELF = {"rollouts.base": "self", "rollouts.temperature": 0.2, "rollouts.plays_at": 0.2}
_MMD = {f"mmd.{name}": value for name, value in config_rules.MMDSettings()._asdict().items()}  # not those of long games
LEARNERS = {
    one.name: one
    for one in (
        Learner("ppo", "ppo", {"league.share": 0}),
        Learner("ppo-entropy", "ppo", {"league.share": 0, "ppo.entropy": 0.1}),
        Learner("rollouts", "rollouts", _SELF),
        Learner("mmd", "mmd", _MMD),
        Learner("nfsp", "nfsp", {}),
        Learner("deep-cfr", "deep_cfr", {}),
        Learner("r-nad", "rnad", _MMD),
        Learner("psro", "psro", _MMD),
    )
}
"""The learners that are compared, by name."""
PROGRAMS = {"nfsp": "learning.md", **dict.fromkeys(("deep_cfr", "rnad", "psro"), "equilibria.md")}
"""Phases that are programs of the guides, and their pages."""
_BASE = "ppo"
"""The learner that others are compared with."""
_SUMMED = {_BASE, "mmd", "deep-cfr", "r-nad"}
"""The summary is of the games that these have learned, and shows whoever has learned all of them."""


def over_seeds(losses: npt.NDArray[np.float64] | list[float]) -> str:
    """The mean, and the standard deviation of the seeds in brackets."""
    mean = f"{float(np.mean(losses)):.4f}"
    return f"{mean} ({float(np.std(losses, ddof=1)):.4f})" if len(losses) > 1 else mean


def unsigned(estimate: Estimate, digits: int) -> str:
    """An estimate without a plus sign, its interval in brackets."""
    return f"{estimate.mean:.{digits}f} ({estimate.low:.{digits}f} to {estimate.high:.{digits}f})"


def _learners(files: Files) -> Iterator[Line]:
    """What the policies of each learner lose to a best response, at equal processor time."""
    for found in files:
        shares = [f"after {share:g} of the time" for share in found["marks"][:-1]]
        still = dict.fromkeys(["seeds", *shares], "")
        named = {"game": title(found), "options": options(found)}
        yield {**named, "learner": "uniform play", **still, "at the end": f"{found['uniform']:.4f}"}
        for name, rows in rows_by("learner", found).items():
            losses = np.array([[point["mean_loss"] for point in row["points"]] for row in rows])
            seconds = [point["processor_seconds"] for point in rows[0]["points"]]
            pace = np.mean([row["decisions"] for row in rows]) / found["processor_seconds"]
            yield {
                **named,
                "learner": f"`{name}`",
                "seeds": f"{len(rows)}",
                **{share: over_seeds(losses[:, k]) for k, share in enumerate(shares)},
                "at the end": over_seeds(losses[:, -1]),
                "processor seconds": f"{seconds[-1]:.0f}",
                "decisions a second": f"{pace:,.0f}",
            }


def _summary(files: Files) -> Iterator[Line]:
    """How much of uniform play's loss is left, over all games that the learners of the summary have learned."""
    found = [(one, by) for one in files if (by := rows_by("learner", one)).keys() >= _SUMMED]
    names = [name for name in found[0][1] if all(name in by for _, by in found)] if found else []
    least = min((len(by[name]) for _, by in found for name in names), default=0)
    for name in names:
        line: Line = {"learner": f"`{name}`", "games": f"{len(found)}", "seeds": f"{least}"}
        for budget in ("time", "decisions"):
            left, base = (
                np.array([[_left(one, by, row, budget) for row in by[which][:least]] for one, by in found]).T
                for which in (name, _BASE)
            )
            line[f"left at equal {budget}"] = unsigned(interquartile_mean(left), 3)
            better = "" if name == _BASE else unsigned(probability_of_improvement(-left, -base), 2)
            line[f"better than `{_BASE}`, equal {budget}"] = better
        yield line


def _left(found: Found, by: Mapping[str, Sequence[Found]], row: Found, budget: str) -> float:
    """The share of uniform play's loss that a policy has at the end; or after as many decisions as every learner of the
    file has made, between its marks, which begin with uniform play."""
    points, uniform = row["points"], found["uniform"]
    if budget == "time":
        return float(points[-1]["mean_loss"] / uniform)
    common = min(one["decisions"] for rows in by.values() for one in rows)
    losses = [uniform, *(point["mean_loss"] for point in points)]
    return float(np.interp(common, [0, *(point["decisions"] for point in points)], losses) / uniform)


class Learners(
    Kept,
    kind="learners",
    heading="Learners by exploitability",
    tables={"learners": _learners, "learners_summary": _summary},
):
    """Learning algorithms beside each other in a game that is small enough to compute exploitability."""

    brief = frozenset({"learners_summary"})

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Notes for readers, in sentences."""
        return [
            "The figures are what a policy loses to a best response, the mean over both seats in the game's rewards "
            "(half of NashConv); exact. They are means over training seeds, with the standard deviation of the seeds "
            "in brackets.",
            "Over games: what is left of uniform play's loss, the mean of the middle half of all seeds and games, "
            f"and how probably a run beats one of `{_BASE}` in the same game; in brackets 95 % intervals of a "
            "bootstrap over the seeds of each game. Decisions are equal after as many as the slowest learner of a game "
            "has made, by straight lines between the marks, which begin with uniform play.",
        ]

    @classmethod
    def charts(cls, files: Files) -> Iterator[Dots]:
        """The final losses; lines reach from the best seed to the worst."""
        for found in files:
            rows = []
            for name, seeds in rows_by("learner", found).items():
                ends = [row["points"][-1]["mean_loss"] for row in seeds]
                rows.append((name, Estimate(float(np.mean(ends)), min(ends), max(ends))))
            about = f"After {found['processor_seconds']:g} s of processor time; lines reach from best to worst seed."
            yield dots(f"{title(found)}: learners by exploitability", about, "loss to a best response", rows)


@study(
    "learners",
    Learners,
    GAME,
    count("--seeds num_seeds", 5, "Runs of each learner."),
    seconds("--processor-seconds", 60.0),
    words("--learners names", "", "Some of the learners, with commas; by default all."),
    option_option,
)
def learners(
    game: Game,
    names: Sequence[str] = (),
    *,
    about: Row,
    num_seeds: int = 5,
    processor_seconds: float = 60.0,
    keep: Path | None = None,
    progress: Progress = quiet,
) -> Row:
    """Compare learning algorithms by what their policies lose to best responses in GAME, which has to be small.

    With `keep`, the file is written after each run, and rows that it has of the same settings are kept. Raises
    ValueError for unknown learners, for a game that is too large to be enumerated, and where the file holds something
    else; KeyboardInterrupt after Ctrl-C: called again, it continues.
    """
    unknown = [name for name in names if name not in LEARNERS]
    if unknown:
        raise InvalidValue(f"There is no learner {unknown[0]!r}; there are: {', '.join(LEARNERS)}.")
    Budget(processor_seconds=processor_seconds)
    chosen = [one for one in LEARNERS.values() if one.name in names or not names]
    for one in chosen:
        if one.phase in PROGRAMS:
            register_phase(program_of_the_guide(f"{one.phase}.py", PROGRAMS[one.phase])["PHASE"])
    solver = solver_of(game)
    about = {
        **about,
        "processor_seconds": float(processor_seconds),
        "marks": list(MARKS),
        "information_sets": len(solver.seat),
        "uniform": _loss(solver, RandomAgent()),
    }

    def row_of(number: int, one: Learner, seed: int) -> Row:
        def said(done: float) -> None:
            progress(number + done / processor_seconds, len(cells), f"{one.name} with seed {seed}")

        made = _row(solver, one, seed, processor_seconds, said)
        return made | {name: about[name] for name in ("commit", "sources")}

    seeded = [(one, seed) for seed in range(num_seeds) for one in chosen]
    cells: list[tuple[Row, Callable[[], Row]]] = [
        ({"learner": one.name, "seed": seed, "settings": _settings(one)}, partial(row_of, number, one, seed))
        for number, (one, seed) in enumerate(seeded)
    ]
    # Rows of other settings than today's are made again.
    rows = [row for row in kept_rows(keep, about) if row["settings"] == _settings(LEARNERS.get(row["learner"]))]
    order = list(LEARNERS)
    return make_rows(
        keep, lambda rows: {**about, "rows": rows}, rows, cells, lambda row: (order.index(row["learner"]), row["seed"])
    )


def _settings(learner: Learner | None) -> dict[str, Any] | None:
    return None if learner is None else {"run.phases": learner.phase, **SHARED, **learner.settings}


def _row(solver: Solver, learner: Learner, seed: int, budget: float, said: Callable[[float], None]) -> Row:
    """Train one learner with one seed, and measure its policies."""
    game = solver.game
    config = config_rules.load(game, None, _settings(learner))
    with one_thread(), tempfile.TemporaryDirectory(prefix="backalley-learners-") as scratch:
        folder = Path(scratch)
        begun(learner.phase, game, config, seed, folder / "warm", 1).step()  # compiles, and does not count
        phase = begun(learner.phase, game, config, seed, folder / "run", 1)
        points = []
        for mark in MARKS:
            while phase.processor_seconds < mark * budget:
                began = time.process_time()
                phase.step()
                phase.processor_seconds += time.process_time() - began
                said(min(phase.processor_seconds, budget))
            place = folder / f"policy-{mark:g}"
            phase.save_policy(place, {})
            point = {"processor_seconds": round(phase.processor_seconds, 1), "decisions": phase.decisions}
            points.append({**point, "mean_loss": _loss(solver, PolicyAgent(place, game))})
        phase.close()
    return {"decisions": phase.decisions, "points": points}


def _loss(solver: Solver, agent: Agent) -> float:
    """What an agent loses to a best response, the mean over both seats."""
    return solver.exploitability(agent_probabilities(agent, solver)[0])
