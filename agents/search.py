"""`mc:WORLDS[:MILLISECONDS]`: flat Monte Carlo over determinizations, for any game.

For every legal action of every table, the same worlds are drawn, the action is played in each, and the game's bot plays
on for everybody (`worlds.py`).

Ginsberg, "GIB: imperfect information in a computationally challenging game" (JAIR 2001); Tesauro and Galperin, "On-line
policy improvement using Monte-Carlo search" (NIPS 1996).
"""

from __future__ import annotations

import math
import time

import numpy as np
import numpy.typing as npt

from backalley.envs.core.base import Game

from .base import Agent, View
from .rule_based import BotAgent, RandomAgent
from .worlds import AT_ONCE, Worlds, check_budget, search_budget

CAUTION = 1.0
"""Standard errors by which an action must lead the bot's own to be preferred. *Measured*, mean return of mc:20 against
the bot it plays on with, for 0, 1, 2 and 3: Pitch +0.47, +0.48, +0.35, +0.19 (200 deals); Killer Bridge +0.046, +0.050,
+0.041, +0.016 (12 games); Twenty-One, whose bot a search does not better, -0.014, -0.002, -0.001, 0.000 (1,500
banks)."""
_CLOCKED = 4
"""Worlds of each table between two looks at the clock."""


class SearchAgent(Agent):
    """Flat Monte Carlo with `worlds` determinizations a decision and playouts by the game's strongest fast bot.

    It departs from what the game's best bot would do only where another action leads by more than a standard error.
    With `milliseconds`, thinking ends when that time has passed for each decision, on each core; at least a few worlds
    are played. The choice then depends on the clock; without, on the view alone: not on the batch, nor on `num_threads`
    (0: every core).
    """

    def __init__(self, game: Game, worlds: int, milliseconds: float | None = None, *, num_threads: int = 0) -> None:
        check_budget(worlds, milliseconds)
        self.worlds, self.milliseconds = worlds, milliseconds
        self.name = f"mc:{worlds}" + ("" if milliseconds is None else f":{milliseconds:g}")
        self._best_bot = BotAgent(game) if game.bots else RandomAgent()
        self._table = Worlds(game, num_threads)

    @property
    def playouts(self) -> int:
        """Games played out since the agent was made."""
        return self._table.playouts

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """The action that leads most surely for each table [n]."""
        chosen: npt.NDArray[np.int64] = self._best_bot.act(view)
        open_rows = np.flatnonzero(view.action_mask.sum(1) > 1)
        at_once = max(1, AT_ONCE // self.worlds)
        for low in range(0, len(open_rows), at_once):
            rows = open_rows[low : low + at_once]
            lead, error = self.leads(view, rows, chosen[rows])
            sure = np.where(view.action_mask[rows] == 1, lead - CAUTION * error, -np.inf)
            best = sure.argmax(1)
            chosen[rows] = np.where(sure[np.arange(len(rows)), best] > 0, best, chosen[rows])
        return chosen

    def leads(
        self, view: View, rows: npt.NDArray[np.int64], base: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """By how much more the seat to act gains on average by each action than by `base[k]`, and the standard error of
        that [n, A].

        `rows` [n] are tables of the view; an action that is not legal there has no meaning.
        """
        began, played = time.perf_counter(), 0
        total, squares = (np.zeros((len(rows), view.action_mask.shape[1])) for _ in range(2))
        seconds = (
            math.inf if self.milliseconds is None else self.milliseconds / 1000 * len(rows) / self._table.num_threads
        )
        step = max(1, AT_ONCE // len(rows)) if self.milliseconds is None else _CLOCKED
        each = np.arange(len(rows))
        while played < self.worlds and (played == 0 or time.perf_counter() - began < seconds):
            count = min(step, self.worlds - played)
            # World by world, so that the sums do not depend on how many were played at once.
            for gained in self._table.play(view, rows, view.action_mask[rows], played, count).transpose(1, 0, 2):
                lead = gained - gained[each, base][:, None]
                total += lead
                squares += lead * lead
            played += count
        mean = total / played
        spread = np.maximum(squares / played - mean * mean, 0.0)
        return mean, np.sqrt(spread / played)

    def close(self) -> None:
        """End the worker threads."""
        self._table.close()


def search_agent(spec: str, game: Game, num_threads: int = 0) -> SearchAgent:
    """The agent that `mc:WORLDS[:MILLISECONDS]` names. Raises ValueError in a sentence."""
    worlds, milliseconds = search_budget(spec, "mc:20")
    return SearchAgent(game, worlds, milliseconds, num_threads=num_threads)
