"""Levels for people: how many players a game has of whom each beats the one below by 60 to 120 Elo, from random play to
the best, and how they play.

A level plays as the game's best compiled agent, but for a share of its decisions, where it plays any legal action. The
shares are found from the top down on decks of their own; each neighbouring pair then plays on the published decks.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import brentq

from backalley.agents.base.agent import Agent
from backalley.agents.base.level import FILE, MOST, mixed
from backalley.agents.registry import agent as agent_of
from backalley.cli.shared import threads_option
from backalley.console.errors import InvalidValue
from backalley.envs.core.files import durable
from backalley.envs.core.game.game import Game

from ...figures import stats
from ...figures.formatting import Line, optional, span, title
from ...figures.result_kinds import Files, Kept
from ...figures.stats import Estimate
from ...matches.sample import LineUp, Series
from ...matches.seeding import Roots, Space, roots
from ...matches.tournament import ANCHOR_RATING, ratings
from .. import publication
from ..runner import GAMES, Progress, Row, count, quiet, study

LEAST, AIM, STEP = 60.0, 75.0, 100.0
"""The smallest step, the smallest that is aimed at, and the usual one: what is measured is then within 60 to 120."""
_CLOSE = 0.003
"""How far a share may be from the one looked for."""
Share = float
Gain = Callable[[Share, Share], float]
"""The Elo of a player with one share of random actions over a player with another."""


def _rows(files: Files) -> Iterator[Line]:
    """Each level of each game, strongest first."""
    for found in files:
        for row in reversed(found["rows"]):
            over, share = row["over"], row["random"]
            plays = "`random`" if share == 1 else f"`{row['agent']}`"
            yield {
                "game": title(found),
                "agent": f"level {row['level']} of {len(found['rows'])}",
                "play": f"{plays}, {100 * share:.1f} % at random" if 0 < share < 1 else plays,
                "Elo over the one below": f"{over['mean']:+.0f}",
                "95 % interval": f"{over['low']:+.0f} to {over['high']:+.0f}",
                "deals": optional(row, "deals", ","),
            }


def _by_game(files: Files) -> Iterator[Line]:
    """What each level, strongest first, has more than the one below, a column for each game."""
    for level in range(MOST, 0, -1):
        rows = [(title(found), row["over"]) for found in files for row in found["rows"] if row["level"] == level]
        over = {game: f"{one['mean']:+.0f} ({one['low']:+.0f} to {one['high']:+.0f})" for game, one in rows}
        yield {"agent": f"`level:{level}`", **{title(found): over.get(title(found), "") for found in files}}


class Levels(Kept, kind="levels", heading="Levels", tables={"levels": _rows, "levels_by_game": _by_game}):
    """What `levels` found."""

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Return what is below level 1, and what a single level is."""
        deals = span(found["deals"] for found in files)
        return [
            f"Each pair on {deals}. Below level 1 is random play, which is level 1 of some games itself.",
            "A single level is a game's best player: there is no room for two, and no agent `level:1`.",
        ]


@study(
    "levels",
    Levels,
    GAMES,
    count("--deals", 2_000, "Deals of each pair, in every seating.", 2),
    threads_option,
    file="levels_{game}",
)
def levels(game: Game, deals: int = 2_000, *, num_threads: int = 1, progress: Progress = quiet) -> Row:
    """Find the levels of each of GAMES, write them to its folder, and measure each against the one below.

    Raises ValueError for a game in which nobody plays against anybody.
    """
    if game.num_sides < 2:
        raise InvalidValue(f"In {game.name} nobody plays against anybody; levels take games with several sides.")
    best = publication.policy_of(game).partition(":")[0] or publication.several(game).against
    seed = publication.seed()
    tried = roots(Space.GATES, seed), min(deals, publication.publications(game)[0].cross_deals)

    def player(agent: str, random: Share) -> Agent:
        name = f"{agent}, {random:g}"
        return mixed(game, agent, random, name, lambda name: agent_of(name, game, num_threads=num_threads))

    @functools.cache
    def gain(above: Share, below: Share) -> float:
        progress(0, 1, f"{above:.3f} over {below:.3f}")
        alike = above == below
        return 0.0 if alike else elo(player(best, above), player(best, below), game, *tried, num_threads).mean

    found: list[dict[str, Any]] = [{"agent": best, "random": share} for share in reversed(shares_of(gain))]
    if len(found) > 1:
        data = json.dumps({"kind": "levels", "levels": found}, indent=1) + "\n"
        durable.write_file(game.type.folder / FILE, data.encode())
    rows: list[Row] = []
    for number, one in enumerate(found, 1):
        progress(number - 1, len(found), f"level {number}")
        below = player(**found[number - 2]) if number > 1 else agent_of("random", game)
        over = elo(player(**one), below, game, publication.keys(), deals, num_threads)
        rows.append({"level": number, **one, "deals": deals, "over": over.to_json()})
    return {"deals": deals, "seed": seed, "rows": rows}


def shares_of(gain: Gain) -> list[Share]:
    """Return the shares of random actions of a game's levels, the top one, 0, first: usual steps where ten levels do
    not reach down to random play, else as many even ones as there are down to it."""
    shares, left = _chain(gain, STEP, MOST)
    if len(shares) == MOST:
        return shares
    whole = STEP * (len(shares) - 1) + left
    steps = min(MOST - 1, int(whole // AIM))
    shares, left = _chain(gain, min(STEP, whole / max(1, steps)), steps + 1)
    return [*shares, 1.0] if len(shares) <= steps and left >= LEAST else shares


def _chain(gain: Gain, step: float, most: int) -> tuple[list[Share], float]:
    """Return at most so many shares, each a step below the one before, and what the last gains on random play."""
    shares = [0.0]
    while (left := gain(shares[-1], 1.0)) >= step and len(shares) < most:
        above = shares[-1]
        below = next(share for share in (above + 0.1, above + 0.3, 1.0) if gain(above, min(1.0, share)) >= step)
        share = brentq(lambda below: gain(above, below) - step, above, min(1.0, below), xtol=_CLOSE)  # noqa: B023
        shares.append(round(share, 3))
    return shares, left


def elo(above: Any, below: Any, game: Game, keys: Roots, deals: int, num_threads: int = 1) -> Estimate:
    """Return how much one agent is above another in Elo, by win shares on the same deals, with an interval."""
    pairs = [(0, 1)] if game.num_sides == 2 else [(0, 1), (1, 0)]
    line_ups = [LineUp(game, [(above, below)[one] for one in pair], keys, deals) for pair in pairs]
    samples = Series(line_ups, None, num_threads=num_threads).play()
    won = [one.of_agent(0, stats.win_shares(one.returns, game.sides)).mean(1) for one in samples]
    rated = ratings(np.stack(won, 1), pairs, game.num_sides, 1, 0)[0]
    return Estimate(*(value - ANCHOR_RATING for value in rated))
