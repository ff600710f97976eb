"""Rollouts in determinizations, for every search and any game.

A determinization is a state that agrees with what a seat knows, with all else redrawn (`View.determinize`): the result
cannot depend on what the seat could not know. In one determinization all actions meet the same chance and the same
random numbers of the bots, so that only the actions differ.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

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
    table_names,
)
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import CHANCE, Bound, kernel, specialise, template, unbound
from backalley.envs.core.game.threads import Workers
from backalley.envs.core.rules import rng

from ..base.agent import Agent, View
from ..base.rule_based import played_by, seen_by, seen_record

MOST_DETERMINIZATIONS = 1_000_000
AT_ONCE = 4096
"""Determinizations held in memory at a time."""
_IMAGINED = 2
"""The fork of a determinization's key that decides what is imagined in it."""
_LEAST_DETERMINIZATIONS = 8
"""Threads are used only for at least this many determinizations."""


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


BOT = BOT_VIEW = LEAF_VALUE = LEGAL = OBSERVE = unbound
"""The rollout player, its view of a table, and the game's kernels, in the templates below."""


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
    by: Any, options: Any, batch: Batch, deck: Deck, limit: int, key: np.uint64, seat: int, action: int
) -> float:
    """Play `action` and a rollout on the one table of `batch`, up to the end or to where the game has a leaf value;
    return what `seat` gains. `by` is the first argument of the rollout player.

    Bots play endings, too. *Measured*: playing the last two or three tricks of Pitch and Killer Bridge double-dummy
    instead changed what a decision of search:96 gains by -2.1 ± 9.0 (14,788 decisions of Pitch) and -0.4 ± 1.6 (3,785
    of Killer Bridge) ten-thousandths of a return, and three tricks took twice to three times as long.
    """
    gained: float = 0.0
    while True:
        apply(options, batch, 0, action)
        if batch.state[0].seat == CHANCE:
            rest = LEAF_VALUE(options, batch.state[0], seat)
            if not math.isnan(rest):
                report(batch, limit, 0)
                return gained + float(batch.reward[0, seat] + rest)
            deal_out(options, batch, deck, 0)
        ended = report(batch, limit, 0)
        gained += float(batch.reward[0, seat])
        if ended:
            return gained
        action = only_choice(options, batch)
        if action < 0:
            action = BOT(by, BOT_VIEW(batch, 0), batch.mask[0], rng.fork(key, int(batch.decisions[0])))


@template
def play_determinizations(
    by: Any,
    options: Any,
    batch: Batch,
    deck: Deck,
    limit: int,
    determinizations: npt.NDArray[Any],
    seats: npt.NDArray[np.int64],
    masks: npt.NDArray[np.int8],
    decisions: npt.NDArray[np.int32],
    keys: npt.NDArray[np.uint64],
    value: npt.NDArray[np.float64],
) -> None:
    """Write to `value[k, a]` what `seats[k]` gains in `determinizations[k]` by each action a of `masks[k]`, with
    rollouts by `by`."""
    for k in range(value.shape[0]):
        for action in range(value.shape[1]):
            if masks[k, action]:
                batch.state[0] = determinizations[k]
                batch.decisions[0] = decisions[k]
                batch.stream[0] = keys[k]
                value[k, action] = play_on(by, options, batch, deck, limit, keys[k], seats[k], action)


def player_of(game: Game) -> Callable[..., int]:
    """Return the kernel of the rollout player: the game's strongest fast bot, or random play."""
    bot = game.rollout_bot
    return bot.act if bot else random_act


@functools.cache
def _imagining(game: Game) -> Callable[..., None]:
    assert game.type.imagine is not None
    return specialise([imagine_rows], {"IMAGINE": game.type.imagine})["imagine_rows"]


@functools.cache
def _batch_kernel(game: Game, kernel: Callable[..., int], seen: Callable[..., Any]) -> Callable[..., None]:
    """`play_determinizations` for a game and a player; the part it shares with the engine is compiled and cached on
    disk once."""
    player = {"BOT": kernel, "BOT_VIEW": seen, "LEAF_VALUE": game.type.leaf_value or no_leaf_value}
    names = {**table_names(game.type), **player}
    return specialise([only_choice, play_on, play_determinizations], names)["play_determinizations"]


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
    include what the game imagines that players did unseen."""

    def __init__(self, game: Game, num_threads: int = 0, *, uniform: bool = True, player: Agent | None = None) -> None:
        self.game, self.rollouts = game, 0
        """`rollouts`: games played out so far."""
        self.player = player
        self._made: tuple[tuple[Any, ...], dict[str, Any]] = (game, num_threads), {"uniform": uniform, "player": player}
        """The arguments to make it again in another process."""
        self._workers = Workers(num_threads, _LEAST_DETERMINIZATIONS)
        self._given = [BatchEnv(game, 1).for_kernels() for _ in range(self.num_threads)]
        self._by = [game.options if player is None else played_by(player, game) for _ in self._given]
        self._run = Bound(functools.partial(_batch_kernel, game, *self._plays()))
        self._imagines = game.type.imagine is not None and not uniform
        self._redo = Bound(functools.partial(_imagining, game))

    @property
    def num_threads(self) -> int:
        """The greatest number of threads that it uses."""
        return self._workers.num_threads

    def play(
        self, view: View, rows: npt.NDArray[np.int64], mask: npt.NDArray[np.int8], first: int, count: int
    ) -> npt.NDArray[np.float64]:
        """Return what the seat to act gains by each action of `mask` [n, A] in the determinizations `first`, ...,
        `first + count - 1` of the tables `rows` [n] of a view [n, count, A]; 0 for the other actions. A determinization
        is the same for any choice of tables and actions, and for any number at once."""

        def run(thread: int, determinizations: Any, which: Any, keys: Any, value: Any) -> None:
            given, tables = self._given[thread], rows[which]
            shown = view.seat[tables], mask[which], view.decisions[tables]
            self._run(
                self._by[thread],
                given.options,
                given.batch,
                given.deck,
                given.limit,
                determinizations,
                *shown,
                keys,
                value,
            )

        self.rollouts += count * int(mask.sum())
        return self.spread(view, rows, view.key[rows], first, count, mask.shape[1], run)

    def spread(
        self,
        view: View,
        rows: npt.NDArray[np.int64],
        keys: npt.NDArray[np.uint64],
        first: int,
        count: int,
        width: int,
        run: Callable[..., None],
    ) -> npt.NDArray[np.float64]:
        """Run `run(thread, determinizations, which, keys, value)` over determinizations of tables, on every thread, and
        return the values: `which` of `rows` each belongs to, a key of its own for each, and `value` [determinizations,
        width], zeros, to write to. Determinizations follow from `keys` [n] and their numbers [n, count, width]."""
        redraw, play = self._keys(view, rows, keys, first, count)
        return self._spread(view, rows, redraw, play, width, run)

    def _keys(
        self, view: View, rows: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64], first: int, count: int
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """The keys that redraw determinizations of tables, and those of their rollouts [n, count]."""
        redraw, play = (np.empty((len(rows), count), np.uint64) for _ in range(2))
        determinization_keys(keys, first, redraw, play)
        return redraw, play

    def _spread(
        self,
        view: View,
        rows: npt.NDArray[np.int64],
        redraw: npt.NDArray[np.uint64],
        play: npt.NDArray[np.uint64],
        width: int,
        run: Callable[..., None],
    ) -> npt.NDArray[np.float64]:
        count = redraw.shape[1]
        value = np.zeros((len(rows) * count, width))

        def work(thread: int, which: npt.NDArray[np.int64], redraw: Any, play: Any, value: Any) -> None:
            determinizations = view.redrawn(rows[which], redraw)
            if self._imagines:
                self._redo(self.game.options, determinizations, view.seat[rows[which]], redraw)
            run(thread, determinizations, which, play, value)

        which = np.repeat(np.arange(len(rows)), count)
        each = which, redraw.reshape(-1), play.reshape(-1), value
        for low in range(0, len(which), AT_ONCE):
            self._workers.spread(work, *(array[low : low + AT_ONCE] for array in each))
        return value.reshape(len(rows), count, -1)

    def _plays(self) -> tuple[Callable[..., int], Callable[..., Any]]:
        """The kernel of the rollout player, and its view."""
        if self.player is None or self.player.kernel is None:
            return player_of(self.game), seen_record
        return self.player.kernel, seen_by(self.player)

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
