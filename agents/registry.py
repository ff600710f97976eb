"""Agents by name: `random`, `bot`, `bot:NAME`, or the folder of a trained policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backalley.agents.base import Agent
from backalley.agents.rule_based import BotAgent, RandomAgent
from backalley.envs.core.base import Game


def agent(spec: str, game: Game, options: Any) -> Agent:
    """The agent that `spec` names, ready to play `game` under `options`. Raises ValueError in a sentence."""
    if spec == "random":
        return RandomAgent()
    if spec == "bot" or spec.startswith("bot:"):
        return BotAgent(game, options, spec.removeprefix("bot").removeprefix(":") or None)
    if Path(spec).is_dir():
        from backalley.agents.learned import PolicyAgent  # needs torch, which only those who load policies have

        return PolicyAgent(Path(spec), game, options)
    bots = ", ".join(f"bot:{name}" for name in game.bots)
    raise ValueError(f"There is no agent {spec!r}; an agent is random, bot, {bots}, or the folder of a trained policy.")
