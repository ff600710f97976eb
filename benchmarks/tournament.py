"""All against all: a table of mean returns on the same decks, and ratings with intervals.

Every pairing plays the same decks. With two sides (seats, or partnerships) a pairing is A against B in both seatings;
with more it is A alone against B in all other seats, and each of the two is tried as the one who sits alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backalley.agents.base import Agent
from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game as game_of
from backalley.envs.core.durable import Unfinished

from . import results, stats
from .evaluate import Progress, check_deals, check_seed, dismiss, identities, line_up
from .keys import Space
from .pairings import Pairing, play_pairings
from .report import decimals, options_text
from .stats import Estimate, Floats
from .tabular import Figures, Tabular

DEALS = 2048
ANCHOR_RATING = 1000.0
_POINTS = 400 / math.log(10)
"""Elo points per unit of natural strength: 400 points are odds of ten to one."""
_RESAMPLES = 1000


@dataclass(frozen=True)
class Standing:
    """What one agent won against another: mean return and win share per seat, with 95 % intervals."""

    agent: int
    against: int
    mean_return: Estimate
    win_share: Estimate


@dataclass(frozen=True)
class Ranking(Tabular):
    """What a tournament found. Everything but `seconds` and the stamp follows from game, agents, deals and seed."""

    game: str
    options: dict[str, Any]
    changed: dict[str, Any]
    agents: list[str]
    notes: list[str]
    """What a reader should know of each agent, in a sentence; mostly nothing."""
    standings: list[Standing]
    ratings: list[Estimate]
    """Elo ratings, the anchor's being 1,000."""
    anchor: int
    sides: int
    deals: int
    seed: int
    decisions: int
    seconds: float
    stamp: dict[str, Any]
    command: str = ""

    def to_json(self) -> dict[str, Any]:
        """The ranking as `results.write` takes it."""
        return {
            "kind": "tournament",
            "command": self.command,
            "game": self.game,
            "options": self.options,
            "seed": self.seed,
            "deals": self.deals,
            "sides": self.sides,
            "agents": [
                {"name": name, "rating": rating.to_json()}
                for name, rating in zip(self.agents, self.ratings, strict=True)
            ],
            "anchor": {"agent": self.anchor, "rating": ANCHOR_RATING},
            "standings": [
                {
                    "agent": one.agent,
                    "against": one.against,
                    "mean_return": one.mean_return.to_json(),
                    "win_share": one.win_share.to_json(),
                }
                for one in self.standings
            ],
            "decisions": self.decisions,
            "seconds": self.seconds,
            **self.stamp,
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
                "against": self.agents[one.against],
                **one.mean_return.columns("mean_return"),
                **one.win_share.columns("win_share"),
            }
            for one in self.standings
        ]

    def figures(self) -> Figures:
        """Best first: ratings, and each row's mean return against each column."""
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
                    *(_cell(found.get((agent, other)), digits) for other in order),
                ]
            )
        alone = (
            ""
            if self.sides == 2
            else f" Each row's agent sits alone, in every seat in turn, against {self.sides - 1} of the column's."
        )
        return Figures(
            f"{self.game}{options_text(self.changed)}: every pairing on the same {self.deals:,} deals, "
            f"seed {self.seed}",
            ["agent", "Elo", "95 % interval", *(f"against {place}" for place in range(1, len(order) + 1))],
            rows,
            [
                *(f"{name}: {note}" for name, note in zip(self.agents, self.notes, strict=True) if note),
                f"Mean returns ± 95 %.{alone} Ratings by maximum likelihood from win shares, "
                f"{self.agents[self.anchor]} = {ANCHOR_RATING:.0f};",
                f"their intervals come from {_RESAMPLES:,} resamples of the deals. "
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
) -> Ranking:
    """Every agent against every other on the same `deals` decks; game and agents are given as to `evaluate`.

    The anchor of the ratings is the first rule-based bot among the agents, or the first agent. Ctrl-C raises
    KeyboardInterrupt; with `keep`, the file that the ranking will be written to (`results.write`), what was played is
    kept beside it until then, and the same call goes on from there. Raises ValueError in a sentence.

    >>> ranking = tournament("missouri_city", ["bot", "bot:book", "random"], deals=500)
    >>> ranking.agents[ranking.anchor], ranking.ratings[ranking.anchor].mean
    ('bot:planner', 1000.0)
    """
    game = game_of(game)
    sides = game.num_sides
    if sides == 1:
        raise ValueError(f"{game.name} has one seat, so nobody plays against anybody; compare agents with evaluate.")
    if len(agents) < 2:
        raise ValueError(f"A tournament needs 2 agents or more; {len(agents)} was given.")
    check_deals(deals)
    check_seed(seed)
    players = line_up(game, agents, num_threads)
    pairings = [
        (one, other)
        for one in range(len(players))
        for other in range(len(players))
        if (one < other if sides == 2 else one != other)
    ]
    stamp = results.stamp(__file__, game)
    task = {
        "tournament of": game.id,
        "options": game.option_values,
        "agents": identities(players),
        "seed": seed,
        "space": space.name,
        "deals": deals,
    }
    unfinished = Unfinished(keep, task, stamp["sources"])
    try:
        samples = play_pairings(
            [Pairing(game, [players[one], players[other]], deals) for one, other in pairings],
            seed,
            unfinished=unfinished,
            num_threads=num_threads,
            told=(lambda done, planned, words: progress(done, planned)) if progress else None,
            space=space,
        )
    finally:
        dismiss(players, agents)
    anchor = next((number for number, player in enumerate(players) if player.name.startswith("bot:")), 0)
    standings, shares = [], []
    for (one, other), sample in zip(pairings, samples, strict=True):
        won = stats.win_shares(sample.returns, game.sides)
        shares.append(sample.of_agent(0, won).mean(1))
        for place, agent, against in [(0, one, other), (1, other, one)][: 2 if sides == 2 else 1]:
            gain, share = (sample.of_agent(place, values).mean(1) for values in (sample.returns, won))
            gained = stats.mean_interval(gain, game.reward_range)
            standings.append(Standing(agent, against, gained, stats.share_interval(share)))
    return Ranking(
        game=game.id,
        options=game.option_values,
        changed=game.changed_options,
        agents=[player.name for player in players],
        notes=[player.note for player in players],
        standings=standings,
        ratings=ratings(np.stack(shares, 1), pairings, sides, anchor, seed),
        anchor=anchor,
        sides=sides,
        deals=deals,
        seed=seed,
        decisions=sum(sample.decisions for sample in samples),
        seconds=sum(sample.seconds for sample in samples),
        stamp=stamp,
    )


def ratings(shares: Floats, pairings: Sequence[tuple[int, int]], sides: int, anchor: int, seed: int) -> list[Estimate]:
    """Elo ratings from win shares [D, M] of M pairings on the same D deals, with percentile intervals over resampled
    deals.

    One more deal that goes as chance would have it is counted for each pairing, so that an agent that won every deal
    has a rating too.
    """
    deals, chance = len(shares), 1 / sides
    random = np.random.default_rng(seed)
    counts = (np.bincount(random.integers(deals, size=deals), minlength=deals) for _ in range(_RESAMPLES))
    sums = np.stack([shares.sum(0), *(count @ shares for count in counts)])
    first, second = (np.array(side) for side in zip(*pairings, strict=True))
    rated = ANCHOR_RATING + _POINTS * stats.rate((sums + chance) / (deals + 1), first, second, chance, anchor)
    tail = 100 * (1 - stats.COVERAGE) / 2
    low, high = np.percentile(rated[1:], [tail, 100 - tail], axis=0)
    return [Estimate(*(float(value) for value in row)) for row in zip(rated[0], low, high, strict=True)]
