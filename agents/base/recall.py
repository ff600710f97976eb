"""`Recall`: what an agent that reads events keeps of each table between its decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidCall
from backalley.envs.core.api.histories import ShownEvents
from backalley.envs.core.game import arguments
from backalley.envs.core.game.kernels import Bound, kernel
from backalley.envs.core.rules import rng

from .agent import View


@kernel
def digest(events: npt.NDArray[np.int16], count: int) -> np.uint64:
    """Return a digest of the first `count` events [T, 3]."""
    key = np.uint64(count)
    for number in range(count):
        for column in range(3):
            key = np.uint64(rng.fork(key, int(events[number, column]) & 0xFFFF))
    return key


@kernel
def leave_new(
    events: npt.NDArray[np.int16],
    length: npt.NDArray[np.int64],
    places: npt.NDArray[np.int64],
    read: npt.NDArray[np.int64],
    digests: npt.NDArray[np.uint64],
    begins: npt.NDArray[np.bool_],
) -> None:
    """Leave, in place, the events of each row that its place has not read, and note those as read. A place that read
    others begins again."""
    for k in range(places.shape[0]):
        place, count = places[k], length[k]
        known = read[place]
        if known > count or digest(events[k], known) != digests[place]:
            known = 0
        begins[k] = known == 0
        read[place], digests[place] = count, digest(events[k], count)
        length[k] = count - known
        for number in range(events.shape[1]):
            for column in range(3):
                events[k, number, column] = events[k, number + known, column] if number < length[k] else 0


_LEAVE = Bound[None](lambda: leave_new, at_once=False)


class Recall:
    """A state for each table and seat that an agent plays, and the events that it has read there.

    A state follows from the events of its seat, so this is a cache: where it was kept for other events, or not at all,
    it begins again with zeros and all events. So an agent plays alike wherever it is asked: in matches, at one table,
    at the information sets of `exploit`. One agent, or one thread, has its own.

    >>> import backalley
    >>> class Reader:
    ...     reads_events = True
    ...     def __init__(self):
    ...         self.recall = backalley.Recall()  # a number for each table
    ...     def act(self, view):
    ...         places, new = self.recall.read(view)
    ...         self.recall.state[places] += new.events[:, :, 2].sum(1)
    ...         return (view.action_mask * (1 + self.recall.state[places, None] % 7)).argmax(1)
    >>> backalley.evaluate("missouri_city", [Reader(), "random"], deals=64, seed=1).deals
    64
    """

    def __init__(self, *shape: int, dtype: npt.DTypeLike = np.float32, most: int = 1 << 16) -> None:
        """A state has this shape; at most `most` tables are kept, those asked for latest. Raises TypeError or
        ValueError."""
        size = arguments.count(most, "most", 1)
        self.state: npt.NDArray[Any] = np.zeros((size, *shape), dtype)
        """The states, by places: `most` of them."""
        self._read, self._digests = np.zeros(size, np.int64), np.zeros(size, np.uint64)
        self._digests[:] = digest(np.zeros((0, 3), np.int16), 0)
        self._places: dict[tuple[int, int], int] = {}
        self._free = list(range(size - 1, -1, -1))
        self._asked = np.zeros(size, np.int64)
        """When each place was asked for."""
        self._now = 0

    def read(self, view: View) -> tuple[npt.NDArray[np.int64], ShownEvents]:
        """Return the places of the view's tables in `state` [n], and the events that their seats have been shown since
        they were read there, padded int16 [n, T, 3]. Raises RuntimeError where the tables keep no events, and for a
        view of more tables than there are places."""
        if len(view) > len(self.state):
            raise InvalidCall(f"A view of {len(view)} tables was read, and there is room for {len(self.state)}.")
        found = view.events()
        if found is None:
            raise InvalidCall(
                "The tables keep no events, or do not know theirs. Matches and environments keep them for an agent "
                "with reads_events = True; a batch or an environment of yours is made with events=True."
            )
        self._now += 1
        names = list(zip(view.table.tolist(), view.seat.tolist(), strict=True))
        new = len({name for name in names if name not in self._places})
        if new > len(self._free):
            self._forget(new, set(names))
        places = np.array([self._place(name) for name in names], np.int64)
        self._asked[places] = self._now
        begins = np.zeros(len(places), np.bool_)
        _LEAVE(found.events, found.length, places, self._read, self._digests, begins)
        self.state[places[begins]] = 0
        return places, ShownEvents(found.events[:, : int(found.length.max(initial=0))], found.length)

    def _place(self, name: tuple[int, int]) -> int:
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = self._free.pop()
        return place

    def _forget(self, least: int, keep: set[tuple[int, int]]) -> None:
        """Forget the half of the tables that were asked for least lately, or as many as are needed."""
        old = sorted((self._asked[place], name) for name, place in self._places.items() if name not in keep)
        for _, name in old[: max(least, len(old) // 2)]:
            self._free.append(self._places.pop(name))
