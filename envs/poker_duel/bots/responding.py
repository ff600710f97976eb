"""Poker Duel's `PlanModel`: the best response to an opponent, reckoned from the hands that it showed.

What a class of hands is worth against an opponent that does not change follows from few numbers: how often each
strength lies in each slot at its showdown, after no, one, or more exchanges. A hand that stands wins by this
distribution; one that may be exchanged wins by the best discard over all draws, reckoned backwards. Hands are sampled
once for each kind of hand; sets of cards are those of `card_sets`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.compile.kernel import bind, kernel
from ...core.rules import rng
from ...core.rules.pokerhands import CATEGORY_SHIFT, set_strength
from ..bot import lying
from ..card_sets import held
from ..observation import Observation
from ..state import SLOTS, Options, pack_size
from .grading import KINDS, OPEN_KINDS, kind_of, kind_of_strength
from .planning import first_class

Counts = npt.NDArray[np.float64]

RESULT = 5
"""Numbers in a result: the row of the slot, how often I exchanged and my strength, and the opponent's."""
PATTERNS = 3
"""No exchange, one, or more."""
_NEWS = ((0, 1, 2), (0,), (1, 2), (1,), (2,))
"""The patterns that the opponent may still come to, after each news (`planning.NEWS`)."""
_PRIOR = 20.0
"""Showdowns that the distribution over all patterns counts as, in the distribution of one."""
_FEWEST = 200
"""Showdowns of a row without which its classes keep the values that they had."""
_HANDS, _PER_KIND = 3_000_000, 6
"""Hands that are drawn, and kept of each kind."""
_SEED = np.uint64(5)


@kernel
def key(observation: Observation) -> np.uint64:
    """`PlanModel.key`: the fifteen cards of this deal, mixed; 0 once they lie in their slots."""
    if observation.phase[0] == 0:
        return np.uint64(0)
    placed = lying(observation)
    return rng.mix(np.uint64(placed[0] | placed[1] | placed[2] | held(observation.unassigned))) | np.uint64(1)


@kernel
def result(options: Options, observation: Observation, slot: int, out: npt.NDArray[np.int64]) -> None:
    """`PlanModel.result`: both hands of a showdown."""
    out[0] = SLOTS if observation.sudden_death > 0 else slot
    for seat in range(2):
        hand = held(observation.slots[slot]) if seat == 0 else held(observation.exposed[slot])
        out[1 + 2 * seat] = min(PATTERNS - 1, int(observation.exchanges[seat, slot]))
        out[2 + 2 * seat] = set_strength(hand, options.ace_low_straight)


def classes(options: Any) -> npt.NDArray[np.int64]:
    """`PlanModel.classes`: those of hands that have all their exchanges, slot after slot."""
    left = min(2, options.exchanges_per_round)
    kinds = np.arange(OPEN_KINDS if left else KINDS)
    return np.concatenate([int(first_class(slot, left, 0)) + kinds for slot in range(SLOTS)])


# Hands, once for a pack -----------------------------------------------------------------------------------------------


class Hands(NamedTuple):
    """What is the same for every opponent. `n` hands are sampled, as many of each open kind as were found."""

    order: npt.NDArray[np.int64]
    """All strengths, ascending [strengths]."""
    often: Counts
    """How many hands have each [strengths]."""
    kinds: npt.NDArray[np.int64]
    """The kind of each [strengths]."""
    own: npt.NDArray[np.int64]
    """The place of each hand's strength in `order` [n]."""
    open_kinds: npt.NDArray[np.int64]
    """The open kind of each hand [n]."""
    after: npt.NDArray[np.int16]
    """The place of the strength after each discard and draw [n, 5, draws]."""
    open_after: npt.NDArray[np.int16]
    """The open kind after it [n, 5, draws]."""


@kernel
def write_strengths(pack: int, low: bool, out: npt.NDArray[np.int64]) -> None:
    """Write the strength of every five cards of a pack."""
    n = 0
    for a in range(pack):
        for b in range(a):
            for c in range(b):
                for d in range(c):
                    for e in range(d):
                        cards = (1 << a) | (1 << b) | (1 << c) | (1 << d) | (1 << e)
                        out[n] = set_strength(cards, low)
                        n += 1


@kernel
def sample_hands(
    pack: npt.NDArray[np.int64],
    low: bool,
    draws: int,
    stream: np.uint64,
    hands: npt.NDArray[np.int64],
    count: npt.NDArray[np.int64],
) -> None:
    """Draw hands, and keep the first of each open kind: hands [kinds, most], count [kinds]."""
    for _ in range(draws):
        stream = rng.draw(stream, pack, len(pack), 5)
        cards = 0
        for place in range(5):
            cards |= 1 << int(pack[place])
        kind = kind_of(cards, 1, low)
        if count[kind] < hands.shape[1]:
            hands[kind, count[kind]] = cards
            count[kind] += 1


@kernel
def write_draws(
    hands: npt.NDArray[np.int64],
    pack: int,
    low: bool,
    order: npt.NDArray[np.int64],
    own: npt.NDArray[np.int64],
    after: npt.NDArray[np.int16],
    open_after: npt.NDArray[np.int16],
) -> None:
    """Write the strength of each hand, and what comes of it by each discard and draw."""
    for k in range(len(hands)):
        hand = hands[k]
        own[k] = np.searchsorted(order, set_strength(hand, low))
        discard = 0
        for card in range(pack):
            if (hand >> card) & 1 == 0:
                continue
            draw = 0
            for other in range(pack):
                if (hand >> other) & 1 == 0:
                    changed = (hand & ~(1 << card)) | (1 << other)
                    after[k, discard, draw] = np.searchsorted(order, set_strength(changed, low))
                    open_after[k, discard, draw] = kind_of(changed, 1, low)
                    draw += 1
            discard += 1


@kernel
def exchange_values(
    stands: Counts,
    own: npt.NDArray[np.int64],
    after: npt.NDArray[np.int16],
    worth: Counts,
    out: Counts,
) -> None:
    """Write what each hand wins by standing (`stands` [strengths]) or by its best discard, after which a draw is worth
    `worth` by the index in `after`."""
    for k in range(len(own)):
        best = stands[own[k]]
        for discard in range(after.shape[1]):
            total = 0.0
            for draw in range(after.shape[2]):
                total += worth[after[k, discard, draw]]
            best = max(best, total / after.shape[2])
        out[k] = best


def _run(function: Any, *args: Any) -> None:
    bind(function, *args)(*args)


@functools.lru_cache(maxsize=2)
def hands_of(pack: int, low: bool) -> Hands:
    """Return them, in a second or two."""
    every = np.zeros(pack * (pack - 1) * (pack - 2) * (pack - 3) * (pack - 4) // 120, np.int64)
    _run(write_strengths, pack, low, every)
    order, often = np.unique(every, return_counts=True)
    kept, count = np.zeros((OPEN_KINDS, _PER_KIND), np.int64), np.zeros(OPEN_KINDS, np.int64)
    _run(sample_hands, np.arange(pack), low, _HANDS, _SEED, kept, count)
    there = np.arange(_PER_KIND) < count[:, None]
    hands, open_kinds = kept[there], np.repeat(np.arange(OPEN_KINDS), count)
    own, shape = np.zeros(len(hands), np.int64), (len(hands), 5, pack - 5)
    after, open_after = np.zeros(shape, np.int16), np.zeros(shape, np.int16)
    _run(write_draws, hands, pack, low, order, own, after, open_after)
    kinds = np.array([int(kind_of_strength(int(one))) for one in order])
    return Hands(order, often.astype(float), kinds, own, open_kinds, after, open_after)


# Values ---------------------------------------------------------------------------------------------------------------


def counts(options: Any, results: npt.NDArray[np.int64]) -> Counts:
    """`PlanModel.counts`: both players' showdowns by row, pattern and strength [2, rows, patterns, strengths]."""
    order = hands_of(pack_size(options), bool(options.ace_low_straight)).order
    found = np.zeros((2, SLOTS + 1, PATTERNS, len(order)))
    for seat in range(2):
        strength = np.searchsorted(order, results[:, 2 + 2 * seat])
        np.add.at(found[seat], (results[:, 0], results[:, 1 + 2 * seat], strength), 1.0)
    return found


def values(options: Any, shown: Counts, base: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """`PlanModel.values`: the response to an opponent whose hands are distributed like this [rows, patterns,
    strengths]; `base` where nothing is known."""
    hands, out = hands_of(pack_size(options), bool(options.ace_low_straight)), base.copy()
    for row in range(SLOTS + 1):
        overall = shown[row].sum(0)
        if overall.sum() < _FEWEST:
            continue
        for news, patterns in enumerate(_NEWS):
            found = shown[row, list(patterns)].sum(0) + _PRIOR * overall / overall.sum()
            _respond(hands, _wins(options, hands, row, found / found.sum()), row, news, out)
    return out


def _wins(options: Any, hands: Hands, row: int, share: Counts) -> Counts:
    """The chance of each strength against such a distribution; a tie counts as one half, and so does nothing against
    nothing where it scores nothing."""
    wins: Counts = np.cumsum(share) - share / 2
    if row < SLOTS and not options.nothing_scores:
        nothing = hands.order >> CATEGORY_SHIFT == 0
        wins[nothing] = share[nothing].sum() / 2
    return wins


def _respond(hands: Hands, wins: Counts, row: int, news: int, out: npt.NDArray[np.float32]) -> None:
    """Write the values of the classes of a row after some news."""
    _write_means(hands.kinds, hands.often, wins, out[int(first_class(row, 0, news)) :][:KINDS])
    worth, after = wins, hands.after
    for left in (1, 2):
        found = np.zeros(len(hands.own))
        _run(exchange_values, wins, hands.own, after, worth, found)
        there = out[int(first_class(row, left, news)) :][:OPEN_KINDS]
        _write_means(hands.open_kinds, np.ones(len(found)), found, there)
        worth, after = there.astype(float), hands.open_after


def _write_means(kinds: npt.NDArray[np.int64], weights: Counts, found: Counts, out: npt.NDArray[np.float32]) -> None:
    total = np.bincount(kinds, weights, len(out))
    mean = np.bincount(kinds, weights * found, len(out)) / np.maximum(total, 1e-12)
    out[total > 0] = mean[total > 0]
