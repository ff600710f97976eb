"""Rollouts in determinizations, for every search and any game.

A determinization is a state that agrees with what a seat knows, with all else redrawn (`View.determinize`): the result
cannot depend on what the seat could not know. In one determinization all actions meet the same chance and the same
random numbers of the bots, so that only the actions differ.

Plans (`GameType.plans`) are compared as a whole, and an action is a plan of one step. A plan is evaluated from where it
began, however much of it has been played since (`Plans.restart`), and determinizations are drawn by what the seat saw
there: so all steps of a plan get the same result without a memory of each other.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.compiled_play import (
    Batch,
    Deck,
    apply,
    deal_out,
    no_leaf_value,
    random_act,
    report,
    show,
    table_names,
)
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import CHANCE, Bound, kernel, passing, specialise, template, unbound
from backalley.envs.core.game.threads import Workers
from backalley.envs.core.rules import rng

from ..base.agent import Agent, View
from ..base.rule_based import played_by, seen_by, seen_record
from ..base.table import digest_of
from ..policies.planner import Values, planner, plans_of

MOST_DETERMINIZATIONS = 1_000_000
AT_ONCE = 4096
"""Determinizations held in memory at a time."""
_IMAGINED = 2
"""The fork of a determinization's key that decides what is imagined in it."""
_LEAST_DETERMINIZATIONS = 8
"""Threads are used only for at least this many determinizations."""
CANDIDATES = 24
"""The greatest number of plans that are compared. *Measured* by prototypes in Poker Duel: 24 gained more than 12 in the
same time."""


@kernel
def determinization_keys(
    table: npt.NDArray[np.uint64], first: int, redraw: npt.NDArray[np.uint64], play: npt.NDArray[np.uint64]
) -> None:
    """Write the keys [n, W] of the determinizations `first`, `first + 1`, ... of n tables: for drawing each, and for
    rollouts in it."""
    for k in range(redraw.shape[0]):
        for number in range(redraw.shape[1]):
            determinization = rng.fork(table[k], first + number)
            redraw[k, number], play[k, number] = rng.fork(determinization, 0), rng.fork(determinization, 1)


class Candidates(NamedTuple):
    """Plans of n tables, or actions as plans of one step."""

    begun: npt.NDArray[np.int64]
    """How many steps have been played [n]."""
    number: npt.NDArray[np.int64]
    """How many plans there are [n]; 0 where the decision is not part of one."""
    plans: npt.NDArray[np.int64]
    """Each as its actions, the best by the planner's own values first; -1 after the last [n, C, S]."""
    key: npt.NDArray[np.uint64]
    """The keys of the determinizations, from what the seat saw where plans begin and the number of decisions before
    [n]. Equal keys give equal results."""

    def some(self, which: npt.NDArray[np.int64]) -> Candidates:
        """Return those of some of the tables."""
        return Candidates(self.begun[which], self.number[which], self.plans[which], self.key[which])


BOT = BOT_VIEW = LEAF_VALUE = LEGAL = OBSERVE = RESTART = CANDIDATES_OF = unbound
"""The rollout player, its view of a table, and the kernels of the game and of its plans, in the templates below."""


@template
def only_choice(options: Any, batch: Batch) -> int:
    """Return the action of the seat to act on the one table of `batch` if it has exactly one; else show the table to
    the seat and return -1. Many cards in the tricks of a hand are forced, and no player has to be called for them."""
    state, mask, choices, only = batch.state[0], batch.mask[0], 0, -1
    mask[:] = 0
    LEGAL(options, state, mask)
    for action in range(mask.shape[0]):
        choices += mask[action]
    if choices != 1:
        batch.flat[0, :] = 0
        OBSERVE(options, state, int(state.seat), batch.observation[0])
        return -1
    while mask[only + 1] == 0:
        only += 1
    return only + 1


@template
def play_on(
    by: Any, options: Any, batch: Batch, deck: Deck, limit: int, key: np.uint64, seat: int, action: int,
    steps: npt.NDArray[np.int64],
) -> float:  # fmt: skip
    """Play `action`, the further `steps` of its plan, which end before one below 0, and a rollout on the one table of
    `batch`, up to the end or to where the game has a leaf value after the plan; return what `seat` gains. `by` is the
    first argument of the rollout player.

    One loop plays plan and rollout: the rules are not inlined where they are called in two places (*measured*: a
    decision of search:8 in Twenty-One took 1.05 times as long).

    Bots play endings, too. *Measured*: playing the last two or three tricks of Pitch and Killer Bridge double-dummy
    instead changed what a decision of search:96 gains by -2.1 ± 9.0 (14,788 decisions of Pitch) and -0.4 ± 1.6 (3,785
    of Killer Bridge) ten-thousandths of a return, and three tricks took twice to three times as long.
    """
    planned, gained, step = 0.0, 0.0, 0
    while True:
        goes_on = step < steps.shape[0] and steps[step] >= 0
        apply(options, batch, 0, action)
        if batch.state[0].seat == CHANCE:
            rest = math.nan if goes_on else LEAF_VALUE(options, batch.state[0], seat)
            if not math.isnan(rest):
                report(batch, limit, 0)
                return planned + (gained + float(batch.reward[0, seat] + rest))
            deal_out(options, batch, deck, 0)
        ended = report(batch, limit, 0)
        gained += float(batch.reward[0, seat])
        if ended:
            return planned + gained
        if goes_on:
            planned, gained, action, step = planned + gained, 0.0, int(steps[step]), step + 1
            continue
        step = steps.shape[0]
        action = only_choice(options, batch)
        if action < 0:
            action = BOT(by, BOT_VIEW(batch, 0), batch.mask[0], rng.fork(key, int(batch.decisions[0])))


@template
def propose_rows(
    planner: Any, options: Any, batch: Batch, determinizations: npt.NDArray[Any], decisions: npt.NDArray[np.int64],
    from_root: bool, found: Candidates,
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
                plan, seat = plans[which[k], number], int(batch.state[0].seat)
                value[k, number] = play_on(by, options, batch, deck, limit, keys[k], seat, plan[0], plan[1:])


@passing
def no_restart(options: Any, state: Any) -> int:
    """For games without plans: nothing is taken back."""
    return 0


def player_of(game: Game) -> Callable[..., int]:
    """Return the kernel of the rollout player: the game's strongest fast bot, or random play."""
    bot = game.rollout_bot
    return bot.act if bot else random_act


@functools.cache
def _imagining(game: Game) -> Callable[..., None]:
    assert game.type.imagine is not None
    return specialise([imagine_rows], {"IMAGINE": game.type.imagine})["imagine_rows"]


@functools.cache
def _batch_kernels(
    game: Game, kernel: Callable[..., int], seen: Callable[..., Any], planned: bool
) -> dict[str, Callable[..., None]]:
    """The templates above for a game and a player; the part that they share with the engine is compiled and cached on
    disk once."""
    names = {"BOT": kernel, "BOT_VIEW": seen, "LEAF_VALUE": game.type.leaf_value or no_leaf_value}
    names |= {"RESTART": no_restart, **table_names(game.type)}
    templates = [only_choice, play_on, play_plans]
    if planned:
        plans = plans_of(game)
        names |= {"RESTART": plans.restart, "CANDIDATES_OF": plans.candidates}
        templates.append(propose_rows)
    return specialise(templates, names)


IMAGINE = unbound
"""The game's kernel in `imagine_rows`."""


@template
def imagine_rows(
    options: Any, determinizations: npt.NDArray[Any], seats: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64]
) -> None:
    """Redo in each determinization what others have done unseen."""
    for k in range(determinizations.shape[0]):
        IMAGINE(options, determinizations[k], seats[k], rng.fork(keys[k], _IMAGINED))


class Determinizations:
    """Rollouts in determinizations of a view's tables, on `num_threads` threads (0: every core), by `player`, who has a
    kernel, or by the game's strongest fast bot. `uniform` determinizations are as likely as the cards make them; others
    include what the game imagines that players did unseen. With the `values` of their classes, plans can be played."""

    def __init__(
        self,
        game: Game,
        num_threads: int = 0,
        *,
        uniform: bool = True,
        player: Agent | None = None,
        values: Values | None = None,
    ) -> None:
        self.game, self.player, self.rollouts = game, player, 0
        """`rollouts`: games played out so far."""
        self._made: tuple[tuple[Any, ...], dict[str, Any]] = (
            (game, num_threads),
            {"uniform": uniform, "player": player, "values": values},
        )
        """The arguments to make it again in another process."""
        self._workers = Workers(num_threads, _LEAST_DETERMINIZATIONS)
        self._given = [BatchEnv(game, 1).for_kernels() for _ in range(self.num_threads)]
        self._by = [game.options if player is None else played_by(player, game) for _ in self._given]
        kernels = functools.partial(_batch_kernels, game, *self._plays(), values is not None)
        self._play_plans = Bound(lambda: kernels()["play_plans"])
        self._propose_rows = Bound(lambda: kernels()["propose_rows"])
        self._planner = None if values is None else planner(game, values)
        self._imagines = game.type.imagine is not None and not uniform
        self._redo = Bound(functools.partial(_imagining, game))

    @property
    def num_threads(self) -> int:
        """The greatest number of threads that it uses."""
        return self._workers.num_threads

    def propose(self, view: View, rows: npt.NDArray[np.int64], *, from_root: bool = True) -> Candidates:
        """Return the plans of the tables `rows` [n] of a view: from where they began, or those that agree with what has
        been played."""
        given, count = self._given[0], len(rows)
        room = np.full((count, CANDIDATES, plans_of(self.game).steps), -1)
        found = Candidates(np.zeros(count, np.int64), np.zeros(count, np.int64), room, np.zeros(count, np.uint64))
        # What a seat is shown is the same in every determinization that agrees with what it knows.
        determinizations = view.redrawn(rows, np.zeros(count, np.uint64))
        decisions = view.decisions[rows].astype(np.int64)
        self._propose_rows(self._planner, given.options, given.batch, determinizations, decisions, from_root, found)
        return found

    def play(
        self, view: View, rows: npt.NDArray[np.int64], mask: npt.NDArray[np.int8], first: int, count: int
    ) -> npt.NDArray[np.float64]:
        """Return what the seat to act gains by each action of `mask` [n, A] in the determinizations `first`, ...,
        `first + count - 1` of the tables `rows` [n] of a view [n, count, A]; 0 for the other actions. A determinization
        is the same for any choice of tables and actions, and for any number at once."""
        none, each = np.zeros(len(rows), np.int64), np.empty((*mask.shape, 1), np.int64)
        each[:] = np.arange(mask.shape[1])[:, None]
        found = Candidates(none, none, each, view.key[rows])
        return self.play_plans(view, rows, found, mask, first, count, from_root=False)

    def play_plans(
        self, view: View, rows: npt.NDArray[np.int64], found: Candidates, running: npt.NDArray[np.int8], first: int,
        count: int, *, from_root: bool = True,
    ) -> npt.NDArray[np.float64]:  # fmt: skip
        """Return what the seat to act gains by each plan that is `running` [n, C], in determinizations as in `play` [n,
        count, C]. Determinizations follow from the plans' keys and their numbers."""
        redraw, play = (np.empty((len(rows), count), np.uint64) for _ in range(2))
        determinization_keys(found.key, first, redraw, play)
        value, decisions = np.zeros((len(rows) * count, running.shape[1])), view.decisions[rows].astype(np.int64)

        def work(thread: int, which: npt.NDArray[np.int64], redraw: Any, play: Any, value: Any) -> None:
            given, determinizations = self._given[thread], view.redrawn(rows[which], redraw)
            if self._imagines:
                self._redo(self.game.options, determinizations, view.seat[rows[which]], redraw)
            self._play_plans(
                self._by[thread], given.options, given.batch, given.deck, given.limit, determinizations,
                from_root, found.plans, running, which, decisions, play, value,
            )  # fmt: skip

        self.rollouts += count * int(running.sum())
        which = np.repeat(np.arange(len(rows)), count)
        each = which, redraw.reshape(-1), play.reshape(-1), value
        for low in range(0, len(which), AT_ONCE):
            self._workers.spread(work, *(array[low : low + AT_ONCE] for array in each))
        return value.reshape(len(rows), count, -1)

    def _plays(self) -> tuple[Callable[..., int], Callable[..., Any]]:
        """The kernel of the rollout player, and its view."""
        kernel = self.player.rollout_kernel() if self.player else None
        if self.player is None or kernel is None:
            return player_of(self.game), seen_record
        return kernel, seen_by(self.player)

    def __getstate__(self) -> dict[str, Any]:
        # Without what belongs to this process: threads, machine code and buffers.
        return {"made": self._made, "played": self.rollouts}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        arguments, named = kept["made"]
        self.__init__(*arguments, **named)  # type: ignore[misc]
        self.rollouts = kept["played"]

    def close(self) -> None:
        """End the worker threads."""
        self._workers.close()


def check_budget(determinizations: int, milliseconds: float | None) -> None:
    """Raise ValueError for a search without determinizations or time."""
    if not 1 <= determinizations <= MOST_DETERMINIZATIONS:
        raise InvalidValue(
            f"determinizations is {determinizations}; a search takes 1 to {MOST_DETERMINIZATIONS:,} for each decision."
        )
    if milliseconds is not None and not 0 < milliseconds < math.inf:
        raise InvalidValue(f"milliseconds is {milliseconds:g}; a decision takes a time greater than 0.")
