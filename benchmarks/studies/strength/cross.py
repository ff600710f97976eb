"""The cross table of a game: its bots, its policy and others, each against each, so that no policy depends on one
opponent.

The number of deals of each pairing, and the seed, are in `publication.toml`. A stopped measurement continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from backalley.agents.base.agent import Agent
from backalley.agents.registry import agent as agent_of
from backalley.cli.shared import cluster_option, threads_option
from backalley.console.command import pairs
from backalley.envs.core.game.game import Game

from ...figures.formatting import Found
from ...matches.seeding import Space
from ...matches.tournament import Ranking, returns_table, tournament, wins_table
from .. import publication
from ..runner import GAME, Progress, quiet, study
from .ladder import about, close


@dataclass(frozen=True)
class Cross(
    Ranking, kind="cross", heading="Each against each", tables={"cross": returns_table, "cross_wins": wins_table}
):
    """A published tournament: its agents have labels, and say how they were made."""

    brief = frozenset({"cross_wins"})

    described: list[dict[str, Any]] = field(default_factory=list)
    """The entry of `ladder.about` for each agent."""

    @classmethod
    def read(cls, found: Found) -> Found:
        """As it is."""
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the table in the form that `results.write` takes."""
        found = super().to_json()
        agents = [{**one, **more} for one, more in zip(found["agents"], self.described, strict=True)]
        return found | {"agents": agents}


@study(
    "cross",
    Cross,
    GAME,
    click.argument("others", nargs=-1, metavar="[LABEL=AGENT]...", callback=pairs("LABEL=AGENT")),
    threads_option,
    cluster_option,
    file="cross_{game}",
)
def cross(
    game: Game,
    others: Mapping[str, str] | None = None,
    *,
    num_threads: int = 1,
    progress: Progress = quiet,
    keep: Path | None = None,
    cluster: str | None = None,
) -> Cross:
    """Play the bots and the policy of GAME, and others, all against all.

    The options are the first published ones with several seats; `others` are agents by their labels, and `cluster` is
    as in `evaluate`. Raises ValueError.
    """
    plan = publication.several(game)
    specs = {f"bot:{name}": f"bot:{name}" for name in plan.game.bots}
    if own := publication.policy_of(plan.game):
        specs[own] = own
    players: list[Agent] = []
    described = []
    for label, spec in (specs | dict(others or {})).items():
        player = agent_of(spec, plan.game, num_threads=num_threads if cluster is None else 1)
        described.append(about(label, player))
        player.name = label
        players.append(player)
    try:
        ranking = tournament(
            plan.game,
            players,
            deals=plan.cross_deals,
            seed=publication.seed(),
            num_threads=num_threads,
            progress=lambda done, planned: progress(done, planned, ""),
            keep=keep,
            space=Space.PUBLICATION,
            cluster=cluster,
        )
    finally:
        close(players)
    return Cross(**{**vars(ranking), "described": described})
