"""How strong: agents play the same decks in every seating, and the means come with intervals over the decks.

The unit is the deal. Deal d has one random stream, used in all its seatings, so the packs are the same in
each of them; the streams lie in a key space of their own, which training never draws from. The agents' own randomness
is keyed by (d, seating, decision). So a report depends on the game, the agents, the seed and the number of deals alone,
not on batches or threads.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.agents.base import Agent
from backalley.agents.match import Match
from backalley.envs.core import rng
from backalley.envs.core.base import Game
from backalley.envs.core.kernel import kernel
from backalley.envs.core.workers import cores

from . import results, stats
from .stats import Estimate, Floats

Progress = Callable[[int, int], None]
"""Called with the deals played and the deals planned."""

DEALS = 4096
PILOT = 256
"""Deals from which `precision` judges how many will be needed."""
MOST_DEALS = 10_000_000
_KEY_SPACE = int.from_bytes(b"evaluate", "big")
_FIRST_BATCH, _LARGEST_BATCH = 16, 16384
_BATCH_SECONDS, _VIEWS_SECONDS = 0.5, 5.0
"""How long a batch takes, compiled or through views. There every decision costs milliseconds however few tables there
are: episodes of hundreds of decisions are fast in large batches alone."""


def seatings(game: Game, num_agents: int) -> npt.NDArray[np.int64]:
    """Which agent sits where in each seating of a deal [R, N].

    A side is a seat, or the seats of partners. One seat: each agent in turn plays the deck alone. As many agents as
    sides: each has one side, and they turn around the table. Two agents and more sides: the first has each side in
    turn, the second all others. As many agents as seats: partners are of different agents. Raises ValueError in a
    sentence for any other number.
    """
    sides = np.array(game.sides)
    seats, num_sides = len(sides), num_sides_of(game)
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
    raise ValueError(f"{game.name} has {_count(seats, 'seat')} under these options, and {given}; give 2{more}.")


def num_sides_of(game: Game) -> int:
    """How many sides play: seats, or partnerships."""
    return len(set(game.sides))


@kernel
def deal_keys(
    chance: np.uint64, own: np.uint64, first: int, streams: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64]
) -> None:
    """The streams [D] of deals `first`, `first + 1`, ..., and the agents' keys [D, R] in each of their seatings."""
    for number in range(streams.shape[0]):
        streams[number] = rng.fork(chance, first + number)
        deal = rng.fork(own, first + number)
        for rotation in range(keys.shape[1]):
            keys[number, rotation] = rng.fork(deal, rotation)


@dataclass
class Sample:
    """Deals played so far: `returns` [D, R, N] by deal, seating and seat."""

    seating: npt.NDArray[np.int64]
    parts: list[Floats] = field(default_factory=list)
    deals: int = 0
    decisions: int = 0
    seconds: float = 0.0

    @property
    def returns(self) -> Floats:
        """[D, R, N]"""
        self.parts = [np.concatenate(self.parts)] if self.parts else [np.zeros((0, *self.seating.shape))]
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
        held = self.seating == agent
        there = held.any(1)
        mine: Floats = (values * held).sum(2)[:, there] / held.sum(1)[there]
        return mine

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """For `results.Unfinished`."""
        return {"returns": self.returns, "decisions": np.array(self.decisions), "seconds": np.array(self.seconds)}

    @classmethod
    def from_arrays(cls, seating: npt.NDArray[np.int64], arrays: Mapping[str, npt.NDArray[Any]]) -> Sample:
        """What `to_arrays` gave; an empty sample from no arrays."""
        sample = cls(seating)
        if arrays:
            sample.add(arrays["returns"], int(arrays["decisions"]), float(arrays["seconds"]))
        return sample


def play(match: Match, sample: Sample, deals: int, seed: int, on_batch: Callable[[], None]) -> None:
    """Play on until `sample` holds `deals` deals, in batches of half a second, or of a few through views; `on_batch`
    follows each.

    May be interrupted between batches (KeyboardInterrupt): `sample` then holds what was finished.
    """
    chance, own = (
        np.random.SeedSequence(seed, spawn_key=(_KEY_SPACE, use)).generate_state(1, np.uint64)[0] for use in range(2)
    )
    match.link()
    batch, wanted = _FIRST_BATCH, _BATCH_SECONDS if match.compiled else _VIEWS_SECONDS
    while sample.deals < deals:
        count = min(batch, deals - sample.deals)
        streams, keys = np.empty(count, np.uint64), np.empty((count, len(sample.seating)), np.uint64)
        deal_keys(chance, own, sample.deals, streams, keys)
        before = time.perf_counter()
        returns, decisions = match.play(streams, keys)
        seconds = time.perf_counter() - before
        sample.add(returns, int(decisions.sum()), seconds)
        batch = int(np.clip(wanted / seconds * count, 1, min(8 * batch, _LARGEST_BATCH)))
        on_batch()


@dataclass(frozen=True)
class Strength:
    """One agent's mean return and win share per seat it holds, with 95 % intervals. Partners share the win, so that
    chance is one in so many sides."""

    name: str
    mean_return: Estimate
    win_share: Estimate


@dataclass(frozen=True)
class Report:
    """What an evaluation found. Everything but `seconds` and the stamp follows from the first line of `head`."""

    game: str
    options: dict[str, Any]
    changed: dict[str, Any]
    """Those options that differ from their defaults."""
    agents: list[Strength]
    seating: list[list[int]]
    sides: list[int]
    """The number of each seat's side: partners have the same."""
    deals: int
    planned: int
    differences: list[Estimate]
    """Mean return of each further agent less that of the first, deal by deal."""
    duplicate_gain: float | None
    """See `stats.duplicate_gain` of the first agent; with one seat, `stats.pairing_gain` of the first difference."""
    decisions: int
    seconds: float
    """Seconds of play; linking machine code is not counted."""
    seed: int
    precision: float | None
    stamp: dict[str, Any]
    command: str = ""

    @property
    def complete(self) -> bool:
        """Whether all planned deals were played."""
        return self.deals == self.planned

    def to_json(self) -> dict[str, Any]:
        """The report as `results.write` takes it."""
        return {
            "kind": "evaluation",
            "command": self.command,
            "game": self.game,
            "options": self.options,
            "seed": self.seed,
            "deals": self.deals,
            "rotations": len(self.seating),
            "complete": self.complete,
            "planned_deals": self.planned,
            "precision": self.precision,
            "agents": [
                {"name": one.name, "mean_return": one.mean_return.to_json(), "win_share": one.win_share.to_json()}
                for one in self.agents
            ],
            "differences": [
                {"of": number, "less": 0, "mean_return": estimate.to_json()}
                for number, estimate in enumerate(self.differences, start=1)
            ],
            "duplicate_gain": self.duplicate_gain,
            "seating": self.seating,
            "sides": self.sides,
            "decisions": self.decisions,
            "seconds": self.seconds,
            "decisions_per_second": self.decisions / self.seconds if self.seconds else None,
            **self.stamp,
        }

    def table(self) -> str:
        """The report as text: mean return first, win share second, both with 95 % intervals over deals."""
        seats, several = len(self.seating[0]), len(self.agents) > 1
        head = (
            f"{self.game}{options_text(self.changed)}: {self.deals:,} deals "
            f"x {_count(len(self.seating), 'seating')}, seed {self.seed}"
        )
        if not self.complete:
            head = f"Stopped after {self.deals:,} of {self.planned:,} deals.\n{head}"
        digits = decimals([one.mean_return for one in self.agents])
        rows = []
        for number, one in enumerate(self.agents):
            label = f"{_letter(number)}  {one.name}" if several else one.name
            rows.append(
                [label, *_cells(one.mean_return, digits, sign=True), *_cells(_percent(one.win_share), 2, unit=" %")]
            )
        for number, difference in enumerate(self.differences, start=1):
            rows.append([f"{_letter(number)} less A", *_cells(difference, digits, sign=True), "", ""])
        table = results.table_text(["agent", "mean return", "95 % interval", "win share", "95 % interval"], rows)
        held = "seat" if len(set(self.sides)) == seats else "side"
        chance = "" if seats == 1 else f" Win share is per {held} held; chance is {100 / len(set(self.sides)):.3g} %."
        pace = f"{self.decisions:,} decisions in {self.seconds:.2f} s ({_pace(self.decisions, self.seconds)})."
        aim = "" if self.precision is None else self._aim() + "\n"
        return f"{head}\n\n{table}\n\n{self._gain()}\n{aim}{pace}{chance}"

    def _aim(self) -> str:
        widest = max(one.mean_return.half_width for one in self.agents)
        wanted = f"A pilot of {PILOT} deals put {self.planned:,} deals to a half-width of {self.precision:g}"
        return f"{wanted}; the widest interval has {widest:.{decimals([agent.mean_return for agent in self.agents])}f}."

    def _gain(self) -> str:
        if len(self.seating) == 1:
            return "Each deck was played once: there are no duplicate deals to gain from."
        if self.duplicate_gain is None:
            return (
                "Gain of the duplicate deals: every deal gave the same result, so there was no luck left to take out."
            )
        what = "B less A" if len(self.seating[0]) == 1 else self.agents[0].name
        return (
            f"Gain of the duplicate deals: {self.duplicate_gain:.2f}x "
            f"(as many games on independent decks would give {what} "
            f"{math.sqrt(self.duplicate_gain):.2f} times this interval)."
        )


def evaluate(
    game: Game,
    agents: Sequence[Agent],
    *,
    deals: int | None = None,
    precision: float | None = None,
    seed: int = 0,
    num_threads: int = 1,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> Report:
    """Play every deck in every seating (`seatings`) and report each agent's mean return and win share.

    Give `deals` (4,096 by default), or `precision`, the half-width wanted for the widest interval of a mean return: a
    pilot of 256 deals, which count, then decides how many are played. `num_threads=0` takes every core; the numbers do
    not depend on it. Ctrl-C ends the play and gives the report of what is finished (`complete` is False). With `keep`,
    the file that the report will be written to, unfinished work is kept beside it, and the next call for the same game,
    agents and seed goes on from there. Raises ValueError in a sentence for a line-up or numbers that cannot be played.
    """
    seating = seatings(game, len(agents))
    planned = _planned(deals, precision)
    if seed < 0:
        raise ValueError(f"The seed is {seed}; it must be a whole number of 0 or more.")
    unfinished = results.Unfinished(keep, _task(game, agents, seed))
    sample = Sample.from_arrays(seating, unfinished.load())
    if sample.deals > planned and precision is None:
        sample = Sample(seating)
    match = Match(game, agents, seating, num_threads=num_threads or cores())

    def on_batch() -> None:
        unfinished.save_at_times(sample.to_arrays)
        if progress:
            progress(sample.deals, planned)

    try:
        play(match, sample, planned, seed, on_batch)
        if precision is not None:
            wanted = max(stats.deals_for(precision, returns) for returns in _pilot(sample, len(agents)))
            planned = max(PILOT, wanted, sample.deals)
            if planned > MOST_DEALS:
                most = f"{MOST_DEALS:,} are the most, so give a larger one"
                raise ValueError(f"A half-width of {precision:g} would take {planned:,} deals; {most}.")
            play(match, sample, planned, seed, on_batch)
        unfinished.drop()
    except KeyboardInterrupt:
        unfinished.save(sample.to_arrays())
        if sample.deals < 2:
            raise
    finally:
        match.close()
    return report(game, agents, sample, planned=planned, seed=seed, precision=precision)


def _planned(deals: int | None, precision: float | None) -> int:
    if deals is not None and precision is not None:
        raise ValueError("Give deals or precision, not both: precision decides how many deals are played.")
    if precision is not None:
        if not 0 < precision < math.inf:
            raise ValueError(f"precision is {precision:g}; it is a half-width of a mean return, greater than 0.")
        return PILOT
    if deals is not None and not 2 <= deals <= MOST_DEALS:
        raise ValueError(f"deals is {deals}; an interval needs 2 or more, and {MOST_DEALS:,} are the most.")
    return DEALS if deals is None else deals


def _pilot(sample: Sample, num_agents: int) -> list[Floats]:
    """Each agent's returns by deal in the first 256 deals, also where an earlier run has played more of them."""
    return [sample.of_agent(agent, sample.returns[:PILOT]).mean(1) for agent in range(num_agents)]


def report(
    game: Game,
    agents: Sequence[Agent],
    sample: Sample,
    *,
    planned: int,
    seed: int,
    precision: float | None = None,
) -> Report:
    """The report of a sample of two or more deals."""
    shares = stats.win_shares(sample.returns, game.sides)
    by_seating = [sample.of_agent(number, sample.returns) for number in range(len(agents))]
    means = [x.mean(1) for x in by_seating]
    alone = sample.seating.shape[1] == 1
    strengths = [
        Strength(
            agent.name,
            stats.mean_interval(means[number]),
            stats.share_interval(sample.of_agent(number, shares).mean(1)),
        )
        for number, agent in enumerate(agents)
    ]
    gain = (
        None
        if len(sample.seating) == 1
        else stats.pairing_gain(means[0], means[1])
        if alone
        else stats.duplicate_gain(by_seating[0])
    )
    return Report(
        game=game.id,
        options=game.option_values,
        changed=game.changed_options,
        agents=strengths,
        seating=sample.seating.tolist(),
        sides=list(game.sides),
        deals=sample.deals,
        planned=planned,
        differences=[stats.mean_interval(x - means[0]) for x in means[1:]],
        duplicate_gain=gain,
        decisions=sample.decisions,
        seconds=sample.seconds,
        seed=seed,
        precision=precision,
        stamp=results.stamp(),
    )


def players(agents: Sequence[Agent]) -> list[Any]:
    """Who the agents are, as JSON can hold it: their names, and of learned ones the digests of their weights."""
    return [[agent.name, getattr(agent, "metadata", {}).get("weights")] for agent in agents]


def _task(game: Game, agents: Sequence[Agent], seed: int) -> dict[str, Any]:
    return {"evaluation of": game.id, "options": game.option_values, "agents": players(agents), "seed": seed}


def options_text(options: Mapping[str, Any]) -> str:
    """Options in brackets, for the head of a table; nothing where all are at their defaults."""
    return f" ({', '.join(f'{name}={value}' for name, value in options.items())})" if options else ""


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else str(number)


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def decimals(estimates: Sequence[Estimate]) -> int:
    """Decimals that show two figures of the narrowest interval."""
    widths = [one.half_width for one in estimates if one.half_width > 0]
    return int(np.clip(1 - math.floor(math.log10(min(widths))), 2, 8)) if widths else 3


def _percent(share: Estimate) -> Estimate:
    return Estimate(*(100 * value for value in share))


def _cells(estimate: Estimate, digits: int, *, sign: bool = False, unit: str = "") -> list[str]:
    form = f"{'+' if sign else ''}.{digits}f"
    return [f"{estimate.mean:{form}}{unit}", f"{estimate.low:{form}} to {estimate.high:{form}}"]


def _pace(decisions: int, seconds: float) -> str:
    pace = decisions / seconds if seconds else 0.0
    return f"{pace / 1e6:.2f} million a second" if pace >= 1e6 else f"{pace:,.0f} a second"
