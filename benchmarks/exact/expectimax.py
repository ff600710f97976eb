"""Expectimax over all orders of the pack, for games that hide nothing but that order: the kernels of the exact solver.

Chance is enumerated through the game's own kernels. To find the result of an action, the solver plays it on a copy of
the state whose stub begins with chosen cards; if the rules took more cards than were chosen, it tries every kind of
card for the next one. So no rule is written a second time here. Positions with the same key are solved once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.api.compiled_play import kernel_names, no_leaf_value
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import CHANCE, OVER, bind, kernel, specialise, template, unbound

from .hash_table import slot_of

MAX_DEPTH = 64
"""The greatest depth of nested positions."""
MAX_CHOSEN = 16
"""The greatest number of cards that one deal or action takes."""
FULL = -1
OBJECTIVE, EARLY, FURTHER, TRIED = range(4)
"""Places in `Memory.marks`."""


class Objective(IntEnum):
    """What an episode counts for seat 0."""

    REWARD = 0
    WIN = 1
    WIN_OR_TIE = 2


class Memory(NamedTuple):
    """A table of solved positions, and buffers for those in work."""

    keys: npt.NDArray[np.uint64]
    """[slots] 1 + the key of each position; EMPTY where there is none."""
    values: npt.NDArray[np.float64]
    """[slots, 2] seat 0's expected return from there: with optimal play, and with uniformly random legal play."""
    used: npt.NDArray[np.int64]
    """[1] how many slots are taken; FULL once they are too many and all results are void."""
    state: npt.NDArray[Any]
    """[MAX_DEPTH] the position at each depth."""
    mask: npt.NDArray[np.int8]
    """[MAX_DEPTH, A]"""
    pack: npt.NDArray[np.int64]
    """The pack in the form that `deal` takes."""
    kind: npt.NDArray[np.int64]
    """[cards] the kind of each card."""
    tally: npt.NDArray[np.int64]
    """[MAX_DEPTH, MAX_CHOSEN, 2, kinds + 1] for each chance node in work: how many cards of a kind are left, and the
    place of one of them; the last kind is never drawn."""
    pays: npt.NDArray[np.float64]
    """[1] what a win is multiplied by."""
    marks: npt.NDArray[np.int64]
    """[4] the objective; whether a reward came before the end, or a further deal was met; kinds of first cards tried
    at depth 0."""


def memory(
    game: Game,
    slots: int,
    objective: Objective = Objective.REWARD,
    win_pays: float = 1.0,
    without: int | None = None,
) -> Memory:
    """Return an empty table of `slots` (a power of two) positions; a win counts `win_pays` times its reward, and the
    card `without` is never drawn."""
    assert game.type.enumeration is not None
    kinds = np.array([game.type.enumeration.kind(card) for card in range(max(game.pack) + 1)], np.int64)
    never = int(kinds.max()) + 1
    if without is not None:
        kinds[without] = never
    return Memory(
        keys=np.zeros(slots, np.uint64),
        values=np.zeros((slots, 2)),
        used=np.zeros(1, np.int64),
        state=np.zeros(MAX_DEPTH, game.state_dtype),
        mask=np.zeros((MAX_DEPTH, game.num_actions), np.int8),
        pack=np.zeros(game.deck_size, np.int64),
        kind=kinds,
        tally=np.zeros((MAX_DEPTH, MAX_CHOSEN, 2, never + 1), np.int64),
        pays=np.array([win_pays]),
        marks=np.array([objective, 0, 0, 0], np.int64),
    )


@kernel
def count_kinds(
    kinds: npt.NDArray[np.int64],
    deck: npt.NDArray[Any],
    place: int,
    count: npt.NDArray[np.int64],
    lies: npt.NDArray[np.int64],
) -> None:
    """Count the cards of each kind in the pack from `place` on, and find the place of one of them."""
    count[:] = 0
    for other in range(place, deck.shape[0]):
        kind = kinds[deck[other]]
        count[kind] += 1
        lies[kind] = other


@kernel
def counted(marks: npt.NDArray[np.int64], win_pays: float, reward: float, over: bool) -> float:
    """Return what a reward of seat 0 counts for by the objective, given whether the episode is over."""
    if marks[OBJECTIVE] == Objective.REWARD and (over or win_pays == 1.0):
        return reward * win_pays if reward > 0.0 else reward
    if not over:
        if reward != 0.0:
            marks[EARLY] = 1
        return 0.0
    return 1.0 if reward > 0.0 or (reward == 0.0 and marks[OBJECTIVE] == Objective.WIN_OR_TIE) else 0.0


START = DEAL = LEGAL = STEP = DECK = NEXT_CARD = KEY = LEAF_VALUE = unbound
"""The game's kernels and its Enumeration's in the templates below."""


@template
def landed(options: Any, store: Memory, there: Any, depth: int, chance: float) -> tuple[float, float]:
    """Return what the latest action gained seat 0, plus its expected return from the position at `depth`: with optimal
    play, and with random play. (`reachability.py` has another template of this name, which uses `there` and the
    `chance` of the position.)"""
    state = store.state[depth]
    gained = counted(store.marks, store.pays[0], float(state.reward[0]), state.seat == OVER)
    state.reward[:] = 0
    if state.seat == OVER or store.used[0] == FULL:
        return gained, gained
    if state.seat == CHANCE:  # a pack for another deal
        store.marks[FURTHER] = 1
        gained += float(LEAF_VALUE(options, state, 0))
        return gained, gained
    key = np.uint64(KEY(options, state) + 1)
    slot = slot_of(store.keys, key)
    if store.keys[slot] == key:
        return gained + store.values[slot, 0], gained + store.values[slot, 1]
    mask = store.mask[depth]
    mask[:] = 0
    LEGAL(options, state, mask)
    sign = 1.0 if state.seat == 0 else -1.0
    best, total, count = -np.inf, 0.0, 0
    for action in range(mask.shape[0]):
        if mask[action]:
            gain, drifting = after(options, store, there, depth, action, chance)
            best = max(best, sign * gain)
            total += drifting
            count += 1
    if store.used[0] == FULL:
        return gained, gained
    slot = slot_of(store.keys, key)  # not the slot of before: others have been filled since
    store.keys[slot] = key
    store.values[slot, 0] = sign * best
    store.values[slot, 1] = total / count
    store.used[0] = store.used[0] + 1 if 4 * store.used[0] < 3 * store.keys.shape[0] else FULL
    return gained + sign * best, gained + total / count


@template
def worths(options: Any, store: Memory, there: Any, out: npt.NDArray[np.float64]) -> None:
    """Write to `out` [A] seat 0's expected return after each legal action at depth 0, with optimal play afterwards; NaN
    where an action is not legal."""
    state, mask = store.state[0], store.mask[0]
    state.reward[:] = 0
    mask[:] = 0
    LEGAL(options, state, mask)
    for action in range(mask.shape[0]):
        out[action] = after(options, store, there, 0, action, 1.0)[0] if mask[action] else np.nan


@template
def after(options: Any, store: Memory, there: Any, depth: int, action: int, chance: float) -> tuple[float, float]:
    """Return the value after an action, all cards that it may take considered."""
    found: tuple[float, float]
    if try_out(options, store, depth, action) == 0:
        found = landed(options, store, there, depth + 1, chance)
    else:
        found = outcome(options, store, there, depth, action, 0, chance)
    return found


@template
def try_out(options: Any, store: Memory, depth: int, action: int) -> int:
    """Play `action` (or deal) on a copy of the position, one level deeper; return the number of cards that it took."""
    state, after = store.state[depth], store.state[depth + 1]
    store.state[depth + 1] = store.state[depth]
    if state.seat == CHANCE:
        deck = DECK(state)
        for place in range(deck.shape[0]):
            store.pack[place] = deck[place]
        DEAL(options, after, store.pack)
    else:
        STEP(options, after, action)
    return int(NEXT_CARD(after) - NEXT_CARD(state))


@template
def outcome(
    options: Any, store: Memory, there: Any, depth: int, action: int, chosen: int, chance: float
) -> tuple[float, float]:
    """Return the value after `action` (or after the deal), which takes more cards of the stub than the first `chosen`,
    which are fixed."""
    state = store.state[depth]
    deck = DECK(state)
    place = NEXT_CARD(state) + chosen
    count, lies = store.tally[depth, chosen, 0], store.tally[depth, chosen, 1]
    count_kinds(store.kind, deck, place, count, lies)
    never = count.shape[0] - 1
    best, drifting, left = 0.0, 0.0, deck.shape[0] - place - count[never]
    for kind in range(never):
        if count[kind]:
            other = lies[kind]
            deck[place], deck[other] = deck[other], deck[place]
            part = chance * count[kind] / left
            if try_out(options, store, depth, action) > chosen + 1:
                gain, drifted = outcome(options, store, there, depth, action, chosen + 1, part)
            else:
                gain, drifted = landed(options, store, there, depth + 1, part)
            deck[place], deck[other] = deck[other], deck[place]
            if depth + chosen == 0:
                store.marks[TRIED] += 1
            best += count[kind] * gain
            drifting += count[kind] * drifted
    return best / left, drifting / left


@template
def opened(
    options: Any, store: Memory, there: Any, start_outcome: int, leading: npt.NDArray[np.int64]
) -> tuple[float, float]:
    """Return the value of an episode whose pack begins with the cards `leading`."""
    lay_out(options, store, start_outcome, leading)
    found: tuple[float, float] = outcome(options, store, there, 0, 0, leading.shape[0], 1.0)
    return found


@template
def lay_out(options: Any, store: Memory, start_outcome: int, leading: npt.NDArray[np.int64]) -> None:
    """Begin an episode at depth 0, with the cards `leading` on top of its pack, before the deal."""
    state = store.state[0]
    START(options, state, start_outcome)
    deck = DECK(state)
    for card in range(deck.shape[0]):
        deck[card] = card
    for place in range(leading.shape[0]):
        for other in range(place, deck.shape[0]):
            if deck[other] == leading[place]:
                deck[place], deck[other] = deck[other], deck[place]


CHANCE_NODES = (after, try_out, outcome, lay_out, opened)
"""Templates that go through all cards that may be drawn, and call `landed` after each."""


def linked(game: Game, store: Memory) -> Callable[..., tuple[float, float]]:
    """Return `opened` for this game, compiled for arguments of these types."""
    return bind(_specialised(game.type)["opened"], game.options, store, (), 0, np.zeros(0, np.int64))


def linked_worths(game: Game, store: Memory) -> Callable[..., None]:
    """Return `worths` for this game, compiled for arguments of these types."""
    return bind(_specialised(game.type)["worths"], game.options, store, (), np.zeros(game.num_actions))


@functools.cache
def _specialised(game: GameType) -> dict[str, Callable[..., Any]]:
    """This file's templates for one game: they call each other in a circle."""
    return specialise([landed, worths, *CHANCE_NODES], solver_names(game), circular=True)


def solver_names(game: GameType) -> dict[str, Callable[..., Any]]:
    """Return the game's kernels by the names that these templates call them."""
    face = game.enumeration
    assert face is not None
    own = {"DECK": face.deck, "NEXT_CARD": face.next_card, "KEY": face.key}
    return {**kernel_names(game), **own, "LEAF_VALUE": game.leaf_value or no_leaf_value}
