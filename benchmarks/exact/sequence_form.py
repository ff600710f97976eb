"""The sequence form of small two-seat games (von Stengel 1996): every deal through the game's own kernels, every
information set, and the payoff of each pair of sequences. The kernels behind `exploit.py`.

An information set is what a seat is shown where it has a choice; a sequence is what a seat has chosen so far. Sequence
0 of a seat is "nothing yet"; each set has a run of sequences, one for each legal action in ascending order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.compile.interfaces import CHANCE, OVER
from backalley.envs.core.compile.kernel import bind
from backalley.envs.core.compile.templates import specialise, template, unbound
from backalley.envs.core.engine.engine import kernel_names
from backalley.envs.core.game.game import Game

from .observation_hashes import alike, mixed

MAX_DEPTH = 64
"""The greatest depth of nested positions."""
MOST_SETS = 1 << 13
"""The greatest number of information sets of a seat."""
MOST_DEALS = 1 << 24
"""Ways in which the cards can fall, by kinds."""
_MOST_ENTRIES = 1 << 25
NO_CHOICE = -2
NONE, FULL, DEALS_AGAIN, FORGETS, DEEP = range(5)
_WORDS = {
    FULL: f"it has more than {MOST_SETS:,} information sets",
    DEALS_AGAIN: "it deals more than one pack",
    FORGETS: "a seat is shown the same after different choices of its own",
    DEEP: f"it takes more than {MAX_DEPTH} decisions",
}


class TooLarge(InvalidValue):
    """A game whose information sets cannot be enumerated; the sentence says why."""


class Sets(NamedTuple):
    """The information sets of both seats, C each at most; seat first in every array."""

    shown: npt.NDArray[Any]
    """[2, C, O]"""
    mask: npt.NDArray[np.int8]
    """[2, C, A]"""
    parent: npt.NDArray[np.int64]
    """[2, C] the seat's sequence that leads there."""
    first: npt.NDArray[np.int64]
    """[2, C] the first of its own sequences."""
    width: npt.NDArray[np.int64]
    """[2, C] how many it has."""
    size: npt.NDArray[np.int64]
    """[2] sets of each seat."""
    sequences: npt.NDArray[np.int64]
    """[2] sequences of each seat."""
    slots: npt.NDArray[np.int64]
    """[2, a power of two above C] numbers of sets by hash; -1 where there is none."""


class Room(NamedTuple):
    """Buffers of a walk through the game."""

    state: npt.NDArray[Any]
    """[MAX_DEPTH] the position at each depth."""
    raw: npt.NDArray[np.uint8]
    """The same memory as bytes."""
    mask: npt.NDArray[np.int8]
    """[MAX_DEPTH, A]"""
    action: npt.NDArray[np.int64]
    """[MAX_DEPTH] the action tried last there, -1 before the first."""
    sequence: npt.NDArray[np.int64]
    """[MAX_DEPTH] the sequence that it belongs to; NO_CHOICE where there is only one action."""
    path: npt.NDArray[np.int64]
    """[MAX_DEPTH, 2] the sequences by which the seats came there."""
    gained: npt.NDArray[np.float64]
    """[MAX_DEPTH] what seat 0 has gained until then."""
    flat: npt.NDArray[Any]
    """[1, O] what is shown."""
    observation: npt.NDArray[Any]
    """[1] the same memory as the game's record."""
    deck: npt.NDArray[np.int64]
    """The cards dealt."""
    of_kind: npt.NDArray[np.int64]
    """[kinds, cards] the cards of each kind."""
    left: npt.NDArray[np.int64]
    """[kinds] how many of them are left."""
    kind: npt.NDArray[np.int64]
    """[cards dealt] the kind of each, -1 before the first."""
    part: npt.NDArray[np.float64]
    """[cards dealt + 1] the probability of those before it."""
    trouble: npt.NDArray[np.int64]
    """[1] NONE, or why the game cannot be enumerated."""


class SequenceForm(NamedTuple):
    """A game as a matrix."""

    sets: Sets
    payoff: npt.NDArray[np.float64]
    """[sequences of seat 0, of seat 1] what seat 0 gains where play ends with these, times the probability of
    chance."""


START = DEAL = LEGAL = STEP = OBSERVE = unbound
"""The game's kernels in the templates below."""


@template
def set_of(sets: Sets, seat: int, shown: npt.NDArray[Any], mask: npt.NDArray[np.int8], own: int) -> int:
    """Return the number of a seat's set, making it if it is new; -1 where the memory is full."""
    last = sets.slots.shape[1] - 1
    slot = mixed(0, shown) & last
    while sets.slots[seat, slot] >= 0:
        if alike(sets.shown[seat, sets.slots[seat, slot]], shown):
            return int(sets.slots[seat, slot])
        slot = (slot + 1) & last
    number = int(sets.size[seat])
    if number == sets.parent.shape[1]:
        return -1
    sets.slots[seat, slot] = number
    sets.size[seat] = number + 1
    for place in range(shown.shape[0]):
        sets.shown[seat, number, place] = shown[place]
    sets.parent[seat, number] = own
    sets.first[seat, number] = sets.sequences[seat]
    for action in range(mask.shape[0]):
        sets.mask[seat, number, action] = mask[action]
        sets.width[seat, number] += int(mask[action] != 0)
    sets.sequences[seat] += sets.width[seat, number]
    return number


@template
def arrive(options: Any, sets: Sets, payoff: npt.NDArray[np.float64], room: Room, depth: int, chance: float) -> bool:
    """Enter the position at `depth`; return False where nothing follows it."""
    state, path = room.state[depth], room.path[depth]
    room.gained[depth] += float(state.reward[0])
    state.reward[:] = 0
    if state.seat == OVER:
        if payoff.shape[0] > 0:
            payoff[path[0], path[1]] += chance * room.gained[depth]
        return False
    if state.seat == CHANCE or depth + 1 == room.state.shape[0]:
        room.trouble[0] = DEALS_AGAIN if state.seat == CHANCE else DEEP
        return False
    mask, seat = room.mask[depth], int(state.seat)
    mask[:] = 0
    LEGAL(options, state, mask)
    choices = 0
    for action in range(mask.shape[0]):
        choices += int(mask[action] != 0)
    room.action[depth] = -1
    room.sequence[depth] = NO_CHOICE
    if choices > 1:
        room.flat[0, :] = 0
        OBSERVE(options, state, seat, room.observation[0])
        number = set_of(sets, seat, room.flat[0], mask, path[seat])
        if number < 0 or sets.parent[seat, number] != path[seat]:
            room.trouble[0] = FULL if number < 0 else FORGETS
            return False
        room.sequence[depth] = sets.first[seat, number] - 1
    return True


@template
def walk(options: Any, sets: Sets, payoff: npt.NDArray[np.float64], room: Room, chance: float) -> None:
    """Visit everything that may follow a deal. (No recursion: recursive machine code cannot be cached.)"""
    depth = 0 if arrive(options, sets, payoff, room, 0, chance) else -1
    while depth >= 0 and room.trouble[0] == NONE:
        mask, action = room.mask[depth], int(room.action[depth]) + 1
        while action < mask.shape[0] and mask[action] == 0:
            action += 1
        room.action[depth] = action
        if action == mask.shape[0]:
            depth -= 1
            continue
        seat = int(room.state[depth].seat)
        room.state[depth + 1] = room.state[depth]
        STEP(options, room.state[depth + 1], action)
        room.gained[depth + 1] = room.gained[depth]
        for who in range(2):
            room.path[depth + 1, who] = room.path[depth, who]
        if room.sequence[depth] != NO_CHOICE:
            room.sequence[depth] += 1
            room.path[depth + 1, seat] = room.sequence[depth]
        if arrive(options, sets, payoff, room, depth + 1, chance):
            depth += 1


@template
def deal_all(
    options: Any, sets: Sets, payoff: npt.NDArray[np.float64], room: Room, start_outcome: int, replaced: bool
) -> None:
    """Enumerate every way in which the cards can fall, by kinds."""
    place, last = 0, room.deck.shape[0] - 1
    room.kind[0] = -1
    while place >= 0 and room.trouble[0] == NONE:
        kind = int(room.kind[place])
        if kind >= 0 and not replaced:
            room.left[kind] += 1
        kind += 1
        while kind < room.left.shape[0] and room.left[kind] == 0:
            kind += 1
        room.kind[place] = kind
        if kind == room.left.shape[0]:
            room.kind[place] = -1
            place -= 1
            continue
        room.part[place + 1] = room.part[place] * room.left[kind] / room.left.sum()
        room.deck[place] = room.of_kind[kind, room.left[kind] - 1]
        if not replaced:
            room.left[kind] -= 1
        if place < last:
            place += 1
            room.kind[place] = -1
        else:
            room.raw[0, :] = 0
            START(options, room.state[0], start_outcome)
            DEAL(options, room.state[0], room.deck)
            room.gained[0] = 0.0
            room.path[0, :] = 0
            walk(options, sets, payoff, room, room.part[place + 1])


def sequence_form(game: Game) -> SequenceForm:
    """Return the sequence form of a game of two seats with opposite interests. Raises TooLarge."""
    if game.num_seats != 2 or not game.zero_sum:
        raise TooLarge(f"{game.name} is no game of two seats with opposite interests.")
    kinds = _kinds(game)
    if (ways := _ways([len(cards) for cards in kinds], game)) > MOST_DEALS:
        raise TooLarge(
            f"{game.name} cannot be enumerated: its cards can fall in {ways:,} ways, and {MOST_DEALS:,} are too many."
        )
    sets, room = _empty_sets(game), _room(game, kinds)
    templates = [set_of, arrive, walk, deal_all]
    whole = specialise(templates, kernel_names(game.type))["deal_all"]
    payoff = np.zeros((0, 0))
    entry = bind(whole, game.options, sets, payoff, room, 0, game.with_replacement)
    for _ in range(2):  # first the sets, then the payoffs
        for outcome in range(game.num_start_outcomes):
            room.part[0] = 1 / game.num_start_outcomes
            entry(game.options, sets, payoff, room, outcome, game.with_replacement)
        if room.trouble[0] == NONE and sets.sequences.prod() > _MOST_ENTRIES:
            room.trouble[0] = FULL
        if room.trouble[0] != NONE:
            raise TooLarge(f"{game.name} cannot be enumerated: {_WORDS[int(room.trouble[0])]}.")
        payoff = np.zeros(tuple(sets.sequences)) if not payoff.size else payoff
    return SequenceForm(sets, payoff)


def _kinds(game: Game) -> list[list[int]]:
    """The cards of each kind."""
    found: dict[int, list[int]] = {}
    for place, kind in enumerate(game.card_kinds or range(game.deck_size)):
        found.setdefault(kind, []).append(place)
    return [found[kind] for kind in sorted(found)]


def _ways(sizes: list[int], game: Game) -> int:
    """The number of ways in which the cards can fall, by kinds; some greater number if it is too large."""
    ways = 1
    for place in range(game.cards_drawn):
        ways *= len(sizes) if game.with_replacement else min(len(sizes), sum(sizes) - place)
        if ways > MOST_DEALS:
            break
    return ways


def _empty_sets(game: Game) -> Sets:
    return Sets(
        shown=np.zeros((2, MOST_SETS, game.observation_size), game.observation_base),
        mask=np.zeros((2, MOST_SETS, game.num_actions), np.int8),
        parent=np.zeros((2, MOST_SETS), np.int64),
        first=np.zeros((2, MOST_SETS), np.int64),
        width=np.zeros((2, MOST_SETS), np.int64),
        size=np.zeros(2, np.int64),
        sequences=np.ones(2, np.int64),
        slots=np.full((2, 2 * MOST_SETS), -1, np.int64),
    )


def _room(game: Game, kinds: list[list[int]]) -> Room:
    state = np.zeros(MAX_DEPTH, game.state_dtype)
    flat = np.zeros((1, game.observation_size), game.observation_base)
    of_kind = np.zeros((len(kinds), max(map(len, kinds))), np.int64)
    for kind, cards in enumerate(kinds):
        of_kind[kind, : len(cards)] = cards
    return Room(
        state=state,
        raw=state.view(np.uint8).reshape(MAX_DEPTH, -1),
        mask=np.zeros((MAX_DEPTH, game.num_actions), np.int8),
        action=np.zeros(MAX_DEPTH, np.int64),
        sequence=np.zeros(MAX_DEPTH, np.int64),
        path=np.zeros((MAX_DEPTH, 2), np.int64),
        gained=np.zeros(MAX_DEPTH),
        flat=flat,
        observation=game.records(flat),
        deck=np.zeros(game.cards_drawn, np.int64),
        of_kind=of_kind,
        left=np.array([len(cards) for cards in kinds]),
        kind=np.zeros(game.cards_drawn, np.int64),
        part=np.zeros(game.cards_drawn + 1),
        trouble=np.zeros(1, np.int64),
    )
