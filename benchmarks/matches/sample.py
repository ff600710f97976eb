"""Deals played in every seating: who plays which seat, what was played, and series of line-ups that continue after a
stop. Every deck is played in all seatings, so that cards and seats favour nobody.

The unit is the deal. Deal d has one random stream, used in all its seatings, so the packs are the same in each of them;
the streams come from a key space (`seeding.py`) that training never draws from. The agents' own randomness is keyed by
(d, seating, decision). So the play depends only on the game, the agents, the keys and the number of deals, not on
batches or threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.agents.base.agent import Agent, name_of
from backalley.agents.match import Match
from backalley.cluster import machines
from backalley.cluster.work import LOCAL, Executor, Found, Sizes
from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import kernel
from backalley.envs.core.rules import rng

from ..figures import stats
from ..figures.stats import Floats
from .seeding import Roots

if TYPE_CHECKING:
    from backalley.envs.core.files.durable import Unfinished

_KEPT = ("returns", "decisions", "seconds", "forfeits")
"""The arrays of a sample that a series keeps."""
_BATCH_SECONDS, _VIEWS_SECONDS = 0.5, 5.0
"""The length of a batch in seconds, compiled or through views. Through views every decision costs milliseconds even for
few tables: episodes of hundreds of decisions are only fast in large batches."""


def seatings(game: Game, num_agents: int) -> npt.NDArray[np.int64]:
    """Return which agent plays which seat in each seating of a deal [R, N].

    A side is a seat, or the seats of partners. One seat: each agent in turn plays the deck alone. As many agents as
    sides: each has one side, and they rotate around the table. Two agents and more sides: the first has each side in
    turn, the second all others. As many agents as seats: partners are different agents. Raises ValueError for any other
    number.
    """
    sides = np.array(game.sides)
    seats, num_sides = len(sides), game.num_sides
    around: npt.NDArray[np.int64] = (sides[None, :] - np.arange(num_sides)[:, None]) % num_sides
    if seats == 1 and num_agents >= 1:
        return np.arange(num_agents)[:, None]
    if num_agents == num_sides:
        return around
    if num_agents == 2:
        return np.where(around == 0, 0, 1)
    if num_agents == seats:
        return (np.arange(seats)[None, :] - np.arange(seats)[:, None]) % seats
    more = "".join(
        f", or {number}, one for each {what}" for number, what in ((num_sides, "side"), (seats, "seat")) if number != 2
    )
    if num_sides == seats:
        more = "" if seats == 2 else f", or {seats}, one for each seat"
    given = "1 agent was given" if num_agents == 1 else f"{num_agents} agents were given"
    raise InvalidValue(
        f"{game.name} has {seats} seat{'' if seats == 1 else 's'} under these options, and {given}; give 2{more}."
    )


@kernel
def deal_keys(
    chance: np.uint64, own: np.uint64, first: int, streams: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64]
) -> None:
    """Return the streams [D] of deals `first`, `first + 1`, ..., and the agents' keys [D, R] in each of their
    seatings."""
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
    forfeits: npt.NDArray[np.int64] = field(init=False)
    """[agents] how many seats of finished games each has forfeited."""

    def __post_init__(self) -> None:
        self.forfeits = np.zeros(self.seatings.max(initial=0) + 1, np.int64)

    @property
    def returns(self) -> Floats:
        """[D, R, N]"""
        self.parts = [np.concatenate(self.parts)] if self.parts else [np.zeros((0, *self.seatings.shape))]
        return self.parts[0]

    def add(self, returns: Floats, decisions: int, seconds: float, forfeits: npt.NDArray[np.int64] | int = 0) -> None:
        """Add more deals."""
        self.parts.append(returns)
        self.forfeits = self.forfeits + forfeits
        self.deals, self.decisions, self.seconds = (
            self.deals + len(returns),
            self.decisions + decisions,
            self.seconds + seconds,
        )

    def clear(self) -> None:
        """Leave nothing that was played."""
        self.parts, self.deals, self.decisions, self.seconds = [], 0, 0, 0.0
        self.forfeits = np.zeros_like(self.forfeits)

    def forfeited(self, number: int, agent: Agent) -> int | None:
        """Return how many seats the agent of that number has forfeited; None for one that cannot."""
        return None if agent.forfeits is None else int(self.forfeits[number])

    def of_agent(self, agent: int, values: Floats) -> Floats:
        """Return `values` [D, R, N] averaged over the seats that an agent holds, in the seatings where it plays [D,
        R']."""
        held = self.seatings == agent
        there = held.any(1)
        mine: Floats = (values * held).sum(2)[:, there] / held.sum(1)[there]
        return mine

    def gains(self) -> Floats:
        """Return what the first agent gains [D], deal by deal."""
        gained: Floats = self.of_agent(0, self.returns).mean(1)
        return gained

    def strength(self, game: Game) -> dict[str, Any]:
        """Return the first agent's mean return and win share with their intervals, in the form of files of results."""
        won = self.of_agent(0, stats.win_shares(self.returns, game.sides)).mean(1)
        return {
            "deals": self.deals,
            "mean_return": stats.mean_interval(self.gains(), game.reward_range).to_json(),
            "win_share": stats.share_interval(won).to_json(),
        }

    def lead(self, other: Sample, game: Game) -> dict[str, float]:
        """Return the lead of the first agent over another sample's first agent, on the decks that both played."""
        both = min(self.deals, other.deals)
        leads = self.gains()[:both] - other.gains()[:both]
        return stats.mean_interval(leads, stats.lead_bounds(game.reward_range)).to_json()

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """For `durable.Unfinished`."""
        return {
            "returns": self.returns,
            "decisions": np.array(self.decisions),
            "seconds": np.array(self.seconds),
            "forfeits": self.forfeits,
        }

    @classmethod
    def from_arrays(cls, seatings: npt.NDArray[np.int64], arrays: Mapping[str, npt.NDArray[Any]]) -> Sample:
        """Return the sample of `to_arrays`; an empty sample from no arrays."""
        sample = cls(seatings)
        if arrays:
            sample.add(arrays["returns"], int(arrays["decisions"]), float(arrays["seconds"]), arrays["forfeits"])
        return sample


class LineUp(NamedTuple):
    """Agents who play in the seatings of `seatings`, and the keys of their deals."""

    game: Game
    agents: Sequence[Agent]
    keys: Roots
    deals: int = 0
    """How many they play, where they play in a `Series`."""
    words: str = ""
    """Its words while they play."""

    @property
    def seatings(self) -> npt.NDArray[np.int64]:
        """[R, N] the number of the agent in each seat."""
        return seatings(self.game, len(self.agents))


def _forfeits(agents: Sequence[Agent]) -> npt.NDArray[np.int64]:
    """How many seats each has forfeited so far."""
    return np.array([agent.forfeits or 0 for agent in agents], np.int64)


class Deals:
    """The deals of several line-ups, by their numbers: see `cluster.work.Work`."""

    sizes = Sizes(1 << 17)

    def __init__(self, line_ups: Sequence[LineUp], num_threads: int = 1) -> None:
        self.line_ups, self.num_threads = list(line_ups), num_threads
        if any(agent.forfeits is not None for line_up in self.line_ups for agent in line_up.agents):
            self.sizes = self.sizes._replace(first=1)  # a program's decisions may take minutes
        self._part, self._match = -1, None

    _match: Match | None

    def begin(self, part: int) -> float:
        """Seat the agents of a line-up and link their match. A batch takes half a second, or a few through views."""
        if self._match is None or self._part != part:
            self.close()
            one = self.line_ups[part]
            self._part, self._match = part, Match(one.game, one.agents, one.seatings, num_threads=self.num_threads)
            self._match.link()
        return _BATCH_SECONDS if self._match.compiled else _VIEWS_SECONDS

    def do(self, part: int, low: int, high: int) -> Found:
        """Play deals; return returns [D, R, N], the number of decisions, and how many seats each agent forfeited."""
        assert self._match is not None
        one = self.line_ups[part]
        streams, agents = np.empty(high - low, np.uint64), np.empty((high - low, len(one.seatings)), np.uint64)
        deal_keys(*one.keys, low, streams, agents)
        before = _forfeits(one.agents)
        returns, decisions = self._match.play(streams, agents)
        return returns, decisions.sum(keepdims=True), _forfeits(one.agents) - before

    def close(self) -> None:
        """End the match."""
        if self._match is not None:
            self._match.close()
        self._match = None

    def __reduce__(self) -> tuple[Any, ...]:
        for agent in (agent for line_up in self.line_ups for agent in line_up.agents):
            if agent.one_table:
                raise InvalidValue(f"{name_of(agent)} plays one table after the other at this machine's terminal")
        return Deals, (self.line_ups,)  # one thread: a process elsewhere has one core


def play(
    deals: Deals,
    samples: Sequence[Sample],
    ends: Sequence[int],
    on_batch: Callable[[int], None],
    executor: Executor = LOCAL,
) -> None:
    """Play until the samples of the line-ups hold as many deals as `ends` says; `on_batch` is called with the number of
    a line-up after each batch of it.

    May be interrupted between batches (KeyboardInterrupt): the samples then hold what was finished.
    """
    spans = [(sample.deals, end) for sample, end in zip(samples, ends, strict=True)]
    try:
        with closing(executor.in_order(deals, spans)) as batches:
            for done in batches:
                returns, decisions, forfeits = done.found
                samples[done.part].add(returns, int(decisions.sum()), done.seconds, forfeits)
                on_batch(done.part)
    finally:
        deals.close()


class Series:
    """Line-ups that play one after the other, on the same decks where their keys are the same. Ctrl-C raises
    KeyboardInterrupt, and the next series goes on from what is in `unfinished`, if there is one. Arrays `beside` it are
    saved with it, and restored. `progress` is called with the deals played, those expected, and the words of the
    line-up. With a `cluster`, the address of one, its machines play, on one core for each range of deals."""

    def __init__(
        self,
        line_ups: Sequence[LineUp],
        unfinished: Unfinished | None,
        *,
        num_threads: int = 1,
        progress: Callable[[int, int, str], None] | None = None,
        beside: Mapping[str, npt.NDArray[Any]] | None = None,
        cluster: str | None = None,
    ) -> None:
        self._line_ups, self._unfinished, self._progress, self._cluster = line_ups, unfinished, progress, cluster
        self._work, self._beside = Deals(line_ups, num_threads), beside or {}
        self._expected = sum(one.deals for one in line_ups)
        kept = {} if unfinished is None else unfinished.load()
        for name, array in self._beside.items():
            if name in kept:
                array[:] = kept[name]
        self.samples = [
            Sample.from_arrays(one.seatings, {name: kept[f"{number} {name}"] for name in _KEPT} if kept else {})
            for number, one in enumerate(line_ups)
        ]

    def play(self, ends: Iterable[tuple[Sequence[int], int]] | None = None) -> list[Sample]:
        """Play all deals of the line-ups, or to each of some `ends`, the deals of every line-up with how many are
        expected in all; return what was played."""
        try:
            with machines(self._cluster) as executor:
                for stops, expected in ends or [([one.deals for one in self._line_ups], self._expected)]:
                    self._expected = expected
                    play(self._work, self.samples, stops, self._on_batch, executor)
        except KeyboardInterrupt:
            if self._unfinished is not None:
                self._unfinished.save(self._arrays())
            raise
        return self.samples

    def _on_batch(self, part: int) -> None:
        if self._unfinished is not None:
            self._unfinished.save_at_times(self._arrays)
        if self._progress:
            self._progress(sum(one.deals for one in self.samples), self._expected, self._line_ups[part].words)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        every = ((number, one.to_arrays()) for number, one in enumerate(self.samples))
        return {**self._beside, **{f"{number} {name}": arrays[name] for number, arrays in every for name in arrays}}
