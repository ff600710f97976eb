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
        self._room = -1
        """A history of so many events leaves room for another action's."""

    def put_events(self, entries: bytes, dealt: int) -> None:
        """Put a history on the table, int16 [n, 4], if it keeps one, with room for another action's events."""
        engine, found = self.engine, np.frombuffer(entries, np.int16).reshape(-1, 4)
        if engine.history is not None:
            if len(found) > self._room:
                engine.history.filled[0] = 0
                engine.make_room(len(found))  # which may be another memory
                self._room = engine.history.entries.shape[1] - engine.game.most_events
            engine.history.entries[0, : len(found)] = found
            engine.history.filled[0], engine.history.dealt[0] = len(found), dealt

    def take_events(self) -> tuple[bytes, int]:
        """Return the history on the table, and how long it was before the latest deal."""
        history = self.engine.history
        if history is None:
            return b"", 0
        filled = history.filled.item(0)
        if filled > history.entries.shape[1]:
            self.engine.make_room()  # which raises: an action wrote more than the game declares
        return history.entries[0, :filled].tobytes(), history.dealt.item(0)


@functools.lru_cache(maxsize=128)
def table_of(game: Game, events: bool) -> Table:
    """The table of a game, with or without a history."""
    return Table(game, events)
