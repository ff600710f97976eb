"""The learning curve of a run: at intervals of training time the policy, as it would be written to disk, plays the
game's best bot.

Time spent here is not training time, and nothing in training depends on it. All points of a run play the same deals.
"""

from __future__ import annotations

import csv
import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import BotAgent, RandomAgent
from backalley.agents.policies.learned import load_policy
from backalley.agents.policies.policy_file import CURVE_FILE, CURVE_JSON, CURVE_KIND
from backalley.benchmarks.figures import results
from backalley.benchmarks.figures.result_kinds import of_game
from backalley.benchmarks.matches.report import report

from ..shared.phase import Phase
from .gate import CURVE, keys_of, meet
from .logs import Board, CsvLog
from .run import Run


class Curve:
    """The points so far, in `curve.csv`."""

    def __init__(self, run: Run, decisions: int, seconds: float, also: Sequence[Board] = ()) -> None:
        """Continue from the run's present state; points after `decisions` will be made again, and also go to the
        loggers `also`. Raises OSError."""
        self.run, self._also = run, also
        self.every, self.deals = run.config.run.curve_every, run.config.run.curve_deals
        self.opponent: Agent = BotAgent(run.game) if run.game.bots else RandomAgent()
        self._log = CsvLog(run.folder / CURVE_FILE, decisions)
        self._next = self._after(seconds)

    def _after(self, seconds: float) -> float:
        """The next time for a point."""
        return (math.floor(seconds / self.every) + 1) * self.every if self.every else math.inf

    def due(self, seconds: float) -> bool:
        """Return whether it is time for a point."""
        return seconds >= self._next

    def add(
        self,
        phase: Phase,
        *,
        seconds: float,
        processor_seconds: float,
        decisions: int,
        samples: int,
        progress: Callable[[int, int], None],
    ) -> None:
        """Play a point and write it, unless the curve is off or has it already; the numbers are the run's so far.

        What `progress` raises, between batches, ends it without a point. Raises OSError, and PolicyFileError for
        weights that are not finite.
        """
        if not self.every or self._log.latest == decisions:
            return
        game, seed = self.run.game, self.run.seed
        with tempfile.TemporaryDirectory(prefix="backalley-curve-") as scratch:
            phase.save_policy(Path(scratch) / "policy", {})
            pair = [load_policy(Path(scratch) / "policy", game), self.opponent]
        sample = meet(game, pair, self.deals, keys_of(CURVE, seed), progress)
        found = report(game, pair, sample, planned=self.deals, seed=seed, about=of_game(game))
        own, (less,) = found.agents[0], found.differences
        values = {
            "phase": phase.number + 1,
            "seconds": seconds,
            "processor_seconds": processor_seconds,
            "samples": samples,
            **own.mean_return.columns("mean_return"),
            **own.win_share.columns("win_share"),
            "lead": -less.mean,
            "lead_low": -less.high,
            "lead_high": -less.low,
        }
        self._log.write(values, decisions)
        for log in self._also:
            log.write({f"curve/{name}": value for name, value in values.items()}, decisions)
        self._next = self._after(seconds)

    def finish(self, command: str) -> None:
        """Write the whole curve as `curve.json`, with its description. Raises OSError."""
        path = self.run.folder / CURVE_FILE
        if not path.is_file():
            return
        with open(path, newline="", encoding="utf-8") as file:
            points = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
        found: dict[str, Any] = {
            "kind": CURVE_KIND,
            "command": command,
            "game": self.run.game.id,
            "options": self.run.game.option_values,
            "seed": self.run.seed,
            "opponent": self.opponent.name,
            "deals": self.deals,
            "points": points,
            **self.run.stamp,
        }
        results.write(self.run.folder / CURVE_JSON, found)
