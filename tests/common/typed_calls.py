"""Calls as users write them, a line each; `test_typing.py` has a type checker read them, and runs them.

`# refused` stands where the checker and the game refuse a call; `# refused by checkers` where a game takes for the sake
of command lines what is a slip in a program; `# refused by games` where a checker knows too little.
"""

from typing import Any, assert_type

import numpy as np

import backalley
import backalley.missouri_city_v0
from backalley import Game, GameType, poker_duel_v0
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.killer_bridge.state import Options as BridgeOptions
from backalley.envs.missouri_city.state import Options, Stalemate
from backalley.examples.kuhn import GAME as KUHN

# The functions that take a game's name
assert_type(backalley.make("missouri_city", num_games=2, stalemate="draw", render_mode="ansi"), AECEnv)
backalley.make("missouri_city", num_gamez=2)  # refused
backalley.make("missouri_city-v0", stalemate="drew")  # refused
backalley.make("missouri_city", target=7)  # refused
backalley.make("missouri_city", num_games=1.5)  # refused
backalley.make("missouri_city", num_games=None)  # refused
backalley.make("missouri_city", num_games="2")  # refused by checkers
backalley.make("missouri_city", stand_pat="maybe")  # refused
assert_type(backalley.make_vec("missouri_city", 16, seed=[0] * 16, num_games=2), BatchEnv)
backalley.make_vec("missouri_city", 16, num_gamez=2)  # refused
backalley.make_vec("backalley/MissouriCity-v0", 16, stalemate="drew")  # refused

# Values, as a game takes them
backalley.game("missouri_city", stalemate=Stalemate.DRAW, dealt_first=1, stand_pat=1, num_games=np.int64(3))
backalley.game("poker_duel", round_points=(1, 2, 3))
backalley.game("poker_duel", round_points=[1, 2, 3])
backalley.game("poker_duel", round_points=(1, 2))  # refused
backalley.game("baccarat", stakes=5, commission=0.04, num_coups="shoe", reshuffle="shoe", decks=6)
backalley.game("baccarat", stakes="many")  # refused
backalley.game("bezique", last_trick="trick_24")
backalley.game("bezique", last_trick="trick_25")  # refused
backalley.game("killer_bridge", preset="cutthroat", num_players=5)
backalley.game("killer_bridge", preset="cutthroad")  # refused
backalley.game("pitch", preset=1)  # refused

# What is known of a game
assert_type(backalley.game("missouri_city", num_games=2), Game[Options])
assert_type(backalley.game("missouri_city").options.num_games, int)
assert_type(backalley.game("missouri_city").bind(num_games=2).options.num_games, int)
_ = backalley.game("missouri_city").options.num_gamez  # refused
assert_type(backalley.game(backalley.game("killer_bridge"), num_players=5), Game[BridgeOptions])

# The modules, as PettingZoo names them
assert_type(backalley.missouri_city_v0.env(num_games=2, render_mode="ansi"), AECEnv)
backalley.missouri_city_v0.env(num_gamez=2)  # refused
backalley.missouri_city_v0.raw_env(stalemate="drew")  # refused
backalley.missouri_city_v0.env(rendermode="ansi")  # refused
assert_type(backalley.missouri_city_v0.game, GameType[Options])
poker_duel_v0.env(num_games=3)
poker_duel_v0.env(num_games=[3])  # refused
_ = backalley.poker_dual_v0  # refused
backalley.mkae("missouri_city")  # refused

# Options in a dictionary
given: backalley.missouri_city_v0.GivenOptions = {"num_games": 2, "stalemate": "draw"}
backalley.make("missouri_city", **given)
backalley.make("pitch", **given)  # refused
wrong: backalley.missouri_city_v0.GivenOptions = {"num_gamez": 2}  # refused by checkers

# Games that a checker does not know by name: nothing is known of their options, nor of any game's in such a dictionary
read: dict[str, Any] = {"num_games": 2}
name: str = "missouri_city"
backalley.make(name, **read)
backalley.make(name, render_mode="ansi", **read)
backalley.game(name, **read)
backalley.make("missouri_city", **read)
assert_type(backalley.game(KUHN).options.first, int)
backalley.game(KUHN, fold=True)  # refused by games
backalley.game("backalley.examples.kuhn")
