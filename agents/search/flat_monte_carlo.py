"""`mc:DETERMINIZATIONS[:MILLISECONDS]`: flat Monte Carlo over determinizations, for any game.

Every legal action of a table is played in the same determinizations, and the game's bot plays the rollouts for all
seats (`determinizations.py`).

Ginsberg, "GIB: imperfect information in a computationally challenging game" (JAIR 2001); Tesauro and Galperin, "On-line
policy improvement using Monte-Carlo search" (NIPS 1996).
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.game import Game

from ..base.agent import Agent, View, check_view
from ..base.rule_based import BotAgent, RandomAgent
from .determinizations import AT_ONCE, Determinizations, check_budget

Z_THRESHOLD = 1.0
"""The z-threshold: standard errors by which an action must lead the bot's own to be preferred. *Measured*, mean return
of mc:20 against its rollout bot, for 0, 1, 2 and 3: Pitch +0.47, +0.48, +0.35, +0.19 (200 deals); Killer Bridge +0.046,
+0.050, +0.041, +0.016 (12 games); Twenty-One, whose bot a search does not improve, -0.014, -0.002, -0.001, 0.000 (1,500
banks)."""
_CLOCKED = 4
"""Determinizations of each table between two looks at the clock."""


class SearchAgent(Agent):
    """Flat Monte Carlo with `determinizations` determinizations a decision and rollouts by the game's strongest fast
    bot.

    It departs from the best bot's action only where another leads by more than a standard error. With `milliseconds`, a
    search ends when that time has passed for each decision, on each core, but at least a few determinizations are
    played. The choice then depends on the clock; without `milliseconds` only on the view, not on the batch or on
    `num_threads` (0: every core).
    """

    is_deterministic = False  # its key draws the determinizations

    def __init__(
        self, game: Game, determinizations: int, milliseconds: float | None = None, *, num_threads: int = 0
    ) -> None:
        check_budget(determinizations, milliseconds)
        self.determinizations, self.milliseconds = determinizations, milliseconds
        self.name = f"mc:{determinizations}" + ("" if milliseconds is None else f":{milliseconds:g}")
        self._best_bot = BotAgent(game) if game.bots else RandomAgent()
        self._table = Determinizations(game, num_threads)

    @property
    def rollouts(self) -> int:
        """Rollouts since the agent was made."""
        return self._table.rollouts

    def act(self, view: View, *more: Any) -> npt.NDArray[np.int64]:
        """Return the action that leads most surely for each table [n]. Raises TypeError for an observation: a search
        needs the table."""
        check_view(self, view, more)
        chosen: npt.NDArray[np.int64] = self._best_bot.act(view)
        open_rows = np.flatnonzero(view.action_mask.sum(1) > 1)
        at_once = max(1, AT_ONCE // self.determinizations)
        for low in range(0, len(open_rows), at_once):
            rows = open_rows[low : low + at_once]
            lead, error = self.leads(view, rows, chosen[rows])
            sure = np.where(view.action_mask[rows] == 1, lead - Z_THRESHOLD * error, -np.inf)
            best = sure.argmax(1)
            chosen[rows] = np.where(sure[np.arange(len(rows)), best] > 0, best, chosen[rows])
        return chosen

    def leads(
        self, view: View, rows: npt.NDArray[np.int64], base: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the mean lead of each action over `base[k]` for the seat to act, and its standard error [n, A].

        `rows` [n] are tables of the view; the numbers of illegal actions have no meaning.
        """
        began, played = time.perf_counter(), 0
        total, squares = (np.zeros((len(rows), view.action_mask.shape[1])) for _ in range(2))
        seconds = (
            math.inf if self.milliseconds is None else self.milliseconds / 1000 * len(rows) / self._table.num_threads
        )
        step = max(1, AT_ONCE // len(rows)) if self.milliseconds is None else _CLOCKED
        each = np.arange(len(rows))
        while played < self.determinizations and (played == 0 or time.perf_counter() - began < seconds):
            count = min(step, self.determinizations - played)
            # Determinization by determinization, so that the sums do not depend on how many were played at once.
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
