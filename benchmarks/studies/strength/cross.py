"""The cross table of a game: its bots, its policy and others, each against each, so that no policy depends on one
opponent. `backalley dev study cross` measures it.

The number of deals of each pairing, and the seed, are in `publication.toml`. A stopped measurement continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backalley.agents.base.agent import Agent
from backalley.agents.registry import agent as agent_of
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game

from ...figures.formatting import Found
from ...matches.evaluate import Progress
from ...matches.seeding import Space
from ...matches.tournament import Ranking, returns_table, tournament, wins_table
from .. import publication
from .ladder import about


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


def cross(
    game: str | Game,
    others: Mapping[str, str] | None = None,
    *,
    num_threads: int = 1,
    progress: Progress | None = None,
    keep: Path | None = None,
    cluster: str | None = None,
    command: str = "",
) -> Cross:
    """Play the game's bots, the policy for its options and `others`, by their labels, all against all.

    The options are the first published ones with several seats; `cluster` is as in `evaluate`. Raises ValueError.
    """
    plan = publication.several(game_of(game))
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
            progress=progress,
            keep=keep,
            space=Space.PUBLICATION,
            cluster=cluster,
        )
    finally:
        for player in players:
            player.close()
    return Cross(**{**vars(ranking), "described": described, "command": command})
