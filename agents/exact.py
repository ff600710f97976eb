"""Exact values of face-up games with one seat, or two with opposite interests: expectimax over all orders of the pack.

Chance is enumerated through the game's own kernels. To find what an action leads to, the solver plays it on a copy of
the state whose stub starts with chosen cards; where the rules took more cards than were chosen, it tries every kind of
card for the next one. So no rule is written a second time here. Positions with the same key are solved once.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core import durable
from backalley.envs.core.base import Game
from backalley.envs.core.engine import kernel_names
from backalley.envs.core.kernel import bind, kernel
from backalley.envs.core.parts import CHANCE, OVER
from backalley.envs.core.specialise import specialise, template

MAX_DEPTH = 64
"""Room for nested positions."""
MAX_CHOSEN = 16
"""Room for cards that one deal or action takes."""
_SMALLEST, _LARGEST = 1 << 20, 1 << 28
_EMPTY = -1
FULL = -1


class Unsolvable(ValueError):
    """A game that this solver cannot take, or that is too large for it."""


class Memory(NamedTuple):
    """A table of solved positions, and room for those being worked on."""

    keys: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    """[slots, 2] seat 0's expected return from there: with best play, and with uniformly random legal play."""
    used: npt.NDArray[np.int64]
    """[1] how many slots are taken; FULL once they are too many and all results are void."""
    state: npt.NDArray[Any]
    """[MAX_DEPTH] the position at each depth."""
    mask: npt.NDArray[np.int8]
    """[MAX_DEPTH, A]"""
    pack: npt.NDArray[np.int64]
    """The pack as it is handed to `deal`."""
    kind: npt.NDArray[np.int64]
    """[cards] the kind of each card."""
    tally: npt.NDArray[np.int64]
    """[MAX_DEPTH, MAX_CHOSEN, 2, kinds] for each chance node in work: how many cards of a kind are left, and where one
    lies."""


def memory(game: Game, slots: int) -> Memory:
    """An empty table of `slots` (a power of two) positions."""
    assert game.type.enumeration is not None
    kinds = np.array([game.type.enumeration.kind(card) for card in range(game.deck_size)], np.int64)
    return Memory(
        keys=np.full(slots, _EMPTY, np.int64),
        values=np.zeros((slots, 2)),
        used=np.zeros(1, np.int64),
        state=np.zeros(MAX_DEPTH, game.state_dtype),
        mask=np.zeros((MAX_DEPTH, game.num_actions), np.int8),
        pack=np.zeros(game.deck_size, np.int64),
        kind=kinds,
        tally=np.zeros((MAX_DEPTH, MAX_CHOSEN, 2, int(kinds.max()) + 1), np.int64),
    )


@kernel
def find(keys: npt.NDArray[np.int64], key: int) -> int:
    """The slot of a key, or the free slot where it belongs."""
    last = keys.shape[0] - 1
    mixed = (key ^ (key >> 29)) * 0x2545F4914F6CDD1D
    slot = ((mixed >> 32) ^ mixed) & last
    while keys[slot] not in (_EMPTY, key):
        slot = (slot + 1) & last
    return int(slot)


def _unbound(*args: Any) -> Any:
    raise NotImplementedError("specialise() puts a game's kernel here")


START = DEAL = LEGAL = STEP = DECK = NEXT_CARD = KEY = _unbound
"""The game's kernels and its Enumeration's in the templates below."""


@template
def value(options: Any, store: Memory, depth: int) -> tuple[float, float]:
    """What the latest action gained seat 0, and its expected return from the position at `depth`: with best play, and
    with random play."""
    state = store.state[depth]
    gained = float(state.reward[0])
    state.reward[:] = 0
    if state.seat == OVER or store.used[0] == FULL:
        return gained, gained
    key = KEY(options, state)
    slot = find(store.keys, key)
    if store.keys[slot] == key:
        return gained + store.values[slot, 0], gained + store.values[slot, 1]
    mask = store.mask[depth]
    mask[:] = 0
    LEGAL(options, state, mask)
    sign = 1.0 if state.seat == 0 else -1.0
    best, total, count = -np.inf, 0.0, 0
    for action in range(mask.shape[0]):
        if mask[action]:
            if try_out(options, store, depth, action) == 0:
                gain, drifting = value(options, store, depth + 1)
            else:
                gain, drifting = outcome(options, store, depth, action, 0)
            best = max(best, sign * gain)
            total += drifting
            count += 1
    if store.used[0] == FULL:
        return gained, gained
    slot = find(store.keys, key)  # not the slot of before: others have been filled since
    store.keys[slot] = key
    store.values[slot, 0] = sign * best
    store.values[slot, 1] = total / count
    store.used[0] = store.used[0] + 1 if 4 * store.used[0] < 3 * store.keys.shape[0] else FULL
    return gained + sign * best, gained + total / count


@template
def try_out(options: Any, store: Memory, depth: int, action: int) -> int:
    """Play `action` (or deal) on a copy of the position, one level deeper; gives the number of cards that it took."""
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
def outcome(options: Any, store: Memory, depth: int, action: int, chosen: int) -> tuple[float, float]:
    """The value after `action` (or after the deal), which takes more cards of the stub than the first `chosen`, which
    are fixed."""
    state = store.state[depth]
    deck = DECK(state)
    place = NEXT_CARD(state) + chosen
    count, lies = store.tally[depth, chosen, 0], store.tally[depth, chosen, 1]
    count[:] = 0
    for other in range(place, deck.shape[0]):
        kind = store.kind[deck[other]]
        count[kind] += 1
        lies[kind] = other
    best, drifting = 0.0, 0.0
    for kind in range(count.shape[0]):
        if count[kind]:
            other = lies[kind]
            deck[place], deck[other] = deck[other], deck[place]
            more = try_out(options, store, depth, action) > chosen + 1
            if not more and store.state[depth + 1].seat == OVER:
                gain = float(store.state[depth + 1].reward[0])
                drifted = gain
            elif not more:
                gain, drifted = value(options, store, depth + 1)
            else:
                gain, drifted = outcome(options, store, depth, action, chosen + 1)
            deck[place], deck[other] = deck[other], deck[place]
            best += count[kind] * gain
            drifting += count[kind] * drifted
    return best / (deck.shape[0] - place), drifting / (deck.shape[0] - place)


@template
def solve_from(options: Any, store: Memory, start_outcome: int, leading: npt.NDArray[np.int64]) -> tuple[float, float]:
    """The value of an episode whose pack begins with the cards `leading`."""
    state = store.state[0]
    START(options, state, start_outcome)
    deck = DECK(state)
    for card in range(deck.shape[0]):
        deck[card] = card
    for place in range(leading.shape[0]):
        for other in range(place, deck.shape[0]):
            if deck[other] == leading[place]:
                deck[place], deck[other] = deck[other], deck[place]
    found: tuple[float, float] = outcome(options, store, 0, 0, leading.shape[0])
    return found


def openings(game: Game) -> Iterator[tuple[float, list[int]]]:
    """Every way in which the first `split` cards of the pack can fall, by kinds: its probability and cards that stand
    for it."""
    face = game.type.enumeration
    assert face is not None
    pack = game.deck_size
    by_kind: dict[int, list[int]] = {}
    for card in range(pack):
        by_kind.setdefault(int(face.kind(card)), []).append(card)

    def extend(leading: list[int], chance: float) -> Iterator[tuple[float, list[int]]]:
        if len(leading) == game.type.enumeration_split:
            yield chance, leading
            return
        for cards in by_kind.values():
            left = [card for card in cards if card not in leading]
            if left:
                yield from extend([*leading, left[0]], chance * len(left) / (pack - len(leading)))

    return extend([], 1.0)


@dataclass(frozen=True)
class Solution:
    """What `solve` found. Returns are those of seat 0, in the game's rewards; `even_money` reads them as chances."""

    game: str
    options: dict[str, Any]
    best_return: float
    random_return: float
    positions: int
    openings: int
    seconds: float

    @property
    def even_money(self) -> tuple[float, float]:
        """The returns as winning chances, for games that end at +1, 0 or -1 (a tie counts half): best and random
        play."""
        return (1 + self.best_return) / 2, (1 + self.random_return) / 2

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Names and values to print."""
        return [
            ("expected return, best play", f"{self.best_return:+.9f}"),
            ("expected return, random play", f"{self.random_return:+.9f}"),
            ("wins (a tie counts half), best play", f"{self.even_money[0]:.9f}"),
            ("wins (a tie counts half), random play", f"{self.even_money[1]:.9f}"),
            ("positions solved", f"{self.positions:,}"),
            ("openings", f"{self.openings:,}"),
            ("seconds", f"{self.seconds:.1f}"),
        ]

    def table(self) -> str:
        """The figures as aligned text."""
        width = max(len(name) for name, _ in self.lines)
        return "\n".join(f"{name:<{width}}  {shown}" for name, shown in self.lines)

    def to_json(self) -> dict[str, Any]:
        """The figures for a JSON file."""
        return asdict(self)


class _Kept:
    """Solved groups of openings on disk, so that a run that was stopped goes on where it was."""

    def __init__(self, game: Game, path: Path | None) -> None:
        self.path = path
        self._head = {
            "format": "backalley solution in work 1",
            "game": game.id,
            "options": game.option_values,
        }
        self.groups: dict[str, list[float]] = {}
        if path is None or not path.is_file():
            return
        try:
            found = json.loads(path.read_text("utf-8"))
            self.groups = {
                str(name): [float(one), float(other), int(used)]
                for name, (one, other, used) in found.pop("groups").items()
            }
        except (ValueError, KeyError, AttributeError, TypeError):
            found = None
        if found != self._head:
            raise ValueError(f"{path} holds no work on {game.id} under these options; name another file, or delete it.")

    def add(self, name: str, result: tuple[float, float, int]) -> None:
        """Keep one more group."""
        self.groups[name] = list(result)
        if self.path is not None:
            durable.write_file(self.path, json.dumps({**self._head, "groups": self.groups}).encode())


def solve(
    game: Game,
    *,
    num_threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    keep: Path | None = None,
) -> Solution:
    """The exact expected return of seat 0 under best play (of both seats, where there are two) and under random play.

    `progress(done, all)` is called after every group of openings. With `keep`, solved groups are kept in that file, and
    a later call with the same file goes on from them. Raises Unsolvable for a game with hidden cards.
    """
    if game.type.enumeration is None:
        raise Unsolvable(
            f"{game.name} cannot be solved by enumeration: its players hold hidden cards, or its pack is too large."
        )
    began = time.perf_counter()
    start_outcomes = game.num_start_outcomes
    # Openings with the same cards in another order lead to many of the same positions, so they share a memory.
    groups: dict[tuple[int, ...], list[tuple[float, int, npt.NDArray[np.int64]]]] = {}
    for chance, leading in openings(game):
        kinds = tuple(sorted(int(game.type.enumeration.kind(card)) for card in leading))
        groups.setdefault(kinds, []).extend(
            (chance / start_outcomes, start_outcome, np.array(leading, np.int64))
            for start_outcome in range(start_outcomes)
        )
    kept = _Kept(game, keep)
    total = sum(len(group) for group in groups.values())
    waiting = iter([(str(kinds), group) for kinds, group in groups.items() if str(kinds) not in kept.groups])
    stores = [memory(game, _SMALLEST) for _ in range(num_threads)]
    names = {
        **kernel_names(game.type),
        "DECK": game.type.enumeration.deck,
        "NEXT_CARD": game.type.enumeration.next_card,
        "KEY": game.type.enumeration.key,
    }
    linked = specialise([value, try_out, outcome, solve_from], names, keep=False)["solve_from"]
    entry = bind(linked, game.options, stores[0], 0, next(iter(groups.values()))[0][2])
    lock, stopped = threading.Lock(), threading.Event()
    done = sum(len(group) for kinds, group in groups.items() if str(kinds) in kept.groups)

    def one_group(store: Memory, group: list[tuple[float, int, npt.NDArray[np.int64]]]) -> tuple[float, float, int]:
        store.keys[:] = _EMPTY
        store.used[0] = 0
        best, drifting = [], []
        for chance, start_outcome, leading in group:
            store.state[0] = np.zeros((), store.state.dtype)
            one, other = entry(game.options, store, start_outcome, leading)
            best.append(chance * one)
            drifting.append(chance * other)
        return math.fsum(best), math.fsum(drifting), int(store.used[0])

    def work(thread: int) -> None:
        nonlocal done
        while True:
            with lock:
                name, group = next(waiting, ("", []))
            if not group or stopped.is_set():
                return
            result = one_group(stores[thread], group)
            while result[2] == FULL:
                slots = 4 * len(stores[thread].keys)
                if slots > _LARGEST:
                    raise Unsolvable(
                        f"{game.name} has more than {_LARGEST:,} positions "
                        "after one opening; that is too many to solve."
                    )
                stores[thread] = memory(game, slots)
                result = one_group(stores[thread], group)
            with lock:
                kept.add(name, result)
                done += len(group)
                if progress is not None:
                    progress(done, total)

    with ThreadPoolExecutor(num_threads) as pool:
        try:
            for finished in [pool.submit(work, thread) for thread in range(num_threads)]:
                finished.result()
        finally:
            stopped.set()  # Ctrl-C ends the others after the group they are at
    return Solution(
        game=game.id,
        options=game.option_values,
        best_return=math.fsum(best for best, _, _ in kept.groups.values()),
        random_return=math.fsum(drifting for _, drifting, _ in kept.groups.values()),
        positions=int(sum(used for _, _, used in kept.groups.values())),
        openings=total,
        seconds=time.perf_counter() - began,
    )
