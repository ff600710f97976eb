"""How large a game is: its deals, histories and information sets, counted by walking through all of them.

An information set is what a seat knows when it has to act: its events so far. As in `expectimax.py` no rule is written
a second time: the game's own kernels deal, play and tell. Information sets are known by hashes of 64 bits, by which
two of ten million are taken for one with a probability of some 10⁻⁶.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.compile.interfaces import CHANCE, OVER
from backalley.envs.core.compile.kernel import bind, kernel
from backalley.envs.core.compile.templates import specialise, template, unbound
from backalley.envs.core.engine.batch_kernels import Batch
from backalley.envs.core.engine.engine import Engine, kernel_names, logged_kernels
from backalley.envs.core.engine.event_log import History, as_told, visible
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.rules import rng

from ..figures.formatting import Line, options, title
from ..figures.result_kinds import Files, OfGame, of_game

MOST_SETS = 10_000_000
_MOST_ORDERS = 10**9
_MAX_DEPTH = 250
_FIRST_SLOTS = 1 << 16
_NODES = 1 << 20
"""Positions walked through between two reports of progress."""
DEALS, HISTORIES, ENDS, SETS, CHOICES, DEPTH, LEFT = range(7)
"""Places in `Space.found`: what has been counted; the depth of the walk, -1 at its end; positions until it pauses."""


class TooLarge(InvalidValue):
    """A game that is too large to walk through."""


def _counts(files: Files) -> Iterator[Line]:
    for found in files:
        counted = {name.replace("_", " "): f"{found[name]:,}" for name in InformationSets.COUNTED}
        yield {"game": title(found), "options": options(found), **counted}


@dataclass(frozen=True, kw_only=True)
class InformationSets(
    OfGame, kind="information_sets", heading="Information sets", tables={"information_sets": _counts}
):
    """The result of `count_information_sets`."""

    COUNTED = ("deals", "histories", "ends", "information_sets", "choices")

    deals: int
    """Deals that lead to different positions, those after different histories counted apart."""
    histories: int
    """Positions in which a seat has to act, each with the way that led there."""
    ends: int
    """Ways to the end of an episode."""
    information_sets: int
    """What a seat may know when it has to act."""
    choices: int
    """Those of them in which it has more than one legal action."""

    @classmethod
    def footnotes(cls, files: Files) -> list[str]:
        """Say what is counted."""
        return ["Histories are those in which a seat has to act; choices are information sets with several actions."]

    def measured(self) -> dict[str, Any]:
        """What was found, as its file holds it."""
        return {name: getattr(self, name) for name in self.COUNTED}


def count_information_sets(
    game: str | GameType | Game, *, most: int = MOST_SETS, progress: Callable[[int, int], None] | None = None
) -> InformationSets:
    """Count a game's information sets by walking through all its start outcomes, deals and actions.

    `progress(found, most)` is called from time to time with the information sets found so far. Raises TooLarge for more
    than `most` of them, and for packs of too many orders; RuntimeError for a game that declares no events.
    """
    game = game_of(game)
    orders = _orders(game)
    if orders > _MOST_ORDERS:
        raise TooLarge(
            f"A deal of {game.name} draws {game.cards_drawn} of {game.deck_size} cards, in 10^{math.log10(orders):.0f} "
            f"orders; up to {_MOST_ORDERS:,} can be walked through. Choose options with fewer cards."
        )
    walk = _Walk(game)
    for start_outcome in range(game.num_start_outcomes):
        walk.begin(start_outcome)
        goes_on = True
        while goes_on:
            goes_on = walk.go_on()
            found = walk.space.found.tolist()
            if found[SETS] > most:
                raise TooLarge(f"{game.name} has more than {most:,} information sets under these options.")
            if progress is not None:
                progress(found[SETS], most)
    return InformationSets(
        **of_game(game, __file__),
        deals=found[DEALS],
        histories=found[HISTORIES],
        ends=found[ENDS],
        information_sets=found[SETS],
        choices=found[CHOICES],
    )


def _orders(game: Game) -> int:
    size, drawn = game.deck_size, game.cards_drawn
    return int(size**drawn) if game.with_replacement else math.perm(size, drawn)


class Space(NamedTuple):
    """Where the walk is, and what it has found."""

    knows: npt.NDArray[np.uint64]
    """[D, N] the hash of each seat's information state at each depth."""
    mask: npt.NDArray[np.int8]
    """[D, A]"""
    following: npt.NDArray[np.int64]
    """[D] the next action to try; at a deal, 1 once it has been dealt."""
    pack: npt.NDArray[np.int64]
    """[D, cards] the order of the latest deal."""
    cards: npt.NDArray[np.int64]
    """[cards] the same for the deal itself, which may write to it."""
    sets: npt.NDArray[np.uint64]
    """[a power of two] hashes of information sets; 0 where there is none."""
    dealt: npt.NDArray[np.uint64]
    """[a power of two] hashes of positions after deals."""
    found: npt.NDArray[np.int64]
    """[7]"""


class _Walk:
    """A walk through one game, and the memory of it."""

    def __init__(self, game: Game) -> None:
        self.game, self.engine = game, Engine(game, _MAX_DEPTH, history=True)
        self.drawn, self.repeated = game.cards_drawn, game.with_replacement
        cards = self.drawn if self.repeated else game.deck_size
        self.space = Space(
            knows=np.zeros((_MAX_DEPTH, game.num_seats), np.uint64),
            mask=np.zeros((_MAX_DEPTH, game.num_actions), np.int8),
            following=np.zeros(_MAX_DEPTH, np.int64),
            pack=np.zeros((_MAX_DEPTH, cards), np.int64),
            cards=np.zeros(cards, np.int64),
            sets=np.zeros(_FIRST_SLOTS, np.uint64),
            dealt=np.zeros(_FIRST_SLOTS, np.uint64),
            found=np.zeros(7, np.int64),
        )
        logged = logged_kernels(game.type)
        names = {name: logged[name] for name in ("apply_logged", "deal_logged")}
        made = specialise([enter, deal_next, walk], kernel_names(game.type) | names)
        self._walk = bind(made["walk"], *self._arguments())

    def _arguments(self) -> tuple[Any, ...]:
        engine = self.engine
        size = 0 if not self.repeated else self.game.deck_size
        return engine.options, engine.batch, engine.history, self.space, self.drawn, size

    def begin(self, start_outcome: int) -> None:
        """Go to the beginning of the game."""
        space = self.space
        self.engine.start_one(start_outcome)
        with np.errstate(over="ignore"):
            space.knows[0] = [rng.fork(np.uint64(1), seat) for seat in range(self.game.num_seats)]
        space.following[0] = space.found[DEPTH] = 0

    def go_on(self) -> bool:
        """Walk on for a while; return whether there is more. Raises TooLarge for an episode that is too long."""
        space = self.space
        space.found[LEFT] = min(_NODES, len(space.sets) // 4, len(space.dealt) // 4)
        if self._walk(*self._arguments()):
            raise TooLarge(f"{self.game.name} has episodes of more than {_MAX_DEPTH - 2} deals and actions.")
        self.space = space._replace(
            sets=_with_room(space.sets, int(space.found[SETS])), dealt=_with_room(space.dealt, int(space.found[DEALS]))
        )
        return bool(space.found[DEPTH] >= 0)


def _with_room(slots: npt.NDArray[np.uint64], used: int) -> npt.NDArray[np.uint64]:
    """Return hashes with at most a quarter of the slots in use."""
    if 4 * used < len(slots):
        return slots
    larger = np.zeros(8 * len(slots), np.uint64)
    add_all(larger, slots)
    return larger


@kernel
def add(slots: npt.NDArray[np.uint64], key: np.uint64) -> bool:
    """Add a hash; return whether it is new."""
    last = np.uint64(slots.shape[0] - 1)
    slot = key & last
    while slots[slot] != 0:
        if slots[slot] == key:
            return False
        slot = (slot + np.uint64(1)) & last
    slots[slot] = key
    return True


@kernel
def add_all(slots: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64]) -> None:
    """Add all hashes of another table."""
    for place in range(keys.shape[0]):
        if keys[place] != 0:
            add(slots, keys[place])


@kernel
def reverse(cards: npt.NDArray[np.int64], first: int) -> None:
    """Reverse the order of the cards from place `first` on."""
    last = cards.shape[0] - 1
    while first < last:
        kept = cards[first]
        cards[first] = cards[last]
        cards[last] = kept
        first, last = first + 1, last - 1


@kernel
def next_order(cards: npt.NDArray[np.int64], drawn: int, size: int) -> bool:
    """Go to the next order of the first `drawn` cards, the rest ascending, or with `size` above 0 to the next numbers
    below it; return False after the last."""
    if size > 0:
        for place in range(drawn - 1, -1, -1):
            cards[place] += 1
            if cards[place] < size:
                return True
            cards[place] = 0
        return False
    reverse(cards, drawn)
    place = cards.shape[0] - 2
    while place >= 0 and cards[place] >= cards[place + 1]:
        place -= 1
    if place < 0:
        return False
    other = cards.shape[0] - 1
    while cards[other] <= cards[place]:
        other -= 1
    kept = cards[place]
    cards[place] = cards[other]
    cards[other] = kept
    reverse(cards, place + 1)
    return True


@kernel
def learn(
    told: npt.NDArray[np.int16], entries: npt.NDArray[np.int16], count: int, knows: npt.NDArray[np.uint64]
) -> None:
    """Add the events just written to what each seat knows."""
    for seat in range(knows.shape[0]):
        key = np.uint64(knows[seat])
        for number in range(count):
            if visible(int(entries[number, 0]), seat):
                who = int(entries[number, 2])
                kind, what = as_told(told, int(entries[number, 1]), who, int(entries[number, 3]), seat)
                key = np.uint64(rng.fork(np.uint64(rng.fork(key, kind & 0xFFFF)), who & 0xFFFF))
                key = np.uint64(rng.fork(key, what & 0xFFFF))
        knows[seat] = key


@kernel
def key_of(raw: npt.NDArray[np.uint8], knows: npt.NDArray[np.uint64]) -> np.uint64:
    """Return the hash of a state and of what all seats know."""
    key = np.uint64(1)
    for seat in range(knows.shape[0]):
        key = np.uint64(rng.fork(np.uint64(key ^ knows[seat]), seat))
    for place in range(raw.shape[0]):
        if raw[place]:
            key = np.uint64(rng.fork(key, 256 * place + int(raw[place])))
    return key


LEGAL = apply_logged = deal_logged = unbound
"""The game's kernels, and those of its tables."""


@template
def enter(options: Any, batch: Batch, history: History, space: Space, depth: int) -> None:
    """Arrive at a position: copy to its seats what they knew before, and add what they have just been told."""
    for seat in range(space.knows.shape[1]):
        space.knows[depth, seat] = space.knows[depth - 1, seat]
    learn(history.told, history.entries[depth], int(history.filled[depth]), space.knows[depth])
    batch.state[depth].reward[:] = 0
    space.following[depth] = 0


@template
def deal_next(options: Any, batch: Batch, history: History, space: Space, depth: int, drawn: int, size: int) -> bool:
    """Deal the next pack that leads to a new position; return False after the last."""
    pack = space.pack[depth]
    while True:
        if space.following[depth] == 0:
            for place in range(pack.shape[0]):
                pack[place] = 0 if size > 0 else place
            space.following[depth] = 1
        elif not next_order(pack, drawn, size):
            return False
        for place in range(pack.shape[0]):
            space.cards[place] = pack[place]
        batch.state[depth + 1] = batch.state[depth]
        history.filled[depth + 1] = 0
        deal_logged(options, batch, history, space.cards, depth + 1)
        enter(options, batch, history, space, depth + 1)
        if add(space.dealt, key_of(batch.raw[depth + 1], space.knows[depth + 1])):
            space.found[DEALS] += 1
            return True


@template
def walk(options: Any, batch: Batch, history: History, space: Space, drawn: int, size: int) -> bool:
    """Walk on, depth first, through `found[LEFT]` positions; return True where an episode is too long."""
    found, depth = space.found, int(space.found[DEPTH])
    while depth >= 0 and found[LEFT] > 0:
        if depth + 2 >= batch.state.shape[0]:
            return True
        seat, down = int(batch.state[depth].seat), False
        if seat == CHANCE:
            down = deal_next(options, batch, history, space, depth, drawn, size)
        elif seat == OVER:
            found[ENDS] += 1
        else:
            mask, action = space.mask[depth], int(space.following[depth])
            if action == 0:
                mask[:] = 0
                LEGAL(options, batch.state[depth], mask)
                found[HISTORIES] += 1
                if add(space.sets, np.uint64(rng.fork(space.knows[depth, seat], seat))):
                    found[SETS] += 1
                    found[CHOICES] += int(mask.sum() > 1)
            while action < mask.shape[0] and mask[action] == 0:
                action += 1
            down = action < mask.shape[0]
            if down:
                space.following[depth] = action + 1
                batch.state[depth + 1] = batch.state[depth]
                history.filled[depth + 1] = 0
                apply_logged(options, batch, history, depth + 1, action)
                enter(options, batch, history, space, depth + 1)
        found[LEFT] -= 1
        depth += 1 if down else -1
    found[DEPTH] = depth
    return False
