"""Millions of random decisions with every invariant of the games checked at each step, under the default options or
under random options.

At every decision of every table: a seat is to act and has a legal action, masks hold 0 and 1, and observations are
within their bounds. At every end: returns are within the game's bounds and sum to 0 where it says so. On a few tables
after every step: each card of the pack is in one place. A failure is a message with the table's seed and step, from
which it can be played again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from backalley.agents.base.rule_based import random_rows
from backalley.console.errors import BrokenPromise
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.testing.play import hold_returns, whole_pack

from ...figures.formatting import Found, title
from ...figures.result_kinds import Columns, Kept, lines
from ...speed.option_sets import mixtures
from ..runner import GAMES, SEED, Progress, count, quiet, study

TABLES = 4096
MIXED_TABLES = 256
"""Tables for each of many sets of options: fewer, so that long matches end, too."""
LOOKED_AT = 4
"""Tables whose cards are counted after every step, other tables each time."""


_COLUMNS: Columns = {
    "game": title,
    "sets of options": lambda game: f"{len(game['sets'])}" if "sets" in game else "",
    "decisions": "{decisions:,}",
    "episodes": "{episodes:,}",
    "seconds": "{seconds:.0f}",
}


class Soak(
    Kept, kind="endurance", heading="Played with every promise checked", tables={"endurance": lines(_COLUMNS, "games")}
):
    """What was played."""

    in_title = frozenset()
    says = "Every promise was kept."


def endure(game: Game, decisions: int, seed: int = 0, num_tables: int = TABLES) -> dict[str, Any]:
    """Play `decisions` random decisions on `num_tables` tables and check each; return what was played. Raises
    BrokenPromise."""
    tables = BatchEnv(game, num_tables, seed=seed)
    low, high = game.observation_bounds
    streams = np.random.default_rng(seed).integers(2**63, size=num_tables, dtype=np.uint64)
    actions, returns = np.zeros(num_tables, np.int64), np.zeros((num_tables, tables.num_seats))
    began, time_step = time.perf_counter(), tables.reset()
    steps, episodes = -(-decisions // num_tables), 0

    def hold(kept: Any, what: str) -> None:
        if not kept.all():
            raise BrokenPromise(f"{_named(game)}, seed {seed}: table {int(kept.argmin())} {what} at step {step}.")

    for step in range(steps + 1):
        hold((time_step.seat >= 0) & (time_step.seat < tables.num_seats), "waits for nobody")
        hold(time_step.action_mask.any(1), "has no legal action")
        hold((time_step.action_mask | 1 == 1).all(1), "has a mask of other numbers than 0 and 1")
        hold(
            ((time_step.observation >= low) & (time_step.observation <= high)).all(1),
            "shows numbers outside their bounds",
        )
        for row in range(step * LOOKED_AT, (step + 1) * LOOKED_AT):
            if not whole_pack(game, tables.arrays.state[row % num_tables]):
                raise BrokenPromise(
                    f"{_named(game)}, seed {seed}: table {row % num_tables} lacks a card, or has one twice, at "
                    f"step {step}."
                )
        if step == steps:
            break
        random_rows(time_step.action_mask, streams + np.uint64(step), actions)
        time_step = tables.step(actions)
        returns += time_step.reward
        ended = np.flatnonzero(time_step.terminated | time_step.truncated)
        hold_returns(game, returns[ended], f"{_named(game)}, seed {seed}, step {step}")
        returns[ended] = 0
        episodes += len(ended)
    return {
        "game": game.id,
        "options": game.option_values,
        "decisions": steps * num_tables,
        "episodes": episodes,
        "seconds": round(time.perf_counter() - began, 1),
    }


def endure_mixtures(game: Game, decisions: int, seed: int, sets: int) -> dict[str, Any]:
    """Run `endure` under at least `sets` sets of options, an equal share of the decisions each; return the sums, and
    the sets."""
    drawn = mixtures(game, sets, seed)
    found = [endure(game.type.bind(given), -(-decisions // len(drawn)), seed, MIXED_TABLES) for given in drawn]
    return {
        "game": game.id,
        "sets": drawn,
        "decisions": sum(one["decisions"] for one in found),
        "episodes": sum(one["episodes"] for one in found),
        "seconds": round(sum(one["seconds"] for one in found), 1),
    }


def _named(game: Game) -> str:
    changed = ", ".join(f"{name}={value}" for name, value in game.changed_options.items())
    return f"{game.id} ({changed})" if changed else game.id


@study(
    "soak",
    Soak,
    GAMES,
    count("--decisions", 10_000_000, "Random decisions of each game."),
    SEED,
    count("--sets", None, "Share the decisions among so many sets of random options, until every value was in one."),
    top=True,
)
def soak(
    games: Sequence[Game], decisions: int, seed: int = 0, sets: int | None = None, *, progress: Progress = quiet
) -> Found:
    """Play GAMES, by default all, at random and check every invariant at each step.

    With `sets`, the decisions of a game are shared among at least that many sets of options. Raises BrokenPromise.
    """
    found = []
    for number, game in enumerate(games):
        progress(number, len(games), game.name)
        found.append(endure_mixtures(game, decisions, seed, sets) if sets else endure(game, decisions, seed))
    return {"games": found}
