"""Tables and charts of attacks: the best response that was found to an agent; `training/attack` looks for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .axes import minutes
from .charts import EVEN, Dots, Lines, axes_of, dots, policies
from .formatting import Found, Line, interval, mean, options, title, with_options
from .result_kinds import Files, OfGame
from .stats import Estimate


class Point(NamedTuple):
    """An attacker's response after a part of its budget, on the deals that choose among responses."""

    processor_seconds: float
    """Spent until then on learning; by a search, on its play."""
    seconds: float
    decisions: int
    """Decisions at the tables that it learned on; 0 of a search."""
    agent: str
    """The response's name."""
    policy: str
    """Its place in the attack's folder; empty for a search."""
    deals: int
    gain: Estimate
    """What it gains over equality."""

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Point:
        """What `to_json` gave."""
        return cls(**{**kept, "gain": Estimate(**kept["gain"])})

    def to_json(self) -> dict[str, Any]:
        """The point as a file of results holds it."""
        return {**self._asdict(), "gain": self.gain.to_json()}


class Attacker(NamedTuple):
    """What one attacker found."""

    name: str
    points: Sequence[Point]
    chosen: int
    """The number of the point whose response was chosen."""
    deals: int
    gain: Estimate
    """What that response gains over equality, on deals that chose nothing."""

    def to_json(self) -> dict[str, Any]:
        """The entry of a file of results."""
        found = self.points[self.chosen]
        return {
            "name": self.name,
            "agent": found.agent,
            "policy": found.policy,
            "processor_seconds": found.processor_seconds,
            "deals": self.deals,
            "gain": self.gain.to_json(),
            "points": [point.to_json() for point in self.points],
        }


def best_of(found: Found) -> Found:
    """Return the entry of the best attacker in a file: the one that surely gains most."""
    best: Found = max(found["attackers"], key=lambda one: one["gain"]["low"])
    return best


def _line(found: Found, one: Found, what: str) -> Line:
    """What an attacker gains, in the column `what`."""
    return {
        "options": options(found),
        "agent": f"`{found['agent']}`",
        "attacker": one["name"],
        what: mean(one["gain"]),
        "95 % interval": interval(one["gain"]),
        "deals": f"{one['deals']:,}",
    }


def _attacks(files: Files) -> Iterator[Line]:
    """What each attacker gains, the best one first."""
    several = len({found["game"] for found in files}) > 1
    for found in files:
        best = best_of(found)
        for one in [best, *(other for other in found["attackers"] if other is not best)]:
            spent = {"processor seconds": f"{one['processor_seconds']:.0f}"}
            yield {"game": title(found) if several else "", **_line(found, one, "gain over equality"), **spent}


def _worst_cases(files: Files) -> Iterator[Line]:
    """What the best attacker gains, a line for each agent."""
    for found in files:
        yield {"game": title(found), **_line(found, best_of(found), "gives at least")}


@dataclass(frozen=True)
class Attacked(OfGame, kind="attack", heading="Attacks", tables={"attack": _attacks, "worst_cases": _worst_cases}):
    """An agent under attack: what the best responses that were found gain over equality."""

    agent: str
    seed: int
    deals: int
    """The most deals of a published gain."""
    selection_deals: int
    """The most deals of a point."""
    budget: dict[str, Any]
    """What all attackers together might spend, in the words of `Budget`."""
    attackers: list[Attacker]
    refused: dict[str, str]
    """Attackers that do not apply, each with the reason."""

    in_title = frozenset({"game", "options", "agent"})

    @property
    def best(self) -> Attacker:
        """The attacker whose gain has the highest lower end."""
        return max(self.attackers, key=lambda one: one.gain.low)

    @property
    def gain(self) -> Estimate:
        """What the best attacker gains over equality."""
        return self.best.gain

    @property
    def title(self) -> str:
        """Who is attacked, and the agent's figure."""
        gain = f"{self.gain.mean:+.4f} {self.gain.spread(4, '+')}"
        return f"{self.agent} at {super().title}: the best response found gains {gain}"

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """What the numbers are."""
        return [
            "An attacker plays every deal on each side in turn, the agent all others; its gain is over what the agent "
            "gets there itself. Each attacker's response was chosen on other deals. The best attacker, which comes "
            "first, is the one whose interval has the highest lower end. The lower ends of two attackers both hold in "
            "at least 95 of 100 attacks, those of four in 90. Somebody else may find a better response."
        ]

    @classmethod
    def charts(cls, files: Files) -> Iterator[Lines]:
        """Return charts of gains by what was spent, a line for each attacker."""
        for found in files:
            points = [point for one in found["attackers"] for point in one["points"]]
            divided, unit = minutes([point["processor_seconds"] for point in points])
            lines = [
                (one["name"], [(at["processor_seconds"] / divided, Estimate(**at["gain"])) for at in one["points"]])
                for one in found["attackers"]
            ]
            yield Lines(
                f"{with_options(found)}: attacks on {policies([found['agent']])[0]}",
                f"Gain over equality; bands are 95 % intervals over {found['selection_deals']:,} deals at most.",
                f"{unit} of processor time",
                lines,
                axes_of(lines, EVEN, False),
                EVEN,
            )

    @classmethod
    def summary(cls, files: Files) -> Dots:
        """Return what the best attackers of many agents gain."""
        rows = [(f"{title(found)}, {found['agent']}", Estimate(**best_of(found)["gain"])) for found in files]
        about = "What the best response that was found gains over equality, with its 95 % interval."
        return dots("What agents give to an attacker", about, "gain over equality", rows, EVEN)

    def records(self) -> list[dict[str, Any]]:
        """A row for each attacker."""
        return [
            {
                "game": self.game,
                "agent": self.agent,
                "attacker": one.name,
                "best": one is self.best,
                **one.gain.columns("gain"),
                "deals": one.deals,
            }
            for one in self.attackers
        ]
