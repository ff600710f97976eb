"""The values of a game that a candidate's `state()` shows: those that the page defines and a person writes down."""

from __future__ import annotations

from typing import Any

import numpy as np

from backalley.envs.core.game.game import Game
from backalley.envs.core.rules import record

_HAND = ("initial_value", "total", "player_total", "replaced_aces", "pushes", "draws", "success", "verdict")
_DEALER = (*_HAND, "dealer_total", "advantage")
PUBLIC: dict[str, tuple[str, ...]] = {
    "baccarat": ("units", "coup", "totals", "winner", "banker", "participant"),
    "backhand": _HAND,
    "bezique": ("score", "total", "brisques", "trump", "trick", "stock_left", "dealer", "deal_number"),
    "buffalo_bayou": _DEALER,
    "killer_bridge": ("dealer", "trump", "hand_size", "won", "score", "made", "sips"),
    "missouri_city": (*_DEALER, "dealt_first", "winner", "game", "games_won", "stalemates"),
    "pitch": ("dealer", "high_bid", "pitcher", "trump", "score", "finished"),
    "poker_duel": ("points", "dealer", "game", "round_index", "sudden_death"),
    "twenty_one": ("purse", "pot", "own", "banker", "back_passing", "final_round", "round_number", "bank", "result"),
}  # fmt: skip
"""The fields of the State of each game in this package. A game elsewhere has none: turns, legal actions and rewards
are compared there."""


def public_state(game: Game, state: Any) -> dict[str, Any]:
    """Return the public values of a state, as numbers and lists."""
    return {name: np.asarray(state[name]).tolist() for name in PUBLIC.get(game.name, ())}


def meanings(game: Game) -> dict[str, str]:
    """Return what each public value is."""
    declared = {each.name: each for each in record.fields(game.type.State)}
    return {name: declared[name].doc for name in PUBLIC.get(game.name, ())}
