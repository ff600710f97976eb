"""Work on a Ray cluster: every range is a task of one core, and results come back in order.

The work, with its agents and weights, is put into Ray's store once; a task names it and its numbers. Tasks of a node
that died are done again elsewhere, and give the same, since everything follows from the numbers.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import socket
import time
import zlib
from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from backalley.console.errors import BackAlleyError, NotInstalled

from . import same_code, sent_modules
from .work import Done, Found, Sizes, Span, Work, next_size

RANGE_SECONDS, LEAST_SECONDS = 2.0, 1.0
"""How long a task should take, and how little at the end of the work, where ranges become smaller so that all cores end
together."""
RETRIES = 20
"""How often a task is done again after its node or process died."""
TASKS_A_SECOND = 200
"""How many tasks the ranges of a large cluster aim at: a quarter of what one head hands out, so that thousands of cores
get longer ranges instead of a head that they wait for."""
_ON_THE_WAY, _WAITING = 2, 64
"""For each core: tasks that run or are next, and results that may wait for an earlier one."""
_LOOK_SECONDS = 5.0
"""How often the number of cores is looked up, which nodes that join or die change."""
_KNOCK_SECONDS = 10.0
_GRACE_SECONDS = 60.0
"""How long an interrupted task may take to save what it has."""

Packed = list[tuple[str, tuple[int, ...], bytes]]


class ClusterError(BackAlleyError):
    """A cluster that cannot be reached, or that cannot do this work."""


class Sent(NamedTuple):
    """What a task needs besides its numbers: names of objects in Ray's store."""

    code: Mapping[str, str]
    digest: str
    files: list[Any]
    work: list[Any]


_here: dict[str, Work] = {}
"""The work that this process of a node has at hand, and the folders of the modules that came with it."""
_folders: list[Any] = []


def do_range(sent: Sent, part: int, low: int, high: int) -> tuple[float, float, Packed]:
    """Do a range of work in a process of a node. Return how long it should take and took, in seconds, and what was
    found. Raises ClusterError where this node has other code."""
    work = _here.get(sent.digest)
    if work is None:
        work = _arrived(sent)
    wanted = work.begin(part)
    before = time.perf_counter()
    found = work.do(part, low, high)
    return wanted, time.perf_counter() - before, pack(found)


def _arrived(sent: Sent) -> Work:
    import ray

    refuse_other_code(sent.code)
    if sent.files:
        _folders.append(sent_modules.arrive(ray.get(sent.files[0])))
    while _here:  # one is enough: a command's ranges are all of the same work
        _here.pop(next(iter(_here))).close()
    _here[sent.digest] = ray.get(sent.work[0])
    return _here[sent.digest]


def refuse_other_code(theirs: Mapping[str, str]) -> None:
    """Raise ClusterError where this node has other code than the machine that gave the command."""
    import ray

    here = same_code.code()
    if here != theirs:
        where = f"The node {ray.util.get_node_ip_address()}"
        raise ClusterError(same_code.difference(here, theirs, where))


def pack(found: Found) -> Packed:
    """Return arrays compressed, without loss."""
    return [(array.dtype.str, array.shape, zlib.compress(array.tobytes(), 1)) for array in found]


def unpack(packed: Packed) -> Found:
    """Return the arrays of `pack`."""
    return tuple(np.frombuffer(zlib.decompress(data), kind).reshape(shape) for kind, shape, data in packed)


def import_ray() -> Any:
    """Return Ray. Raises NotInstalled."""
    try:
        import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise NotInstalled(
            "A cluster needs Ray, which is not installed: pip install 'backalley[cluster]' (on every machine)."
        ) from None
    return ray


def _knock(address: str) -> None:
    """Raise OSError where nobody listens at HOST:PORT: Ray itself would try for minutes."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if colon and port.isdecimal():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_SECONDS).close()
        except OverflowError:  # of a port that there cannot be
            raise OSError(f"{port} is no port") from None
        except OSError as error:
            raise OSError(f"nobody answers there ({error.strerror or error})") from None


class Cluster:
    """A Ray cluster; see `work.Executor`."""

    def __init__(self, address: str) -> None:
        """Connect to the cluster at `address`: `auto` for the one that this machine belongs to, `HOST:PORT` of its
        head, or `ray://HOST:PORT`. A Ray that this process has started already is used as it is.

        Raises NotInstalled without Ray, ClusterError where there is no cluster, or where a node has other code.
        """
        self.ray = import_ray()
        self.address = address
        self._connected = not self.ray.is_initialized()
        if self._connected:
            self._connect()
        self._looked, self._cores = -_LOOK_SECONDS, 1
        self.tasks = self.bytes_put = self.bytes_back = 0
        """Tasks done so far, bytes put into the store, and bytes of results."""
        try:
            self._check_nodes()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        if not isinstance(self.address, str) or not self.address:
            raise ClusterError(
                f"The cluster is {self.address!r}; it takes auto or the address of a Ray head, HOST:PORT."
            )
        try:
            _knock(self.address)
            self.ray.init(self.address, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, RuntimeError, ValueError, OSError, AssertionError) as error:
            why = str(error).strip().splitlines() or [type(error).__name__]
            raise ClusterError(
                f"There is no Ray cluster at {self.address!r} that could be reached: {why[0].rstrip('.')}. Start one "
                "(ray start --head), or leave the cluster out."
            ) from None

    def nodes(self) -> list[dict[str, Any]]:
        """Return the living nodes that have cores for tasks."""
        return [node for node in self.ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]

    def _check_nodes(self) -> None:
        """Raise ClusterError where a node has other code, or none: before any work."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        task = self.ray.remote(num_cpus=0, max_retries=1)(refuse_other_code)
        asked = []
        for node in self.nodes():
            place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            asked.append((node, task.options(scheduling_strategy=place).remote(same_code.code())))
        for node, answer in asked:
            try:
                self.ray.get(answer)
            except self.ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, BackAlleyError):
                    raise error.cause from None
                why = str(error).strip().splitlines()[-1]
                raise ClusterError(
                    f"The node {node['NodeManagerAddress']} cannot run this version of Back Alley, "
                    f"{importlib.metadata.version('backalley')}: {why} Install it there, with its extra `cluster`."
                ) from None
            except self.ray.exceptions.RayError:
                continue  # it has just died, and others will do the work

    @property
    def cores(self) -> int:
        """The number of cores of the cluster, looked up now and then."""
        if time.monotonic() - self._looked >= _LOOK_SECONDS:
            self._looked = time.monotonic()
            self._cores = max(1, int(self.ray.cluster_resources().get("CPU", 0)))
        return self._cores

    def in_order(self, work: Work, spans: Sequence[Span]) -> Generator[Done, None, None]:
        """See `work.Executor`."""
        if all(low >= high for low, high in spans):
            return
        sent, task = self._send(work)
        ranges = Ranges(spans, work.sizes, max(1.0, self.cores / (TASKS_A_SECOND * RANGE_SECONDS)))
        running: dict[Any, tuple[int, int, int, int]] = {}
        finished: dict[int, tuple[int, int, int, Packed]] = {}
        given = out = 0
        before = time.perf_counter()
        try:
            while True:
                room = _ON_THE_WAY * self.cores
                while len(running) < room and len(running) + len(finished) < _WAITING * self.cores:
                    taken = ranges.take(self.cores)
                    if taken is None:
                        break
                    running[task.remote(sent, *taken)] = (given, *taken)
                    given += 1
                if not running:
                    return
                if not self.ray.wait([*running], timeout=_LOOK_SECONDS)[0]:
                    continue
                for one in self.ray.wait([*running], num_returns=len(running), timeout=0)[0]:
                    number, part, low, high = running.pop(one)
                    wanted, seconds, packed = self._result(one)
                    size = sum(len(data) for _, _, data in packed)
                    self.tasks, self.bytes_back = self.tasks + 1, self.bytes_back + size
                    ranges.learn(part, high - low, seconds, wanted, size)
                    finished[number] = part, low, high, packed
                while out in finished:
                    part, low, high, packed = finished.pop(out)
                    now = time.perf_counter()
                    yield Done(part, low, high, now - before, unpack(packed))
                    before, out = now, out + 1
        finally:
            self._cancel([*running], work.sizes.whole_machine)

    def _send(self, work: Work) -> tuple[Sent, Any]:
        """Put work into the store, and the user's own modules that it names."""
        import ray.cloudpickle

        try:
            pickled = ray.cloudpickle.dumps(work)
        except (TypeError, AttributeError, ValueError) as error:  # of pickle, and InvalidType of ours
            raise ClusterError(
                f"This cannot be sent to other machines: {str(error).rstrip('.')}. An agent given by name, or as "
                "file.py:Class, can."
            ) from None
        files = sent_modules.files_of(sent_modules.own_modules(pickled))
        digest = hashlib.sha256(pickled)
        for place, data in files.items():
            digest.update(place.encode() + b"\0" + data + b"\0")
        name = digest.hexdigest()
        self.bytes_put += len(pickled) + sum(map(len, files.values()))
        stored = [self.ray.put(files)] if files else []
        sent = Sent(same_code.code(), name, stored, [self.ray.put(work)])
        machine = int(min((node["Resources"]["CPU"] for node in self.nodes()), default=1)) or 1
        task = self.ray.remote(num_cpus=machine if work.sizes.whole_machine else 1, max_retries=RETRIES)
        if not files:
            return sent, task(do_range)
        # Processes of their own: a module that was edited since may be loaded in others.
        return sent, task(do_range).options(runtime_env={"env_vars": {"BACKALLEY_WORK": name[:16]}})

    def _cancel(self, tasks: list[Any], gently: bool) -> None:
        """End tasks; `gently` lets those that run save what they have."""
        for one in tasks:
            with contextlib.suppress(Exception):
                self.ray.cancel(one, force=not gently)
        if gently and tasks:
            self.ray.wait(tasks, num_returns=len(tasks), timeout=_GRACE_SECONDS)

    def _result(self, one: Any) -> Any:
        try:
            return self.ray.get(one)
        except self.ray.exceptions.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, BackAlleyError):
                raise cause from None
            raise cause if isinstance(cause, Exception) else error from error
        except self.ray.exceptions.RayError as error:
            why = str(error).strip().splitlines() or [type(error).__name__]
            raise ClusterError(
                f"A task was lost for good on the cluster at {self.address}: {why[0].rstrip('.')}. What is finished is "
                "kept, and the same command goes on."
            ) from None

    def close(self) -> None:
        """Disconnect, if this object connected."""
        if self._connected:
            self.ray.shutdown()


class Ranges:
    """The ranges of spans, in order, whose sizes follow from what the finished ones took."""

    def __init__(self, spans: Sequence[Span], sizes: Sizes, longer: float = 1.0) -> None:
        """`longer` multiplies the time that ranges should take."""
        self._sizes, self._longer = sizes, longer
        self._left = [[low, high] for low, high in spans]
        self._size = [min(sizes.first, sizes.largest)] * len(spans)
        self._least = [1] * len(spans)
        self._part = 0

    def take(self, cores: int) -> tuple[int, int, int] | None:
        """Return part, first number and end of the next range; None where nothing is left."""
        while self._part < len(self._left) and self._left[self._part][0] >= self._left[self._part][1]:
            self._part += 1
        if self._part == len(self._left):
            return None
        low, end = self._left[self._part]
        share = (end - low) // (2 * cores)
        high = min(end, low + max(self._least[self._part], min(self._size[self._part], share)))
        self._left[self._part][0] = high
        return self._part, low, high

    def learn(self, part: int, count: int, seconds: float, wanted: float, result_bytes: int) -> None:
        """Take account of a finished range of `count` numbers."""
        most = min(self._sizes.largest, max(1, int(self._sizes.result_bytes / max(result_bytes, 1) * count)))
        wanted = max(wanted, RANGE_SECONDS * self._longer)
        self._size[part] = next_size(count, count, seconds, wanted, most)
        least = LEAST_SECONDS * self._longer / max(seconds, 1e-9) * count
        self._least[part] = min(self._size[part], max(1, int(least)))
