"""Worlds weighed by what others have done: who plays as a sensible player hardly holds what such a player would have
played otherwise.

Of a pool of worlds, each is asked at every decision that others have made since the last deal: there, with the hands
that this world gives them (`GameType.recall`), would one of the game's bots have done the same? Worlds are then drawn
from the pool by how seldom it would not. A world stays the choice of a key, and what it is chosen by is what its seat
has seen: weights follow from nothing else.

Which bot a world asks is drawn for each, so that no one player is taken for granted; worlds that asked the wrong one
are surprised, and drop out. Tempered importance sampling, then systematic resampling: Del Moral, Doucet and Jasra,
"Sequential Monte Carlo samplers" (JRSS B 2006); Kitagawa, "Monte Carlo filter and smoother" (JCGS 1996). Inference from
play in card games: Ginsberg, "GIB" (JAIR 2001).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.drivers import Batch, apply, report
from backalley.envs.core.engine import table_names
from backalley.envs.core.kernel import bind, kernel, passing
from backalley.envs.core.specialise import specialise, template, unbound

from .base import Agent, View
from .rule_based import seen_record
from .worlds import Worlds, only_choice, player_of

SURPRISE = 2.4
"""What a world's log-weight loses by an action that its bot would not have taken: players are taken to do what a bot
would e^2.4, eleven times as often as something else. Where bots were certain, one lapse would rule out the truth."""
POOL = 4
"""Worlds that are weighed for each that is drawn."""
LEAST_EFFECTIVE = 0.25
"""Weights are tempered until the effective size of the pool is this part of the worlds that are drawn from it: fewer
would be the same few worlds over and over, the more sure of themselves the more the bots are wrong."""
BLOCK = 12
"""Worlds that are drawn from the first pool; each later pool doubles them all. Races ask for worlds in these steps."""
_POOL_KEYS = 0x706F6F6C
"""Number under which the keys of pools are forked off a decision's."""
_FINE = 1 << 30
"""Where between two worlds drawn the first falls, in parts of one."""
IMPOSSIBLE = 1 << 16
"""More surprises than there can be: somebody could not have done what they did."""


class Past(NamedTuple):
    """What others have done before all eyes since the last deal at n tables, one table after another [P]."""

    state: npt.NDArray[Any]
    """The states in which others were to act, as they truly were [P]."""
    action: npt.NDArray[np.int64]
    """What they did [P]."""
    first: npt.NDArray[np.int64]
    """Where the decisions of each table begin [n]."""
    end: npt.NDArray[np.int64]
    """Where they end [n]: where they begin, if there are none or it is not known what was played."""
    now: npt.NDArray[Any]
    """The states that this has led to [n]."""

    def some(self, which: npt.NDArray[np.int64]) -> Past:
        """That of some of the tables."""
        return self._replace(first=self.first[which], end=self.end[which], now=self.now[which])


@passing
def always_shows(options: Any, state: Any, action: int) -> bool:
    """For games in which every decision is seen."""
    return True


LEGAL = RECALL = SHOWS = STRONGEST = OTHER = BOT_VIEW = unbound
"""The game's kernels in the templates below, and what bots are shown."""


@template
def follow_rows(
    options: Any, batch: Batch, limit: int, action: npt.NDArray[np.int16], length: npt.NDArray[np.int32],
    seats: npt.NDArray[np.int64], past: Past,
) -> None:  # fmt: skip
    """Play again what was played at tables [n] from the states `past.now`, which go along, and gather what others
    did. Where that cannot have been played, nothing is known."""
    size = 0
    for k in range(seats.shape[0]):
        past.first[k] = size
        batch.state[0] = past.now[k]
        for number in range(length[k]):
            played = int(action[k, number])
            seat = int(batch.state[0].seat)
            batch.mask[0, :] = 0
            if seat >= 0:
                LEGAL(options, batch.state[0], batch.mask[0])
            if batch.mask[0, played] == 0:
                size = past.first[k]
                break
            if seat != seats[k] and SHOWS(options, batch.state[0], played):
                past.state[size], past.action[size] = batch.state[0], played
                size += 1
            apply(options, batch, 0, played)
            report(batch, limit, 0)
        past.now[k] = batch.state[0]
        past.end[k] = size


@template
def surprise(options: Any, batch: Batch, played: int, asked: int, key: np.uint64) -> int:
    """1 where a bot would not have played that on the one table of `batch`, 0 where it would have, or had to."""
    only = only_choice(options, batch)
    if batch.mask[0, played] == 0:
        return IMPOSSIBLE
    if only >= 0:
        return 0
    if asked == 0:
        chosen: int = STRONGEST(options, BOT_VIEW(batch, 0), batch.mask[0], key)
    else:
        chosen = OTHER(options, BOT_VIEW(batch, 0), batch.mask[0], key)
    return int(chosen != played)


@template
def count_surprises(
    options: Any, batch: Batch, past: Past, seats: npt.NDArray[np.int64], worlds: npt.NDArray[Any],
    which: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64], surprises: npt.NDArray[np.float64],
) -> None:  # fmt: skip
    """`surprises[k, 0]` becomes how many actions of others at table `which[k]` its bot would not have taken, had they
    held what `worlds[k]` says."""
    for k in range(worlds.shape[0]):
        table, found = which[k], 0
        _, asked = rng.below(keys[k], 2)
        for number in range(past.first[table], past.end[table]):
            batch.state[0] = past.state[number]
            RECALL(options, batch.state[0], past.now[table], worlds[k], seats[table])
            found += surprise(options, batch, past.action[number], asked, rng.fork(keys[k], number - past.first[table]))
        surprises[k, 0] = found


@functools.cache
def _drivers(game: Game) -> dict[str, Callable[..., None]]:
    assert game.type.recall is not None
    fast = [bot.act for bot in game.type.bots if bot.fast]
    names = {
        "RECALL": game.type.recall,
        "SHOWS": game.type.shows or always_shows,
        "STRONGEST": player_of(game),
        "OTHER": fast[-2] if len(fast) > 1 else player_of(game),
        "BOT_VIEW": seen_record,
    }
    return specialise([only_choice, follow_rows, surprise, count_surprises], {**table_names(game.type), **names})


@kernel
def temper(number: npt.NDArray[np.int64], least: float, weight: npt.NDArray[np.float64]) -> None:
    """`weight[s]` becomes what a world of s surprises weighs, where `number[s]` worlds of the pool have so many; as
    much of SURPRISE counts as leaves an effective size of `least`."""
    cost, effective = SURPRISE, -1.0
    while effective < least:
        cost = 0.9 * cost if effective >= 0.0 else cost
        cost = cost if cost > 0.01 else 0.0
        total = squares = 0.0
        for surprises in range(number.shape[0]):
            weight[surprises] = math.exp(-cost * surprises)
            total += number[surprises] * weight[surprises]
            squares += number[surprises] * weight[surprises] ** 2
        effective = total * total / squares


@kernel
def resample(surprises: npt.NDArray[np.int64], key: np.uint64, out: npt.NDArray[np.int64]) -> None:
    """`out` [W] becomes which worlds of a pool [P] are drawn, systematically: each as often as its share of all weight
    is of W, rounded one way or the other. Those that are impossible are not, unless all are."""
    possible = surprises[surprises < IMPOSSIBLE]
    if possible.shape[0] == 0:
        surprises[:] = 0
        possible = surprises
    few = possible.min()
    number = np.zeros(possible.max() - few + 1, np.int64)
    weight = np.zeros(number.shape[0])
    for found in possible:
        number[found - few] += 1
    temper(number, min(float(possible.shape[0]), LEAST_EFFECTIVE * out.shape[0]), weight)
    _, drawn = rng.below(key, _FINE)
    step = (number * weight).sum() / out.shape[0]
    place, reached = 0, 0.0
    for world in range(surprises.shape[0]):
        if surprises[world] < IMPOSSIBLE:
            reached += weight[surprises[world] - few]
            while place < out.shape[0] and (place + drawn / _FINE) * step < reached:
                out[place] = world
                place += 1
            last = world
    out[place:] = last  # where sums were rounded


def blocks(first: int, count: int) -> Iterator[tuple[int, int]]:
    """The first world and the end of each block that has any of the worlds `first`, ..., `first + count - 1`."""
    low, high = 0, BLOCK
    while low < first + count:
        if high > first:
            yield low, high
        low, high = high, 2 * high


class WeighedWorlds(Worlds):
    """Worlds of a game that has `recall`, at tables that keep what is played; at others, and where others have done
    nothing yet, they are as likely as the cards make them.

    Worlds are the same alone and in any batch, however many are asked for at a time, and on any number of threads.
    """

    def __init__(self, game: Game, num_threads: int = 0, *, uniform: bool = False, player: Agent | None = None) -> None:
        """`uniform` as in Worlds: before they are weighed. Raises ValueError in a sentence for a game without
        `recall`."""
        if game.type.recall is None:
            raise ValueError(f"{game.name} cannot recall earlier states, so its worlds cannot be weighed.")
        super().__init__(game, num_threads, uniform=uniform, player=player)
        self._bound: dict[str, Callable[..., None]] = {}

    def past(self, view: View, rows: npt.NDArray[np.int64]) -> Past | None:
        """What others have done at the tables `rows` [n] of a view; None where tables keep nothing."""
        played = view._played(rows)
        if played is None:
            return None
        engine, seats = self._engines[0], view.seat[rows]
        size = int(np.maximum(played.length, 0).sum())
        spans = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        past = Past(np.empty(size, played.start.dtype), np.empty(size, np.int64), *spans, played.start)
        self._call(
            "follow_rows", self.game.options, engine.batch, engine.limit, played.action, played.length, seats, past
        )
        # How the rest is redrawn follows from what a seat knows, to the byte: so a table set by hand is found out, and
        # nothing that the seat cannot know decides whether it is.
        past.end[(played.length < 0) | (past.now["seat"] != seats)] = 0
        known = np.flatnonzero(past.end > past.first)
        keys, redrawn = np.zeros(len(known), np.uint64), past.now[known]
        engine.determinize(redrawn, seats[known], keys)
        past.end[known[redrawn != view.determinize(rows[known], keys)]] = 0
        return past

    def _keys(
        self, view: View, rows: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64], first: int, count: int
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        redraw, play = super()._keys(view, rows, keys, first, count)
        past = self.past(view, rows)
        which = np.flatnonzero(past.end > past.first) if past is not None else np.zeros(0, np.int64)
        if past is not None and len(which):
            for low, high in blocks(first, count):
                drawn = self._draw(view, rows[which], keys[which], past.some(which), low, high)
                asked = slice(max(low, first) - first, min(high, first + count) - first)
                redraw[which, asked] = drawn[:, max(first - low, 0) :][:, : asked.stop - asked.start]
        return redraw, play

    def _draw(
        self, view: View, rows: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64], past: Past, low: int, high: int
    ) -> npt.NDArray[np.uint64]:
        """By which a block of worlds of tables is redrawn [n, high - low]."""
        seats, drawn = view.seat[rows], np.empty((len(rows), high - low), np.int64)
        with np.errstate(over="ignore"):
            pools = np.array([rng.fork(key, _POOL_KEYS) for key in keys], np.uint64)
        redraw, dice = super()._keys(view, rows, pools, POOL * low, POOL * (high - low))

        def run(thread: int, worlds: Any, which: Any, keys: Any, value: Any) -> None:
            batch = self._engines[thread].batch
            self._call("count_surprises", self.game.options, batch, past, seats, worlds, which, keys, value)

        surprises = self._spread(view, rows, redraw, dice, 1, run).astype(np.int64)
        for k, pool in enumerate(pools):
            resample(surprises[k, :, 0], pool, drawn[k])
        return np.take_along_axis(redraw, drawn, 1)

    def _call(self, name: str, *args: Any) -> None:
        if name not in self._bound:
            self._bound[name] = bind(_drivers(self.game)[name], *args)
        self._bound[name](*args)
