"""All deals of a game, each with its probability: every way in which the cards drawn can fall, where cards of one kind
(`GameType.card_kind`) are the same, and so are orders that no rule and no seat notices.

Such orders are found, and not declared: two places of the pack are interchangeable where swapping their cards leads to
the same state and tells every seat the same, after each of `_TRIED` shuffles. The cards of a hand are such places.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.api.compiled_events import History
from backalley.envs.core.api.compiled_play import Batch
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import template, unbound
from backalley.envs.core.rules import rng

_TRIED = 64
"""Shuffles after which two places are compared."""


class Deals(NamedTuple):
    """Where the enumeration is at each of D depths; P cards are drawn, of K kinds."""

    of_kind: npt.NDArray[np.int64]
    """[K, cards] the cards of each kind."""
    left: npt.NDArray[np.int64]
    """[D, K] how many of them are left."""
    kind: npt.NDArray[np.int64]
    """[D, P] the kind at each place, -1 before the first."""
    run: npt.NDArray[np.int64]
    """[D, P] how many cards of this kind are at the interchangeable places up to this one."""
    part: npt.NDArray[np.float64]
    """[D, P + 1] the probability of the cards before each place, all their orders at interchangeable places taken
    together."""
    before: npt.NDArray[np.int64]
    """[D, P] the last of the earlier places that are interchangeable with this one, or -1."""
    rank: npt.NDArray[np.int64]
    """[D, P] how many of them there are up to this one."""
    dealt: npt.NDArray[np.int64]
    """[D, P] the cards."""
    cards: npt.NDArray[np.int64]
    """[P] the same for the deal itself, which may write to it."""
    pack: npt.NDArray[np.int64]
    """[cards] a pack to be shuffled."""
    replaced: bool
    """Whether each card is drawn from a whole pack of its own."""


def deals_of(game: Game, depths: int) -> Deals:
    """Return the memory for the deals of a game."""
    found: dict[int, list[int]] = {}
    for place, kind in enumerate(game.card_kinds or range(game.deck_size)):
        found.setdefault(kind, []).append(place)
    kinds, places = [found[kind] for kind in sorted(found)], game.cards_drawn
    of_kind = np.zeros((len(kinds), max(map(len, kinds))), np.int64)
    for number, cards in enumerate(kinds):
        of_kind[number, : len(cards)] = cards
    return Deals(
        of_kind=of_kind,
        left=np.tile(np.array([len(cards) for cards in kinds]), (depths, 1)),
        kind=np.zeros((depths, places), np.int64),
        run=np.zeros((depths, places), np.int64),
        part=np.ones((depths, places + 1)),
        before=np.zeros((depths, places), np.int64),
        rank=np.zeros((depths, places), np.int64),
        dealt=np.zeros((depths, places), np.int64),
        cards=np.zeros(places, np.int64),
        pack=np.arange(game.deck_size),
        replaced=game.with_replacement,
    )


deal_row = key_of_row = unbound
"""Templates of `walk.py`."""


@template
def shuffle_places(deals: Deals, depth: int, key: np.uint64) -> np.uint64:
    """Draw cards for all places; return the key advanced."""
    pack = deals.pack
    for place in range(deals.dealt.shape[1]):
        if deals.replaced:
            key, deals.dealt[depth, place] = rng.below(key, pack.shape[0])
            continue
        key, other = rng.below(key, pack.shape[0] - place)
        card = pack[place + other]
        pack[place + other] = pack[place]
        pack[place] = card
        deals.dealt[depth, place] = card
    return key


@template
def interchangeable(
    options: Any, batch: Batch, history: History, space: Any, deals: Deals, depth: int, one: int, other: int
) -> bool:
    """Return whether the cards at two places may be swapped without notice."""
    key, dealt = np.uint64(one * 4096 + other), deals.dealt[depth]
    for _ in range(_TRIED):
        key = shuffle_places(deals, depth, key)
        deal_row(options, batch, history, space, deals, depth)
        found = key_of_row(batch, space, depth + 1)
        card = dealt[one]
        dealt[one] = dealt[other]
        dealt[other] = card
        deal_row(options, batch, history, space, deals, depth)
        if key_of_row(batch, space, depth + 1) != found:
            return False
    return True


@template
def begin_deals(options: Any, batch: Batch, history: History, space: Any, deals: Deals, depth: int) -> None:
    """Go to before the first deal at a depth."""
    for place in range(deals.kind.shape[1]):
        deals.before[depth, place], deals.rank[depth, place] = -1, 1
        for earlier in range(place - 1, -1, -1):
            # Only the last of interchangeable places is compared: of those earlier, a later one leads to them.
            taken = False
            for between in range(earlier + 1, place):
                taken = taken or deals.before[depth, between] == earlier
            if not taken and interchangeable(options, batch, history, space, deals, depth, earlier, place):
                deals.before[depth, place] = earlier
                deals.rank[depth, place] = deals.rank[depth, earlier] + 1
                break
    deals.kind[depth, 0] = -1


@template
def next_deal(deals: Deals, depth: int, begun: bool) -> bool:
    """Go to the next deal at a depth, or the first if none has `begun`; return False after the last. At
    interchangeable places kinds do not descend."""
    kinds, left, part = deals.kind[depth], deals.left[depth], deals.part[depth]
    last = kinds.shape[0] - 1
    place = last if begun else 0
    while place >= 0:
        kind, before = int(kinds[place]), int(deals.before[depth, place])
        if kind >= 0 and not deals.replaced:
            left[kind] += 1
        kind = max(kind + 1, kinds[before] if before >= 0 else 0)
        while kind < left.shape[0] and left[kind] == 0:
            kind += 1
        if kind == left.shape[0]:
            kinds[place] = -1
            place -= 1
            continue
        kinds[place] = kind
        deals.run[depth, place] = 1 + (deals.run[depth, before] if before >= 0 and kinds[before] == kind else 0)
        orders = deals.rank[depth, place] / deals.run[depth, place]
        size = deals.pack.shape[0] - (0 if deals.replaced else place)
        part[place + 1] = part[place] * orders * left[kind] / size
        deals.dealt[depth, place] = deals.of_kind[kind, left[kind] - 1]
        if not deals.replaced:
            left[kind] -= 1
        if place == last:
            return True
        place += 1
        kinds[place] = -1
    return False


TEMPLATES = (shuffle_places, interchangeable, begin_deals, next_deal)
