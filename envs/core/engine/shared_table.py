"""`Table`: the one table on which all states of a game are played (`api/game_state.py`)."""

from __future__ import annotations

import functools
import threading

import numpy as np

from ..game.game import Game
from .engine import Engine


class Table:
    """The table on which the states of one game are played; whoever uses it holds its lock."""

    def __init__(self, game: Game, events: bool) -> None:
        self.engine = Engine(game, 1, history=events)
        self.batch, self.lock = self.engine.batch, threading.Lock()
        self.deck = self.engine.fresh_deck()
        self.raw, self.mask = self.batch.raw.data.cast("B"), self.batch.mask.data.cast("B")
        self.no_mask = bytes(game.num_actions)
        self.cards = np.arange(game.deck_size)


@functools.lru_cache(maxsize=128)
def table_of(game: Game, events: bool) -> Table:
    """The table of a game, with or without a history."""
    return Table(game, events)
