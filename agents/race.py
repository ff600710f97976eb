"""`search[:WORLDS[:MILLISECONDS]]`: a race of actions over redrawn worlds, for any game.

Worlds come in rounds, each of which doubles their number. After a round an action that trails the leader by so much
that it will hardly lead any more is dropped, and where one action is left, or worlds are used up, the race is over:
decisions that are plain cost little, and close ones get what that saves. All actions meet the same worlds and are told
apart by their differences there, world by world.

Racing: Maron and Moore, "Hoeffding races" (NIPS 1993); paired: Moore and Lee, "Efficient algorithms for minimizing
cross validation error" (ICML 1994). Worlds: Ginsberg, "GIB" (JAIR 2001).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core.base import Game

from .base import Agent, View, name_of
from .plan_worlds import PlanWorlds, Proposals
from .planner import PlannerAgent
from .races import Judgement, Race, RacedPlans, decide, drop_hopeless
from .rule_based import BotAgent, RandomAgent
from .worlds import AT_ONCE, Worlds, check_budget, search_budget

WORLDS = 96
"""Worlds at most, where none are named."""
FIRST = 12
"""Worlds of the first round."""
_PLANS_KEPT = 4096
PLANS_WORTH = 4
"""Times as many worlds as a single action, a plan being several."""

Play = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int8], int, int], npt.NDArray[np.float64]]
"""`play(races, running, first, count)`: what the runners of some races gain in worlds `first`, ... [len, count, K]."""


class RaceAgent(Agent):
    """Actions raced over up to `worlds` worlds a decision, played on by the game's strongest fast bot; decisions that a
    game takes in one go (`GameType.plans`) as whole plans, each over up to PLANS_WORTH times as many. There the game's
    best bot plays on: what takes that one long is to draw up plans, and here they are laid down as they are.

    *Measured* in Poker Duel, mean return of search:96 against the best bot over 400 deals: +0.070 ± 0.046 played on by
    the fast one, +0.125 ± 0.048 by the best, for two and a half times as long; four times the worlds and the fast one
    came to +0.077 ± 0.051 (300 deals).

    With a `player`, an agent that has a kernel, that one plays on, and stands for the best bot; where it plans by
    values of its own (an array `values` among its `arrays`), plans are drawn up by these.

    It departs from what the game's best bot would do, or from the planner's first choice, only where another leads by
    more than the game's caution (`GameType.caution`, for plans `Plans.caution`); where that bot plays exactly
    (`Bot.solves`) it is followed, and nothing is searched. With `milliseconds`, no round begins after that time for
    each decision, on each core: the choice then depends on the clock. Without, it depends on the view alone: not on the
    batch, nor on `num_threads` (0: every core).
    """

    def __init__(
        self,
        game: Game,
        worlds: int,
        milliseconds: float | None = None,
        *,
        num_threads: int = 0,
        player: Agent | None = None,
    ) -> None:
        """Raises ValueError in a sentence, for a player without a kernel too."""
        check_budget(worlds, milliseconds)
        if player is not None and player.kernel is None:
            raise ValueError(
                f"{name_of(player)} has no kernel, so no search can play on by it; bots and policies have."
            )
        self.worlds, self.milliseconds = worlds, milliseconds
        kind = "search"
        if player is not None:
            # The policy that comes with a game is `policy`, whatever it is called under these options.
            called = name_of(player)
            kind += "+policy" if called.startswith("policy:") else f"+{called}"
        self.name = f"{kind}:{worlds}" + ("" if milliseconds is None else f":{milliseconds:g}")
        if player is not None:
            self.identity, self.note = player.identity, player.note
        self.caution = game.type.caution
        self._exact = BotAgent(game) if game.bots else None
        self._base = player or self._exact or RandomAgent()
        plans = game.type.plans
        if plans is not None and plans.refuses(game.options):
            plans = None
        plays_on = player or (self._exact if plans else None)
        self._table = Worlds(game, num_threads, uniform=False, player=plays_on)
        self._plans: PlanWorlds | None = None
        if plans is not None:
            self.plans_caution = plans.caution
            values = PlannerAgent(game, getattr(player, "arrays", {}).get("values")).values
            self._plans = PlanWorlds(game, values, num_threads, player=plays_on)
        self._kept: dict[int, RacedPlans] = {}  # saves time, and nothing else
        self._decisions, self._worlds = 0, 0

    @property
    def playouts(self) -> int:
        """Games played out since the agent was made."""
        return self._table.playouts + (self._plans.playouts if self._plans else 0)

    @property
    def mean_worlds(self) -> float:
        """Worlds that were drawn on average for a decision that was searched; NaN before the first."""
        return self._worlds / self._decisions if self._decisions else math.nan

    @property
    def worlds_drawn(self) -> int:
        """Worlds that were drawn since the agent was made."""
        return self._worlds

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """The winner of each table's race [n]."""
        return self.judge(view).action

    def judge(self, view: View) -> Judgement:
        """What each legal action of each table is worth, and what to play."""
        shape = view.action_mask.shape
        found = Judgement(
            self._base.act(view), np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, np.int64)
        )
        choices = np.flatnonzero((view.action_mask.sum(1) > 1) & ~self._follow_solver(view, found))
        at_once = max(1, AT_ONCE // self.worlds)
        for low in range(0, len(choices), at_once):
            rows = choices[low : low + at_once]
            if self._plans is not None:
                rows = rows[~self._judge_plans(self._plans, view, rows, found)]
            self._judge_actions(view, rows, found)
        self._decisions += len(choices)
        return found

    def _follow_solver(self, view: View, found: Judgement) -> npt.NDArray[np.bool_]:
        """Play as the game's best bot does where that is exact; tells at which tables that is [n]."""
        if self._exact is None:
            return np.zeros(len(view), np.bool_)
        solved = self._exact.solved(view)
        if solved.any() and self._base is not self._exact:
            found.action[solved] = self._exact.act(view)[solved]
        return solved

    def _judge_actions(self, view: View, rows: npt.NDArray[np.int64], found: Judgement) -> None:
        def play(races: npt.NDArray[np.int64], running: npt.NDArray[np.int8], first: int, count: int) -> Any:
            return self._table.play(view, rows[races], running, first, count)

        base = found.action[rows]
        race = self._race(play, view.action_mask[rows], base, self.worlds)
        for k, row in enumerate(rows):
            found.action[row] = decide(
                race.values[k], race.played[k], race.running[k], base[k], self.caution,
                found.value[row], found.error[row],
            )  # fmt: skip
        found.worlds[rows] = race.played

    def _judge_plans(
        self, worlds: PlanWorlds, view: View, rows: npt.NDArray[np.int64], found: Judgement
    ) -> npt.NDArray[np.bool_]:
        """Judge those of the tables `rows` where a plan is to be made or gone on with; tells which these were."""
        root, here = worlds.propose(view, rows), worlds.propose(view, rows, from_root=False)
        planned = np.flatnonzero(root.number)
        kept = [self._kept.get(int(root.key[k])) for k in planned]
        new = planned[[one is None for one in kept]]
        made = dict(zip(new.tolist(), self._race_plans(worlds, view, rows, root, new, from_root=True), strict=True))
        if len(self._kept) + len(made) > _PLANS_KEPT:
            self._kept.clear()
        self._kept |= {int(root.key[k]): one for k, one in made.items()}
        lost = []
        for k, one in zip(planned.tolist(), kept, strict=True):
            raced = made[k] if one is None else one
            if (here.plans[k, : here.number[k]] == raced.left(root.begun[k])).all(1).any():
                raced.tell(found, rows[k], root.begun[k])
            else:
                lost.append(k)  # something else lies there than what was chosen
        again = np.array(lost, np.int64)
        for k, raced in zip(lost, self._race_plans(worlds, view, rows, here, again, from_root=False), strict=True):
            raced.tell(found, rows[k], 0)
        return root.number > 0

    def _race_plans(
        self, worlds: PlanWorlds, view: View, rows: npt.NDArray[np.int64], found: Proposals,
        which: npt.NDArray[np.int64], *, from_root: bool,
    ) -> list[RacedPlans]:  # fmt: skip
        """Race the plans of some of the tables `rows`."""
        tables, some = rows[which], found.some(which)

        def play(races: npt.NDArray[np.int64], running: npt.NDArray[np.int8], first: int, count: int) -> Any:
            return worlds.play_plans(view, tables[races], some.some(races), running, first, count, from_root=from_root)

        running = (np.arange(some.plans.shape[1]) < some.number[:, None]).astype(np.int8)
        race = self._race(play, running, np.zeros(len(which), np.int64), PLANS_WORTH * self.worlds)
        value, error = (np.full(race.played.shape, np.nan) for _ in range(2))
        return [
            RacedPlans(
                some.plans[k],
                decide(race.values[k], race.played[k], race.running[k], 0, self.plans_caution, value[k], error[k]),
                value[k],
                error[k],
                race.played[k],
            )
            for k in range(len(which))
        ]

    def _race(self, play: Play, running: npt.NDArray[np.int8], base: npt.NDArray[np.int64], most: int) -> Race:
        """Race the runners [n, K] over `most` worlds."""
        began, running = time.perf_counter(), running.copy()
        values = np.zeros((len(running), most, running.shape[1]))
        played = np.zeros(running.shape, np.int64)
        seconds = math.inf
        if self.milliseconds is not None:
            seconds = self.milliseconds / 1000 * len(running) / self._table.num_threads
        racing, worlds = np.flatnonzero(running.sum(1) > 1), 0
        while len(racing) and worlds < most and (worlds == 0 or time.perf_counter() - began < seconds):
            more = min(worlds or FIRST, most - worlds)
            values[racing, worlds : worlds + more] = play(racing, running[racing], worlds, more)
            worlds += more
            self._worlds += more * len(racing)
            left = [drop_hopeless(values[k], worlds, base[k], played[k], running[k]) for k in racing]
            racing = racing[np.array(left) > 1]
        return Race(values, played, running)

    def close(self) -> None:
        """End the worker threads."""
        self._table.close()
        if self._plans is not None:
            self._plans.close()


def race_agent(spec: str, game: Game, num_threads: int = 0, player: Agent | None = None) -> RaceAgent:
    """The agent that `search[:WORLDS[:MILLISECONDS]]` names, or another KIND than `search`, played on by `player`.
    Raises ValueError in a sentence."""
    worlds, milliseconds = search_budget(spec, f"{spec.partition(':')[0]}:96", WORLDS)
    return RaceAgent(game, worlds, milliseconds, num_threads=num_threads, player=player)
