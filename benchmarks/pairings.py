"""Several matches in a row, such as every pairing of a tournament, which go on where they were stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy.typing as npt

from backalley.agents.base import Agent
from backalley.agents.match import Match
from backalley.envs.core.base import Game
from backalley.envs.core.durable import Unfinished
from backalley.envs.core.workers import threads_of

from .keys import Roots, Space, roots
from .sample import Sample, play
from .seating import seatings

Told = Callable[[int, int, str], None]
"""Called with the deals played and the deals planned in all matches, and the words of the one that is being played."""


class Pairing(NamedTuple):
    """Who plays what: agents as `seatings` takes them."""

    game: Game
    agents: Sequence[Agent]
    deals: int
    words: str = ""
    """What it is called while it is played."""


def play_pairings(
    pairings: Sequence[Pairing],
    seed: int,
    *,
    unfinished: Unfinished,
    num_threads: int = 1,
    told: Told | None = None,
    space: Space = Space.EVALUATION,
    beside: Mapping[str, npt.NDArray[Any]] | None = None,
) -> list[Sample]:
    """What each pairing played, in their order, on the same decks as far as their deals go. Ctrl-C raises
    KeyboardInterrupt, and what was played is in `unfinished`, from where the next call goes on. Arrays `beside` it are
    kept with it, and become what they were then."""
    kept = unfinished.load()
    for name, array in (beside or {}).items():
        if name in kept:
            array[:] = kept[name]
    samples = [
        Sample.from_arrays(seatings(pairing.game, len(pairing.agents)), _named(kept, number))
        for number, pairing in enumerate(pairings)
    ]
    planned = sum(pairing.deals for pairing in pairings)

    def arrays() -> dict[str, npt.NDArray[Any]]:
        return dict(beside or {}) | {
            f"{number} {name}": array for number, one in enumerate(samples) for name, array in one.to_arrays().items()
        }

    def on_batch(words: str) -> None:
        unfinished.save_at_times(arrays)
        if told:
            told(sum(sample.deals for sample in samples), planned, words)

    try:
        for pairing, sample in zip(pairings, samples, strict=True):
            if sample.deals < pairing.deals:
                _play(pairing, sample, roots(space, seed), num_threads, on_batch)
    except KeyboardInterrupt:
        unfinished.save(arrays())
        raise
    return samples


def _play(pairing: Pairing, sample: Sample, keys: Roots, num_threads: int, on_batch: Callable[[str], None]) -> None:
    match = Match(pairing.game, pairing.agents, sample.seatings, num_threads=threads_of(num_threads))
    try:
        play(match, sample, pairing.deals, keys, lambda: on_batch(pairing.words))
    finally:
        match.close()


def _named(arrays: dict[str, npt.NDArray[Any]], number: int) -> dict[str, npt.NDArray[Any]]:
    head = f"{number} "
    return {name.removeprefix(head): array for name, array in arrays.items() if name.startswith(head)}
