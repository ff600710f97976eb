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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.base import Game
from backalley.envs.core.kernel import kernel

from .base import Agent, View, name_of
from .plan_worlds import PlanWorlds, Proposals
from .planner import PlannerAgent
from .rule_based import BotAgent, RandomAgent
from .weighing import WeighedWorlds
from .worlds import AT_ONCE, Worlds, check_budget, search_budget

WORLDS = 96
"""Worlds at most, where none are named."""
FIRST = 12
"""Worlds of the first round."""
BEHIND = 2.0
"""Standard errors by which an action that trails the leader is dropped."""
_PLANS_KEPT = 4096
PLANS_WORTH = 4
"""Times as many worlds as a single action, a plan being several."""


class Judgement(NamedTuple):
    """What a search found for n decisions."""

    action: npt.NDArray[np.int64]
    """What it would play [n]."""
    value: npt.NDArray[np.float64]
    """What the seat to act gains on average by each action, from here to where playouts end; NaN where an action is not
    legal, or where nothing had to be searched [n, A]."""
    error: npt.NDArray[np.float64]
    """The standard error of that [n, A]."""
    worlds: npt.NDArray[np.int64]
    """The worlds that each action was played in: those dropped early met fewer [n, A]."""


@kernel
def paired(values: npt.NDArray[np.float64], worlds: int, one: int, other: int) -> tuple[float, float]:
    """By how much `one` leads `other` on average over the first `worlds` of `values` [W, A], and the standard error."""
    total = squares = 0.0
    for world in range(worlds):
        lead = values[world, one] - values[world, other]
        total += lead
        squares += lead * lead
    mean = total / worlds
    return mean, math.sqrt(max(squares / worlds - mean * mean, 0.0) / max(worlds - 1, 1))


@kernel
def drop_hopeless(
    values: npt.NDArray[np.float64], worlds: int, base: int, played: npt.NDArray[np.int64],
    running: npt.NDArray[np.int8],
) -> int:  # fmt: skip
    """Take out of `running` [A] who trails the leader surely, or does no better in any world; gives how many are left.
    Among equals the `base` leads."""
    leader, best = base, -math.inf
    for action in range(running.shape[0]):
        if running[action]:
            played[action] = worlds
            mean = values[:worlds, action].sum() / worlds
            if mean > best or (mean == best and action == base):
                leader, best = action, mean
    left = 0
    for action in range(running.shape[0]):
        if running[action] and action != leader:
            lead, error = paired(values, worlds, leader, action)
            if lead >= BEHIND * error:
                running[action] = 0
        left += int(running[action])
    return left


@kernel
def decide(
    values: npt.NDArray[np.float64], played: npt.NDArray[np.int64], running: npt.NDArray[np.int8], base: int,
    caution: float, value: npt.NDArray[np.float64], error: npt.NDArray[np.float64],
) -> int:  # fmt: skip
    """The leader, or the `base` where it does not lead that one by more than `caution` standard errors over the worlds
    that both met; `value` and `error` [A] become what each action was found to be worth."""
    leader, best = base, -math.inf
    for action in range(running.shape[0]):
        count = played[action]
        if count == 0:
            continue
        total = squares = 0.0
        for world in range(count):
            total += values[world, action]
            squares += values[world, action] ** 2
        mean = total / count
        value[action] = mean
        error[action] = math.sqrt(max(squares / count - mean * mean, 0.0) / max(count - 1, 1))
        if running[action] and (mean > best or (mean == best and action == base)):
            leader, best = action, mean
    both = min(played[base], played[leader])
    if both == 0:
        return base
    lead, doubt = paired(values, both, leader, base)
    return leader if lead > caution * doubt else base


class Race(NamedTuple):
    """How n races went, of K runners each."""

    values: npt.NDArray[np.float64]
    """What each gained in each world that it met [n, W, K]."""
    played: npt.NDArray[np.int64]
    """The worlds that each met [n, K]."""
    running: npt.NDArray[np.int8]
    """Who was not dropped [n, K]."""


class RacedPlans(NamedTuple):
    """What came of racing C plans of S steps."""

    plans: npt.NDArray[np.int64]
    """[C, S]"""
    best: int
    value: npt.NDArray[np.float64]
    """[C], as `error` and `worlds`; NaN where there was no plan, or no other one."""
    error: npt.NDArray[np.float64]
    worlds: npt.NDArray[np.int64]

    def left(self, begun: int) -> npt.NDArray[np.int64]:
        """The steps of the best plan that are left after the first `begun` [S], -1 after the last."""
        steps = self.plans[self.best]
        return np.concatenate([steps[begun:], np.full(begun, -1)])

    def tell(self, found: Judgement, row: int, begun: int) -> None:
        """Write what was found for a table at which `begun` steps of the best plan lie. An action is worth the
        best plan that agrees with them and goes on with it."""
        steps = self.plans[self.best]
        found.action[row] = steps[begun]
        for number in np.argsort(self.value):  # NaN come last
            if np.isfinite(self.value[number]) and (self.plans[number, :begun] == steps[:begun]).all():
                action = self.plans[number, begun]
                found.value[row, action] = self.value[number]
                found.error[row, action] = self.error[number]
                found.worlds[row, action] = self.worlds[number]


Play = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int8], int, int], npt.NDArray[np.float64]]
"""`play(races, running, first, count)`: what the runners of some races gain in worlds `first`, ... [len, count, K]."""


class RaceAgent(Agent):
    """Actions raced over up to `worlds` worlds a decision, played on by the game's strongest fast bot; decisions that a
    game takes in one go (`GameType.plans`) as whole plans, each over up to PLANS_WORTH times as many.

    With a `player`, an agent that has a kernel, that one plays on, and stands for the best bot; where it plans by
    values of its own (an array `values` among its `arrays`), plans are drawn up by these.

    It departs from what the game's best bot would do, or from the planner's first choice, only where another leads by
    more than the game's caution (`GameType.caution`); where that bot plays exactly (`Bot.solves`) it is followed, and
    nothing is searched. With `milliseconds`, no round begins after that time for each decision, on each core: the
    choice then depends on the clock. Without, it depends on the view alone: not on the batch, nor on `num_threads` (0:
    every core).
    """

    def __init__(
        self,
        game: Game,
        worlds: int,
        milliseconds: float | None = None,
        *,
        num_threads: int = 0,
        infers: bool | None = None,
        player: Agent | None = None,
    ) -> None:
        """`infers`: whether worlds are weighed by what others have done, at tables that keep that
        (`Engine.keep_trail`; matches do where an agent asks); None: where the game says that it pays. Raises ValueError
        in a sentence, for a game that cannot recall what was done and for a player without a kernel too."""
        check_budget(worlds, milliseconds)
        if player is not None and player.kernel is None:
            raise ValueError(
                f"{name_of(player)} has no kernel, so no search can play on by it; bots and policies have."
            )
        self.worlds, self.milliseconds = worlds, milliseconds
        kind = "search" if player is None else f"search+{name_of(player).partition(':')[0]}"
        self.name = f"{kind}:{worlds}" + ("" if milliseconds is None else f":{milliseconds:g}")
        if player is not None:
            self.identity, self.note = player.identity, player.note
        self.caution = game.type.caution
        self._exact = BotAgent(game) if game.bots else None
        self._base = player or self._exact or RandomAgent()
        self.keeps_trail = game.type.infers if infers is None else infers
        if infers is not None and infers != game.type.infers:
            self.identity = {"infers": infers} | ({"player": player.identity} if player else {})
            self.note = (
                f"{self.note} Its worlds are {'' if infers else 'not '}weighed by what others have done.".strip()
            )
        self._table = (
            WeighedWorlds(game, num_threads, player=player)
            if self.keeps_trail
            else Worlds(game, num_threads, uniform=False, player=player)
        )
        plans = game.type.plans
        planned = plans is not None and not plans.refuses(game.options)
        values = PlannerAgent(game, getattr(player, "arrays", {}).get("values")).values if planned else None
        self._plans = PlanWorlds(game, values, num_threads, player=player) if values is not None else None
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
                decide(race.values[k], race.played[k], race.running[k], 0, self.caution, value[k], error[k]),
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
