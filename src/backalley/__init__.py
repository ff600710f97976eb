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

from backalley.envs.core.base import Game, UnknownGame, game, game_names, games
from backalley.envs.core.engine import IllegalAction
from backalley.envs.core.options import OptionError
from backalley.envs.core.vector import Tables, Turn
from backalley.envs.registry import make, make_vec, register_gymnasium, register_pettingzoo

__all__ = [
    "Game",
    "IllegalAction",
    "OptionError",
    "Tables",
    "Turn",
    "UnknownGame",
    "__version__",
    "game",
    "game_names",
    "games",
    "make",
    "make_vec",
    "register_gymnasium",
    "register_pettingzoo",
]

register_pettingzoo()
register_gymnasium()
