"""Tasks that are killed, threads that fail and processes that fork in the middle of work: see `chaos`."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import time
import warnings
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.registry import agent
from backalley.cluster.work import LOCAL, Done, Executor, Found, Sizes, Span, Work
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.threads import Workers

from ...matches.sample import Deals, LineUp, Sample, play
from ...matches.seating import seatings
from ...matches.seeding import Space, roots

_GAME = "backalley.examples.kuhn"
_RANGE = 16
"""Deals of a task."""
_THREADS = 3


class Fragile:
    """Work whose process is killed when it comes to some numbers, once for each. See `cluster.work.Work`."""

    sizes = Sizes(_RANGE, _RANGE)

    def __init__(self, work: Work, numbers: Sequence[int], folder: Path) -> None:
        self.work, self.numbers, self.folder = work, numbers, folder

    def begin(self, part: int) -> float:
        """As the work itself."""
        return self.work.begin(part)

    def do(self, part: int, low: int, high: int) -> Found:
        """The first time of each of the numbers this never returns."""
        for number in self.numbers:
            if low <= number < high:
                with suppress(FileExistsError):
                    (self.folder / str(number)).touch(exist_ok=False)
                    os.kill(os.getpid(), signal.SIGKILL)
        return self.work.do(part, low, high)

    def close(self) -> None:
        """As the work itself."""
        self.work.close()


class Restarted:
    """`LOCAL` in a process of its own; where that is killed, another one goes on after what is done. It stands in for
    Ray, which is not installed everywhere."""

    def in_order(self, work: Work, spans: Sequence[Span]) -> Generator[Done, None, None]:
        """See `cluster.work.Executor`."""
        for part, (low, end) in enumerate(spans):
            while low < end:
                ours, theirs = Pipe(duplex=False)
                child = fork()
                if child == 0:
                    with suppress(BaseException):
                        for done in LOCAL.in_order(work, [(0, 0)] * part + [(low, end)]):
                            theirs.send(done)
                        os._exit(0)
                    os._exit(1)
                theirs.close()
                with closing(ours), suppress(EOFError):
                    while True:
                        done = ours.recv()
                        low = done.high
                        yield done
                ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                assert ended in (0, -signal.SIGKILL), f"the process of a task ended with {ended}"

    def close(self) -> None:
        """Nothing is left."""


def fork() -> int:
    """Fork, as a user's program may, whatever threads there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def kill_tasks(did: str, executor: Executor, folder: Path, times: int, chance: random.Random) -> dict[str, Any]:
    """Kill the processes of so many tasks of a match; its results are the bytes of one that nobody disturbed."""
    folder.mkdir()
    numbers = [_RANGE * task + chance.randrange(_RANGE) for task in chance.sample(range(2 * times), times)]
    game, found = game_of(_GAME), []
    for disturbed in (False, True):
        sample, pair = Sample(seatings(game, 2)), [agent(name, game, num_threads=1) for name in ("bot", "random")]
        work: Any = Deals([LineUp(game, pair, sample.seatings, roots(Space.EVALUATION, 0))])
        work, by = (Fragile(work, numbers, folder), executor) if disturbed else (work, LOCAL)
        play(work, [sample], [2 * times * _RANGE], lambda part: None, by)
        found.append((sample.returns.tobytes(), sample.decisions))
    killed = len(list(folder.iterdir()))
    return {"did": did, "times": times, "held": killed * (found[0] == found[1]), "trouble": []}


def kill_ray_tasks(folder: Path, times: int, chance: random.Random) -> dict[str, Any]:
    """Do so on a Ray of four nodes on this machine. Raises NotInstalled without Ray."""
    from backalley.cluster.ray_cluster import Cluster

    from .cluster_check import NODES, Nodes

    with closing(Nodes()) as nodes, closing(Cluster(nodes.address)) as cluster:
        return kill_tasks(f"kills of tasks of a Ray of {NODES} nodes", cluster, folder, times, chance)


def has_ray() -> bool:
    """Whether Ray is installed."""
    return importlib.util.find_spec("ray") is not None


def fail_threads(times: int, chance: random.Random) -> dict[str, Any]:
    """Let one thread of a pool raise so often, each in turn: the error arrives when the others have ended, so that
    nothing is played any longer, and the pool does the next work."""
    workers = Workers(_THREADS, 1)
    with closing(workers):
        held = sum(_fail(workers, number % _THREADS, 0.01 + chance.random() * 0.02) for number in range(times))
    return {"did": "errors in one thread of a pool", "times": times, "held": held, "trouble": []}


def _fail(workers: Workers, failing: int, seconds: float) -> bool:
    done = np.zeros(2 * _THREADS, np.int64)

    def work(thread: int, rows: npt.NDArray[np.int64]) -> None:
        if thread == failing and len(rows):
            raise ZeroDivisionError
        time.sleep(seconds * bool(len(rows)))
        done[rows] += 1

    with suppress(ZeroDivisionError):
        workers.spread(work, np.arange(len(done)))
        return False
    expected = np.arange(len(done)) // 2 != failing
    return bool((done == expected).all()) and _works(workers)


def fork_threads(times: int) -> dict[str, Any]:
    """Fork so often while a pool has threads, which the child has not: both sides can use the pool."""
    workers, held = Workers(_THREADS, 1), 0
    with closing(workers):
        for _ in range(times):
            workers.spread(lambda thread, rows: time.sleep(0.005), np.arange(_THREADS))
            child = fork()
            if child == 0:
                signal.alarm(5)  # a child that waited for its parent's threads would wait for ever
                os._exit(not _works(workers))
            held += os.waitpid(child, 0)[1] == 0 and _works(workers)
    return {"did": "forks of a process with threads", "times": times, "held": held, "trouble": []}


def _works(workers: Workers) -> bool:
    """Whether a pool does every row once, by as many threads as it should have."""
    done, threads = np.zeros(_THREADS, np.int64), set[int]()

    def work(thread: int, rows: npt.NDArray[np.int64]) -> None:
        done[rows] += 1
        threads.add(thread)

    workers.spread(work, np.arange(_THREADS))
    return bool((done == 1).all()) and threads == {*range(_THREADS)}
