"""Deals played in every seating, and how they are played.

The unit is the deal. Deal d has one random stream, used in all its seatings, so the packs are the same in each of them;
the streams come from a key space (`keys.py`) that training never draws from. The agents' own randomness is keyed by (d,
seating, decision). So what is played depends on the game, the agents, the keys and the number of deals alone, not on
batches or threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.match import Match
from backalley.envs.core import rng
from backalley.envs.core.kernel import kernel

from .keys import Roots
from .stats import Floats

_FIRST_BATCH, _LARGEST_BATCH = 16, 16384
_BATCH_SECONDS, _VIEWS_SECONDS = 0.5, 5.0
"""How long a batch takes, compiled or through views. There every decision costs milliseconds however few tables there
are: episodes of hundreds of decisions are fast in large batches alone."""


@kernel
def deal_keys(
    chance: np.uint64, own: np.uint64, first: int, streams: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64]
) -> None:
    """The streams [D] of deals `first`, `first + 1`, ..., and the agents' keys [D, R] in each of their seatings."""
    for number in range(streams.shape[0]):
        streams[number] = rng.fork(chance, first + number)
        deal = rng.fork(own, first + number)
        for seating in range(keys.shape[1]):
            keys[number, seating] = rng.fork(deal, seating)


@dataclass
class Sample:
    """Deals played so far: `returns` [D, R, N] by deal, seating and seat."""

    seatings: npt.NDArray[np.int64]
    """[R, N] the number of the agent in each seat."""
    parts: list[Floats] = field(default_factory=list)
    deals: int = 0
    decisions: int = 0
    seconds: float = 0.0

    @property
    def returns(self) -> Floats:
        """[D, R, N]"""
        self.parts = [np.concatenate(self.parts)] if self.parts else [np.zeros((0, *self.seatings.shape))]
        return self.parts[0]

    def add(self, returns: Floats, decisions: int, seconds: float) -> None:
        """Count more deals in."""
        self.parts.append(returns)
        self.deals, self.decisions, self.seconds = (
            self.deals + len(returns),
            self.decisions + decisions,
            self.seconds + seconds,
        )

    def of_agent(self, agent: int, values: Floats) -> Floats:
        """`values` [D, R, N] averaged over the seats that an agent holds, in the seatings where it plays [D, R']."""
        held = self.seatings == agent
        there = held.any(1)
        mine: Floats = (values * held).sum(2)[:, there] / held.sum(1)[there]
        return mine

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """For `durable.Unfinished`."""
        return {"returns": self.returns, "decisions": np.array(self.decisions), "seconds": np.array(self.seconds)}

    @classmethod
    def from_arrays(cls, seatings: npt.NDArray[np.int64], arrays: Mapping[str, npt.NDArray[Any]]) -> Sample:
        """What `to_arrays` gave; an empty sample from no arrays."""
        sample = cls(seatings)
        if arrays:
            sample.add(arrays["returns"], int(arrays["decisions"]), float(arrays["seconds"]))
        return sample


def play(match: Match, sample: Sample, deals: int, keys: Roots, on_batch: Callable[[], None]) -> None:
    """Play on until `sample` holds `deals` deals of `keys`, in batches of half a second, or of a few through
    views; `on_batch` follows each.

    May be interrupted between batches (KeyboardInterrupt): `sample` then holds what was finished.
    """
    match.link()
    batch, wanted = _FIRST_BATCH, _BATCH_SECONDS if match.compiled else _VIEWS_SECONDS
    while sample.deals < deals:
        count = min(batch, deals - sample.deals)
        streams, agents = np.empty(count, np.uint64), np.empty((count, len(sample.seatings)), np.uint64)
        deal_keys(*keys, sample.deals, streams, agents)
        before = time.perf_counter()
        returns, decisions = match.play(streams, agents)
        seconds = time.perf_counter() - before
        sample.add(returns, int(decisions.sum()), seconds)
        batch = int(np.clip(wanted / seconds * count, 1, min(8 * batch, _LARGEST_BATCH)))
        on_batch()
