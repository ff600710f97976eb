"""What each phase of an agent gains: one phase at a time plays as it does, the rest as the agent it is compared to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from backalley.agents.base.agent import Agent
from backalley.agents.base.by_phase import PhaseAgent
from backalley.agents.registry import agent as agent_of
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType

from ..figures.formatting import Line, bound, changed, interval, mean, percent, title
from ..figures.result_kinds import Files, OfGame
from .evaluate import evaluate
from .report import Report


def _lines(files: Files) -> Iterator[Line]:
    """What each phase of an agent gains."""
    for found in files:
        first, second = found["agents"]
        game = bound(found)
        for row in found["rows"]:
            yield {
                "game": title(found),
                "options": changed(game.changed_options if game else found["options"]),
                "A": f"`{first}`",
                "B": f"`{second}`",
                "phase": row["phase"],
                "gain": mean(row["gain"]),
                "95 % interval": interval(row["gain"]),
                "wins": f"{100 * row['wins']['mean']:.2f} %",
                "interval": percent(row["wins"]),
                "deals": f"{row['deals']:,}",
            }


@dataclass(frozen=True, kw_only=True)
class Phases(OfGame, kind="phases", heading="By phase", tables={"phases": _lines}):
    """What each phase of an agent A gains where all else is B, and what A itself does."""

    reports: dict[str, Report]
    """One for each phase, and last "all"."""

    def measured(self) -> dict[str, Any]:
        """What was found, as its file holds it."""
        whole = self.reports["all"]
        rows = [
            {"phase": name, "deals": one.deals, "gain": first.mean_return.to_json(), "wins": first.win_share.to_json()}
            for name, one in self.reports.items()
            for first in one.agents[:1]
        ]
        return {"agents": [one.name for one in whole.agents], "seed": whole.seed, "rows": rows}


def by_phase(
    game: str | GameType | Game,
    one: Agent | str | Any,
    other: Agent | str | Any,
    *,
    progress: Callable[[int, int], None] | None = None,
    **settings: Any,
) -> dict[str, Report]:
    """Play `other` with one phase of `one` against `other`, for each phase that the game declares, and last `one` as it
    is ("all"), all on the same decks in every seating; `settings` are those of `evaluate`.

    The gain of a phase is the first agent's mean return. Gains need not sum to that of all: phases that were made for
    each other lose by being parted. Raises ValueError for a game without phases, and what `evaluate` raises.
    """
    game, threads = game_of(game), settings.get("num_threads", 1)
    if not game.type.phases:
        raise InvalidValue(f"{game.name} declares no phases; compare whole agents by evaluate.")
    one, other = (agent_of(given, game, num_threads=threads) for given in (one, other))
    mixed: dict[str, Agent] = {
        phase: PhaseAgent(game, {each: one if each == phase else other for each in game.type.phases})
        for phase in game.type.phases
    }
    return {
        name: evaluate(game, [player, other], progress=progress, **settings)
        for name, player in {**mixed, "all": one}.items()
    }


def phases(reports: Mapping[str, Report]) -> Phases:
    """Return what `by_phase` found as one result, with its table and its file."""
    whole = reports["all"]
    return Phases(
        game=whole.game, options=whole.options, changed=whole.changed, stamp=whole.stamp, reports=dict(reports)
    )
