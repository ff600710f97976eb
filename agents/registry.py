"""Agents by name: `random`, `bot`, `bot:NAME`, `mc:WORLDS[:MILLISECONDS]`, or the folder of a trained policy."""

from __future__ import annotations

from pathlib import Path

from backalley.envs.core.base import Game

from .base import Agent
from .rule_based import BotAgent, RandomAgent
from .search import search_agent


def agent(spec: str, game: Game, *, num_threads: int = 0) -> Agent:
    """The agent that `spec` names, ready to play `game` under `options`; a search takes `num_threads`, by default every
    core.

    Raises ValueError in a sentence.
    """
    if not isinstance(spec, str | Path):  # interim
        return spec
    spec = str(spec)
    if spec == "random":
        return RandomAgent()
    if spec == "bot" or spec.startswith("bot:"):
        return BotAgent(game, spec.removeprefix("bot").removeprefix(":") or None)
    if spec == "mc" or spec.startswith("mc:"):
        return search_agent(spec, game, num_threads)
    if Path(spec).is_dir():
        from .learned import PolicyAgent  # needs torch, which only those who load policies have

        return PolicyAgent(Path(spec), game)
    names = ", ".join(["random", "bot", *(f"bot:{name}" for name in game.bots), "mc:WORLDS[:MILLISECONDS]"])
    raise ValueError(f"There is no agent {spec!r}; an agent is {names}, or the folder of a trained policy.")
