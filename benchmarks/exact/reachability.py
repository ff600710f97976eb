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

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import OVER, bind, specialise, template, unbound
from backalley.envs.core.rules import rng

from .expectimax import MAX_CHOSEN, Memory, count_kinds, lay_out, memory, solver_names, try_out
from .observation_hashes import alike, mixed

GAINED, VARIANCE, DECISIONS, POSITIONS = range(4)
"""Places in `Workspace.found`."""
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


class Workspace(NamedTuple):
    """Buffers and results of one thread."""

    flat: npt.NDArray[Any]
    """[1, O] an observation."""
    observation: npt.NDArray[Any]
    """[1] the same memory as the game's record."""
    kind: npt.NDArray[np.int64]
    """[MAX_CHOSEN] of each card being chosen its kind, -1 before the first."""
    part: npt.NDArray[np.float64]
    """[MAX_CHOSEN] and the probability of those before it."""
    found: npt.NDArray[np.float64]
    """[4] seat 0's expected gain so far, its variance by sampling (in units of B^2), expected decisions, positions
    met."""
    stream: npt.NDArray[np.uint64]
    """[1] the stream of random draws."""
    full: npt.NDArray[np.bool_]
    """[1] whether there were more positions than a layer can hold."""


def empty_layer(game: Game, size: int) -> Layer:
    """Return an empty layer for `size` (a power of two) positions."""
    return Layer(
        state=np.zeros(size, game.state_dtype),
        shown=np.zeros((size, game.observation_size), game.observation_base),
        mask=np.zeros((size, game.num_actions), np.int8),
        plays=np.zeros((size, game.num_actions)),
        key=np.zeros(size, np.int64),
        chance=np.zeros(size),
        slots=np.full(2 * size, -1, np.int64),
        size=np.zeros(1, np.int64),
    )


def workspace(game: Game) -> Workspace:
    """Return the buffers of one thread."""
    flat = np.zeros((1, game.observation_size), game.observation_base)
    return Workspace(
        flat,
        game.records(flat),
        np.zeros(MAX_CHOSEN, np.int64),
        np.zeros(MAX_CHOSEN),
        np.zeros(4),
        np.zeros(1, np.uint64),
        np.zeros(1, np.bool_),
    )


OBSERVE = LEGAL = KEY = DECK = NEXT_CARD = unbound
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
def land(options: Any, store: Memory, there: Layer, workspace: Workspace, chance: float) -> None:
    """Record where an action or a deal has led, with this probability: seat 0's gain, and the position."""
    after = store.state[1]
    workspace.found[GAINED] += chance * float(after.reward[0])
    after.reward[:] = 0
    if after.seat == OVER:
        return
    workspace.flat[0, :] = 0
    OBSERVE(options, after, int(after.seat), workspace.observation[0])
    key = int(KEY(options, after))
    slot = slot_of(there, key, workspace.flat[0])
    number = there.slots[slot]
    if number < 0:
        number = there.size[0]
        if number == there.key.shape[0]:
            workspace.full[0] = True
            return
        there.slots[slot] = number
        there.size[0] = number + 1
        there.state[number] = store.state[1]
        for place in range(workspace.flat.shape[1]):
            there.shown[number, place] = workspace.flat[0, place]
        there.mask[number, :] = 0
        LEGAL(options, after, there.mask[number])
        there.key[number] = key
        there.chance[number] = 0.0
    there.chance[number] += chance


@template
def spread(
    options: Any, store: Memory, there: Layer, workspace: Workspace, action: int, chosen: int, chance: float
) -> None:
    """Record the positions after `action` (or after the deal), which takes more cards of the stub than the first
    `chosen`, which are fixed, for every kind of each further card. (No recursion: recursive machine code cannot be
    cached.)"""
    state = store.state[0]
    deck = DECK(state)
    first, depth = int(NEXT_CARD(state)), chosen
    begin_choice(store, workspace, deck, first, depth, chance)
    while depth >= chosen:
        place = first + depth
        kind = int(workspace.kind[depth])
        if kind >= 0:
            other = store.tally[0, depth, 1, kind]
            deck[place], deck[other] = deck[other], deck[place]
        kind += 1
        while kind < store.tally.shape[3] and store.tally[0, depth, 0, kind] == 0:
            kind += 1
        workspace.kind[depth] = kind
        if kind == store.tally.shape[3]:
            depth -= 1
            continue
        other = store.tally[0, depth, 1, kind]
        deck[place], deck[other] = deck[other], deck[place]
        part = workspace.part[depth] * store.tally[0, depth, 0, kind] / (deck.shape[0] - place)
        if try_out(options, store, 0, action) > depth + 1:
            depth += 1
            begin_choice(store, workspace, deck, first, depth, part)
        else:
            land(options, store, there, workspace, part)


@template
def begin_choice(
    store: Memory, workspace: Workspace, deck: npt.NDArray[Any], first: int, depth: int, chance: float
) -> None:
    """Go to before the first kind of the card at `first + depth`."""
    count_kinds(store.kind, deck, first + depth, store.tally[0, depth, 0], store.tally[0, depth, 1])
    workspace.kind[depth], workspace.part[depth] = -1, chance


@template
def open_layer(
    options: Any, store: Memory, there: Layer, workspace: Workspace, start_outcome: int, leading: npt.NDArray[np.int64]
) -> None:
    """Record the first positions of an episode whose pack begins with the cards `leading`."""
    lay_out(options, store, start_outcome, leading)
    spread(options, store, there, workspace, 0, leading.shape[0], 1.0)


@template
def thin(here: Layer, workspace: Workspace, least: float) -> None:
    """Sample the positions rarer than `least`; those kept stay in order."""
    number = 0
    for other in range(here.size[0]):
        chance = here.chance[other]
        if chance < least:
            workspace.found[VARIANCE] += chance * (least - chance)
            workspace.stream[0], drawn = rng.below(workspace.stream[0], _LOTS)
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
        workspace.found[DECISIONS] += chance
        number += 1
    workspace.found[POSITIONS] += number
    here.size[0] = number


@template
def follow(options: Any, store: Memory, here: Layer, there: Layer, workspace: Workspace) -> None:
    """Play the agent's actions at every position of a layer, by `plays`; the new positions go into the next layer."""
    for number in range(here.size[0]):
        store.state[0] = here.state[number]
        for action in range(here.plays.shape[1]):
            part = here.chance[number] * here.plays[number, action]
            if part > 0.0 and not workspace.full[0]:
                if try_out(options, store, 0, action) == 0:
                    land(options, store, there, workspace, part)
                else:
                    spread(options, store, there, workspace, action, 0, part)


class Following(NamedTuple):
    """The kernels of a game, compiled."""

    opening: Callable[..., None]
    thin: Callable[..., None]
    follow: Callable[..., None]


def linked(game: Game) -> Following:
    """Return `open_layer`, `thin` and `follow` for a game."""
    templates = [slot_of, land, try_out, lay_out, begin_choice, spread, open_layer, thin, follow]
    made = specialise(templates, solver_names(game.type))
    store, layer, space = memory(game, 2), empty_layer(game, 2), workspace(game)
    return Following(
        bind(made["open_layer"], game.options, store, layer, space, 0, np.zeros(1, np.int64)),
        bind(made["thin"], layer, space, 0.0),
        bind(made["follow"], game.options, store, layer, layer, space),
    )
