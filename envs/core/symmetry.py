"""Renamings of the suits that a game's rules do not notice, as index arrays for cards, observations and actions.

A rule that treats all suits alike makes 24 games of one. A game says which suits its rules name (`GameType.suits`),
which actions stand for cards or suits, and beside each field of its observation which axis runs over them; the arrays
follow. An axis over suits gives each a quarter of its places, in the order of the suits, as card numbers do: suits
themselves, cards, types of cards. What four does not divide is at the end and of no suit: jokers, "no trump".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import record

if TYPE_CHECKING:
    from .base import Game

Index = npt.NDArray[np.int64]

NUM_SUITS = 4


class Suits(NamedTuple):
    """A game's suits."""

    named: Callable[[Any], Collection[int]]
    """`named(options)`: the suits that the rules single out, and that keep their names therefore. All others may be
    exchanged."""
    actions: Sequence[tuple[int, int]] = ()
    """The runs of actions over suits or cards: the first of each, and how many they are."""


def no_suits(options: Any) -> Collection[int]:
    """`Suits.named` where the rules treat all suits alike."""
    return ()


class Symmetry(NamedTuple):
    """One renaming. Of a game dealt from packs with each card c as `cards[c]`, in which each action a is played as
    `actions[a]`, seats and rewards are the same, and where a seat saw o it sees `o[observation]`."""

    cards: Index
    observation: Index
    actions: Index

    @property
    def chosen(self) -> Index:
        """The way back for actions: what was chosen as b is `chosen[b]`. A mask m is seen as `m[chosen]`."""
        return np.argsort(self.actions)


def renamings(named: Collection[int]) -> list[tuple[int, ...]]:
    """The new name of each suit, in every way that leaves the `named` ones alone; first that which leaves all."""
    free = [suit for suit in range(NUM_SUITS) if suit not in named]
    found = []
    for order in itertools.permutations(free):
        new = dict(zip(free, order, strict=True))
        found.append(tuple(new.get(suit, suit) for suit in range(NUM_SUITS)))
    return found


def symmetry_of(new: Sequence[int], game: Game) -> Symmetry:
    """The renaming of every suit s to `new[s]`, whether or not the rules notice it."""
    actions = np.arange(game.num_actions)
    for first, count in () if game.type.suits is None else game.type.suits.actions:
        actions[first : first + count] = first + renamed(count, new)
    return Symmetry(renamed(game.deck_size, new), columns(game.observation_fields.values(), new), actions)


def renamed(length: int, new: Sequence[int]) -> Index:
    """Where each place of an axis over suits goes when every suit s becomes `new[s]`."""
    share = length // NUM_SUITS
    where = np.arange(length)
    for suit in range(NUM_SUITS):
        where[suit * share : (suit + 1) * share] = new[suit] * share + np.arange(share)
    return where


def columns(places: Iterable[record.Place], new: Sequence[int]) -> Index:
    """Which number of an observation each is after the renaming."""
    parts = []
    for place in places:
        part = np.arange(place.start, place.stop).reshape(place.shape)
        if place.suits is not None:
            part = part.take(np.argsort(renamed(place.shape[place.suits], new)), place.suits)
        parts.append(part.reshape(-1))
    return np.concatenate(parts)
