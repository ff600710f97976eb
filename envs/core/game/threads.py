"""Threads that share rows. Kernels run without the interpreter lock, so threads suffice; rows are independent, so any
split gives the same bytes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy.typing as npt

from backalley.console.errors import InvalidValue

from .arguments import count

MOST_THREADS = 1024
"""A larger number is probably a mistake, and could not be started on every machine."""


def cores() -> int:
    """Return how many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_of(num_threads: Any) -> int:
    """Return the number of threads; 0 means every core. Raises TypeError or ValueError."""
    threads = count(num_threads, "num_threads", 0)
    if threads > MOST_THREADS:
        raise InvalidValue(
            f"num_threads is {threads}; it takes 0, which is every core (here {cores()}), to {MOST_THREADS}."
        )
    return threads or cores()


class Workers:
    """Up to `num_threads` threads (0: every core), used only where each gets at least `least` rows."""

    def __init__(self, num_threads: int, least: int) -> None:
        """Raises TypeError or ValueError in a sentence."""
        self.num_threads, self._least = threads_of(num_threads), least
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def shares(self, rows: int) -> int:
        """Return how many threads share so many rows."""
        return min(self.num_threads, max(1, rows // self._least))

    def spread(self, work: Callable[..., Any], *arrays: npt.NDArray[Any]) -> None:
        """Call `work(thread, *parts)` over even parts of the arrays' rows, one thread each; the caller's is one of
        them. Raises what any of them raises, when all have ended."""
        count = len(arrays[0])
        threads = self.shares(count)
        if threads == 1:
            work(0, *arrays)
            return
        if self._process != os.getpid():  # forked: the threads are the parent's
            self._pool, self._process = None, os.getpid()
        if self._pool is None:
            work(0, *(array[:0] for array in arrays))  # binds the machine code before several threads ask for it
            self._pool = ThreadPoolExecutor(self.num_threads - 1, thread_name_prefix="backalley")
        edges = [thread * count // threads for thread in range(threads + 1)]
        own, *others = ([array[low:high] for array in arrays] for low, high in itertools.pairwise(edges))
        started = [self._pool.submit(work, thread, *share) for thread, share in enumerate(others, 1)]
        try:
            work(0, *own)
        finally:
            wait(started)
        for done in started:
            done.result()

    def close(self) -> None:
        """End the threads; `spread` starts them again when needed."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown()
        self._pool = None
