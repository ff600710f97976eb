"""A Ray in one process, for tests of what this package does with it: tasks are done in a random order, on copies that
were pickled, and any of them may be lost once, or raise."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


class RayError(Exception):
    """As Ray's."""


class RayTaskError(RayError):
    """As Ray's: an exception of a task, in `cause`."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"ray::do()\n  File somewhere\n{type(cause).__name__}: {cause}")
        self.cause = cause


class Ref:
    """A value in the store, or a task that has yet to be done."""

    def __init__(self, value: Any = None, task: Callable[[], Any] | None = None) -> None:
        self.value, self.task = value, task

    def __reduce__(self) -> tuple[Any, ...]:
        return _REFS.append(self) or _ref, (len(_REFS) - 1,)


_REFS: list[Ref] = []


def _ref(number: int) -> Ref:
    return _REFS[number]


class FakeRay:
    """What `ray_cluster` uses of Ray."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cores: int = 4) -> None:
        self.cores, self.random = cores, random.Random(5)
        self.done: list[tuple[Any, ...]] = []
        """The arguments of the tasks done, in that order."""
        self.most_waiting = self.cancelled = 0
        self.connected, self.lost = False, 0
        self.before_task: Callable[[], None] = lambda: None
        self.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        self.util = SimpleNamespace(get_node_ip_address=lambda: "10.0.0.7")
        self.__version__ = "fake"
        pickler = SimpleNamespace(dumps=pickle.dumps)
        strategies = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: node)
        parts = {"ray": self, "ray.cloudpickle": pickler, "ray.util": self.util}
        for name, module in {**parts, "ray.util.scheduling_strategies": strategies}.items():
            monkeypatch.setitem(sys.modules, name, _module(name, module))
        monkeypatch.setattr(sys.modules["ray"], "cloudpickle", pickler, raising=False)

    def is_initialized(self) -> bool:
        return self.connected

    def init(self, address: str, **settings: Any) -> None:
        if address == "nowhere":
            raise ConnectionError("Could not find any running Ray instance. Please specify the one to connect to.")
        self.connected = True

    def shutdown(self) -> None:
        self.connected = False

    def nodes(self) -> list[dict[str, Any]]:
        some = {"Alive": True, "NodeManagerAddress": "10.0.0.7"}
        return [{**some, "NodeID": str(number), "Resources": {"CPU": 1.0}} for number in range(self.cores)]

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(self.cores)}

    def remote(self, **settings: Any) -> Callable[[Callable[..., Any]], Any]:
        def of(does: Callable[..., Any]) -> Any:
            def remote(*given: Any) -> Ref:
                sent = pickle.dumps((does, given))

                def task() -> Any:
                    does, given = pickle.loads(sent)
                    self.before_task()
                    if self.lost:  # its node died, and it is done again: what it did is forgotten
                        self.lost -= 1
                        does(*given)
                    self.done.append(given)
                    return does(*given)

                return Ref(task=task)

            found = SimpleNamespace(remote=remote)
            found.options = lambda **settings: found
            return found

        return of

    def put(self, value: Any) -> Ref:
        return Ref(pickle.loads(pickle.dumps(value)))

    def wait(self, refs: list[Ref], num_returns: int = 1, timeout: float | None = None) -> tuple[list[Ref], list[Ref]]:
        waiting = [one for one in refs if one.task is not None]
        self.most_waiting = max(self.most_waiting, len(waiting))
        if waiting and len(waiting) == len(refs):
            self._do(self.random.choice(waiting))
        ready = [one for one in refs if one.task is None][:num_returns]
        return ready, [one for one in refs if one not in ready]

    def get(self, ref: Ref) -> Any:
        self._do(ref)
        if isinstance(ref.value, RayTaskError):
            raise ref.value
        return ref.value

    def _do(self, ref: Ref) -> None:
        if ref.task is not None:
            task, ref.task = ref.task, None
            try:
                ref.value = pickle.loads(pickle.dumps(task()))
            except Exception as error:
                ref.value = RayTaskError(error)

    def cancel(self, ref: Ref, force: bool) -> None:
        self.cancelled += 1
        ref.task = None


def _module(name: str, holding: Any) -> ModuleType:
    made = ModuleType(name)
    for part in dir(holding):
        if not part.startswith("__") or part == "__version__":
            setattr(made, part, getattr(holding, part))
    made.__path__ = []
    return made
