"""Agents by name: `random`, `bot`, `bot:NAME`, `policy`, `policy:NAME`, `plans` (a game's planner before it has learned
anything), `search[:WORLDS[:MILLISECONDS]]`, `search+AGENT[:WORLDS[:MILLISECONDS]]` (played on by `policy`, a bot or the
folder of a policy), `mc:WORLDS[:MILLISECONDS]`, `human`, the folder of a trained policy, or one's own: `module:Class`,
`file.py:Class`, `sb3:model.zip`.

A name always means its agent, also where a folder is called so: that folder is `./policy`, or a Path.
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any

from backalley.envs.core import doors
from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import game as game_of

from . import shipped
from .base import Agent, as_agent
from .custom import custom_agent
from .human import HumanAgent
from .planner import PlannerAgent
from .race import race_agent
from .rule_based import BotAgent, RandomAgent
from .search import search_agent

FORMS = "the folder of a trained policy, module:Class, file.py:Class or sb3:model.zip"
SEARCH_BY = "search+"
SEARCH_BY_POLICY = SEARCH_BY + shipped.FOLDER


def agent(spec: Any, game: str | Game | GameType, *, num_threads: int = 0) -> Agent:
    """The agent that `spec` names, ready to play `game`.

    `spec` is one of the names above, a Path, or an object with `act(view)`, which is taken as it is. A search takes
    `num_threads`, by default every core. Raises ValueError, or TypeError for what is no agent at all, in a sentence.

    >>> agent("bot", "pitch").name
    'bot:book'
    """
    game, num_threads = game_of(game), doors.count(num_threads, "num_threads", 0)
    if not isinstance(spec, (str, Path)):
        return as_agent(spec)
    if isinstance(spec, Path):
        return _policy(spec, game)
    kind, _, rest = spec.partition(":")
    if spec == "random":
        return RandomAgent()
    if spec == "human":
        return HumanAgent()
    if kind in ("bot", shipped.FOLDER) and spec == f"{kind}:":
        raise ValueError(f"{spec!r} names no {kind}; it is {kind}, or {kind}: and the name of one.")
    if kind == "bot":
        return BotAgent(game, rest or None)
    if kind == shipped.FOLDER:
        return _policy(_shipped(game, rest or None), game)
    if spec == "plans":
        return PlannerAgent(game)
    if kind == "mc":
        return search_agent(spec, game, num_threads)
    if kind == "search":
        return race_agent(spec, game, num_threads)
    if kind == SEARCH_BY_POLICY:
        return race_agent(spec, game, num_threads, _policy(_shipped(game, None), game))
    if spec.startswith(SEARCH_BY):
        return _search_by(spec.removeprefix(SEARCH_BY), game, num_threads)
    if kind == "sb3":
        if not rest:
            raise ValueError("'sb3:' names no file; it is sb3: and the path of a model, as in sb3:model.zip.")
        from .sb3_model import SB3Agent  # needs Stable-Baselines3

        return SB3Agent(Path(rest), game)
    if Path(spec).is_dir():
        return _policy(Path(spec), game)
    if ":" in spec:
        return custom_agent(spec, game)
    names = named(game)
    near = difflib.get_close_matches(spec, [*names, *game.bots], 1)
    meant = "" if not near else f" Did you mean {near[0] if near[0] in names else f'bot:{near[0]}'}?"
    by_policy = [SEARCH_BY_POLICY] if shipped.FOLDER in names else []
    searches = [f"{kind}[:WORLDS[:MILLISECONDS]]" for kind in (*by_policy, "search", f"{SEARCH_BY}AGENT")]
    shown = ", ".join([*names, *searches, "mc:WORLDS[:MILLISECONDS]"])
    raise ValueError(f"There is no agent {spec!r}; an agent is {shown}, {FORMS}.{meant}")


def _search_by(words: str, game: Game, num_threads: int) -> Agent:
    """The search that `AGENT[:WORLDS[:MILLISECONDS]]` names. Numbers at its end are worlds and milliseconds: AGENT may
    have a colon itself. Raises ValueError in a sentence."""
    fields = words.split(":")
    while len(fields) > 1 and re.fullmatch(r"[0-9.]+", fields[-1]):
        fields.pop()
    player = ":".join(fields)
    if player.startswith(SEARCH_BY) or not player:
        raise ValueError(f"{SEARCH_BY}{words} names nobody to play on; name a bot or a policy, as in search+bot:96.")
    return race_agent("search" + words.removeprefix(player), game, num_threads, agent(player, game))


def named(game: Game) -> list[str]:
    """The agents of a game that go by a plain name: its bots, its planner and its policies among them."""
    bots = [*(["bot"] if game.bots else []), *(f"bot:{name}" for name in game.bots)]
    policies = shipped.names(game)
    plans = ["plans"] if game.type.plans is not None else []
    named_policies = [*([shipped.FOLDER] if policies else []), *(f"policy:{name}" for name in policies)]
    return ["random", "human", *bots, *plans, *named_policies]


def _shipped(game: Game, name: str | None) -> Path:
    """The folder of a policy that comes with the game. Raises ValueError in a sentence."""
    try:
        return shipped.policy_for(game, name).folder
    except shipped.NoPolicy as error:
        here = Path(shipped.FOLDER)
        hint = f" (The folder of that name here is ./{here}.)" if name is None and here.is_dir() else ""
        raise shipped.NoPolicy(f"{error}{hint}") from None


def _policy(folder: Path, game: Game) -> Agent:
    from .learned import PolicyAgent

    return PolicyAgent(folder, game)
