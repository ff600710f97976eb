"""The threads of a phase: as many as `num_threads` says, whatever runs on them.

Kernels and torch's operations run without the interpreter lock, so threads suffice. Which thread takes a task never
matters: a task writes to rows or parts of its own, and whoever adds these up does so in one order.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from backalley.envs.core.game.threads import threads_of

Task = Callable[[int], Any]
"""Called with the number of the thread that runs it, from 0."""
_Done = queue.SimpleQueue[BaseException | None]
"""What became of each task of a batch."""
_END, _SHARED, _PREPARED = range(3)
"""The order in which threads take what waits for them."""


class ThreadPool:
    """`num_threads` threads (0: every core), of which the caller's is the first. `share` runs tasks at once; `prepare`
    gives tasks that the others take whenever nothing is shared, and `finish` completes them."""

    def __init__(self, num_threads: int) -> None:
        """Raises TypeError or ValueError in a sentence."""
        self.num_threads = threads_of(num_threads)
        self._forget()

    def _forget(self) -> None:
        self._waiting: queue.PriorityQueue[tuple[int, int, Task | None, _Done]] = queue.PriorityQueue()
        self._numbers, self._threads, self._process = itertools.count(), list[threading.Thread](), os.getpid()
        self._ahead, self._prepared = 0, _Done()
        """How many tasks are prepared, and what became of them."""

    def share(self, tasks: Sequence[Task]) -> None:
        """Run tasks on all threads and wait for them. Raises what one of them raises."""
        if self.num_threads == 1:
            for task in tasks:
                task(0)
            return
        done = _Done()
        self._put(_SHARED, tasks, done)
        self._complete(_SHARED, len(tasks), done)

    def share_rows(
        self, rows: int, least: int, work: Callable[[int, int, int], Any], first: Sequence[Task] = ()
    ) -> None:
        """Call `work(thread, low, high)` over even parts of the rows, each of at least about `least`, after the tasks
        `first`; wait for all."""
        parts = max(1, min(2 * self.num_threads if first else self.num_threads, rows // least))
        edges = np.linspace(0, rows, parts + 1).astype(int).tolist()
        self.share([*first, *(_part(work, low, high) for low, high in itertools.pairwise(edges))])

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Give the other threads tasks to run whenever nothing is shared."""
        self._put(_PREPARED, tasks, self._prepared)
        self._ahead += len(tasks)

    def finish(self) -> None:
        """Complete all prepared tasks, the caller's thread helping. Raises what one of them raises."""
        count, self._ahead = self._ahead, 0
        self._complete(_PREPARED, count, self._prepared)

    def close(self) -> None:
        """End the threads, dropping what is prepared; they start again when needed."""
        for _ in self._threads:
            self._waiting.put((_END, next(self._numbers), None, _Done()))
        for thread in self._threads if self._process == os.getpid() else ():
            thread.join()
        self._forget()

    def _put(self, when: int, tasks: Sequence[Task], done: _Done) -> None:
        if self._process != os.getpid():  # forked: the threads are the parent's
            self._forget()
        if not self._threads:
            self._threads = [
                threading.Thread(target=self._work, args=(number,), name=f"backalley-learn-{number}", daemon=True)
                for number in range(1, self.num_threads)
            ]
            for thread in self._threads:
                thread.start()
        for task in tasks:
            self._waiting.put((when, next(self._numbers), task, done))

    def _complete(self, when: int, count: int, done: _Done) -> None:
        """Help with what is to be taken at that time or earlier, and wait for so many tasks to be done."""
        with contextlib.suppress(queue.Empty):
            while (found := self._waiting.get_nowait())[0] <= when:
                self._run(0, *found[2:])
            self._waiting.put(found)
        failed = [error for error in (done.get() for _ in range(count)) if error is not None]
        if failed:
            raise failed[0]

    def _work(self, thread: int) -> None:
        waiting = self._waiting
        while (found := waiting.get())[2] is not None:
            self._run(thread, *found[2:])

    @staticmethod
    def _run(thread: int, task: Task | None, done: _Done) -> None:
        assert task is not None, "the caller's thread takes nothing once the others were told to end"
        failure = None
        try:
            task(thread)
        except BaseException as error:
            failure = error
        done.put(failure)


def _part(work: Callable[[int, int, int], Any], low: int, high: int) -> Task:
    return lambda thread: work(thread, low, high)
