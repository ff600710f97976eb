"""What each phase of an agent gains: one phase at a time plays as it does, the rest as the agent it is compared to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from backalley.agents.base.agent import Agent
from backalley.agents.base.by_phase import PhaseAgent
from backalley.agents.registry import agent as agent_of
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType

from ..figures.formatting import decimals, signed, text
from .evaluate import evaluate
from .report import Report


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


def phases_text(reports: Mapping[str, Report]) -> str:
    """Return what the phases gain as a table, with 95 % intervals."""
    firsts = {name: report.agents[0] for name, report in reports.items()}
    digits = decimals([first.mean_return for first in firsts.values()])
    rows = []
    for name, first in firsts.items():
        gain, wins = first.mean_return, first.win_share.percent
        interval = f"{signed(gain.low, digits)} to {signed(gain.high, digits)}"
        rows.append(
            [name, signed(gain.mean, digits), interval, f"{wins.mean:.2f} %", f"{wins.low:.2f} to {wins.high:.2f}"]
        )
    return text(["phase", "gain", "95 % interval", "wins", "95 % interval"], rows)
