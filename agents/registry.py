"""Agents by name: `random`, `bot`, `bot:NAME`, `mc:WORLDS[:MILLISECONDS]`, or the folder of a trained policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backalley.agents.base import Agent
from backalley.agents.rule_based import BotAgent, RandomAgent
from backalley.agents.search import search_agent
from backalley.envs.core.base import Game


def agent(spec: str, game: Game, options: Any, *, num_threads: int = 0) -> Agent:
    """The agent that `spec` names, ready to play `game` under `options`; a search takes `num_threads`, by default every
    core.

    Raises ValueError in a sentence.
    """
    if spec == "random":
        return RandomAgent()
    if spec == "bot" or spec.startswith("bot:"):
        return BotAgent(game, options, spec.removeprefix("bot").removeprefix(":") or None)
    if spec == "mc" or spec.startswith("mc:"):
        return search_agent(spec, game, options, num_threads)
    if Path(spec).is_dir():
        from backalley.agents.learned import PolicyAgent  # needs torch, which only those who load policies have

        return PolicyAgent(Path(spec), game, options)
    names = ", ".join(["random", "bot", *(f"bot:{name}" for name in game.bots), "mc:WORLDS[:MILLISECONDS]"])
    raise ValueError(f"There is no agent {spec!r}; an agent is {names}, or the folder of a trained policy.")
