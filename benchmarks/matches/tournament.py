"""Tournaments: all against all, a table of mean returns on the same decks, and ratings with intervals.

Every pairing plays the same decks. With two sides (seats, or partnerships) a pairing is A against B in both seatings;
with more it is A alone against B in all other seats, and then B alone against A. Two ratings are made of the table:
Elo from win shares, and deviation ratings from mean returns (`deviation.py`), which copies of an agent cannot change.

The null row of a table is random play against itself under another name, which is what chance alone does to the numbers
there. Its interval should hold what equal agents get; if it does not, something else than play was measured. It is
random play because no agent has more chance of its own, and because it costs next to nothing. Many a bot plays a deck
alike whatever its name: against itself it gains exactly 0, since every deck is played in every seating.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent
from backalley.agents.base.rule_based import RandomAgent
from backalley.console.errors import InvalidValue
from backalley.envs.core.files.durable import Unfinished
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.threads import threads_of

from ..figures import stats
from ..figures.charts import Dots, Mark, dots
from ..figures.formatting import (
    MET,
    Figures,
    Found,
    Line,
    decimals,
    label,
    makers,
    met,
    notes,
    options_text,
    with_options,
)
from ..figures.result_kinds import Files, OfGame, of_game, stored
from ..figures.stats import Estimate, Floats
from .deviation import deviation_ratings
from .evaluate import Progress, check_deals, check_seed, dismiss, identities, line_up
from .report import forfeit_note
from .sample import LineUp, Sample, Series
from .seeding import Roots, Space, roots

DEALS = 2048
ANCHOR_RATING = 1000.0
_POINTS = 400 / math.log(10)
"""Elo points per unit of natural strength: 400 points are odds of ten to one."""
_RESAMPLES = 1000
_PROGRAMS = 200
"""The resamples of deviation ratings, fewer since each may take linear programs."""
_TAILS = 50 * (1 - stats.COVERAGE), 50 * (1 + stats.COVERAGE)
"""The percentiles at the ends of an interval."""
_SHOWN = 0.005
"""The smallest share of the mixture that is named."""
_WHOLE = 1 - 1e-6
"""The share from which an agent is the whole mixture."""
ITSELF = "against itself"
NOTE = (
    "null: the same agent under two names, so that there is nothing to find; its interval shows what chance alone does."
)


class Standing(NamedTuple):
    """The results of one agent against another: mean return and win share per seat, with 95 % intervals."""

    agent: int
    against: int
    mean_return: Estimate
    win_share: Estimate


def _best_first(found: Found) -> list[int]:
    return sorted(range(len(found["agents"])), key=lambda number: -found["agents"][number]["rating"]["mean"])


def returns_table(files: Files) -> Iterator[Line]:
    """Mean returns of rows against columns, best first, and both ratings; the null row at the end."""
    for found in files:
        agents, gains = found["agents"], {(one["agent"], one["against"]): one for one in found["standings"]}
        digits, order = decimals([Estimate(**one["mean_return"]) for one in found["standings"]]), _best_first(found)
        for number in order:
            line = {"agent": label(agents[number]), "Elo": f"{agents[number]['rating']['mean']:.0f}"}
            line["deviation rating"] = _deviation(agents[number], digits)
            for other in order:
                gain = Estimate(**gains[number, other]["mean_return"]) if number != other else None
                mark = f" {MET}" if met(agents[number], agents[other]["label"]) and gain else ""
                line[f"against {label(agents[other])}"] = f"{_cell(gain, digits)}{mark}"
            yield line
        if "null" in found:
            yield null_label(found["null"]) | {ITSELF: _cell(Estimate(**found["null"]["mean_return"]), digits)}


def _deviation(agent: Found, digits: int) -> str:
    """An agent's deviation rating; empty in older files."""
    return _cell(Estimate(**agent["deviation"]), digits) if "deviation" in agent else ""


def mixture_text(found: Found) -> str:
    """Return which mixture of agents the deviation ratings are against, in a sentence; empty for older files."""
    shares = [(one.get("share", 0), one["label"]) for one in found["agents"]]
    mixed = [f"{100 * share:.0f} % {name}" for share, name in sorted(shares, reverse=True) if share >= _SHOWN]
    return f"Deviation ratings are what an agent gains on this mixture: {', '.join(mixed)}." if mixed else ""


def wins_table(files: Files) -> Iterator[Line]:
    """Win shares of rows against columns, in the same order."""
    for found in files:
        agents, wins = found["agents"], {(one["agent"], one["against"]): one for one in found["standings"]}
        order = _best_first(found)
        for number in order:
            rating = Estimate(**agents[number]["rating"])
            line = {"agent": label(agents[number]), "Elo": f"{rating.mean:.0f} {rating.spread(0)}"}
            for other in order:
                share = Estimate(**wins[number, other]["win_share"]).percent if number != other else None
                line[f"against {label(agents[other])}"] = f"{share.mean:.2f} {share.spread(2)} %" if share else "·"
            yield line


@dataclass(frozen=True)
class Ranking(OfGame, kind="tournament", heading="Tournament", tables={"tournament": returns_table}):
    """The result of a tournament. Everything but `seconds` and the stamp follows from game, agents, deals and seed."""

    agents: list[str]
    notes: list[str]
    """A sentence on each agent that readers should know; mostly empty."""
    forfeits: list[int | None]
    """How many seats each agent has forfeited; None for one that cannot."""
    standings: list[Standing]
    ratings: list[Estimate]
    """Elo ratings, with the anchor at 1,000."""
    deviations: list[Estimate]
    """Deviation ratings, with the intervals of mean returns against the mixture."""
    mixture: list[float]
    """Each agent's share of the mixture."""
    null: dict[str, Any]
    """See `null_row`."""
    anchor: int
    sides: int
    deals: int
    seed: int
    decisions: int
    seconds: float

    def measured(self) -> dict[str, Any]:
        """What was found, as its file holds it."""
        return {
            "seed": self.seed,
            "deals": self.deals,
            "sides": self.sides,
            "agents": [
                {"name": name, "rating": rating.to_json(), "deviation": deviation.to_json(), "share": share}
                | ({} if forfeits is None else {"forfeits": forfeits})
                for name, rating, deviation, share, forfeits in zip(
                    self.agents, self.ratings, self.deviations, self.mixture, self.forfeits, strict=True
                )
            ],
            "anchor": {"agent": self.anchor, "rating": ANCHOR_RATING},
            "standings": stored(self.standings),
            "null": self.null,
            "decisions": self.decisions,
            "seconds": self.seconds,
        }

    def records(self) -> list[dict[str, Any]]:
        """A row for each agent against each other: mean return and win share, with the ends of their intervals."""
        return [
            {
                "game": self.game,
                "deals": self.deals,
                "seed": self.seed,
                "agent": self.agents[one.agent],
                "rating": self.ratings[one.agent].mean,
                "deviation_rating": self.deviations[one.agent].mean,
                "against": self.agents[one.against],
                **one.mean_return.columns("mean_return"),
                **one.win_share.columns("win_share"),
            }
            for one in self.standings
        ]

    @classmethod
    def read(cls, found: Found) -> Found:
        """Agents have names here, where those of a cross table have labels."""
        return {**found, "agents": [{**agent, "label": agent["name"]} for agent in found["agents"]]}

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Return notes on the agents for readers."""
        return [*notes(files), *filter(None, map(mixture_text, files)), *null_note(files)]

    @classmethod
    def commands(cls, files: Files) -> list[str]:
        """Return the commands that trained the policies."""
        return makers(files)

    @classmethod
    def charts(cls, files: Files) -> Iterator[Dots]:
        """The ratings."""
        for found in files:
            rows = [
                (one["label"], Estimate(**one["rating"]))
                for one in map(found["agents"].__getitem__, _best_first(found))
            ]
            about = f"Every pairing on the same {found['deals']:,} deals; lines are 95 % intervals."
            yield dots(f"{with_options(found)}: Elo", about, "Elo", rows, Mark(found["anchor"]["rating"], "the anchor"))

    def figures(self) -> Figures:
        """Return both ratings, and each row's mean return against each column, best first; the null row at the end."""
        order = sorted(range(len(self.agents)), key=lambda agent: -self.ratings[agent].mean)
        found = {(one.agent, one.against): one.mean_return for one in self.standings}
        digits = decimals(list(found.values()))
        rows = []
        for place, agent in enumerate(order, start=1):
            rating = self.ratings[agent]
            rows.append(
                [
                    f"{place}  {self.agents[agent]}",
                    f"{rating.mean:.0f}",
                    f"{rating.low:.0f} to {rating.high:.0f}",
                    _cell(self.deviations[agent], digits),
                    *(_cell(found.get((agent, other)), digits) for other in order),
                    "",
                ]
            )
        null = null_label(self.null)["agent"].replace("`", "")
        rows.append([null, *[""] * (3 + len(order)), _cell(Estimate(**self.null["mean_return"]), digits)])
        alone = (
            ""
            if self.sides == 2
            else f" Each row's agent sits alone, in every seat in turn, against {self.sides - 1} of the column's."
        )
        return Figures(
            f"{self.game}{options_text(self.changed)}: every pairing on the same {self.deals:,} deals, "
            f"seed {self.seed}",
            [
                *("agent", "Elo", "95 % interval", "deviation rating"),
                *(f"against {place}" for place in range(1, len(order) + 1)),
                ITSELF,
            ],
            rows,
            [
                *(f"{name}: {note}" for name, note in zip(self.agents, self.notes, strict=True) if note),
                *(line for one in zip(self.agents, self.forfeits, strict=True) for line in forfeit_note(*one)),
                f"Mean returns ± 95 %.{alone} Ratings by maximum likelihood from win shares, "
                f"{self.agents[self.anchor]} = {ANCHOR_RATING:.0f};",
                f"their intervals come from {_RESAMPLES:,} resamples of the deals.",
                mixture_text(self.read(self.to_json())),
                NOTE,
                f"{self.decisions:,} decisions in {self.seconds:.2f} s.",
            ],
        )


def _cell(gain: Estimate | None, digits: int) -> str:
    return "·" if gain is None else f"{gain.mean:+.{digits}f} {gain.spread(digits, '+')}"


def tournament(
    game: str | GameType | Game,
    agents: Sequence[Agent | str | Path | Any],
    *,
    deals: int = DEALS,
    seed: int = 0,
    num_threads: int = 1,
    progress: Progress | None = None,
    keep: Path | None = None,
    space: Space = Space.EVALUATION,
    cluster: str | None = None,
) -> Ranking:
    """Play every agent against every other on the same `deals` decks; game, agents and `cluster` are as in
    `evaluate`.

    The anchor of the Elo ratings is the first rule-based bot among the agents, or the first agent. Deviation ratings
    (`deviation_ratings`) are in returns; in a game whose returns do not sum to 0, in win shares above chance. The null
    row takes as many deals more. Ctrl-C raises
    KeyboardInterrupt; with `keep`, the file of the ranking (`results.write`), finished play is saved beside it until it
    is written, and the same call continues from there. Raises ValueError.

    >>> ranking = tournament("missouri_city", ["bot", "bot:book", "random"], deals=500)
    >>> ranking.agents[ranking.anchor], ranking.ratings[ranking.anchor].mean
    ('bot:planner', 1000.0)
    """
    game = game_of(game)
    sides = game.num_sides
    if sides == 1:
        raise InvalidValue(f"{game.name} has one seat, so nobody plays against anybody; compare agents with evaluate.")
    if isinstance(agents, Sized) and len(agents) < 2:
        raise InvalidValue(f"A tournament needs 2 agents or more; {len(agents)} was given.")
    check_deals(deals)
    check_seed(seed)
    threads = threads_of(num_threads) if cluster is None else 1
    players = line_up(game, agents, threads)
    pairings = [
        (one, other)
        for one in range(len(players))
        for other in range(len(players))
        if (one < other if sides == 2 else one != other)
    ]
    about = of_game(game, __file__)
    task = {
        "tournament of": game.id,
        "options": game.option_values,
        "agents": identities(players),
        "seed": seed,
        "space": space.name,
        "deals": deals,
    }
    try:
        keys = roots(space, seed)
        line_ups = [LineUp(game, [players[one], players[other]], keys, deals) for one, other in pairings]
        *samples, null = Series(
            [*line_ups, null_line_up(game, keys, deals)],
            Unfinished(keep, task, about["stamp"]["sources"]),
            num_threads=threads,
            progress=(lambda done, planned, words: progress(done, planned)) if progress else None,
            cluster=cluster,
        ).play()
    finally:
        dismiss(players, agents)
    anchor = next((number for number, player in enumerate(players) if player.name.startswith("bot:")), 0)
    standings, shares, gains = _standings(game, len(players), pairings, samples)
    bounds = game.reward_range if game.zero_sum else (-1 / sides, 1 - 1 / sides)
    deviations, mixture = deviations_of(gains, bounds, seed)
    return Ranking(
        **about,
        agents=[player.name for player in players],
        notes=[player.note for player in players],
        forfeits=_forfeits(players, pairings, samples),
        standings=standings,
        ratings=ratings(np.stack(shares, 1), pairings, sides, anchor, seed),
        deviations=deviations,
        mixture=mixture,
        null=null_row(null, game),
        anchor=anchor,
        sides=sides,
        deals=deals,
        seed=seed,
        decisions=sum(sample.decisions for sample in (*samples, null)),
        seconds=sum(sample.seconds for sample in (*samples, null)),
    )


def _forfeits(
    players: Sequence[Agent], pairings: Sequence[tuple[int, int]], samples: Sequence[Sample]
) -> list[int | None]:
    """How many seats each agent has forfeited in all pairings."""
    found: list[int | None] = [None if player.forfeits is None else 0 for player in players]
    for pair, sample in zip(pairings, samples, strict=True):
        for place, number in enumerate(pair):
            more = sample.forfeited(place, players[number])
            found[number] = None if more is None else (found[number] or 0) + more
    return found


def _standings(
    game: Game, agents: int, pairings: Sequence[tuple[int, int]], samples: Sequence[Sample]
) -> tuple[list[Standing], list[Floats], Floats]:
    """Return the standings of a number of agents, the win shares [D] of each pairing's first, and what each agent gains
    against each [K, K, D], which is in win shares above chance if returns do not sum to 0."""
    standings, shares, gains = [], [], np.zeros((agents, agents, samples[0].deals))
    for (one, other), sample in zip(pairings, samples, strict=True):
        won = stats.win_shares(sample.returns, game.sides)
        shares.append(sample.of_agent(0, won).mean(1))
        for place, agent, against in [(0, one, other), (1, other, one)][: 2 if game.num_sides == 2 else 1]:
            gain, share = (sample.of_agent(place, values).mean(1) for values in (sample.returns, won))
            gained = stats.mean_interval(gain, game.reward_range)
            standings.append(Standing(agent, against, gained, stats.share_interval(share)))
            gains[agent, against] = gain if game.zero_sum else share - 1 / game.num_sides
    return standings, shares, gains


def deviations_of(gains: Floats, bounds: tuple[float, float], seed: int) -> tuple[list[Estimate], list[float]]:
    """Return deviation ratings and the mixture from what each agent gains against each on the same deals [K, K, D].

    An interval covers that of the mean return against the mixture, and the percentiles of ratings over resampled deals,
    whose mixtures may be others.
    """
    rated, mixture = deviation_ratings(gains.mean(2))
    some = itertools.islice(_resamples(gains.shape[2], seed), _PROGRAMS)
    again = np.array([deviation_ratings(gains @ count / count.sum())[0] for count in some])
    found = []
    for rating, low, high, mine, share in zip(
        rated.tolist(), *np.percentile(again, _TAILS, 0), gains, mixture, strict=True
    ):
        met = stats.mean_interval(mixture @ mine, bounds) if share < _WHOLE else Estimate(0.0, 0.0, 0.0)
        ends = min(low, rating + met.low - met.mean), max(high, rating + met.high - met.mean)
        found.append(Estimate(rating, *map(float, ends)))
    return found, mixture.tolist()


def _resamples(deals: int, seed: int) -> Iterator[npt.NDArray[np.int64]]:
    """How often each deal [D] is in a sample of as many, drawn with repetition."""
    random = np.random.default_rng(seed)
    for _ in range(_RESAMPLES):
        yield np.bincount(random.integers(deals, size=deals), minlength=deals)


def ratings(shares: Floats, pairings: Sequence[tuple[int, int]], sides: int, anchor: int, seed: int) -> list[Estimate]:
    """Return Elo ratings from win shares [D, M] of M pairings on the same D deals, with percentile intervals over
    resampled deals.

    Each pairing counts one additional deal with the result expected by chance, so that an agent that won every deal has
    a rating too.
    """
    deals, chance = len(shares), 1 / sides
    sums = np.stack([shares.sum(0), *(count @ shares for count in _resamples(deals, seed))])
    first, second = (np.array(side) for side in zip(*pairings, strict=True))
    rated = ANCHOR_RATING + _POINTS * stats.rate((sums + chance) / (deals + 1), first, second, chance, anchor)
    low, high = np.percentile(rated[1:], _TAILS, axis=0)
    return [Estimate(*(float(value) for value in row)) for row in zip(rated[0], low, high, strict=True)]


# The null row ---------------------------------------------------------------------------------------------------------


def null_line_up(game: Game, keys: Roots, deals: int) -> LineUp:
    """Return the line-up of the null row. Both names draw by keys of their own, with one seat too, where each plays the
    decks alone."""
    return LineUp(game, [RandomAgent(), RandomAgent()], keys, deals, "null")


def null_row(sample: Sample, game: Game) -> dict[str, Any]:
    """Return the null row in the form of files of results: what the first name gets; with one seat its `lead` over the
    other as well."""
    found = {"agent": RandomAgent.name, **sample.strength(game)}
    if game.num_sides > 1:
        return found
    leads = sample.gains() - sample.of_agent(1, sample.returns).mean(1)
    return found | {"lead": stats.mean_interval(leads, stats.lead_bounds(game.reward_range)).to_json()}


def null_label(row: Found) -> Line:
    """Return the null row's name, as the column `agent` has it."""
    return {"agent": f"null: `{row['agent']}` against itself"}


def null_note(tables: Iterable[Found]) -> list[str]:
    """Return a sentence on the null row for readers, if a table has one."""
    return [NOTE] if any("null" in table for table in tables) else []
