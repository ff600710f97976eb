"""The first cards of a pack, in all their ways, and work that is done for each: on several threads, or on the machines
of a cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from backalley.cluster.work import LOCAL, Executor, Found, Sizes
from backalley.envs.core.game.game import Game

Item = TypeVar("Item")
Row = npt.NDArray[np.float64]
Opening = tuple[float, int, npt.NDArray[np.int64]]
"""Its probability, start outcome and leading cards."""
Group = list[Opening]
"""Openings with the same cards in another order, which lead to many of the same positions and so share a memory."""


def openings(game: Game, without: int | None = None) -> Iterator[tuple[float, list[int]]]:
    """Yield every way in which the first `split` cards of the pack, with one card out of it, can fall, by kinds: its
    probability and example cards."""
    face = game.type.enumeration
    assert face is not None
    cards = [card for card in range(game.deck_size) if card != without]
    by_kind: dict[int, list[int]] = {}
    for card in cards:
        by_kind.setdefault(int(face.kind(card)), []).append(card)

    def extend(leading: list[int], chance: float) -> Iterator[tuple[float, list[int]]]:
        if len(leading) == game.type.enumeration_split:
            yield chance, leading
            return
        for alike in by_kind.values():
            left = [card for card in alike if card not in leading]
            if left:
                yield from extend([*leading, left[0]], chance * len(left) / (len(cards) - len(leading)))

    return extend([], 1.0)


@functools.lru_cache(maxsize=1)
def grouped_openings(game: Game, without: int | None = None) -> dict[str, Group]:
    """Return all openings in their groups, by the kinds of their cards, with one card out of the pack."""
    assert game.type.enumeration is not None
    groups: dict[str, Group] = {}
    for chance, leading in openings(game, without):
        kinds = str(sorted(int(game.type.enumeration.kind(card)) for card in leading))
        groups.setdefault(kinds, []).extend(
            (chance / game.num_start_outcomes, start_outcome, np.array(leading, np.int64))
            for start_outcome in range(game.num_start_outcomes)
        )
    return groups


def share_out(
    make: Callable[[], Callable[[Item], Row]],
    items: Sequence[Item],
    note: Callable[[Item, Row], None],
    num_threads: int,
    executor: Executor,
) -> None:
    """Find the row of every item and call `note` with each, one call at a time: on that many threads of this process,
    each with what it makes by `make`, or by another executor. Raises what finding raises."""
    if executor is not LOCAL:
        with closing(executor.in_order(_Ranges(make, items), [(0, len(items))])) as ranges:
            for done in ranges:
                for item, row in zip(items[done.low : done.high], done.found[0], strict=True):
                    note(item, row)
        return
    finders = SimpleQueue[Callable[[Item], Row]]()
    for _ in range(num_threads):
        finders.put(make())

    def found(item: Item) -> tuple[Item, Row]:
        find = finders.get()
        try:
            return item, find(item)
        finally:
            finders.put(find)

    with ThreadPoolExecutor(num_threads) as pool:
        try:
            for future in as_completed([pool.submit(found, item) for item in items]):
                note(*future.result())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # Ctrl-C ends them after their present items


class _Ranges:
    """Items by their places: see `cluster.work.Work`."""

    sizes = Sizes(4096)

    def __init__(self, make: Callable[[], Callable[[Any], Row]], items: Sequence[Any]) -> None:
        self._make, self._items = make, items
        self._find: Callable[[Any], Row] | None = None

    def begin(self, part: int) -> float:
        """Take memory and link the kernels."""
        self._find = self._find or self._make()
        return 0.0

    def do(self, part: int, low: int, high: int) -> Found:
        """Find the rows of some items [n, ...]."""
        assert self._find is not None
        return (np.array([self._find(item) for item in self._items[low:high]]),)

    def close(self) -> None:
        """Give the memory back."""
        self._find = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _Ranges, (self._make, self._items)
