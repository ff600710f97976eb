"""Rollouts of whole plans (`GameType.plans`) in determinizations: macro-actions are compared as a whole.

A plan is evaluated from where it began, however much of it has been played since (`Plans.restart`), and
determinizations are drawn by what the seat saw there. So all steps of a plan get the same result without a memory of
each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.api.compiled_play import Batch, Deck, apply, deal_out, no_leaf_value, report, show, table_names
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import CHANCE, Bound, kernel, specialise, template, unbound
from backalley.envs.core.rules import rng

from ..base.agent import Agent, View
from ..policies.planner import Values, planner, plans_of
from .determinizations import Determinizations, only_choice, play_on

CANDIDATES = 24
"""The greatest number of plans that are compared. *Measured* by prototypes in Poker Duel: 24 gained more than 12 in the
same time."""


class Proposals(NamedTuple):
    """Candidate plans of n tables."""

    begun: npt.NDArray[np.int64]
    """How many steps have been played [n]."""
    number: npt.NDArray[np.int64]
    """How many plans there are [n]; 0 where the decision is not part of one."""
    plans: npt.NDArray[np.int64]
    """Each as its actions, the best by the planner's own values first; -1 after the last [n, C, S]."""
    key: npt.NDArray[np.uint64]
    """The keys of the determinizations, from what the seat saw where plans begin and the number of decisions before
    [n]. Equal keys give equal results."""

    def some(self, which: npt.NDArray[np.int64]) -> Proposals:
        """Return the proposals of some of the tables."""
        return Proposals(self.begun[which], self.number[which], self.plans[which], self.key[which])


RESTART = CANDIDATES_OF = BOT = BOT_VIEW = LEAF_VALUE = unbound
"""The game's kernels of `Plans`, and those of `determinizations.play_on`, in the templates below."""


@kernel
def digest_of(shown: npt.NDArray[Any]) -> np.uint64:
    """Return a number that depends on an observation [O], byte by byte."""
    found, written = np.uint64(0), shown.view(np.uint8)
    for place in range(written.shape[0]):
        if written[place] != 0:
            found = rng.fork(rng.fork(found, place), int(written[place]))
    return found


@template
def propose_rows(
    planner: Any, options: Any, batch: Batch, determinizations: npt.NDArray[Any], decisions: npt.NDArray[np.int64],
    from_root: bool, found: Proposals,
) -> None:  # fmt: skip
    """Write the candidate plans at states that agree with what their seats to act know: those from where the plan
    began, or those that agree with what has been played."""
    for k in range(determinizations.shape[0]):
        batch.state[0] = determinizations[k]
        found.begun[k] = RESTART(options, batch.state[0])
        made = decisions[k] - found.begun[k]
        if not from_root:
            batch.state[0] = determinizations[k]
            made = decisions[k]
        show(options, batch, 0)
        # The bots' random numbers, and where an episode is cut off, follow from the number of decisions made.
        found.key[k] = rng.fork(digest_of(batch.flat[0]), made)
        found.number[k] = CANDIDATES_OF(planner, batch.observation[0], batch.mask[0], found.plans[k])


@template
def play_plans(
    by: Any, options: Any, batch: Batch, deck: Deck, limit: int, determinizations: npt.NDArray[Any], from_root: bool,
    plans: npt.NDArray[np.int64], running: npt.NDArray[np.int8], which: npt.NDArray[np.int64],
    decisions: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64], value: npt.NDArray[np.float64],
) -> None:  # fmt: skip
    """Write to `value[k, c]` what the seat to act gains in `determinizations[k]` by each plan c of its table that is
    `running`."""
    for k in range(value.shape[0]):
        for number in range(value.shape[1]):
            if running[which[k], number]:
                batch.state[0] = determinizations[k]
                batch.decisions[0], batch.stream[0] = decisions[which[k]], keys[k]
                if from_root:
                    batch.decisions[0] -= RESTART(options, batch.state[0])
                value[k, number] = play_plan(by, options, batch, deck, limit, plans[which[k], number], keys[k])


@template
def play_plan(
    by: Any, options: Any, batch: Batch, deck: Deck, limit: int, steps: npt.NDArray[np.int64], key: np.uint64
) -> float:
    """Play a plan and its rollout on the one table of `batch`; return what the seat to act gains."""
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
def _batch_kernels(game: Game, kernel: Callable[..., int], seen: Callable[..., Any]) -> dict[str, Callable[..., None]]:
    plans = plans_of(game)
    names = {
        "RESTART": plans.restart,
        "CANDIDATES_OF": plans.candidates,
        "BOT": kernel,
        "BOT_VIEW": seen,
        "LEAF_VALUE": game.type.leaf_value or no_leaf_value,
    }
    return specialise([only_choice, play_on, play_plan, play_plans, propose_rows], {**table_names(game.type), **names})


class PlanDeterminizations(Determinizations):
    """Rollouts of whole plans; `values` are the values of their classes."""

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
        plays = self._plays()
        self._propose_rows = Bound(lambda: _batch_kernels(game, *plays)["propose_rows"])
        self._play_plans = Bound(lambda: _batch_kernels(game, *plays)["play_plans"])

    def propose(self, view: View, rows: npt.NDArray[np.int64], *, from_root: bool = True) -> Proposals:
        """Return the plans of the tables `rows` [n] of a view: from where they began, or those that agree with what has
        been played."""
        plans, given = plans_of(self.game), self._given[0]
        found = Proposals(
            np.zeros(len(rows), np.int64),
            np.zeros(len(rows), np.int64),
            np.full((len(rows), CANDIDATES, plans.steps), -1),
            np.zeros(len(rows), np.uint64),
        )
        # What a seat is shown is the same in every determinization that agrees with what it knows.
        determinizations = view.redrawn(rows, np.zeros(len(rows), np.uint64))
        decisions = view.decisions[rows].astype(np.int64)
        self._propose_rows(self._planner, given.options, given.batch, determinizations, decisions, from_root, found)
        return found

    def play_plans(
        self, view: View, rows: npt.NDArray[np.int64], found: Proposals, running: npt.NDArray[np.int8], first: int,
        count: int, *, from_root: bool = True,
    ) -> npt.NDArray[np.float64]:  # fmt: skip
        """Return what the seat to act gains by each plan that is `running` [n, C], in determinizations as in `play` [n,
        count, C]."""
        decisions = view.decisions[rows].astype(np.int64)

        def run(thread: int, determinizations: Any, which: Any, keys: Any, value: Any) -> None:
            given = self._given[thread]
            self._play_plans(
                self._by[thread], given.options, given.batch, given.deck, given.limit, determinizations,
                from_root, found.plans, running, which, decisions, keys, value,
            )  # fmt: skip

        self.rollouts += count * int(running.sum())
        return self.spread(view, rows, found.key, first, count, running.shape[1], run)
