"""Back Alley: card games for reinforcement learning.

env = backalley.make("poker_duel-v0")                        # PettingZoo AEC
tables = backalley.make_vec("poker_duel-v0", num_envs=4096)  # thousands of tables in one call
"""

from __future__ import annotations

from pathlib import Path as _Path

__version__ = "0.1.0"

if not (_Path(__file__).parent / "envs").is_dir():
    # A checkout on a system without symbolic links: the four folders lie at the repository's root.
    __path__.append(str(_Path(__file__).resolve().parents[2]))

from backalley.envs.core.base import Game, GameType
from backalley.envs.core.catalogue import UnknownGame, game, game_names, game_type, games, register_game
from backalley.envs.core.engine import IllegalAction
from backalley.envs.core.options import OptionError
from backalley.envs.core.vector import BatchEnv, TimeStep
from backalley.envs.registry import make, make_vec, register_gymnasium, register_pettingzoo

__all__ = [
    "BatchEnv",
    "Game",
    "GameType",
    "IllegalAction",
    "OptionError",
    "TimeStep",
    "UnknownGame",
    "__version__",
    "game",
    "game_names",
    "game_type",
    "games",
    "make",
    "make_vec",
    "register_game",
    "register_gymnasium",
    "register_pettingzoo",
]

register_pettingzoo()
register_gymnasium()
