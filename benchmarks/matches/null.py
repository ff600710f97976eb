"""The null row of a table: random play against itself under another name, which is what chance alone does to the
numbers there. Its interval should hold what equal agents get; if it does not, something else than play was measured.

It is random play because no agent has more chance of its own, and because it costs next to nothing. Many a bot plays a
deck alike whatever its name: against itself it gains exactly 0, since every deck is played in every seating.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from backalley.agents.base.rule_based import RandomAgent
from backalley.envs.core.game.game import Game

from ..figures import stats
from ..figures.formatting import Found, Line
from .sample import LineUp, Sample
from .seeding import Roots

NOTE = (
    "null: the same agent under two names, so that there is nothing to find; its interval shows what chance alone does."
)


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
