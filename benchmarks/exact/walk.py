"""One walk through all of a game, depth first: every deal, every action, what each seat knows, and what is paid.

An information set is what a seat knows when it has to act: its events so far. As in `expectimax.py` no rule is written
a second time: the game's own kernels deal, play and tell. Information sets are known by hashes of 64 bits, by which
two of ten million are taken for one with a probability of some 10⁻⁵.

A walk that keeps what it finds gives the game's sequence form (von Stengel 1996). A sequence is what a seat has chosen
so far: number 0 is "nothing yet", and each information set with several actions has a run of sequences, one for each
legal action in ascending order. A payoff belongs to a pair of sequences, one of each seat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.compiled_events import History, learn, logged_kernels
from backalley.envs.core.api.compiled_play import Batch, kernel_names
from backalley.envs.core.api.vector import BatchEnv
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.game.kernels import CHANCE, OVER, bind, kernel, specialise, template, unbound
from backalley.envs.core.rules import rng

from ..figures.formatting import Line, options, title
from ..figures.result_kinds import Files, OfGame, of_game
from . import deals as deals_module
from .deals import Deals, begin_deals, deals_of, next_deal
from .hash_table import grown, slot_of

MOST_SETS, MOST_DEALS = 10_000_000, 10**9
_MOST_ORDERS = 10**21
"""Orders of the cards drawn beyond which no interchangeable places are looked for: too many deals would be left."""
MAX_DEPTH = 250
"""Deals and actions of an episode, and two."""
_FIRST_SLOTS, _FIRST_SETS = 1 << 16, 1 << 10
_NODES = 1 << 20
"""Positions walked through between two reports of progress."""
DEALS, HISTORIES, ENDS, SETS, CHOICES, PAIRS, DEPTH, LEFT = range(8)
"""Places in `Space.found`: what has been counted; the depth of the walk, -1 at its end; positions until it pauses."""
FINE, DEEP, FORGETS = range(3)
"""What a walk may end with."""
_NO_CHOICE = -1


Progress = Callable[[int, int], None]
"""Called with the information sets found and the most there may be."""


class TooLarge(InvalidValue):
    """A game that cannot be walked through; the sentence says why."""


class Sets(NamedTuple):
    """Information sets with several actions, those nearer the beginning first."""

    seat: npt.NDArray[np.int8]
    """[C] who acts."""
    parent: npt.NDArray[np.int64]
    """[C] the sequence of that seat which leads there."""
    first: npt.NDArray[np.int64]
    """[C] the first of its own sequences."""
    width: npt.NDArray[np.int64]
    """[C] how many it has."""
    state: npt.NDArray[Any]
    """[C] one of the states in which the seat knows this."""
    decisions: npt.NDArray[np.int32]
    """[C] decisions that the seat made before."""
    key: npt.NDArray[np.uint64]
    """[C] a digest of what it knows."""


class Space(NamedTuple):
    """Where the walk is, at each of D depths, and what it has found."""

    knows: npt.NDArray[np.uint64]
    """[D, N] the hash of each seat's information state."""
    mask: npt.NDArray[np.int8]
    """[D, A]"""
    following: npt.NDArray[np.int64]
    """[D] the next action to try; at a deal, 1 once it has been dealt."""
    choice: npt.NDArray[np.int64]
    """[D] the sequence of the next action; _NO_CHOICE where there is only one action."""
    path: npt.NDArray[np.int64]
    """[D, N] the sequences by which the seats came there."""
    chance: npt.NDArray[np.float64]
    """[D] the probability of all deals so far."""
    gained: npt.NDArray[np.float64]
    """[D, N] what each seat has gained so far."""
    keys: npt.NDArray[np.uint64]
    """[a power of two] hashes of information sets; 0 where there is none."""
    numbers: npt.NDArray[np.int32]
    """[the same] which of `sets` each is; _NO_CHOICE with a single action."""
    sets: Sets
    sequences: npt.NDArray[np.int64]
    """[N] sequences of each seat."""
    pairs: npt.NDArray[np.uint64]
    """[a power of two] 1 + pairs of sequences, seat 0's shifted by 32 bits; 0 where there is none."""
    payoff: npt.NDArray[np.float64]
    """[the same] what seat 0 gains where play ends with these, times the probability of the deals."""
    span: npt.NDArray[np.float64]
    """[2] the least and the most that seat 0 has gained at an end."""
    found: npt.NDArray[np.int64]
    """[8]"""


class Walk:
    """A walk through all of one game, and the memory of it. With `keep` it keeps information sets and payoffs of two
    seats; without, it counts."""

    more: ClassVar[tuple[Callable[..., Any], ...]] = ()
    """Templates of a walk that does more."""

    def __init__(self, game: Game, *, keep: bool, most: int = MOST_SETS, progress: Progress | None = None) -> None:
        """Raises TooLarge for more than `most` information sets, too many deals and too long episodes; RuntimeError
        for a game that declares no events."""
        check_deals(game, 1, _MOST_ORDERS)
        self.game, self.keep = game, keep
        self._bound: dict[str, Callable[..., Any]] = {}
        self.tables = BatchEnv(game, MAX_DEPTH, events=True).for_kernels()
        self.deals, self.space = deals_of(game, MAX_DEPTH), _space(game, keep)
        logged = {name: logged_kernels(game.type)[name] for name in ("apply_logged", "deal_logged")}
        self._made = specialise([*deals_module.TEMPLATES, *TEMPLATES, *self.more], kernel_names(game.type) | logged)
        for self.start_outcome in range(game.num_start_outcomes):
            self._begin(self.start_outcome)
            while self.space.found[DEPTH] >= 0:
                self._go_on()
                found = int(self.space.found[SETS])
                if found > most:
                    raise TooLarge(f"{game.name} has more than {most:,} information sets under these options.")
                if progress is not None:
                    progress(found, most)

    def _arguments(self) -> tuple[Any, ...]:
        return self.tables.options, self.tables.batch, self.tables.history, self.space, self.deals

    def _begin(self, start_outcome: int) -> None:
        """Go to the beginning of the game. Raises TooLarge where the first deal has too many outcomes."""
        space = self.space
        batch, history = self.tables.batch, self.tables.history
        assert history is not None
        batch.raw[0], batch.decisions[0], batch.own_decisions[0] = 0, 0, 0
        history.filled[0] = history.dealt[0] = 0
        self.game.kernels.start(self.game.options, batch.state[0], start_outcome)
        with np.errstate(over="ignore"):
            space.knows[0] = [rng.fork(np.uint64(1), seat) for seat in range(self.game.num_seats)]
        space.following[0] = space.found[DEPTH] = 0
        space.chance[0], space.gained[0], space.path[0] = 1 / self.game.num_start_outcomes, 0.0, 0
        if batch.state["seat"][0] == CHANCE:
            self._call("begin_deals", *self._arguments(), 0)
            check_deals(self.game, math.prod(self.deals.rank[0].tolist()), MOST_DEALS)

    def _walk_on(self) -> int:
        """Walk on for a while; return FINE, or why it cannot go on."""
        trouble: int = self._call("walk", *self._arguments(), self.keep)
        return trouble

    def _call(self, name: str, *args: Any) -> Any:
        """Call a template, bound to the types of its arguments at its first call."""
        if name not in self._bound:
            self._bound[name] = bind(self._made[name], *args)
        return self._bound[name](*args)

    def _go_on(self) -> None:
        """Walk on for a while. Raises TooLarge for an episode that is too long."""
        found = self.space.found
        found[LEFT] = min(_NODES, len(self.space.keys) // 4)
        if self.keep:
            found[LEFT] = min(found[LEFT], len(self.space.pairs) // 4, len(self.space.sets.seat) - found[CHOICES])
        trouble = self._walk_on()
        if trouble == DEEP:
            raise TooLarge(f"{self.game.name} has episodes of more than {MAX_DEPTH - 2} deals and actions.")
        if trouble == FORGETS:
            raise TooLarge(f"{self.game.name} cannot be laid out: by its events a seat forgets an action of its own.")
        self._make_room()

    def _make_room(self) -> None:
        """Leave at most a quarter of the slots in use, and half of the sets."""
        space, found = self.space, self.space.found
        if 4 * found[SETS] >= len(space.keys):
            keys, numbers = grown(space.keys, space.numbers)
            space = space._replace(keys=keys, numbers=numbers)
        if 4 * found[PAIRS] >= len(space.pairs):
            pairs, payoff = grown(space.pairs, space.payoff)
            space = space._replace(pairs=pairs, payoff=payoff)
        if self.keep and 2 * found[CHOICES] >= len(space.sets.seat):
            sets = Sets._make(np.concatenate([part, np.zeros_like(part)]) for part in space.sets)
            space = space._replace(sets=sets)
        self.space = space


def check_deals(game: Game, alike: int, most: int) -> None:
    """Raise TooLarge where the cards drawn can fall in more than `most` ways, if so many orders each are `alike`."""
    drawn = game.cards_drawn
    kinds = len(set(game.card_kinds)) if game.card_kinds else None
    left = [game.deck_size - (0 if game.with_replacement else place) for place in range(drawn)]
    ways = math.prod(min(kinds or cards, cards) for cards in left) // alike
    if ways > most:
        raise TooLarge(
            f"{game.name} is too large to walk through: {drawn} of {game.deck_size} cards are drawn, in some "
            f"10^{math.log10(ways):.0f} ways that differ, and {MOST_DEALS:,} are too many. Choose options with fewer "
            "cards."
        )


def _space(game: Game, keep: bool) -> Space:
    """The memory of a walk before its beginning."""
    size = _FIRST_SETS if keep else 0
    return Space(
        knows=np.zeros((MAX_DEPTH, game.num_seats), np.uint64),
        mask=np.zeros((MAX_DEPTH, game.num_actions), np.int8),
        following=np.zeros(MAX_DEPTH, np.int64),
        choice=np.zeros(MAX_DEPTH, np.int64),
        path=np.zeros((MAX_DEPTH, game.num_seats), np.int64),
        chance=np.zeros(MAX_DEPTH),
        gained=np.zeros((MAX_DEPTH, game.num_seats)),
        keys=np.zeros(_FIRST_SLOTS, np.uint64),
        numbers=np.zeros(_FIRST_SLOTS, np.int32),
        sets=Sets(
            seat=np.zeros(size, np.int8),
            parent=np.zeros(size, np.int64),
            first=np.zeros(size, np.int64),
            width=np.zeros(size, np.int64),
            state=np.zeros(size, game.state_dtype),
            decisions=np.zeros(size, np.int32),
            key=np.zeros(size, np.uint64),
        ),
        sequences=np.ones(game.num_seats, np.int64),
        pairs=np.zeros(_FIRST_SLOTS, np.uint64),
        payoff=np.zeros(_FIRST_SLOTS),
        span=np.array([math.inf, -math.inf]),
        found=np.zeros(8, np.int64),
    )


@kernel
def key_of(raw: npt.NDArray[np.uint8], knows: npt.NDArray[np.uint64], gained: npt.NDArray[np.float64]) -> np.uint64:
    """Return the hash of a state, and of what all seats know and have gained."""
    key = np.uint64(1)
    for seat in range(knows.shape[0]):
        key = np.uint64(rng.fork(key, int(gained[seat] * 65536) & 0xFFFFFFFF))
        key = np.uint64(rng.fork(np.uint64(key ^ knows[seat]), seat))
    for place in range(raw.shape[0]):
        if raw[place]:
            key = np.uint64(rng.fork(key, 256 * place + int(raw[place])))
    return key


LEGAL = apply_logged = deal_logged = unbound
"""The game's kernels, and those of its tables."""


@template
def enter(batch: Batch, history: History, space: Space, depth: int) -> None:
    """Arrive at a position: copy what came before, and add what the seats have just been shown and gained."""
    for seat in range(space.knows.shape[1]):
        space.knows[depth, seat] = space.knows[depth - 1, seat]
        space.path[depth, seat] = space.path[depth - 1, seat]
        space.gained[depth, seat] = space.gained[depth - 1, seat] + float(batch.state[depth].reward[seat])
    learn(history.seen_as, history.entries[depth], int(history.filled[depth]), space.knows[depth])
    space.chance[depth] = space.chance[depth - 1]
    batch.state[depth].reward[:] = 0
    space.following[depth] = 0


@template
def leave(batch: Batch, history: History, depth: int) -> None:
    """Copy a position to the next depth."""
    batch.state[depth + 1] = batch.state[depth]
    batch.decisions[depth + 1] = batch.decisions[depth]
    for seat in range(batch.own_decisions.shape[1]):
        batch.own_decisions[depth + 1, seat] = batch.own_decisions[depth, seat]
    history.filled[depth + 1] = 0


@template
def deal_row(options: Any, batch: Batch, history: History, space: Space, deals: Deals, depth: int) -> None:
    """Deal the cards of a depth; the position is at the next."""
    for place in range(deals.cards.shape[0]):
        deals.cards[place] = deals.dealt[depth, place]
    leave(batch, history, depth)
    deal_logged(options, batch, history, deals.cards, depth + 1)
    enter(batch, history, space, depth + 1)


@template
def key_of_row(batch: Batch, space: Space, depth: int) -> np.uint64:
    """Return the hash of a position."""
    return np.uint64(key_of(batch.raw[depth], space.knows[depth], space.gained[depth]))


@template
def set_of(batch: Batch, space: Space, depth: int, width: int, keep: bool) -> int:
    """Return the number of the information set at a depth, adding it if it is new; _NO_CHOICE with one action."""
    seat, found = int(batch.state[depth].seat), space.found
    key = np.uint64(rng.fork(space.knows[depth, seat], seat)) | np.uint64(1)
    slot = slot_of(space.keys, key)
    if space.keys[slot] != 0:
        return int(space.numbers[slot])
    space.keys[slot], space.numbers[slot] = key, _NO_CHOICE
    found[SETS] += 1
    if width > 1:
        number = found[CHOICES]
        found[CHOICES] += 1
        if keep:
            sets = space.sets
            space.numbers[slot] = number
            sets.seat[number] = seat
            sets.parent[number] = space.path[depth, seat]
            sets.first[number] = space.sequences[seat]
            sets.width[number] = width
            sets.state[number] = batch.state[depth]
            sets.decisions[number] = batch.own_decisions[depth, seat]
            sets.key[number] = key
            space.sequences[seat] += width
    return int(space.numbers[slot])


@template
def decide(options: Any, batch: Batch, space: Space, depth: int, keep: bool) -> bool:
    """Find out what the seat to act may do; return False where it has forgotten what it did."""
    mask, width = space.mask[depth], 0
    mask[:] = 0
    LEGAL(options, batch.state[depth], mask)
    for action in range(mask.shape[0]):
        width += int(mask[action] != 0)
    number = set_of(batch, space, depth, width, keep)
    space.choice[depth] = _NO_CHOICE
    if number == _NO_CHOICE:
        return True
    space.choice[depth] = space.sets.first[number]
    same: bool = space.sets.parent[number] == space.path[depth, int(batch.state[depth].seat)]
    return same and space.sets.width[number] == width


@template
def play_next(options: Any, batch: Batch, history: History, space: Space, depth: int) -> bool:
    """Play the next legal action; return False after the last."""
    mask, action, seat = space.mask[depth], int(space.following[depth]), int(batch.state[depth].seat)
    while action < mask.shape[0] and mask[action] == 0:
        action += 1
    if action == mask.shape[0]:
        return False
    space.following[depth] = action + 1
    leave(batch, history, depth)
    apply_logged(options, batch, history, depth + 1, action)
    enter(batch, history, space, depth + 1)
    if space.choice[depth] != _NO_CHOICE:
        space.path[depth + 1, seat] = space.choice[depth]
        space.choice[depth] += 1
    return True


@template
def deal_next(options: Any, batch: Batch, history: History, space: Space, deals: Deals, depth: int) -> bool:
    """Deal the next cards; return False after the last."""
    begun = space.following[depth] != 0
    if not begun and depth > 0:
        begin_deals(options, batch, history, space, deals, depth)
    space.following[depth] = 1
    if not next_deal(deals, depth, begun):
        return False
    deal_row(options, batch, history, space, deals, depth)
    space.chance[depth + 1] = space.chance[depth] * deals.part[depth, deals.cards.shape[0]]
    space.found[DEALS] += 1
    return True


@template
def pay(space: Space, depth: int, keep: bool) -> None:
    """Record an end."""
    gained = space.gained[depth, 0]
    space.found[ENDS] += 1
    space.span[0], space.span[1] = min(space.span[0], gained), max(space.span[1], gained)
    if keep and gained != 0.0:
        key = np.uint64(1 + (space.path[depth, 0] << 32 | space.path[depth, 1]))
        slot = slot_of(space.pairs, key)
        space.found[PAIRS] += int(space.pairs[slot] == 0)
        space.pairs[slot] = key
        space.payoff[slot] += space.chance[depth] * gained


@template
def walk(options: Any, batch: Batch, history: History, space: Space, deals: Deals, keep: bool) -> int:
    """Walk on, depth first, through `found[LEFT]` positions; return FINE, or why it cannot go on."""
    found, depth = space.found, int(space.found[DEPTH])
    while depth >= 0 and found[LEFT] > 0:
        if depth + 2 >= batch.state.shape[0]:
            return DEEP
        seat, down = int(batch.state[depth].seat), False
        if seat == CHANCE:
            down = deal_next(options, batch, history, space, deals, depth)
        elif seat == OVER:
            pay(space, depth, keep)
        else:
            if space.following[depth] == 0:
                found[HISTORIES] += 1
                if not decide(options, batch, space, depth, keep):
                    return FORGETS
            down = play_next(options, batch, history, space, depth)
        found[LEFT] -= 1
        depth += 1 if down else -1
    found[DEPTH] = depth
    return FINE


TEMPLATES = (enter, leave, deal_row, key_of_row, set_of, decide, play_next, deal_next, pay, walk)


# How large a game is --------------------------------------------------------------------------------------------------


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
    """Deals that lead to different positions (`deals.py`), those after different histories counted apart."""
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


def count_information_sets(
    game: str | GameType | Game, *, most: int = MOST_SETS, progress: Callable[[int, int], None] | None = None
) -> InformationSets:
    """Count a game's information sets by walking through all its start outcomes, deals and actions.

    `progress(found, most)` is called from time to time with the information sets found so far. Raises TooLarge for more
    than `most` of them, and for too many deals; RuntimeError for a game that declares no events.
    """
    game = game_of(game)
    found = Walk(game, keep=False, most=most, progress=progress).space.found.tolist()
    return InformationSets(
        **of_game(game, __file__),
        deals=found[DEALS],
        histories=found[HISTORIES],
        ends=found[ENDS],
        information_sets=found[SETS],
        choices=found[CHOICES],
    )
