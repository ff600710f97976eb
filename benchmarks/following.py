"""All that can come of an agent's play, for games that hide nothing but the order of the pack: the kernels behind
`agent_values.py`.

Positions are followed forward, decision by decision, each with its probability. Two are one where play goes on alike
(the game's own `Enumeration.key`) and the agent is shown the same: an agent may look at more than the rules do. Only
what the agent's own actions lead to is met. As in `enumeration.py` no rule is written a second time: the game's own
kernels say what chance may bring.

Where that is too many, positions rarer than `least` are kept by lot: one of probability p < `least` goes on as if of
probability `least`, in p / `least` of all cases. The mean stays what it is (Kahn and Harris 1951, "Russian roulette"),
and no such draw adds more than p (`least` - p) B^2 to the variance, B being the most that an episode can still bring.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.kernel import bind
from backalley.envs.core.parts import OVER
from backalley.envs.core.specialise import specialise, template, unbound

from .enumeration import MAX_CHOSEN, Memory, count_kinds, lay_out, memory, solver_names, try_out
from .seen_before import alike, mixed

GAINED, VARIANCE, DECISIONS, POSITIONS = range(4)
"""Places in `Room.found`."""
_LOTS = 2**31


class Ledger(NamedTuple):
    """Positions of one layer, up to C of them."""

    state: npt.NDArray[Any]
    """[C] the game's State records."""
    shown: npt.NDArray[Any]
    """[C, O] what the seat to act is shown."""
    mask: npt.NDArray[np.int8]
    """[C, A] what is legal."""
    plays: npt.NDArray[np.float64]
    """[C, A] how likely the agent plays each action; filled in by who follows."""
    key: npt.NDArray[np.int64]
    """[C] the game's key of the position."""
    chance: npt.NDArray[np.float64]
    """[C] how likely it is reached."""
    slots: npt.NDArray[np.int64]
    """[a power of two above C] numbers of positions by hash; -1 where there is none."""
    size: npt.NDArray[np.int64]
    """[1] how many there are."""


class Room(NamedTuple):
    """What following works in, and what it found."""

    flat: npt.NDArray[Any]
    """[1, O] what is shown."""
    observation: npt.NDArray[Any]
    """[1] the same memory as the game's record."""
    kind: npt.NDArray[np.int64]
    """[MAX_CHOSEN] of each card being chosen its kind, -1 before the first."""
    part: npt.NDArray[np.float64]
    """[MAX_CHOSEN] and the probability of those before it."""
    found: npt.NDArray[np.float64]
    """[4] seat 0's expected gain so far, its variance by what was drawn by lot (in units of B^2), expected decisions,
    positions met."""
    stream: npt.NDArray[np.uint64]
    """[1] draws the lots."""
    full: npt.NDArray[np.bool_]
    """[1] whether there were more positions than a ledger has room for."""


def ledger(game: Game, size: int) -> Ledger:
    """An empty ledger with room for `size` (a power of two) positions."""
    return Ledger(
        state=np.zeros(size, game.state_dtype),
        shown=np.zeros((size, game.observation_size), game.observation_base),
        mask=np.zeros((size, game.num_actions), np.int8),
        plays=np.zeros((size, game.num_actions)),
        key=np.zeros(size, np.int64),
        chance=np.zeros(size),
        slots=np.full(2 * size, -1, np.int64),
        size=np.zeros(1, np.int64),
    )


def room(game: Game) -> Room:
    """Room for one thread."""
    flat = np.zeros((1, game.observation_size), game.observation_base)
    return Room(
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
def slot_of(there: Ledger, key: int, shown: npt.NDArray[Any]) -> int:
    """Where a position's number lies, or the free slot where it belongs."""
    last = there.slots.shape[0] - 1
    slot = mixed(key, shown) & last
    while there.slots[slot] >= 0:
        number = there.slots[slot]
        if there.key[number] == key and alike(there.shown[number], shown):
            break
        slot = (slot + 1) & last
    return int(slot)


@template
def land(options: Any, store: Memory, there: Ledger, room: Room, chance: float) -> None:
    """Note where an action or a deal has led, with this probability: what seat 0 gained by it, and the position."""
    after = store.state[1]
    room.found[GAINED] += chance * float(after.reward[0])
    after.reward[:] = 0
    if after.seat == OVER:
        return
    room.flat[0, :] = 0
    OBSERVE(options, after, int(after.seat), room.observation[0])
    key = int(KEY(options, after))
    slot = slot_of(there, key, room.flat[0])
    number = there.slots[slot]
    if number < 0:
        number = there.size[0]
        if number == there.key.shape[0]:
            room.full[0] = True
            return
        there.slots[slot] = number
        there.size[0] = number + 1
        there.state[number] = store.state[1]
        for place in range(room.flat.shape[1]):
            there.shown[number, place] = room.flat[0, place]
        there.mask[number, :] = 0
        LEGAL(options, after, there.mask[number])
        there.key[number] = key
        there.chance[number] = 0.0
    there.chance[number] += chance


@template
def spread(options: Any, store: Memory, there: Ledger, room: Room, action: int, chosen: int, chance: float) -> None:
    """Land after `action` (or after the deal), which takes more cards of the stub than the first `chosen`, which are
    fixed, on every kind of each further one. (No recursion: machine code that calls itself cannot be kept on disk.)"""
    state = store.state[0]
    deck = DECK(state)
    first, depth = int(NEXT_CARD(state)), chosen
    begin_choice(store, room, deck, first, depth, chance)
    while depth >= chosen:
        place = first + depth
        kind = int(room.kind[depth])
        if kind >= 0:
            other = store.tally[0, depth, 1, kind]
            deck[place], deck[other] = deck[other], deck[place]
        kind += 1
        while kind < store.tally.shape[3] and store.tally[0, depth, 0, kind] == 0:
            kind += 1
        room.kind[depth] = kind
        if kind == store.tally.shape[3]:
            depth -= 1
            continue
        other = store.tally[0, depth, 1, kind]
        deck[place], deck[other] = deck[other], deck[place]
        part = room.part[depth] * store.tally[0, depth, 0, kind] / (deck.shape[0] - place)
        if try_out(options, store, 0, action) > depth + 1:
            depth += 1
            begin_choice(store, room, deck, first, depth, part)
        else:
            land(options, store, there, room, part)


@template
def begin_choice(store: Memory, room: Room, deck: npt.NDArray[Any], first: int, depth: int, chance: float) -> None:
    """Before the first kind of the card that lies at `first + depth`."""
    count_kinds(store.kind, deck, first + depth, store.tally[0, depth, 0], store.tally[0, depth, 1])
    room.kind[depth], room.part[depth] = -1, chance


@template
def open_ledger(
    options: Any, store: Memory, there: Ledger, room: Room, start_outcome: int, leading: npt.NDArray[np.int64]
) -> None:
    """The first positions of an episode whose pack begins with the cards `leading`."""
    lay_out(options, store, start_outcome, leading)
    spread(options, store, there, room, 0, leading.shape[0], 1.0)


@template
def thin(here: Ledger, room: Room, least: float) -> None:
    """Keep the positions rarer than `least` by lot, those kept in their order."""
    number = 0
    for other in range(here.size[0]):
        chance = here.chance[other]
        if chance < least:
            room.found[VARIANCE] += chance * (least - chance)
            room.stream[0], drawn = rng.below(room.stream[0], _LOTS)
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
        room.found[DECISIONS] += chance
        number += 1
    room.found[POSITIONS] += number
    here.size[0] = number


@template
def follow(options: Any, store: Memory, here: Ledger, there: Ledger, room: Room) -> None:
    """Let the agent act at every position of a layer, as `plays` says; where that leads goes into the next."""
    for number in range(here.size[0]):
        store.state[0] = here.state[number]
        for action in range(here.plays.shape[1]):
            part = here.chance[number] * here.plays[number, action]
            if part > 0.0 and not room.full[0]:
                if try_out(options, store, 0, action) == 0:
                    land(options, store, there, room, part)
                else:
                    spread(options, store, there, room, action, 0, part)


class Following(NamedTuple):
    """The kernels of a game, compiled."""

    opening: Callable[..., None]
    thin: Callable[..., None]
    follow: Callable[..., None]


def linked(game: Game) -> Following:
    """`open_ledger`, `thin` and `follow` for a game."""
    templates = [slot_of, land, try_out, lay_out, begin_choice, spread, open_ledger, thin, follow]
    made = specialise(templates, solver_names(game.type))
    store, layer, space = memory(game, 2), ledger(game, 2), room(game)
    return Following(
        bind(made["open_ledger"], game.options, store, layer, space, 0, np.zeros(1, np.int64)),
        bind(made["thin"], layer, space, 0.0),
        bind(made["follow"], game.options, store, layer, layer, space),
    )
