"""The result of an evaluation: each agent's mean return and win share with intervals over the deals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backalley.agents.base.agent import Agent
from backalley.envs.core.game.game import Game

from ..figures import stats
from ..figures.formatting import (
    Figures,
    Found,
    Line,
    agent,
    decimals,
    interval,
    mean,
    options,
    options_text,
    percent,
    span,
    strength,
    title,
    with_interval,
    with_options,
)
from ..figures.result_kinds import Files, OfGame
from ..figures.stats import Estimate
from .sample import Sample

if TYPE_CHECKING:
    from ..figures.charts import Dots
    from .until import Until

PILOT = 256
"""The number of deals from which `precision` estimates how many will be needed."""


@dataclass(frozen=True)
class Strength:
    """One agent's mean return and win share per seat it holds, with 95 % intervals. Partners share the win, so the
    share by chance is one in the number of sides."""

    name: str
    mean_return: Estimate
    win_share: Estimate
    note: str = ""
    """A sentence that a reader of these numbers should know."""
    forfeits: int | None = None
    """How many of its seats it forfeited; None for an agent that cannot."""


def forfeit_note(name: str, forfeits: int | None) -> list[str]:
    """Return a sentence on the forfeits of an agent that can forfeit."""
    if forfeits is None:
        return []
    if not forfeits:
        return [f"{name} forfeited no game."]
    return [
        f"{name} forfeited {forfeits:,} game{'' if forfeits == 1 else 's'}, and played at random there from then on."
    ]


def _in_pairs(found: Found) -> bool:
    """Whether an evaluation is one agent against another."""
    return len(found.get("agents", ())) == 2 and len(set(found.get("sides", ()))) > 1


def _against(files: Files) -> Iterator[Line]:
    """A against B: A's mean return and win share."""
    several = len({found["game"] for found in files}) > 1
    for found in files:
        first, second = found["agents"]
        yield {
            "game": title(found) if several else "",
            "options": options(found),
            "A": agent(first),
            "B": agent(second),
            "mean return of A": mean(first["mean_return"]),
            "95 % interval": interval(first["mean_return"]),
            "wins of A": f"{100 * first['win_share']['mean']:.2f} %",
            "interval": percent(first["win_share"]),
            "chance": f"{100 / len(set(found['sides'])):.3g} %",
            "deals": f"{found['deals']:,}",
        }


def _alone(files: Files) -> Iterator[Line]:
    """Games of one seat: each agent's mean return on the same decks."""
    several = len({found["game"] for found in files}) > 1
    for found in files:
        leads = [None, *(one["mean_return"] for one in found["differences"])]
        for one, lead in zip(found["agents"], leads, strict=True):
            yield {
                "game": title(found) if several else "",
                "options": options(found),
                "agent": agent(one),
                **strength(one),
                f"less {agent(found['agents'][0])}": with_interval(lead),
                "deals": f"{found['deals']:,}",
            }


@dataclass(frozen=True)
class Report(OfGame, kind="evaluation", heading="Matches", tables={"strength": _against, "alone": _alone}):
    """The result of an evaluation. Everything but `seconds` and the stamp follows from game, agents, deals and seed."""

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
    until: Until | None = None
    """If given, the intervals hold at every number of deals at once (`anytime_interval`)."""

    @property
    def reached(self) -> bool:
        """Whether the intervals are as `until` wants them."""
        if self.until == "decided":
            return all(one.low > 0 or one.high < 0 for one in self.differences)
        return self.until is None or max(one.mean_return.half_width for one in self.agents) <= self.until

    @property
    def complete(self) -> bool:
        """Whether all planned deals were played."""
        return self.deals == self.planned

    def measured(self) -> dict[str, Any]:
        """What was found, as its file holds it."""
        return {
            "seed": self.seed,
            "deals": self.deals,
            "complete": self.complete,
            "planned_deals": self.planned,
            "precision": self.precision,
            **({} if self.until is None else {"until": self.until, "reached": self.reached}),
            "agents": [
                {
                    "name": one.name,
                    "mean_return": one.mean_return.to_json(),
                    "win_share": one.win_share.to_json(),
                    **({"note": one.note} if one.note else {}),
                    **({} if one.forfeits is None else {"forfeits": one.forfeits}),
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
            [
                *(f"{one.name}: {one.note}" for one in self.agents if one.note),
                *(line for one in self.agents for line in forfeit_note(one.name, one.forfeits)),
                *(self._gain(), *self._aim(), self._pace()),
            ],
        )

    @classmethod
    def shown(cls, files: Files) -> str:
        """Return the table of two agents, A against B, or the one of agents alone."""
        return "strength" if _in_pairs(files[0]) else "alone"

    @classmethod
    def together(cls, found: Found) -> Any:
        """Evaluations of a game under the same options go together, those of pairs apart from others."""
        return repr(found.get("options")), _in_pairs(found)

    @classmethod
    def charts(cls, files: Files) -> Iterator[Dots]:
        """Return charts of mean returns, and of wins where there is an opponent. Of two agents the first is shown
        against the second; of more, and where seats play alone, each for itself."""
        from ..figures.charts import EVEN, chance, dots

        first, pairs, rows = files[0], all(map(_in_pairs, files)), list[tuple[str, Found]]()
        for found in files:
            one, *others = found["agents"]
            rows += (
                [(f"{one['name']} against {others[0]['name']}", one)]
                if pairs
                else [(each["name"], each) for each in found["agents"]]
            )
        about = f"{span(found['deals'] for found in files)}, each in every seating; lines are 95 % intervals."
        means = [(name, Estimate(**one["mean_return"])) for name, one in rows]
        yield dots(f"{with_options(first)}: mean return", about, "mean return", means, EVEN)
        if (sides := len(set(first["sides"]))) > 1:
            wins = [(name, Estimate(**one["win_share"]).percent) for name, one in rows]
            yield dots(f"{with_options(first)}: wins", about, "wins, %", wins, chance(100, sides))

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
        if self.until is not None:
            width = "0 is outside the interval of every difference"
            if self.until != "decided":
                width = f"no interval of a mean return is wider than ± {self.until:g}"
            return [
                "The intervals hold at every number of deals at once (a confidence sequence), so also at the one where "
                f"this stopped. It was to stop once {width}, which {'is so' if self.reached else 'is not so yet'}."
            ]
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
    about: dict[str, Any],
    precision: float | None = None,
    until: Until | None = None,
) -> Report:
    """The report of a sample of two or more deals; `about` as `of_game` gives it."""
    interval_of: Callable[..., Estimate] = stats.mean_interval
    if until is not None:
        from ..sequential.confidence_sequence import anytime_interval

        interval_of = anytime_interval
    shares = stats.win_shares(sample.returns, game.sides)
    by_seating = [sample.of_agent(number, sample.returns) for number in range(len(agents))]
    means = [x.mean(1) for x in by_seating]
    alone = sample.seatings.shape[1] == 1
    strengths = [
        Strength(
            agent.name,
            interval_of(means[number], game.reward_range),
            interval_of(sample.of_agent(number, shares).mean(1), (0.0, 1.0)),
            agent.note,
            sample.forfeited(number, agent),
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
        **about,
        agents=strengths,
        seatings=sample.seatings.tolist(),
        sides=list(game.sides),
        deals=sample.deals,
        planned=planned,
        differences=[interval_of(x - means[0], stats.lead_bounds(game.reward_range)) for x in means[1:]],
        duplicate_gain=gain,
        decisions=sample.decisions,
        seconds=sample.seconds,
        seed=seed,
        precision=precision,
        until=until,
    )


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else str(number)


def _cells(estimate: Estimate, digits: int, *, sign: bool = False, unit: str = "") -> list[str]:
    form = f"{'+' if sign else ''}.{digits}f"
    return [f"{estimate.mean:{form}}{unit}", f"{estimate.low:{form}} to {estimate.high:{form}}"]
