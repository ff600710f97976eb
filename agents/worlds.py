"""Playing actions out in redrawn worlds: what every search does, for any game.

A world is a state that agrees with what a seat knows, all else dealt anew (`View.determinize`): nothing that the seat
could not know can reach what is found. In one world all actions meet the same chance and the same bots' dice, so that
their differences are the actions' own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.drivers import Batch, Deck, apply, deal_out, report
from backalley.envs.core.engine import Engine, table_names
from backalley.envs.core.kernel import bind, kernel, passing
from backalley.envs.core.parts import CHANCE
from backalley.envs.core.specialise import specialise, template, unbound
from backalley.envs.core.workers import Workers

from .base import Agent, View
from .rule_based import played_by, random_act, seen_by, seen_record

MOST_WORLDS = 1_000_000
AT_ONCE = 4096
"""Worlds held in memory at a time."""
_IMAGINED = 2
"""Which fork of the key that a world is redrawn by decides what is imagined in it."""
_LEAST_WORLDS = 8
"""Fewer worlds than this are not worth waking a thread for."""


@kernel
def world_keys(
    table: npt.NDArray[np.uint64], first: int, redraw: npt.NDArray[np.uint64], play: npt.NDArray[np.uint64]
) -> None:
    """Keys [n, W] of the worlds `first`, `first + 1`, ... of n tables: for drawing each, and for playing on in it."""
    for k in range(redraw.shape[0]):
        for number in range(redraw.shape[1]):
            world = rng.fork(table[k], first + number)
            redraw[k, number], play[k, number] = rng.fork(world, 0), rng.fork(world, 1)


@passing
def no_leaf_value(options: Any, state: Any, seat: int) -> float:
    """For games whose episodes a playout plays to the end."""
    return math.nan


BOT = BOT_VIEW = LEAF_VALUE = LEGAL = OBSERVE = unbound
"""The player that plays on, what it is shown of a table, and the game's kernels, in the templates below."""


@template
def only_choice(options: Any, batch: Batch) -> int:
    """The action of the seat to act on the one table of `batch` if it has just one; else -1, and the seat is shown the
    table. In the tricks of a hand many cards are such, and nobody has to be asked about them."""
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
    """Play `action` and what follows on the one table of `batch`, up to the end or to where the game has a leaf value;
    what `seat` gains. `by` is what the player that plays on takes first.

    Bots play endings, too. *Measured*: the last two or three tricks of Pitch and Killer Bridge played double-dummy
    instead altered what a decision of search:96 gains by -2.1 ± 9.0 (14,788 decisions of Pitch) and -0.4 ± 1.6 (3,785
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
def play_worlds(
    by: Any,
    options: Any,
    batch: Batch,
    deck: Deck,
    limit: int,
    worlds: npt.NDArray[Any],
    seats: npt.NDArray[np.int64],
    masks: npt.NDArray[np.int8],
    decisions: npt.NDArray[np.int32],
    keys: npt.NDArray[np.uint64],
    value: npt.NDArray[np.float64],
) -> None:
    """`value[k, a]` becomes what `seats[k]` gains in `worlds[k]` by each action a of `masks[k]`, played on by `by`."""
    for k in range(value.shape[0]):
        for action in range(value.shape[1]):
            if masks[k, action]:
                batch.state[0] = worlds[k]
                batch.decisions[0] = decisions[k]
                batch.stream[0] = keys[k]
                value[k, action] = play_on(by, options, batch, deck, limit, keys[k], seats[k], action)


def player_of(game: Game) -> Callable[..., int]:
    """The kernel that plays on: the game's strongest fast bot, or random play."""
    bot = game.playout_bot
    return bot.act if bot else random_act


@functools.cache
def _imagining(game: Game) -> Callable[..., None]:
    assert game.type.imagine is not None
    return specialise([imagine_rows], {"IMAGINE": game.type.imagine})["imagine_rows"]


@functools.cache
def _driver(game: Game, kernel: Callable[..., int], seen: Callable[..., Any]) -> Callable[..., None]:
    """`play_worlds` for a game and a player; what it shares with the engine is compiled, and kept on disk, once."""
    player = {"BOT": kernel, "BOT_VIEW": seen, "LEAF_VALUE": game.type.leaf_value or no_leaf_value}
    names = {**table_names(game.type), **player}
    return specialise([only_choice, play_on, play_worlds], names)["play_worlds"]


IMAGINE = unbound
"""The game's kernel in `imagine_rows`."""


@template
def imagine_rows(
    options: Any, worlds: npt.NDArray[Any], seats: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64]
) -> None:
    """Redo in each world what others have done out of sight."""
    for k in range(worlds.shape[0]):
        IMAGINE(options, worlds[k], seats[k], rng.fork(keys[k], _IMAGINED))


class Worlds:
    """Plays actions out in worlds of a view's tables, on `num_threads` threads (0: every core), by `player`, who has a
    kernel, or by the game's strongest fast bot. `uniform` worlds are as likely as the cards make them; others are as
    the game imagines what players did out of sight."""

    def __init__(self, game: Game, num_threads: int = 0, *, uniform: bool = True, player: Agent | None = None) -> None:
        self.game, self.playouts = game, 0
        """`playouts`: games played out so far."""
        self.player = player
        self._made: tuple[tuple[Any, ...], dict[str, Any]] = (game, num_threads), {"uniform": uniform, "player": player}
        """What makes it anew in another process."""
        self._workers = Workers(num_threads, _LEAST_WORLDS)
        self._engines = [Engine(game, 1) for _ in range(self.num_threads)]
        self._decks = [engine.fresh_deck() for engine in self._engines]
        self._by = [game.options if player is None else played_by(player, game) for _ in self._engines]
        self._entry: Callable[..., None] | None = None
        self._imagines = game.type.imagine is not None and not uniform
        self._imagine: Callable[..., None] | None = None

    @property
    def num_threads(self) -> int:
        """The most threads that it wakes."""
        return self._workers.num_threads

    def play(
        self, view: View, rows: npt.NDArray[np.int64], mask: npt.NDArray[np.int8], first: int, count: int
    ) -> npt.NDArray[np.float64]:
        """What the seat to act gains by each action of `mask` [n, A] in the worlds `first`, ..., `first + count - 1` of
        the tables `rows` [n] of a view [n, count, A]; 0 for the other actions. A world is the same whichever tables and
        actions are asked for, and however many at once."""

        def run(thread: int, worlds: Any, which: Any, keys: Any, value: Any) -> None:
            engine, deck, tables = self._engines[thread], self._decks[thread], rows[which]
            shown = view.seat[tables], mask[which], view.decisions[tables]
            self._run(
                self._by[thread], self.game.options, engine.batch, deck, engine.limit, worlds, *shown, keys, value
            )

        self.playouts += count * int(mask.sum())
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
        """What `run(thread, worlds, which, keys, value)` finds in worlds of tables, on every thread: it is given
        worlds, which of `rows` each belongs to, a key of its own for each, and `value` [worlds, width], zeros, to write
        to. Worlds follow from `keys` [n] and their numbers [n, count, width]."""
        redraw, play = self._keys(view, rows, keys, first, count)
        return self._spread(view, rows, redraw, play, width, run)

    def _keys(
        self, view: View, rows: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64], first: int, count: int
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """By which worlds of tables are redrawn, and played on in [n, count]."""
        redraw, play = (np.empty((len(rows), count), np.uint64) for _ in range(2))
        world_keys(keys, first, redraw, play)
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
            worlds = view.determinize(rows[which], redraw)
            if self._imagines:
                self._redo(self.game.options, worlds, view.seat[rows[which]], redraw)
            run(thread, worlds, which, play, value)

        which = np.repeat(np.arange(len(rows)), count)
        each = which, redraw.reshape(-1), play.reshape(-1), value
        for low in range(0, len(which), AT_ONCE):
            self._workers.spread(work, *(array[low : low + AT_ONCE] for array in each))
        return value.reshape(len(rows), count, -1)

    def _run(self, *args: Any) -> None:
        if self._entry is None:
            self._entry = bind(_driver(self.game, *self._plays()), *args)
        self._entry(*args)

    def _plays(self) -> tuple[Callable[..., int], Callable[..., Any]]:
        """The kernel that plays on, and what it is shown."""
        if self.player is None or self.player.kernel is None:
            return player_of(self.game), seen_record
        return self.player.kernel, seen_by(self.player)

    def _redo(self, *args: Any) -> None:
        if self._imagine is None:
            self._imagine = bind(_imagining(self.game), *args)
        self._imagine(*args)

    def __getstate__(self) -> dict[str, Any]:
        # Without what belongs to this process: threads, machine code and the room it works in.
        return {"made": self._made, "played": self.playouts}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        arguments, named = kept["made"]
        self.__init__(*arguments, **named)  # type: ignore[misc]
        self.playouts = kept["played"]

    def close(self) -> None:
        """End the worker threads."""
        self._workers.close()


def check_budget(worlds: int, milliseconds: float | None) -> None:
    """Raise ValueError for a search without worlds or time."""
    if not 1 <= worlds <= MOST_WORLDS:
        raise ValueError(f"worlds is {worlds}; a search takes 1 to {MOST_WORLDS:,} worlds for each decision.")
    if milliseconds is not None and not 0 < milliseconds < math.inf:
        raise ValueError(f"milliseconds is {milliseconds:g}; a decision takes a time greater than 0.")


def search_budget(spec: str, example: str, default: int | None = None) -> tuple[int, float | None]:
    """The worlds and the milliseconds that `KIND:WORLDS:MILLISECONDS` names, such as `mc:20` or `mc:1000:5`; `default`
    worlds where none are named. Raises ValueError in a sentence."""
    kind, *numbers = spec.split(":")
    try:
        if not numbers and default is not None:
            return default, None
        worlds, *rest = numbers
        limit = [float(text) for text in rest]
        if len(limit) > 1:
            raise ValueError
        return int(worlds), limit[0] if limit else None
    except ValueError:
        form = f"{kind}:WORLDS" if default is None else f"{kind}, {kind}:WORLDS"
        raise ValueError(
            f"The agent {spec!r} cannot be read; a search is {form} or {kind}:WORLDS:MILLISECONDS, as in {example} or "
            f"{kind}:1000:5."
        ) from None
