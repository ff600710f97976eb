"""`mc:WORLDS[:MILLISECONDS]`: flat Monte Carlo over determinizations, for any game.

For every legal action of every table, the same worlds are drawn (`View.determinize`: all that the seat cannot see,
dealt anew in agreement with what it knows), the action is played in each, and the game's bot plays on for everybody. In
one world all actions meet the same chance and the same bots' dice, so that their differences are the actions' own. A
state is had from `View.determinize` alone: nothing that the seat could not know can reach the choice.

Ginsberg, "GIB: imperfect information in a computationally challenging game" (JAIR 2001); Tesauro and Galperin, "On-line
policy improvement using Monte-Carlo search" (NIPS 1996).
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.drivers import Batch, Deck, apply, deal_out, report, show
from backalley.envs.core.engine import Engine, table_names
from backalley.envs.core.kernel import bind, kernel, passing
from backalley.envs.core.parts import CHANCE
from backalley.envs.core.specialise import specialise, template, unbound
from backalley.envs.core.workers import Workers, cores

from .base import Agent, View
from .rule_based import BotAgent, RandomAgent, random_act, seen_record

MOST_WORLDS = 1_000_000
CAUTION = 1.0
"""Standard errors by which an action must lead the bot's own to be preferred. *Measured*, mean return of mc:20 against
the bot it plays on with, for 0, 1, 2 and 3: Pitch +0.47, +0.48, +0.35, +0.19 (200 deals); Killer Bridge +0.046, +0.050,
+0.041, +0.016 (12 games); Twenty-One, whose bot a search does not better, -0.014, -0.002, -0.001, 0.000 (1,500
banks)."""
_AT_ONCE = 4096
"""Worlds held in memory at a time."""
_LEAST_WORLDS = 8
"""Fewer worlds than this are not worth waking a thread for."""
_CLOCKED = 4
"""Worlds of each table between two looks at the clock."""


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


BOT = BOT_VIEW = LEAF_VALUE = unbound
"""The player that plays on, what it is shown of a table, and the game's `leaf_value`, in the templates below."""


@template
def play_on(
    by: Any, options: Any, batch: Batch, deck: Deck, limit: int, key: np.uint64, seat: int, action: int
) -> float:
    """Play `action` and what follows on the one table of `batch`, up to the end or to where the game has a leaf value;
    what `seat` gains. `by` is what the player that plays on takes first."""
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
        show(options, batch, 0)
        action = BOT(by, BOT_VIEW(batch, 0), batch.mask[0], rng.fork(key, int(batch.decisions[0])))


@template
def play_worlds(
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
    """`value[k, a]` becomes what `seats[k]` gains in `worlds[k]` by each action a of `masks[k]`."""
    for k in range(value.shape[0]):
        for action in range(value.shape[1]):
            if masks[k, action]:
                batch.state[0] = worlds[k]
                batch.decisions[0] = decisions[k]
                batch.stream[0] = keys[k]
                value[k, action] = play_on(options, options, batch, deck, limit, keys[k], seats[k], action)


@functools.cache
def _driver(game: Game, bot: Callable[..., int]) -> Callable[..., None]:
    """`play_worlds` for a game and a bot; what it shares with the engine is compiled, and kept on disk, once."""
    player = {"BOT": bot, "BOT_VIEW": seen_record, "LEAF_VALUE": game.type.leaf_value or no_leaf_value}
    names = {**table_names(game.type), **player}
    return specialise([play_on, play_worlds], names)["play_worlds"]


class SearchAgent(Agent):
    """Flat Monte Carlo with `worlds` determinizations a decision and playouts by the game's strongest fast bot.

    It departs from what the game's best bot would do only where another action leads by more than a standard error.
    With `milliseconds`, thinking ends when that time has passed for each decision, on each core; at least a few worlds
    are played. The choice then depends on the clock; without, on the view alone: not on the batch, nor on `num_threads`
    (0: every core).
    """

    def __init__(self, game: Game, worlds: int, milliseconds: float | None = None, *, num_threads: int = 0) -> None:
        if not 1 <= worlds <= MOST_WORLDS:
            raise ValueError(f"worlds is {worlds}; a search takes 1 to {MOST_WORLDS:,} worlds for each decision.")
        if milliseconds is not None and not 0 < milliseconds < math.inf:
            raise ValueError(f"milliseconds is {milliseconds:g}; a decision takes a time greater than 0.")
        self.worlds, self.milliseconds = worlds, milliseconds
        self.name = f"mc:{worlds}" + ("" if milliseconds is None else f":{milliseconds:g}")
        self.playouts = 0
        """Games played out since the agent was made."""
        self._game = game
        self._best_bot = BotAgent(game) if game.bots else RandomAgent()
        self._workers = Workers(num_threads or cores(), _LEAST_WORLDS)
        self._engines = [Engine(game, 1) for _ in range(self._workers.num_threads)]
        self._decks = [engine.fresh_deck() for engine in self._engines]
        self._entry: Callable[..., None] | None = None

    def act(self, view: View) -> npt.NDArray[np.int64]:
        """The action that leads most surely for each table [n]."""
        chosen: npt.NDArray[np.int64] = self._best_bot.act(view)
        open_rows = np.flatnonzero(view.action_mask.sum(1) > 1)
        at_once = max(1, _AT_ONCE // self.worlds)
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
            math.inf if self.milliseconds is None else self.milliseconds / 1000 * len(rows) / self._workers.num_threads
        )
        step = max(1, _AT_ONCE // len(rows)) if self.milliseconds is None else _CLOCKED
        each = np.arange(len(rows))
        while played < self.worlds and (played == 0 or time.perf_counter() - began < seconds):
            count = min(step, self.worlds - played)
            # World by world, so that the sums do not depend on how many were played at once.
            for gained in self._play(view, rows, played, count).transpose(1, 0, 2):
                lead = gained - gained[each, base][:, None]
                total += lead
                squares += lead * lead
            played += count
        self.playouts += played * int(view.action_mask[rows].sum())
        mean = total / played
        spread = np.maximum(squares / played - mean * mean, 0.0)
        return mean, np.sqrt(spread / played)

    def _play(self, view: View, rows: npt.NDArray[np.int64], first: int, count: int) -> npt.NDArray[np.float64]:
        """What is gained in the worlds `first`, ..., `first + count - 1` of each table [n, count, A]."""
        redraw, play = (np.empty((len(rows), count), np.uint64) for _ in range(2))
        world_keys(view.key[rows], first, redraw, play)
        value = np.zeros((len(rows) * count, view.action_mask.shape[1]))

        def work(thread: int, which: npt.NDArray[np.int64], redraw: Any, play: Any, value: Any) -> None:
            worlds = view.determinize(which, redraw)
            shown = view.seat[which], view.action_mask[which], view.decisions[which]
            engine = self._engines[thread]
            self._run(self._game.options, engine.batch, self._decks[thread], engine.limit, worlds, *shown, play, value)

        self._workers.spread(work, np.repeat(rows, count), redraw.reshape(-1), play.reshape(-1), value)
        return value.reshape(len(rows), count, -1)

    def _run(self, *args: Any) -> None:
        if self._entry is None:
            self._entry = bind(
                _driver(self._game, self._game.playout_bot.act if self._game.playout_bot else random_act), *args
            )
        self._entry(*args)

    def __getstate__(self) -> dict[str, Any]:
        # Without what belongs to this process: threads, machine code and the room it works in.
        return {
            "made": (self._game, self.worlds, self.milliseconds, self._workers.num_threads),
            "played": self.playouts,
        }

    def __setstate__(self, kept: dict[str, Any]) -> None:
        *made, threads = kept["made"]
        self.__init__(*made, num_threads=threads)  # type: ignore[misc]
        self.playouts = kept["played"]

    def close(self) -> None:
        """End the worker threads."""
        self._workers.close()


def search_agent(spec: str, game: Game, num_threads: int = 0) -> SearchAgent:
    """The agent that `mc:WORLDS[:MILLISECONDS]` names. Raises ValueError in a sentence."""
    try:
        worlds, *rest = spec.removeprefix("mc").removeprefix(":").split(":")
        number, limit = int(worlds), [float(text) for text in rest]
        if len(limit) > 1:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"The agent {spec!r} cannot be read; a search is mc:WORLDS "
            "or mc:WORLDS:MILLISECONDS, as in mc:20 or mc:1000:5."
        ) from None
    return SearchAgent(game, number, *limit, num_threads=num_threads)
