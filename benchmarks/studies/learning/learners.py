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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import RandomAgent
from backalley.agents.policies.learned import PolicyAgent
from backalley.agents.policies.network_agent import one_thread
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game
from backalley.training.config import config as config_rules
from backalley.training.config.phases import register_phase
from backalley.training.run.budget import Budget
from backalley.training.run.loop import kind
from backalley.training.shared.phase import Phase

from ...exact.exploit import agent_probabilities
from ...exact.solver import Solver, solver_of
from ...figures import results
from ..runner import Progress, kept_rows, program_of_the_guide, quiet
from .comparison import Learners

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
