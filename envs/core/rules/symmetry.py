"""Suit permutations that a game's rules do not notice, as index arrays for cards, observations and actions.

A rule that treats all suits alike makes 24 games of one. A game declares which suits its rules name (`GameType.suits`),
which actions mean cards or suits, and for each field of its observation which axis runs over them; the arrays follow
from this. An axis over suits gives each suit a quarter of its places, in the order of the suits, as card numbers do:
suits themselves, cards, types of cards. Entries left over after division by four are at the end and belong to no suit:
jokers, "no trump".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import record

Index = npt.NDArray[np.int64]

NUM_SUITS = 4


class Suits(NamedTuple):
    """A game's suits."""

    named: Callable[[Any], Collection[int]]
    """`named(options)`: the suits that the rules single out, which therefore stay. All others may be exchanged."""
    actions: Sequence[tuple[int, int]] = ()
    """The runs of actions over suits or cards: each one's first action and its length."""


class Symmetry(NamedTuple):
    """One suit permutation. In a game dealt from packs with each card c as `cards[c]` and with each action a played as
    `actions[a]`, seats and rewards are the same, and a seat that saw o sees `o[observation]`."""

    cards: Index
    observation: Index
    actions: Index

    @property
    def chosen(self) -> Index:
        """The inverse for actions: the choice b means `chosen[b]`. A mask m is seen as `m[chosen]`."""
        return np.argsort(self.actions)


def suit_permutations(named: Collection[int]) -> list[tuple[int, ...]]:
    """Return the new suit of each suit, for every permutation that keeps the `named` ones; the identity first."""
    free = [suit for suit in range(NUM_SUITS) if suit not in named]
    found = []
    for order in itertools.permutations(free):
        new = dict(zip(free, order, strict=True))
        found.append(tuple(new.get(suit, suit) for suit in range(NUM_SUITS)))
    return found


def symmetry_of(
    new: Sequence[int],
    deck_size: int,
    places: Iterable[record.Place],
    num_actions: int,
    runs: Iterable[tuple[int, int]],
) -> Symmetry:
    """Return the permutation of every suit s to `new[s]`, whether or not the rules notice it. `places` are an
    observation's fields, `runs` is `Suits.actions`."""
    actions = np.arange(num_actions)
    for first, count in runs:
        actions[first : first + count] = first + permuted(count, new)
    return Symmetry(permuted(deck_size, new), columns(places, new), actions)


def permuted(length: int, new: Sequence[int]) -> Index:
    """Return where each place of an axis over suits goes when every suit s becomes `new[s]`."""
    share = length // NUM_SUITS
    where = np.arange(length)
    for suit in range(NUM_SUITS):
        where[suit * share : (suit + 1) * share] = new[suit] * share + np.arange(share)
    return where


def columns(places: Iterable[record.Place], new: Sequence[int]) -> Index:
    """Return, for each number of an observation, which one it is after the permutation."""
    parts = []
    for place in places:
        part = np.arange(place.start, place.stop).reshape(place.shape)
        if place.suits is not None:
            part = part.take(np.argsort(permuted(place.shape[place.suits], new)), place.suits)
        parts.append(part.reshape(-1))
    return np.concatenate(parts)
