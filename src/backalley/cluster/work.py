"""Work that can be done range by range, anywhere, with the same result: deals from their keys, groups of openings.

`LocalExecutor` does it in this process; `ray_cluster.Cluster` on many machines. Both hand out results in order, so that
whoever asks for it cannot tell the difference.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Found = tuple[npt.NDArray[Any], ...]
Span = tuple[int, int]
"""The first number, and the one after the last."""


class Sizes(NamedTuple):
    """How large ranges of a kind of work are."""

    largest: int
    """The most numbers of a range."""
    first: int = 16
    """And of the first ones, before any has been timed."""
    result_bytes: int = 90_000
    """How large a result that travels should be at most. Below 100 KiB Ray sends it with the message that a task is
    done, and it is safe from the death of its node; a larger one is made again where that happens."""
    whole_machine: bool = False
    """Whether a range uses all cores of a machine, for long, and saves what it has when it is interrupted."""


class Work(Protocol):
    """Work in parts, such as the pairings of a tournament; each part has numbers, such as its deals.

    What `do` finds depends on its arguments alone. Pickled, it holds what another process needs to do the same.
    """

    sizes: Sizes

    def begin(self, part: int) -> float:
        """Get ready for a part, machine code included; return how many seconds a range of it should take."""

    def do(self, part: int, low: int, high: int) -> Found:
        """Do the numbers `low` to `high - 1` of a part. `begin(part)` was called before."""

    def close(self) -> None:
        """Release threads and buffers; `begin` takes them again."""


class Done(NamedTuple):
    """A range that is done."""

    part: int
    low: int
    high: int
    seconds: float
    """Time since the range before it, by the clock."""
    found: Found


class Executor(Protocol):
    """Who does the work."""

    def in_order(self, work: Work, spans: Sequence[Span]) -> Generator[Done, None, None]:
        """Do the numbers of `spans`, one span for each part, and yield every range in order, without gaps. Raises what
        the work raises; a caller that stops early closes the iterator."""

    def close(self) -> None:
        """Leave the machines."""


def next_size(size: int, count: int, seconds: float, wanted: float, largest: int) -> int:
    """Return the size of the next range, up to `largest`, when the last, of `count` numbers, was asked to have `size`,
    took `seconds`, and should take `wanted`."""
    return int(np.clip(wanted / max(seconds, 1e-9) * count, 1, min(8 * size, largest)))


class LocalExecutor:
    """This process: one range after the other. The work itself may use several threads for each."""

    def in_order(self, work: Work, spans: Sequence[Span]) -> Generator[Done, None, None]:
        """See `Executor`."""
        for part, (low, end) in enumerate(spans):
            if low >= end:
                continue
            wanted, size = work.begin(part), min(work.sizes.first, work.sizes.largest)
            while low < end:
                count = min(size, end - low)
                before = time.perf_counter()
                found = work.do(part, low, low + count)
                seconds = time.perf_counter() - before
                yield Done(part, low, low + count, seconds, found)
                size, low = next_size(size, count, seconds, wanted, work.sizes.largest), low + count

    def close(self) -> None:
        """See `Executor`."""


LOCAL = LocalExecutor()
