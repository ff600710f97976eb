"""Compare learning algorithms by exact exploitability, at equal processor time, in games small enough to compute it.
`backalley dev study learners` runs it.

All begin from random weights, have the same network, and play and learn on one thread. A learner's policy is written as
a run would write it, at some shares of the budget; what that takes, and what compiling takes, counts for nobody. A row
that the file already has is not made again, and a stopped comparison continues after its last whole run.
"""

from __future__ import annotations

import inspect
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import RandomAgent
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.network import one_thread
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game
from backalley.training.config import config as config_rules
from backalley.training.config.phases import Budget, register_phase
from backalley.training.run.loop import kind
from backalley.training.shared.phase import Phase

from ...exact.exploit import agent_probabilities
from ...exact.solver import Solver, solver_of
from ...figures import results
from ...figures.charts import Dots, dots
from ...figures.formatting import Found, Line, options, title
from ...figures.result_kinds import Files, Kept
from ...figures.stats import Estimate
from ..runner import Progress, kept_rows, program_of_the_guide, quiet

MARKS = (0.25, 0.5, 1.0)
"""Shares of the budget at which policies are measured."""
SHARED = {"network.width": 128, "network.layers": 2, "network.precision": "float32"}
"""Settings of all learners."""
Row = dict[str, Any]


class Learner(NamedTuple):
    """A learning algorithm with its settings."""

    name: str
    phase: str
    settings: Mapping[str, Any]
    """Over the defaults, by dotted names."""


_SELF = {"rollouts.base": "self", "rollouts.temperature": 0.2, "rollouts.plays_at": 0.2}
LEARNERS = {
    one.name: one
    for one in (
        Learner("ppo", "ppo", {"league.share": 0}),
        Learner("ppo-entropy", "ppo", {"league.share": 0, "ppo.entropy": 0.1}),
        Learner("rollouts", "rollouts", _SELF),
        Learner("mmd", "mmd", {}),
        Learner("nfsp", "nfsp", {}),
    )
}
"""The learners that are compared, by name."""


def _seeds_of(found: Found, learner: str) -> list[Found]:
    return [row for row in found["rows"] if row["learner"] == learner]


def _learner_names(found: Found) -> list[str]:
    return list(dict.fromkeys(row["learner"] for row in found["rows"]))


def _over_seeds(losses: npt.NDArray[np.float64]) -> str:
    """The mean, and the standard deviation of the seeds in brackets."""
    shown = f"{float(np.mean(losses)):.4f}"
    return f"{shown} ({float(np.std(losses, ddof=1)):.4f})" if len(losses) > 1 else shown


def _learners(files: Files) -> Iterator[Line]:
    """What the policies of each learner lose to a best response, at equal processor time."""
    for found in files:
        shares = [f"after {share:g} of the time" for share in found["marks"][:-1]]
        still = dict.fromkeys(["seeds", *shares], "")
        named = {"game": title(found), "options": options(found)}
        yield {**named, "learner": "uniform play", **still, "at the end": f"{found['uniform']:.4f}"}
        for name in _learner_names(found):
            rows = _seeds_of(found, name)
            losses = np.array([[point["mean_loss"] for point in row["points"]] for row in rows])
            seconds = [point["processor_seconds"] for point in rows[0]["points"]]
            pace = np.mean([row["decisions"] for row in rows]) / found["processor_seconds"]
            yield {
                **named,
                "learner": f"`{name}`",
                "seeds": f"{len(rows)}",
                **{share: _over_seeds(losses[:, k]) for k, share in enumerate(shares)},
                "at the end": _over_seeds(losses[:, -1]),
                "processor seconds": f"{seconds[-1]:.0f}",
                "decisions a second": f"{pace:,.0f}",
            }


class Learners(Kept, kind="learners", heading="Learners by exploitability", tables={"learners": _learners}):
    """Learning algorithms beside each other in a game that is small enough to compute exploitability."""

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Notes for readers, in sentences."""
        return [
            "The figures are what a policy loses to a best response, the mean over both seats in the game's rewards "
            "(half of NashConv); exact. They are means over training seeds, with the standard deviation of the seeds "
            "in brackets."
        ]

    @classmethod
    def charts(cls, files: Files) -> Iterator[Dots]:
        """The final losses; lines reach from the best seed to the worst."""
        for found in files:
            ends = {
                name: [row["points"][-1]["mean_loss"] for row in _seeds_of(found, name)]
                for name in _learner_names(found)
            }
            rows = [(name, Estimate(float(np.mean(all_)), min(all_), max(all_))) for name, all_ in ends.items()]
            about = f"After {found['processor_seconds']:g} s of processor time; lines reach from best to worst seed."
            yield dots(f"{title(found)}: learners by exploitability", about, "loss to a best response", rows)


def learners(
    game: Game,
    names: Sequence[str] = (),
    *,
    num_seeds: int = 3,
    processor_seconds: float = 60.0,
    keep: Path | None = None,
    progress: Progress = quiet,
    command: str = "",
) -> Learners:
    """Train each of the learners, by default all, over `num_seeds` seeds of that many processor seconds, and compute
    what their policies lose to best responses.

    With `keep`, the file is written after each run, and rows that it has of the same settings are kept. Raises
    ValueError for unknown learners, for a game that is too large to be enumerated, and where the file holds something
    else; KeyboardInterrupt after Ctrl-C: called again, it continues.
    """
    unknown = [name for name in names if name not in LEARNERS]
    if unknown:
        raise InvalidValue(f"There is no learner {unknown[0]!r}; there are: {', '.join(LEARNERS)}.")
    Budget(processor_seconds=processor_seconds)
    chosen = [one for one in LEARNERS.values() if one.name in names or not names]
    if any(one.phase == "nfsp" for one in chosen):
        _register_nfsp()
    solver = solver_of(game)
    about = {
        "kind": Learners.kind,
        "command": command,
        "game": game.id,
        "options": game.changed_options,
        "processor_seconds": float(processor_seconds),
        "marks": list(MARKS),
        "information_sets": len(solver.seat),
        "uniform": _loss(solver, RandomAgent()),
        **results.stamp(__file__, game),
    }
    # Rows of other settings than today's are made again.
    rows = [row for row in kept_rows(keep, about) if row["settings"] == _settings(LEARNERS.get(row["learner"]))]
    cells = [(one, seed) for seed in range(num_seeds) for one in chosen]
    for number, (one, seed) in enumerate(cells):
        if any((row["learner"], row["seed"]) == (one.name, seed) for row in rows):
            continue

        def said(done: float, words: str = f"{one.name} with seed {seed}", before: int = number) -> None:
            progress(before * processor_seconds + done, len(cells) * processor_seconds, words)

        made = _row(solver, one, seed, processor_seconds, said)
        rows.append(made | {name: about[name] for name in ("commit", "sources")})
        if keep is not None:
            results.write(keep, {**about, "rows": _ordered(rows)})
    return Learners({**about, "rows": _ordered(rows)})


def _register_nfsp() -> None:
    """Register the guide's example of a learner."""
    register_phase(program_of_the_guide("nfsp.py", "learning.md")["PHASE"])


def _ordered(rows: Sequence[Row]) -> list[Row]:
    """By learners, then by seeds."""
    return sorted(rows, key=lambda row: (list(LEARNERS).index(row["learner"]), row["seed"]))


def _settings(learner: Learner | None) -> dict[str, Any] | None:
    return None if learner is None else {"run.phases": learner.phase, **SHARED, **learner.settings}


def _row(solver: Solver, learner: Learner, seed: int, budget: float, said: Callable[[float], None]) -> Row:
    """Train one learner with one seed, and measure its policies."""
    game = solver.game
    config = config_rules.load(game, None, _settings(learner))
    with one_thread(), tempfile.TemporaryDirectory(prefix="backalley-learners-") as scratch:
        folder = Path(scratch)
        _begun(game, config, seed, folder / "warm").step()  # compiles, and does not count
        phase = _begun(game, config, seed, folder / "run")
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
    return {
        "learner": learner.name,
        "seed": seed,
        "settings": _settings(learner),
        "decisions": phase.decisions,
        "points": points,
    }


def _loss(solver: Solver, agent: Agent) -> float:
    """What an agent loses to a best response, the mean over both seats."""
    return solver.exploitability(agent_probabilities(agent, solver)[0])


def _begun(game: Game, config: config_rules.Config, seed: int, folder: Path) -> Phase:
    owner = kind(config.run.phases.names[0])
    more: dict[str, Any] = {"num_threads": 1} if "num_threads" in inspect.signature(owner).parameters else {}
    phase = owner(game, config, seed=seed, folder=folder, **more)
    phase.begin()
    return phase
