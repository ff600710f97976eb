"""What is killed, fails or forks in the middle of its work: processes that write, or find their disk full, tasks,
threads. After every kill a file is whole, and no older than the last one that its writer reported; results are those
of work that nobody disturbed."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.registry import agent
from backalley.cluster.work import LOCAL, Done, Executor, Found, Sizes, Span, Work
from backalley.envs.core.files import durable
from backalley.envs.core.game.catalogue import game as game_of
from backalley.envs.core.game.threads import Workers

from ...matches.sample import Deals, LineUp, Sample, play
from ...matches.seeding import Space, roots

_GAME = "backalley.examples.kuhn"
_RANGE = 16
"""Deals of a task."""
_THREADS = 3
_FULL = 3
"""The exit status of a process whose disk was full."""


def tried(did: str, times: int, trial: Callable[[int], str]) -> dict[str, Any]:
    """Do something so often. A trial says what was wrong with it, if anything."""
    trouble = [wrong for number in range(times) if (wrong := trial(number))]
    return {"did": did, "times": times, "held": times - len(trouble), "trouble": [*dict.fromkeys(trouble)]}


def every_kill(folder: Path, times: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """Kills of what writes and of what plays, full disks, errors in threads, and forks: so many of each. A killed task
    of Ray takes seconds to begin again, so there are a tenth of those."""
    yield kill_writers(folder / "killed.json", times, chance)
    yield fill_disk(folder / "filled.json", times)
    yield kill_tasks("kills of tasks", Restarted(), folder / "tasks", times, chance)
    if has_ray():
        yield kill_ray_tasks(folder / "ray", times // 10, chance)
    yield fail_threads(times, chance)
    yield fork_threads(times)


def has_ray() -> bool:
    """Whether Ray is installed."""
    return importlib.util.find_spec("ray") is not None


def fork(run: Callable[[], object]) -> int:
    """Fork, as a user's program may, whatever threads there are. The child runs this, and ends with 1 where it
    raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        with suppress(BaseException):
            run()
            os._exit(0)
        os._exit(1)
    return child


def status(child: int) -> int:
    """Wait for a child; return its exit status."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def received(pipe: Any) -> Iterator[Any]:
    """All that comes through a pipe until its other end is closed."""
    with closing(pipe), suppress(EOFError):
        while True:
            yield pipe.recv()


# Files ----------------------------------------------------------------------------------------------------------------


def kill_writers(path: Path, times: int, chance: random.Random) -> dict[str, Any]:
    """Kill a process that writes a file again and again, at any moment, and look at the file each time."""

    def write_for_ever(pipe: Any) -> None:
        number = json.loads(path.read_bytes())["number"] if path.exists() else 0
        while True:
            number += 1
            durable.write_file(path, json.dumps({"number": number, "more": "x" * 20_000}).encode())
            pipe.send(number)

    def trial(_: int) -> str:
        ours, theirs = Pipe(duplex=False)
        child = fork(lambda: write_for_ever(theirs))
        theirs.close()
        time.sleep(chance.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        status(child)
        last = max(received(ours), default=-1)
        try:
            found = json.loads(path.read_bytes())["number"] if last >= 0 or path.exists() else -1
        except (ValueError, KeyError) as error:
            return str(error)
        return "" if found >= last else f"an earlier file: {found} after {last}"

    return tried("kills of a process that writes", times, trial)


def fill_disk(path: Path, times: int) -> dict[str, Any]:
    """Let processes that may write so many bytes and no more replace a file: it is replaced, or as it was, with nothing
    beside it."""

    def write(room: int) -> None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as where a disk is full, it is an error of writing
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        try:
            durable.write_file(path, b"after" + b"x" * 20_000)
        except OSError:
            os._exit(_FULL)

    def trial(number: int) -> str:
        durable.write_file(path, b"before")
        ended = status(fork(lambda: write(number * 40_000 // times)))
        sound = path.read_bytes()[:6] == b"before" if ended == _FULL else path.stat().st_size == 20_005
        beside = [other.name for other in path.parent.glob(f"{path.name}?*")]
        fine = sound and not beside and ended in (0, _FULL)
        return "" if fine else f"exit status {ended}, beside it {beside}"

    return tried("writing to full disks", times, trial)


# Tasks ----------------------------------------------------------------------------------------------------------------


class Fragile(Deals):
    """Deals whose process is killed when it comes to some numbers, once for each."""

    sizes = Sizes(_RANGE, _RANGE)

    def __init__(self, line_ups: Sequence[LineUp], numbers: Sequence[int], folder: Path) -> None:
        super().__init__(line_ups)
        self.numbers, self.folder = numbers, folder

    def do(self, part: int, low: int, high: int) -> Found:
        """The first time of each of the numbers this never returns."""
        for number in self.numbers:
            if low <= number < high:
                with suppress(FileExistsError):
                    (self.folder / str(number)).touch(exist_ok=False)
                    os.kill(os.getpid(), signal.SIGKILL)
        return super().do(part, low, high)

    def __reduce__(self) -> tuple[Any, ...]:
        return Fragile, (self.line_ups, self.numbers, self.folder)


def _do(work: Work, spans: Sequence[Span], pipe: Any) -> None:
    for done in LOCAL.in_order(work, spans):
        pipe.send(done)


class Restarted:
    """`LOCAL` in a process of its own; where that is killed, another one goes on after what is done. It stands in for
    Ray, which is not installed everywhere."""

    def in_order(self, work: Work, spans: Sequence[Span]) -> Generator[Done, None, None]:
        """See `cluster.work.Executor`."""
        for part, (low, end) in enumerate(spans):
            while low < end:
                ours, theirs = Pipe(duplex=False)
                rest = [(0, 0)] * part + [(low, end)]
                child = fork(partial(_do, work, rest, theirs))
                theirs.close()
                for done in received(ours):
                    low = done.high
                    yield done
                ended = status(child)
                assert ended in (0, -signal.SIGKILL), f"the process of a task ended with {ended}"

    def close(self) -> None:
        """Nothing is left."""


def kill_tasks(did: str, executor: Executor, folder: Path, times: int, chance: random.Random) -> dict[str, Any]:
    """Kill the processes of so many tasks of a match; its results are the bytes of one that nobody disturbed."""
    folder.mkdir()
    numbers = [_RANGE * task + chance.randrange(_RANGE) for task in chance.sample(range(2 * times), times)]
    game, found = game_of(_GAME), []
    for disturbed in (False, True):
        pair = [agent(name, game, num_threads=1) for name in ("bot", "random")]
        line_up = LineUp(game, pair, roots(Space.EVALUATION, 0))
        sample = Sample(line_up.seatings)
        work = Fragile([line_up], numbers, folder) if disturbed else Deals([line_up])
        play(work, [sample], [2 * times * _RANGE], lambda part: None, executor if disturbed else LOCAL)
        found.append((sample.returns.tobytes(), sample.decisions))
    killed = len(list(folder.iterdir()))
    return {"did": did, "times": times, "held": killed * (found[0] == found[1]), "trouble": []}


def kill_ray_tasks(folder: Path, times: int, chance: random.Random) -> dict[str, Any]:
    """Do so on a Ray of four nodes on this machine. Raises NotInstalled without Ray."""
    from backalley.cluster.ray_cluster import Cluster

    from .cluster_check import NODES, Nodes

    with closing(Nodes()) as nodes, closing(Cluster(nodes.address)) as cluster:
        return kill_tasks(f"kills of tasks of a Ray of {NODES} nodes", cluster, folder, times, chance)


# Threads --------------------------------------------------------------------------------------------------------------


def fail_threads(times: int, chance: random.Random) -> dict[str, Any]:
    """Let one thread of a pool raise so often, each in turn: the error arrives when the others have ended, so that
    nothing is played any longer, and the pool does the next work."""
    workers = Workers(_THREADS, 1)

    def trial(number: int) -> str:
        failing, seconds = number % _THREADS, 0.01 + chance.random() * 0.02
        done = np.zeros(2 * _THREADS, np.int64)

        def work(thread: int, rows: npt.NDArray[np.int64]) -> None:
            if thread == failing and len(rows):
                raise ZeroDivisionError
            time.sleep(seconds * bool(len(rows)))
            done[rows] += 1

        with suppress(ZeroDivisionError):
            workers.spread(work, np.arange(len(done)))
            return "no error came"
        sound = (done == (np.arange(len(done)) // 2 != failing)).all()
        return "" if sound and _works(workers) else "other threads were disturbed"

    with closing(workers):
        return tried("errors in one thread of a pool", times, trial)


def fork_threads(times: int) -> dict[str, Any]:
    """Fork so often while a pool has threads, which the child has not: both sides can use the pool."""
    workers = Workers(_THREADS, 1)

    def in_child() -> None:
        signal.alarm(5)  # a child that waited for its parent's threads would wait for ever
        assert _works(workers)

    def trial(_: int) -> str:
        workers.spread(lambda thread, rows: time.sleep(0.005), np.arange(_THREADS))
        ended = status(fork(in_child))
        return "" if ended == 0 and _works(workers) else f"exit status {ended}"

    with closing(workers):
        return tried("forks of a process with threads", times, trial)


def _works(workers: Workers) -> bool:
    """Whether a pool does every row once, by as many threads as it should have."""
    done, threads = np.zeros(_THREADS, np.int64), set[int]()

    def work(thread: int, rows: npt.NDArray[np.int64]) -> None:
        done[rows] += 1
        threads.add(thread)

    workers.spread(work, np.arange(_THREADS))
    return bool((done == 1).all()) and threads == {*range(_THREADS)}
