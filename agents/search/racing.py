"""`search[:DETERMINIZATIONS[:MILLISECONDS]]`: racing of actions over determinizations, for any game.

Determinizations come in rounds, each of which doubles their number. After a round, actions that trail the leader by so
much that they will hardly lead again are dropped. The race ends when one action is left or all determinizations are
used: clear decisions cost little, and close ones get the saved effort. All actions meet the same determinizations and
are compared by their paired differences.

Racing: Maron and Moore, "Hoeffding races" (NIPS 1993); paired: Moore and Lee, "Efficient algorithms for minimizing
cross validation error" (ICML 1994). Determinizations: Ginsberg, "GIB" (JAIR 2001).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game

from ..base.agent import Agent, View, check_view, name_of
from ..base.rule_based import BotAgent, RandomAgent
from ..policies.planner import PlannerAgent
from .determinizations import AT_ONCE, Candidates, Determinizations, check_budget
from .elimination import Analysis, Racing, RacingPlans, decide, drop_hopeless

DETERMINIZATIONS = 96
"""The default maximum number of determinizations."""
FIRST = 12
"""Determinizations of the first round."""
_PLANS_KEPT = 4096
PLANS_WORTH = 4
"""A plan gets this many times the determinizations of a single action, since it is several."""

Play = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int8], int, int], npt.NDArray[np.float64]]
"""`play(races, running, first, count)`: the gains of the candidates of some races in determinizations `first`, ...
[len, count, K]."""


class RacingAgent(Agent):
    """Actions raced over up to `determinizations` determinizations a decision, with rollouts by the game's strongest
    fast bot. Macro-actions (`GameType.plans`) are raced as whole plans, each over up to PLANS_WORTH times as many, with
    rollouts by the game's best bot: what makes that bot slow is to find plans, and here they are given.

    *Measured* in Poker Duel, mean return of search:96 against the best bot over 400 deals: +0.070 ± 0.046 with rollouts
    by the fast bot, +0.125 ± 0.048 by the best, in two and a half times the time; four times the determinizations with
    the fast one reached +0.077 ± 0.051 (300 deals).

    With a `player`, an agent that has a kernel, that one plays the rollouts and replaces the best bot; if it has
    learned values of plans (an array `values` among its `arrays`), plans are made by these.

    It departs from the best bot's action, or from the planner's first choice, only where another leads by more than the
    game's z-threshold (`GameType.z_threshold`, for plans `Plans.z_threshold`). Where that bot plays exactly
    (`Bot.solves`) its action is played without a search. With `milliseconds`, no round begins after that time for each
    decision, on each core: the choice then depends on the clock. Otherwise it depends only on the view, not on the
    batch or on `num_threads` (0: every core).
    """

    is_deterministic = False  # its key draws the determinizations

    def __init__(
        self,
        game: Game,
        determinizations: int = DETERMINIZATIONS,
        milliseconds: float | None = None,
        *,
        num_threads: int = 0,
        player: Agent | None = None,
    ) -> None:
        """Raises ValueError, also for a player without a kernel."""
        check_budget(determinizations, milliseconds)
        if player is not None and player.kernel is None:
            raise InvalidValue(
                f"{name_of(player)} has no kernel, so it cannot play a search's rollouts; bots and policies have one."
            )
        self.determinizations, self.milliseconds = determinizations, milliseconds
        kind = "search"
        if player is not None:
            # The policy that comes with a game is `policy`, whatever it is called under these options.
            called = name_of(player)
            kind += "+policy" if called.startswith("policy:") else f"+{called}"
        self.name = f"{kind}:{determinizations}" + ("" if milliseconds is None else f":{milliseconds:g}")
        if player is not None:
            self.identity, self.note = player.identity, player.note
        self.z_threshold = game.type.z_threshold
        self._exact = BotAgent(game) if game.bots else None
        self._base = player or self._exact or RandomAgent()
        plans = game.type.plans
        if plans is not None and plans.refuses(game.options):
            plans = None
        self._plans, values = plans is not None, None
        if plans is not None:
            self.plans_caution = plans.z_threshold
            values = PlannerAgent(game, getattr(player, "arrays", {}).get("values")).values
        plays_on = player or (self._exact if plans else None)
        self._table = Determinizations(game, num_threads, uniform=False, player=plays_on, values=values)
        self._kept: dict[int, RacingPlans] = {}  # only saves time
        self._decisions, self._determinizations = 0, 0

    @property
    def rollouts(self) -> int:
        """Rollouts since the agent was made."""
        return self._table.rollouts

    @property
    def mean_determinizations(self) -> float:
        """Mean number of determinizations of a decision that was searched; NaN before the first."""
        return self._determinizations / self._decisions if self._decisions else math.nan

    @property
    def determinizations_drawn(self) -> int:
        """Determinizations since the agent was made."""
        return self._determinizations

    def act(self, view: View, *more: Any) -> npt.NDArray[np.int64]:
        """Return the winner of each table's race [n]. Raises TypeError for an observation: a search needs the table."""
        check_view(self, view, more)
        return self.analyse(view).action

    def analyse(self, view: View) -> Analysis:
        """Return the value of each legal action of each table, and the choice."""
        shape = view.action_mask.shape
        found = Analysis(
            self._base.act(view), np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, np.int64)
        )
        choices = np.flatnonzero((view.action_mask.sum(1) > 1) & ~self._follow_solver(view, found))
        at_once = max(1, AT_ONCE // self.determinizations)
        for low in range(0, len(choices), at_once):
            rows = choices[low : low + at_once]
            if self._plans:
                rows = rows[~self._analyse_plans(view, rows, found)]
            self._analyse_actions(view, rows, found)
        self._decisions += len(choices)
        return found

    def _follow_solver(self, view: View, found: Analysis) -> npt.NDArray[np.bool_]:
        """Play as the game's best bot does where that is exact; return at which tables that is [n]."""
        if self._exact is None:
            return np.zeros(len(view), np.bool_)
        solved = self._exact.solved(view)
        if solved.any() and self._base is not self._exact:
            found.action[solved] = self._exact.act(view)[solved]
        return solved

    def _analyse_actions(self, view: View, rows: npt.NDArray[np.int64], found: Analysis) -> None:
        def play(races: npt.NDArray[np.int64], running: npt.NDArray[np.int8], first: int, count: int) -> Any:
            return self._table.play(view, rows[races], running, first, count)

        base = found.action[rows]
        race = self._racing(play, view.action_mask[rows], base, self.determinizations)
        for k, row in enumerate(rows):
            found.action[row] = decide(
                race.values[k], race.played[k], race.running[k], base[k], self.z_threshold,
                found.value[row], found.error[row],
            )  # fmt: skip
        found.determinizations[rows] = race.played

    def _analyse_plans(self, view: View, rows: npt.NDArray[np.int64], found: Analysis) -> npt.NDArray[np.bool_]:
        """Analyse those of the tables `rows` where a plan is to be made or continued; return which these were."""
        root, here = self._table.propose(view, rows), self._table.propose(view, rows, from_root=False)
        planned = np.flatnonzero(root.number)
        kept = [self._kept.get(int(root.key[k])) for k in planned]
        new = planned[[one is None for one in kept]]
        made = dict(zip(new.tolist(), self._racing_plans(view, rows, root, new, from_root=True), strict=True))
        if len(self._kept) + len(made) > _PLANS_KEPT:
            self._kept.clear()
        self._kept |= {int(root.key[k]): one for k, one in made.items()}
        lost = []
        for k, one in zip(planned.tolist(), kept, strict=True):
            raced = made[k] if one is None else one
            if (here.plans[k, : here.number[k]] == raced.left(root.begun[k])).all(1).any():
                raced.tell(found, rows[k], root.begun[k])
            else:
                lost.append(k)  # what was played differs from what was chosen
        again = np.array(lost, np.int64)
        for k, raced in zip(lost, self._racing_plans(view, rows, here, again, from_root=False), strict=True):
            raced.tell(found, rows[k], 0)
        return root.number > 0

    def _racing_plans(
        self, view: View, rows: npt.NDArray[np.int64], found: Candidates, which: npt.NDArray[np.int64],
        *, from_root: bool,
    ) -> list[RacingPlans]:  # fmt: skip
        """Race the plans of some of the tables `rows`."""
        tables, some = rows[which], found.some(which)

        def play(races: npt.NDArray[np.int64], running: npt.NDArray[np.int8], first: int, count: int) -> Any:
            chosen = some.some(races)
            return self._table.play_plans(view, tables[races], chosen, running, first, count, from_root=from_root)

        running = (np.arange(some.plans.shape[1]) < some.number[:, None]).astype(np.int8)
        race = self._racing(play, running, np.zeros(len(which), np.int64), PLANS_WORTH * self.determinizations)
        value, error = (np.full(race.played.shape, np.nan) for _ in range(2))
        return [
            RacingPlans(
                some.plans[k],
                decide(race.values[k], race.played[k], race.running[k], 0, self.plans_caution, value[k], error[k]),
                value[k],
                error[k],
                race.played[k],
            )
            for k in range(len(which))
        ]

    def _racing(self, play: Play, running: npt.NDArray[np.int8], base: npt.NDArray[np.int64], most: int) -> Racing:
        """Race the candidates [n, K] over `most` determinizations."""
        began, running = time.perf_counter(), running.copy()
        values = np.zeros((len(running), most, running.shape[1]))
        played = np.zeros(running.shape, np.int64)
        seconds = math.inf
        if self.milliseconds is not None:
            seconds = self.milliseconds / 1000 * len(running) / self._table.num_threads
        racing, determinizations = np.flatnonzero(running.sum(1) > 1), 0
        while (
            len(racing) and determinizations < most and (determinizations == 0 or time.perf_counter() - began < seconds)
        ):
            more = min(determinizations or FIRST, most - determinizations)
            values[racing, determinizations : determinizations + more] = play(
                racing, running[racing], determinizations, more
            )
            determinizations += more
            self._determinizations += more * len(racing)
            left = [drop_hopeless(values[k], determinizations, base[k], played[k], running[k]) for k in racing]
            racing = racing[np.array(left) > 1]
        return Racing(values, played, running)

    def close(self) -> None:
        """End the worker threads."""
        self._table.close()
