"""What an evaluation found: each agent's mean return and win share with intervals over the deals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backalley.agents.base import Agent
from backalley.envs.core.base import Game

from . import stats
from .sample import Sample
from .stats import Estimate
from .tabular import Figures, Tabular

_ROUNDING = 1e-9
"""Half-width that is none: who always plays as another does gains the same, but for the order of sums."""
PILOT = 256
"""Deals from which `precision` judges how many will be needed."""


@dataclass(frozen=True)
class Strength:
    """One agent's mean return and win share per seat it holds, with 95 % intervals. Partners share the win, so that
    chance is one in so many sides."""

    name: str
    mean_return: Estimate
    win_share: Estimate
    note: str = ""
    """What a reader of these numbers should know of the agent, in a sentence."""


@dataclass(frozen=True)
class Report(Tabular):
    """What an evaluation found. Everything but `seconds` and the stamp follows from game, agents, deals and seed."""

    game: str
    options: dict[str, Any]
    changed: dict[str, Any]
    """Those options that differ from their defaults."""
    agents: list[Strength]
    seatings: list[list[int]]
    """[R, N] the number of the agent in each seat of each seating."""
    sides: list[int]
    """The number of each seat's side: partners have the same."""
    deals: int
    planned: int
    differences: list[Estimate]
    """Mean return of each further agent less that of the first, deal by deal."""
    duplicate_gain: float | None
    """See `stats.duplicate_gain` of the first agent; with one seat, `stats.pairing_gain` of the first difference."""
    decisions: int
    seconds: float
    """Seconds of play; linking machine code is not counted."""
    seed: int
    precision: float | None
    stamp: dict[str, Any]
    command: str = ""

    @property
    def complete(self) -> bool:
        """Whether all planned deals were played."""
        return self.deals == self.planned

    def to_json(self) -> dict[str, Any]:
        """The report as `results.write` takes it."""
        return {
            "kind": "evaluation",
            "command": self.command,
            "game": self.game,
            "options": self.options,
            "seed": self.seed,
            "deals": self.deals,
            "complete": self.complete,
            "planned_deals": self.planned,
            "precision": self.precision,
            "agents": [
                {
                    "name": one.name,
                    "mean_return": one.mean_return.to_json(),
                    "win_share": one.win_share.to_json(),
                    **({"note": one.note} if one.note else {}),
                }
                for one in self.agents
            ],
            "differences": [
                {"of": number, "less": 0, "mean_return": estimate.to_json()}
                for number, estimate in enumerate(self.differences, start=1)
            ],
            "duplicate_gain": self.duplicate_gain,
            "seatings": self.seatings,
            "sides": self.sides,
            "decisions": self.decisions,
            "seconds": self.seconds,
            "decisions_per_second": self.decisions / self.seconds if self.seconds else None,
            **self.stamp,
        }

    def records(self) -> list[dict[str, Any]]:
        """A row for each agent: its mean return and win share, each with the ends of its interval."""
        common = {"game": self.game, "deals": self.deals, "seed": self.seed}
        return [
            {
                **common,
                "agent": one.name,
                **one.mean_return.columns("mean_return"),
                **one.win_share.columns("win_share"),
            }
            for one in self.agents
        ]

    def figures(self) -> Figures:
        """Mean return first, win share second, both with 95 % intervals over deals."""
        digits = decimals([one.mean_return for one in self.agents])
        rows = []
        for number, one in enumerate(self.agents):
            label = f"{_letter(number)}  {one.name}" if len(self.agents) > 1 else one.name
            rows.append(
                [label, *_cells(one.mean_return, digits, sign=True), *_cells(one.win_share.percent, 2, unit=" %")]
            )
        for number, difference in enumerate(self.differences, start=1):
            rows.append([f"{_letter(number)} less A", *_cells(difference, digits, sign=True), "", ""])
        return Figures(
            self._title(),
            ["agent", "mean return", "95 % interval", "win share", "95 % interval"],
            rows,
            [*(f"{one.name}: {one.note}" for one in self.agents if one.note), self._gain(), *self._aim(), self._pace()],
        )

    def _title(self) -> str:
        seatings = f"{len(self.seatings)} seating{'' if len(self.seatings) == 1 else 's'}"
        title = f"{self.game}{options_text(self.changed)}: {self.deals:,} deals x {seatings}, seed {self.seed}"
        return title if self.complete else f"Stopped after {self.deals:,} of {self.planned:,} deals.\n{title}"

    def _gain(self) -> str:
        if len(self.seatings) == 1:
            return "Each deck was played once: there are no duplicate deals to gain from."
        if self.duplicate_gain is None:
            return (
                "Gain of the duplicate deals: every deal gave the same result, so there was no luck left to take out."
            )
        what = "B less A" if len(self.seatings[0]) == 1 else self.agents[0].name
        return (
            f"Gain of the duplicate deals: {self.duplicate_gain:.2f}x "
            f"(as many games on independent decks would give {what} "
            f"{math.sqrt(self.duplicate_gain):.2f} times this interval)."
        )

    def _aim(self) -> list[str]:
        if self.precision is None:
            return []
        widest = max(one.mean_return.half_width for one in self.agents)
        wanted = f"A pilot of {PILOT} deals put {self.planned:,} deals to a half-width of {self.precision:g}"
        digits = decimals([agent.mean_return for agent in self.agents])
        return [f"{wanted}; the widest interval has {widest:.{digits}f}."]

    def _pace(self) -> str:
        sides, seats = len(set(self.sides)), len(self.sides)
        held = "seat" if sides == seats else "side"
        chance = "" if seats == 1 else f" Win share is per {held} held; chance is {100 / sides:.3g} %."
        pace = self.decisions / self.seconds if self.seconds else 0.0
        shown = f"{pace / 1e6:.2f} million a second" if pace >= 1e6 else f"{pace:,.0f} a second"
        return f"{self.decisions:,} decisions in {self.seconds:.2f} s ({shown}).{chance}"


def report(
    game: Game,
    agents: Sequence[Agent],
    sample: Sample,
    *,
    planned: int,
    seed: int,
    stamp: dict[str, Any],
    precision: float | None = None,
) -> Report:
    """The report of a sample of two or more deals."""
    shares = stats.win_shares(sample.returns, game.sides)
    by_seating = [sample.of_agent(number, sample.returns) for number in range(len(agents))]
    means = [x.mean(1) for x in by_seating]
    alone = sample.seatings.shape[1] == 1
    strengths = [
        Strength(
            agent.name,
            stats.mean_interval(means[number], game.reward_range),
            stats.share_interval(sample.of_agent(number, shares).mean(1)),
            agent.note,
        )
        for number, agent in enumerate(agents)
    ]
    gain = (
        None
        if len(sample.seatings) == 1
        else stats.pairing_gain(means[0], means[1])
        if alone
        else stats.duplicate_gain(by_seating[0])
    )
    return Report(
        game=game.id,
        options=game.option_values,
        changed=game.changed_options,
        agents=strengths,
        seatings=sample.seatings.tolist(),
        sides=list(game.sides),
        deals=sample.deals,
        planned=planned,
        differences=[stats.mean_interval(x - means[0], stats.lead_bounds(game.reward_range)) for x in means[1:]],
        duplicate_gain=gain,
        decisions=sample.decisions,
        seconds=sample.seconds,
        seed=seed,
        precision=precision,
        stamp=stamp,
    )


def options_text(options: Mapping[str, Any]) -> str:
    """Options in brackets, for the head of a table; nothing where all are at their defaults."""
    return f" ({', '.join(f'{name}={value}' for name, value in options.items())})" if options else ""


def decimals(estimates: Sequence[Estimate]) -> int:
    """Decimals that show two figures of the narrowest interval that is more than rounding."""
    widths = [one.half_width for one in estimates if one.half_width > _ROUNDING]
    return int(np.clip(1 - math.floor(math.log10(min(widths))), 2, 8)) if widths else 3


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else str(number)


def _cells(estimate: Estimate, digits: int, *, sign: bool = False, unit: str = "") -> list[str]:
    form = f"{'+' if sign else ''}.{digits}f"
    return [f"{estimate.mean:{form}}{unit}", f"{estimate.low:{form}} to {estimate.high:{form}}"]
