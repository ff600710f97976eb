"""Threads that share out rows. Kernels run without the interpreter lock, so threads suffice; rows share nothing, so any
split gives the same bytes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from .doors import count

MOST_THREADS = 1024
"""More than these are a slip, and could not be started everywhere."""


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_of(num_threads: Any) -> int:
    """How many threads are meant: 0 takes every core. Raises TypeError or ValueError in a sentence."""
    threads = count(num_threads, "num_threads", 0)
    if threads > MOST_THREADS:
        raise ValueError(
            f"num_threads is {threads}; it takes 0, which is every core (here {cores()}), to {MOST_THREADS}."
        )
    return threads or cores()


class Workers:
    """Up to `num_threads` threads (0: every core), woken only where each gets at least `least` rows."""

    def __init__(self, num_threads: int, least: int) -> None:
        """Raises TypeError or ValueError in a sentence."""
        self.num_threads, self._least = threads_of(num_threads), least
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def spread(self, work: Callable[..., Any], *arrays: npt.NDArray[Any]) -> None:
        """Call `work(thread, *parts)` over even parts of the arrays' rows, a thread each. Raises what any of them
        raises."""
        threads = min(self.num_threads, max(1, len(arrays[0]) // self._least))
        if threads == 1:
            work(0, *arrays)
            return
        if self._process != os.getpid():  # forked: the threads are the parent's
            self._pool, self._process = None, os.getpid()
        if self._pool is None:
            work(0, *(array[:0] for array in arrays))  # binds the machine code before several threads ask for it
            self._pool = ThreadPoolExecutor(self.num_threads, thread_name_prefix="backalley")
        edges = np.linspace(0, len(arrays[0]), threads + 1).astype(int)
        shares = [[array[low:high] for array in arrays] for low, high in itertools.pairwise(edges)]
        for done in [self._pool.submit(work, thread, *share) for thread, share in enumerate(shares)]:
            done.result()

    def close(self) -> None:
        """End the threads; `spread` would start them again."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown()
        self._pool = None
