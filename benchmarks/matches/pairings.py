"""Several matches in a row, such as all pairings of a tournament, which continue after a stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy.typing as npt

from backalley.agents.base.agent import Agent
from backalley.cluster import machines
from backalley.envs.core.files.durable import Unfinished
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.threads import threads_of

from .sample import Deals, LineUp, Sample, play
from .seating import seatings
from .seeding import Space, roots

Told = Callable[[int, int, str], None]
"""Called with the deals played and the deals planned in all matches, and the words of the present match."""


class Pairing(NamedTuple):
    """Two or more agents in the seatings of `seatings`."""

    game: Game
    agents: Sequence[Agent]
    deals: int
    words: str = ""
    """Its words while it is played."""


def play_pairings(
    pairings: Sequence[Pairing],
    seed: int,
    *,
    unfinished: Unfinished,
    num_threads: int = 1,
    told: Told | None = None,
    space: Space = Space.EVALUATION,
    beside: Mapping[str, npt.NDArray[Any]] | None = None,
    cluster: str | None = None,
) -> list[Sample]:
    """Play each pairing, on the same decks as far as their deals go; return their samples in order. Ctrl-C raises
    KeyboardInterrupt, and the next call continues from what is in `unfinished`. Arrays `beside` it are saved with it,
    and restored. With a `cluster`, the address of one, its machines play, on one core for each range of deals."""
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

    def on_batch(part: int) -> None:
        unfinished.save_at_times(arrays)
        if told:
            told(sum(sample.deals for sample in samples), planned, pairings[part].words)

    keys = roots(space, seed)
    line_ups = [
        LineUp(pairing.game, pairing.agents, sample.seatings, keys)
        for pairing, sample in zip(pairings, samples, strict=True)
    ]
    try:
        with machines(cluster) as executor:
            ends = [pairing.deals for pairing in pairings]
            play(Deals(line_ups, threads_of(num_threads)), samples, ends, on_batch, executor)
    except KeyboardInterrupt:
        unfinished.save(arrays())
        raise
    return samples


def _named(arrays: dict[str, npt.NDArray[Any]], number: int) -> dict[str, npt.NDArray[Any]]:
    head = f"{number} "
    return {name.removeprefix(head): array for name, array in arrays.items() if name.startswith(head)}
