"""The result of a run: its final policy against every bot, as an object, as JSON and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backalley.benchmarks.figures.stats import Estimate
from backalley.benchmarks.figures.tabular import Figures, Tabular
from backalley.benchmarks.matches.report import Report
from backalley.envs.core.game.game import Game

from .loop import START, Outcome


@dataclass(frozen=True)
class TrainingResult(Tabular):
    """The result of `train`. Both `folder` and `policy` can be used as an agent's name."""

    game: Game
    folder: Path
    """The run: settings, log, checkpoints."""
    policy: Path
    """The final policy."""
    decisions: int
    """Decisions made on the tables."""
    samples: int
    """Those of them that were learned from: all except those of league members."""
    seconds: float
    """Seconds of training, including the compilation of the rules."""
    phases: Sequence[Outcome]
    """The outcome of each phase."""
    reports: Sequence[Report]
    """The final policy against random play and every bot, weakest first; in a game of one seat a single report of
    all."""
    command: str
    """The command that trains the same weights again, to the bit on one machine."""
    evaluation_command: str
    """The command that plays the policy against the game's best bot."""

    def to_json(self) -> dict[str, Any]:
        """Return the result in the form that `results.write` takes."""
        return {
            "kind": "training",
            "command": self.command,
            "decisions": self.decisions,
            "samples": self.samples,
            "seconds": self.seconds,
            "phases": [outcome.to_json() for outcome in self.phases],
            "reports": [report.to_json() for report in self.reports],
        }

    def records(self) -> list[dict[str, Any]]:
        """A row for each agent of each report."""
        return [row for report in self.reports for row in report.records()]

    def figures(self) -> Figures:
        """Return mean returns and win shares of the policy against each opponent, over the same decks."""
        pace = self.samples / max(self.seconds, 1e-9)
        notes = [
            *self._loop(),
            f"{self.decisions:,} decisions in {self.seconds:.0f} s of training, {pace:,.0f} samples a second.",
            f"The policy is in {self.policy}. The same weights again: {self.command}",
            f"Strength: {self.evaluation_command}",
        ]
        first = self.reports[0]
        title = f"{first.agents[0].name} at {first.game}, {first.deals:,} deals that nothing else plays"
        if self.game.num_seats == 1:
            title += ", each agent alone"
            return Figures(title, ["agent", "mean return", "the policy's lead"], _alone(first), notes)
        title += f", in {len(first.seatings)} seatings each"
        chance = f"Win share: chance is {100 / self.game.num_sides:.3g} %; ties count in parts."
        rows = [
            [other.name, points(mine.mean_return), share(mine.win_share)]
            for mine, other in (report.agents for report in self.reports)
        ]
        return Figures(title, ["opponent", "mean return", "win share"], rows, [chance, *notes])

    def _loop(self) -> list[str]:
        """What the phases report, under their names where there are several."""
        found = []
        for number, one in enumerate(self.phases, start=1):
            said = one.sentences
            if len(self.phases) > 1:
                said.insert(0, f"Phase {number}, {one.kind}: {one.decisions:,} decisions in {one.seconds:.0f} s.")
            found += [" ".join(said)] if said else []
            found += one.words
        return [*found, *self._whose()]

    def _whose(self) -> list[str]:
        """Which phase's weights the final policy has, where they are not the last one's."""
        folder = Path(self.phases[-1].policy)
        if folder.name == START:
            return ["No gate changed the policy: it has the weights that the run began with."]
        number = int(folder.parent.name.partition("-")[0])
        if number == len(self.phases):
            return []
        kind = self.phases[number - 1].kind
        return [f"No later phase changed the policy: it has the weights of phase {number}, {kind}."]


def _alone(report: Report) -> list[list[str]]:
    """The rows of a game of one seat: the policy, and its lead over each other agent."""
    own, *others = report.agents
    rows = [[own.name, points(own.mean_return), ""]]
    for other, less in zip(others, report.differences, strict=True):
        rows.append([other.name, points(other.mean_return), points(Estimate(-less.mean, -less.high, -less.low))])
    return rows


def points(estimate: Estimate) -> str:
    """Return a mean return with its interval, for a table."""
    return f"{estimate.mean:+.4f} {estimate.spread(4, '+')}"


def share(estimate: Estimate) -> str:
    """Return a share of wins with its interval, in per cent."""
    return f"{estimate.percent.mean:.1f} {estimate.percent.spread(1)} %"
