"""The threads of a phase: as many as `num_threads` says, whatever runs on them.

Kernels and torch's operations run without the interpreter lock, so threads suffice. Which thread takes a task never
matters: a task writes to rows or parts of its own, and whoever adds these up does so in one order.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from backalley.envs.core.game.threads import threads_of

Task = Callable[[int], Any]
"""Called with the number of the thread that runs it, from 0."""


class ThreadPool:
    """`num_threads` threads (0: every core), of which the caller's is the first. `share` runs tasks at once; `prepare`
    gives tasks that the others take whenever nothing is shared, and `finish` completes them."""

    def __init__(self, num_threads: int) -> None:
        """Raises TypeError or ValueError in a sentence."""
        self.num_threads = threads_of(num_threads)
        self._shared: deque[Task] = deque()
        self._prepared: deque[Task] = deque()
        self._running = {True: 0, False: 0}
        """Tasks that a thread is in the middle of: shared ones, and prepared ones."""
        self._failed: list[BaseException] = []
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._closed, self._process = False, os.getpid()

    def share(self, tasks: Sequence[Task]) -> None:
        """Run tasks on all threads and wait for them. Raises what one of them raises."""
        if self.num_threads == 1:
            for task in tasks:
                task(0)
            return
        self._complete(self._shared, tasks)

    def share_rows(
        self, rows: int, least: int, work: Callable[[int, int, int], Any], first: Sequence[Task] = ()
    ) -> None:
        """Call `work(thread, low, high)` over even parts of the rows, each of at least about `least`, after the tasks
        `first`; wait for all."""
        parts = max(1, min(2 * self.num_threads if first else self.num_threads, rows // least))
        edges = np.linspace(0, rows, parts + 1).astype(int).tolist()
        self.share([*first, *(_part(work, low, high) for low, high in itertools.pairwise(edges))])

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Give the other threads tasks to run whenever nothing is shared. What they raise, the next
        call of `share` or `finish` raises."""
        self._start()
        with self._changed:
            self._prepared.extend(tasks)
            self._changed.notify_all()

    def finish(self) -> None:
        """Complete all prepared tasks, the caller's thread helping."""
        self._complete(self._prepared, ())

    def close(self) -> None:
        """End the threads, dropping what is prepared; they start again when needed."""
        with self._changed:
            self._closed = True
            self._prepared.clear()
            self._changed.notify_all()
        for thread in self._threads if self._process == os.getpid() else ():
            thread.join()
        self._threads = []

    def _complete(self, queue: deque[Task], tasks: Sequence[Task]) -> None:
        """Add tasks to one of the queues, and help until all of it is done."""
        self._start()
        shared = queue is self._shared
        with self._changed:
            queue.extend(tasks)
            self._changed.notify_all()
            while queue or self._running[shared]:
                if queue:
                    self._run(0, shared)
                else:
                    self._changed.wait()
            if self._failed:
                failed, self._failed = self._failed[0], []
                raise failed

    def _run(self, thread: int, shared: bool) -> None:
        """Take a task and run it, with the lock released meanwhile."""
        task = (self._shared if shared else self._prepared).popleft()
        self._running[shared] += 1
        self._changed.release()
        failure = None
        try:
            task(thread)
        except BaseException as error:
            failure = error
        self._changed.acquire()
        self._running[shared] -= 1
        if failure is not None:
            self._failed.append(failure)
        if not self._running[shared]:
            self._changed.notify_all()

    def _work(self, thread: int) -> None:
        with self._changed:
            while not self._closed:
                if self._shared or self._prepared:
                    self._run(thread, shared=bool(self._shared))
                else:
                    self._changed.wait()

    def _start(self) -> None:
        if self._process != os.getpid():  # forked: the threads are the parent's
            self._threads, self._process, self._changed = [], os.getpid(), threading.Condition()
        if not self._threads:
            self._closed = False
            numbers = range(1, self.num_threads)
            self._threads = [
                threading.Thread(target=self._work, args=(number,), name=f"backalley-learn-{number}", daemon=True)
                for number in numbers
            ]
            for thread in self._threads:
                thread.start()


def _part(work: Callable[[int, int, int], Any], low: int, high: int) -> Task:
    return lambda thread: work(thread, low, high)
