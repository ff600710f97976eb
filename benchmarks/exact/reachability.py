"""All positions that an agent's play can reach, with their probabilities, for games that hide nothing but the order of
the pack: the kernels behind `agent_values.py`.

Positions are followed forward, decision by decision. Two positions are merged if play continues alike from both (the
game's own `Enumeration.key`) and the agent sees the same: an agent may look at more than the rules do. Only positions
that the agent's own actions lead to are met. As in `expectimax.py` no rule is written a second time: the game's own
kernels say what chance may bring.

If these are too many, positions rarer than `least` are sampled: one of probability p < `least` is kept as if its
probability were `least`, in p / `least` of all cases. The mean does not change (Kahn and Harris 1951, "Russian
roulette"), and no such draw adds more than p (`least` - p) B^2 to the variance, where B is the most that an episode can
still bring.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import OVER, bind, passing, specialise, template, unbound
from backalley.envs.core.rules import rng

from .expectimax import CHANCE_NODES, Memory, after, memory, solver_names

GAINED, VARIANCE, DECISIONS, POSITIONS = range(4)
"""Places in `Layer.found`."""
_LOTS = 2**31


class Layer(NamedTuple):
    """Positions of one layer, up to C of them."""

    state: npt.NDArray[Any]
    """[C] the game's State records."""
    shown: npt.NDArray[Any]
    """[C, O] the observation of the seat to act."""
    mask: npt.NDArray[np.int8]
    """[C, A] the legal actions."""
    plays: npt.NDArray[np.float64]
    """[C, A] the agent's probability of each action, which the caller writes."""
    key: npt.NDArray[np.int64]
    """[C] the game's key of the position."""
    chance: npt.NDArray[np.float64]
    """[C] the probability of reaching it."""
    slots: npt.NDArray[np.int64]
    """[a power of two above C] numbers of positions by hash; -1 where there is none."""
    size: npt.NDArray[np.int64]
    """[1] how many there are."""
    flat: npt.NDArray[Any]
    """[1, O] an observation. This and what follows are the same arrays in all layers of one thread."""
    observation: npt.NDArray[Any]
    """[1] the same memory as the game's record."""
    found: npt.NDArray[np.float64]
    """[4] seat 0's expected gain so far, its variance by sampling (in units of B^2), expected decisions, positions
    met."""
    stream: npt.NDArray[np.uint64]
    """[1] the stream of random draws."""
    full: npt.NDArray[np.bool_]
    """[1] whether there were more positions than a layer can hold."""


_OWN = Layer._fields.index("flat")
"""Arrays that each layer has for itself."""


def two_layers(game: Game, size: int) -> tuple[Layer, Layer]:
    """Return two empty layers for `size` (a power of two) positions each, with the same results."""
    flat = np.zeros((1, game.observation_size), game.observation_base)
    here = Layer(
        state=np.zeros(size, game.state_dtype),
        shown=np.zeros((size, game.observation_size), game.observation_base),
        mask=np.zeros((size, game.num_actions), np.int8),
        plays=np.zeros((size, game.num_actions)),
        key=np.zeros(size, np.int64),
        chance=np.zeros(size),
        slots=np.full(2 * size, -1, np.int64),
        size=np.zeros(1, np.int64),
        flat=flat,
        observation=game.records(flat),
        found=np.zeros(4),
        stream=np.zeros(1, np.uint64),
        full=np.zeros(1, np.bool_),
    )
    return here, Layer._make([*(part.copy() for part in here[:_OWN]), *here[_OWN:]])


def clear(layer: Layer) -> None:
    """Remove all positions."""
    layer.size[0] = 0
    layer.slots[:] = -1


@passing
def mixed(key: int, shown: npt.NDArray[Any]) -> int:
    """Return a hash of a number and an observation."""
    found = (key ^ (key >> 29)) * 0x2545F4914F6CDD1D
    for place in range(shown.shape[0]):
        found = (found ^ np.int64(shown[place])) * 0x100000001B3  # type: ignore[assignment]
    return (found >> 32) ^ found


@passing
def alike(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Return whether two observations are the same."""
    for place in range(one.shape[0]):  # noqa: SIM110 (compiled code knows no generators)
        if one[place] != other[place]:
            return False
    return True


OBSERVE = LEGAL = KEY = unbound
"""The game's kernels."""


@template
def slot_of(there: Layer, key: int, shown: npt.NDArray[Any]) -> int:
    """Return the slot of a position's number, or the free slot where it belongs."""
    last = there.slots.shape[0] - 1
    slot = mixed(key, shown) & last
    while there.slots[slot] >= 0:
        number = there.slots[slot]
        if there.key[number] == key and alike(there.shown[number], shown):
            break
        slot = (slot + 1) & last
    return int(slot)


@template
def landed(options: Any, store: Memory, there: Layer, depth: int, chance: float) -> tuple[float, float]:
    """Record where an action or a deal has led, with this probability: seat 0's gain, and the position. (What it
    returns means nothing; it is what `outcome` adds up.)"""
    after = store.state[depth]
    there.found[GAINED] += chance * float(after.reward[0])
    after.reward[:] = 0
    if after.seat == OVER:
        return 0.0, 0.0
    shown = there.flat[0]
    shown[:] = 0
    OBSERVE(options, after, int(after.seat), there.observation[0])
    key = int(KEY(options, after))
    slot = slot_of(there, key, shown)
    number = there.slots[slot]
    if number < 0:
        number = there.size[0]
        if number == there.key.shape[0]:
            there.full[0] = True
            return 0.0, 0.0
        there.slots[slot] = number
        there.size[0] = number + 1
        there.state[number] = store.state[depth]
        for place in range(shown.shape[0]):
            there.shown[number, place] = shown[place]
        there.mask[number, :] = 0
        LEGAL(options, after, there.mask[number])
        there.key[number] = key
        there.chance[number] = 0.0
    there.chance[number] += chance
    return 0.0, 0.0


@template
def thin(here: Layer, least: float) -> None:
    """Sample the positions rarer than `least`; those kept stay in order."""
    number = 0
    for other in range(here.size[0]):
        chance = here.chance[other]
        if chance < least:
            here.found[VARIANCE] += chance * (least - chance)
            here.stream[0], drawn = rng.below(here.stream[0], _LOTS)
            if drawn >= chance / least * _LOTS:
                continue
            chance = least
        here.chance[number] = chance
        if number < other:
            here.state[number] = here.state[other]
            for place in range(here.shown.shape[1]):
                here.shown[number, place] = here.shown[other, place]
            for action in range(here.mask.shape[1]):
                here.mask[number, action] = here.mask[other, action]
        here.found[DECISIONS] += chance
        number += 1
    here.found[POSITIONS] += number
    here.size[0] = number


@template
def follow(options: Any, store: Memory, here: Layer, there: Layer) -> None:
    """Play the agent's actions at every position of a layer, by `plays`; the new positions go into the next layer."""
    for number in range(here.size[0]):
        store.state[0] = here.state[number]
        for action in range(here.plays.shape[1]):
            part = here.chance[number] * here.plays[number, action]
            if part > 0.0 and not there.full[0]:
                after(options, store, there, 0, action, part)


class Following(NamedTuple):
    """The kernels of a game, compiled."""

    opening: Callable[..., tuple[float, float]]
    thin: Callable[..., None]
    follow: Callable[..., None]


def linked(game: Game) -> Following:
    """Return `opened`, `thin` and `follow` for a game."""
    made, store, (layer, _) = _specialised(game.type), memory(game, 2), two_layers(game, 2)
    return Following(
        bind(made["opened"], game.options, store, layer, 0, np.zeros(1, np.int64)),
        bind(made["thin"], layer, 0.0),
        bind(made["follow"], game.options, store, layer, layer),
    )


@functools.cache
def _specialised(game: GameType) -> dict[str, Callable[..., Any]]:
    """This file's templates for one game, with those that draw cards."""
    return specialise([slot_of, landed, thin, follow, *CHANCE_NODES], solver_names(game), circular=True)
