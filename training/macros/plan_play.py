"""Episodes from which the phase `plans` learns the values of classes, in compiled code.

One seat plays by the game's planner, exploring; one opponent plays all other seats. Each class that one of the seat's
parts was in is credited with the outcome of the part.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.api.compiled_play import Batch, Deck, apply, begin, deal_out, report, show, table_names
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import CHANCE, Planner, kernel, specialise, template, unbound
from backalley.envs.core.rules import rng

MOST_CLASSES = 256
"""The greatest number of classes of one part in a deal."""
_SEAT, _LUCK, _KEYS = 1, 2, 3
"""Numbers by which an episode's randomness is forked off its stream."""


class Sums(NamedTuple):
    """Sums of credits for each class [classes]."""

    outcomes: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]


class Tally(NamedTuple):
    """What was played."""

    decisions: npt.NDArray[np.int64]
    """Decisions of all seats, and of the one that learns [2]."""
    points: npt.NDArray[np.float64]
    """One for each episode that the learner won, one half for a shared win [1]."""


class Notes(NamedTuple):
    """What has been seen of the parts of one deal; each thread has its own."""

    classes: npt.NDArray[np.int64]
    """[parts]"""
    outcomes: npt.NDArray[np.float64]
    """[parts]"""
    trail: npt.NDArray[np.int64]
    """The classes that each part was in, in order [parts, MOST_CLASSES]."""
    lengths: npt.NDArray[np.int64]
    """How many there are [parts]; -1 once the outcome is known."""
    returns: npt.NDArray[np.float64]
    """The return of each seat in this episode [N]."""
    observation: npt.NDArray[Any]
    """What the learner sees [1]."""
    flat: npt.NDArray[Any]
    """The same memory as a vector [1, O]."""


def notes_for(game: Game, parts: int) -> Notes:
    """Return the arrays for one thread."""
    flat = np.zeros((1, game.observation_size), game.observation_base)
    return Notes(
        np.zeros(parts, np.int64),
        np.zeros(parts),
        np.zeros((parts, MOST_CLASSES), np.int64),
        np.zeros(parts, np.int64),
        np.zeros(game.num_seats),
        game.records(flat),
        flat,
    )


@kernel
def fork_streams(stream: np.uint64, out: npt.NDArray[np.uint64]) -> None:
    """Fork a stream for each episode."""
    for number in range(len(out)):
        out[number] = rng.fork(stream, number)


@kernel
def credit(
    classes: npt.NDArray[np.int64],
    found: npt.NDArray[np.float64],
    trail: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    values: npt.NDArray[np.float32],
    trace: float,
    outcomes: npt.NDArray[np.float64],
    counts: npt.NDArray[np.float64],
) -> None:
    """Follow each part to its present class; when its outcome is known, credit all classes that it was in.

    The last class is credited with the outcome; an earlier one with the value of the next class, or with `trace` 1 with
    the outcome, too (temporal differences; Sutton and Barto, Reinforcement Learning, chapter 12).
    """
    for part in range(len(classes)):
        count = lengths[part]
        if count < 0:
            continue
        new = classes[part] >= 0 and (count == 0 or trail[part, count - 1] != classes[part])
        if new and count < trail.shape[1]:
            trail[part, count] = classes[part]
            count += 1
        lengths[part] = count
        worth = found[part]
        if not np.isnan(worth):
            for number in range(count - 1, -1, -1):
                place = trail[part, number]
                outcomes[place] += worth
                counts[place] += 1.0
                worth = trace * worth + (1.0 - trace) * float(values[place])
            lengths[part] = -1


@kernel
def points_of(returns: npt.NDArray[np.float64], seat: int) -> float:
    """Return one for the best return of all, shared where several have it."""
    best, sharers = True, 0
    for value in returns:
        best = best and value <= returns[seat]
        sharers += int(value == returns[seat])
    return 1.0 / sharers if best else 0.0


PLAN = LOOK = OTHERS = OBSERVE = OTHERS_VIEW = unbound
"""The game's planner, its `look` and `observe`, and the opponent with its view, in `learn_episodes`."""


@template
def learn_episodes(
    mine: Planner,
    trace: float,
    others: Any,
    batch: Batch,
    deck: Deck,
    start_outcomes: int,
    limit: int,
    streams: npt.NDArray[np.uint64],
    notes: Notes,
    sums: Sums,
    tally: Tally,
) -> None:
    """Play an episode for each stream, on the one table of `batch`."""
    options = mine.options
    for number in range(streams.shape[0]):
        stream = streams[number]
        _, me = rng.below(rng.fork(stream, _SEAT), len(notes.returns))
        planner = Planner(options, mine.values, mine.memory, rng.fork(stream, _LUCK) | np.uint64(1))
        keys = rng.fork(stream, _KEYS)
        batch.stream[0] = stream
        begin(options, batch, start_outcomes, 0)
        deal_out(options, batch, deck, 0)
        show(options, batch, 0)
        notes.lengths[:] = 0
        notes.returns[:] = 0.0
        ended = batch.seat[0] < 0
        while not ended:
            key = rng.fork(keys, int(batch.decisions[0]))
            if batch.seat[0] == me:
                tally.decisions[1] += 1
                action = PLAN(planner, batch.observation[0], batch.mask[0], key)
            else:
                action = OTHERS(others, OTHERS_VIEW(batch, 0), batch.mask[0], key)
            apply(options, batch, 0, action)
            notes.flat[0, :] = 0
            OBSERVE(options, batch.state[0], me, notes.observation[0])
            LOOK(options, notes.observation[0], notes.classes, notes.outcomes)
            credit(
                notes.classes,
                notes.outcomes,
                notes.trail,
                notes.lengths,
                mine.values,
                trace,
                sums.outcomes,
                sums.counts,
            )
            if batch.state[0].seat == CHANCE:
                notes.lengths[:] = 0
            deal_out(options, batch, deck, 0)
            ended = report(batch, limit, 0)
            show(options, batch, 0)
            for seat in range(len(notes.returns)):
                notes.returns[seat] += batch.reward[0, seat]
        tally.decisions[0] += batch.decisions[0]
        tally.points[0] += points_of(notes.returns, me)


@functools.cache
def episodes_kernel(game: GameType, opponent: Callable[..., int], view: Callable[..., Any]) -> Callable[..., None]:
    """Return `learn_episodes` for a game that declares plans, against an opponent's kernel."""
    assert game.plans is not None
    own = {"PLAN": game.plans.act, "LOOK": game.plans.look, "OTHERS": opponent, "OTHERS_VIEW": view}
    return specialise([learn_episodes], {**table_names(game), **own})["learn_episodes"]
