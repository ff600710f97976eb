"""Seeding: separate key spaces, so that no policy is tested on the deals of its training, or published by the deals
that selected it.

| space | what is drawn from it |
|---|---|
| `TRAINING` | what policies learn from: packs, targets, rollouts, exploration; fresh in each phase of a run |
| `GATES` | the gates that decide which policy is kept, new decks for each; learning curves, on a branch of their own |
| `TABLES` | the table that `train` prints at the end |
| `EVALUATION` | what `evaluate` and `tournament` play |
| `ATTACKS` | the deals that choose among responses to an agent, and those that tell what the chosen one gains |
| `PUBLICATION` | the results of policies on pages (`ladder.py`, `cross.py`), by one seed |

A stream of one space is one of another with the probability that two 64-bit numbers are equal.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

Roots = tuple[np.uint64, np.uint64]
"""Two keys, which determine the packs of all deals and the agents' own randomness (`sample.deal_keys`)."""


class Space(IntEnum):
    """A key space; its number is mixed into every seed that is used in it."""

    TRAINING = int.from_bytes(b"learn", "big")
    GATES = int.from_bytes(b"gates", "big")
    TABLES = int.from_bytes(b"tables", "big")
    EVALUATION = int.from_bytes(b"evaluate", "big")
    ATTACKS = int.from_bytes(b"attacks", "big")
    PUBLICATION = int.from_bytes(b"publish", "big")


def sequence(space: Space, seed: int, *branch: int) -> np.random.SeedSequence:
    """Return the source of all streams of `seed` in a space; numbers of 0 or more branch it off."""
    return np.random.SeedSequence(seed, spawn_key=(int(space), *branch))


def roots(space: Space, seed: int, *branch: int) -> Roots:
    """Return the roots of a seed in a space."""
    chance, own = (sequence(space, seed, *branch, use).generate_state(1, np.uint64)[0] for use in range(2))
    return chance, own
