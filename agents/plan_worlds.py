"""Whole plans (`GameType.plans`) played out in redrawn worlds: what is decided in one go is compared as a whole.

What a plan is worth is asked where the plan began, however much of it has been laid down since (`Plans.restart`), and
worlds are drawn by what the seat saw there. All steps of a plan therefore find the same, with no memory of each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.drivers import Batch, Deck, apply, deal_out, report, show
from backalley.envs.core.engine import table_names
from backalley.envs.core.kernel import bind, kernel
from backalley.envs.core.parts import CHANCE
from backalley.envs.core.specialise import specialise, template, unbound

from .base import Agent, View
from .planner import Values, planner, plans_of
from .worlds import Worlds, no_leaf_value, only_choice, play_on

CANDIDATES = 24
"""Plans that are compared. *Measured* by prototypes in Poker Duel: 24 gained more than 12 in the same time."""


class Proposals(NamedTuple):
    """The plans that n tables may go on with."""

    begun: npt.NDArray[np.int64]
    """How many steps have been laid down [n]."""
    number: npt.NDArray[np.int64]
    """How many plans there are [n]; 0 where the decision is not part of one."""
    plans: npt.NDArray[np.int64]
    """Each as its actions, the best by the planner's own values first; -1 after the last [n, C, S]."""
    key: npt.NDArray[np.uint64]
    """By which worlds are drawn: it follows from what the seat saw where plans begin, and from how many decisions had
    been made there [n]. Where it is the same, so is all that is found."""

    def some(self, which: npt.NDArray[np.int64]) -> Proposals:
        """Those of some of the tables."""
        return Proposals(self.begun[which], self.number[which], self.plans[which], self.key[which])


RESTART = CANDIDATES_OF = BOT = BOT_VIEW = LEAF_VALUE = unbound
"""The game's kernels of `Plans`, and those of `worlds.play_on`, in the templates below."""


@kernel
def digest_of(shown: npt.NDArray[Any]) -> np.uint64:
    """A number that follows from an observation [O], byte by byte."""
    found, written = np.uint64(0), shown.view(np.uint8)
    for place in range(written.shape[0]):
        if written[place] != 0:
            found = rng.fork(rng.fork(found, place), int(written[place]))
    return found


@template
def propose_rows(
    planner: Any, options: Any, batch: Batch, worlds: npt.NDArray[Any], decisions: npt.NDArray[np.int64],
    from_root: bool, found: Proposals,
) -> None:  # fmt: skip
    """What plans there are at states that agree with what their seats to act know: where the plan began, or that go on
    from what has been laid down."""
    for k in range(worlds.shape[0]):
        batch.state[0] = worlds[k]
        found.begun[k] = RESTART(options, batch.state[0])
        made = decisions[k] - found.begun[k]
        if not from_root:
            batch.state[0] = worlds[k]
            made = decisions[k]
        show(options, batch, 0)
        # The bots' dice, and where an episode is cut off, follow from the number of decisions made.
        found.key[k] = rng.fork(digest_of(batch.flat[0]), made)
        found.number[k] = CANDIDATES_OF(planner, batch.observation[0], batch.mask[0], found.plans[k])


@template
def play_plans(
    by: Any, options: Any, batch: Batch, deck: Deck, limit: int, worlds: npt.NDArray[Any], from_root: bool,
    plans: npt.NDArray[np.int64], running: npt.NDArray[np.int8], which: npt.NDArray[np.int64],
    decisions: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64], value: npt.NDArray[np.float64],
) -> None:  # fmt: skip
    """`value[k, c]` becomes what the seat to act gains in `worlds[k]` by each plan c of its table that is `running`."""
    for k in range(value.shape[0]):
        for number in range(value.shape[1]):
            if running[which[k], number]:
                batch.state[0] = worlds[k]
                batch.decisions[0], batch.stream[0] = decisions[which[k]], keys[k]
                if from_root:
                    batch.decisions[0] -= RESTART(options, batch.state[0])
                value[k, number] = play_plan(by, options, batch, deck, limit, plans[which[k], number], keys[k])


@template
def play_plan(
    by: Any, options: Any, batch: Batch, deck: Deck, limit: int, steps: npt.NDArray[np.int64], key: np.uint64
) -> float:
    """Play a plan, and what follows, on the one table of `batch`; what the seat to act gains."""
    gained, seat, step = 0.0, int(batch.state[0].seat), 0
    while step + 1 < steps.shape[0] and steps[step + 1] >= 0:
        apply(options, batch, 0, steps[step])
        if batch.state[0].seat == CHANCE:
            deal_out(options, batch, deck, 0)
        if report(batch, limit, 0):
            return gained + float(batch.reward[0, seat])
        gained += float(batch.reward[0, seat])
        step += 1
    rest: float = play_on(by, options, batch, deck, limit, key, seat, int(steps[step]))
    return gained + rest


@functools.cache
def _drivers(game: Game, kernel: Callable[..., int], seen: Callable[..., Any]) -> dict[str, Callable[..., None]]:
    plans = plans_of(game)
    names = {
        "RESTART": plans.restart,
        "CANDIDATES_OF": plans.candidates,
        "BOT": kernel,
        "BOT_VIEW": seen,
        "LEAF_VALUE": game.type.leaf_value or no_leaf_value,
    }
    return specialise([only_choice, play_on, play_plan, play_plans, propose_rows], {**table_names(game.type), **names})


class PlanWorlds(Worlds):
    """Plays whole plans out; `values` are what the classes of their parts are taken for."""

    def __init__(
        self,
        game: Game,
        values: Values,
        num_threads: int = 0,
        *,
        uniform: bool = False,
        player: Agent | None = None,
    ) -> None:
        super().__init__(game, num_threads, uniform=uniform, player=player)
        self._made = (game, values, num_threads), {"uniform": uniform, "player": player}
        self._planner = planner(game, values)
        self._entries: dict[str, Callable[..., None]] = {}

    def propose(self, view: View, rows: npt.NDArray[np.int64], *, from_root: bool = True) -> Proposals:
        """The plans of the tables `rows` [n] of a view: from where they began, or such as agree with what has been laid
        down."""
        plans, engine = plans_of(self.game), self._engines[0]
        found = Proposals(
            np.zeros(len(rows), np.int64),
            np.zeros(len(rows), np.int64),
            np.full((len(rows), CANDIDATES, plans.steps), -1),
            np.zeros(len(rows), np.uint64),
        )
        # What a seat is shown is the same in every world that agrees with what it knows.
        worlds = view.determinize(rows, np.zeros(len(rows), np.uint64))
        decisions = view.decisions[rows].astype(np.int64)
        self._call("propose_rows", self._planner, self.game.options, engine.batch, worlds, decisions, from_root, found)
        return found

    def play_plans(
        self, view: View, rows: npt.NDArray[np.int64], found: Proposals, running: npt.NDArray[np.int8], first: int,
        count: int, *, from_root: bool = True,
    ) -> npt.NDArray[np.float64]:  # fmt: skip
        """What the seat to act gains by each plan that is `running` [n, C], in worlds as `play` has them
        [n, count, C]."""
        decisions = view.decisions[rows].astype(np.int64)

        def run(thread: int, worlds: Any, which: Any, keys: Any, value: Any) -> None:
            engine, deck = self._engines[thread], self._decks[thread]
            self._call(
                "play_plans", self._by[thread], self.game.options, engine.batch, deck, engine.limit, worlds, from_root,
                found.plans, running, which, decisions, keys, value,
            )  # fmt: skip

        self.playouts += count * int(running.sum())
        return self.spread(view, rows, found.key, first, count, running.shape[1], run)

    def _call(self, name: str, *args: Any) -> None:
        if name not in self._entries:
            self._entries[name] = bind(_drivers(self.game, *self._plays())[name], *args)
        self._entries[name](*args)
