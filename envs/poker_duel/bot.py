"""Rule-based players of Poker Duel. They see an Observation and a mask, and keep nothing between decisions.

Sets of cards are the bits of one int64 (`suit * 13 + rank`), sets of ranks 13 bits. A split is found anew at each of
its fifteen decisions and is the same each time, since it depends on the fifteen cards alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import rng
from ..core.kernel import kernel
from ..core.parts import Bot
from ..core.pokerhands import (
    CATEGORY_SHIFT,
    LEADING_SHIFT,
    SUIT,
    WHEEL,
    Category,
    rank_counts,
    set_strength,
)
from .chances import CHANCES
from .game import ASSIGN, STAND, Options
from .hands import PACK, SLOTS
from .observation import Observation

TOP_RANK = np.array([max(0, ranks.bit_length() - 1) for ranks in range(SUIT + 1)], np.int64)
"""The highest rank of each set of ranks."""
FORMS = 17
"""How many ways `form_hand` knows to take five cards out of a set."""
NARROW = 12
"""Forms before this one are complete hands, worth trying for the first hand of a split."""
NINE = 1 << 7
"""The rank of the nines, as a set."""
SPREAD = 0.2
"""The strong bot takes each round for worth up to this share more than it is, by an amount drawn from its cards: hard
to foresee."""

Split = tuple[int, int, int]
"""The sets of cards of slots 1, 2, 3."""


# Sets


@kernel
def held(row: npt.NDArray[Any]) -> int:
    """The set of cards of an observation's row."""
    found = 0
    for card in range(52):
        found |= int(row[card]) << card
    return found


@kernel
def highest(ranks: int) -> int:
    """The highest of a set of ranks, as a set; none of none."""
    return 1 << int(TOP_RANK[ranks]) if ranks != 0 else 0


@kernel
def several(members: int) -> bool:
    """Whether a set has two members or more."""
    return members & (members - 1) != 0


@kernel
def five_highest(ranks: int) -> int:
    """The five highest of a set of ranks, or none where it has fewer than five."""
    chosen = 0
    for _ in range(5):
        if ranks == chosen:
            return 0
        chosen |= highest(ranks & ~chosen)
    return chosen


@kernel
def straight_ranks(ranks: int, skipped: int, ace_low_straight: bool) -> int:
    """The ranks of the highest straight but `skipped`, or none."""
    tops = ranks & (ranks << 1) & (ranks << 2) & (ranks << 3) & (ranks << 4)
    while skipped > 0 and tops != 0:
        tops &= ~highest(tops)
        skipped -= 1
    if tops != 0:
        top = highest(tops)
        return top | (top >> 1) | (top >> 2) | (top >> 3) | (top >> 4)
    return WHEEL if ace_low_straight and skipped == 0 and ranks & WHEEL == WHEEL else 0


@kernel
def of_rank(cards: int, rank: int, count: int) -> int:
    """`count` cards of one rank (a set of one)."""
    same = cards & (rank | (rank << 13) | (rank << 26) | (rank << 39))
    found = 0
    for _ in range(count):
        found |= same & -same
        same &= same - 1
    return found


@kernel
def one_each(cards: int, ranks: int) -> int:
    """One card of each rank."""
    found = 0
    while ranks != 0:
        found |= of_rank(cards, ranks & -ranks, 1)
        ranks &= ranks - 1
    return found


@kernel
def from_short_suits(cards: int, ranks: int) -> int:
    """One card of each rank, in the suit that has the fewest cards, so that flushes stay whole."""
    sizes = 0
    for suit in range(4):
        size = 0
        rest = (cards >> (13 * suit)) & SUIT
        while rest != 0:
            rest &= rest - 1
            size += 1
        sizes |= size << (8 * suit)
    found = 0
    while ranks != 0:
        rank = ranks & -ranks
        ranks &= ranks - 1
        fewest, chosen = 99, 0
        for suit in range(4):
            size = (sizes >> (8 * suit)) & 255
            if cards & (rank << (13 * suit)) != 0 and size < fewest:
                fewest, chosen = size, rank << (13 * suit)
        found |= chosen
    return found


@kernel
def kickers(cards: int, ranks: int, spare: int, count: int, low: bool) -> int:
    """One card each of `count` of `ranks`, from the top; or, with `low`, from the bottom, of the `spare` ranks where
    there are enough."""
    chosen = 0
    left = count
    if low:
        while left > 0 and spare != 0:
            chosen |= spare & -spare
            spare &= spare - 1
            left -= 1
        ranks &= ~chosen
    while left > 0 and ranks != 0:
        rank = ranks & -ranks if low else highest(ranks)
        chosen |= rank
        ranks &= ~rank
        left -= 1
    return one_each(cards, chosen)


# Splits


@kernel
def form_hand(cards: int, form: int, low: bool, ace_low_straight: bool) -> int:
    """Five cards that make a hand of one form, or none; `low` takes the least useful side cards instead of the best.

    Forms: 0 straight flush, 1 four of a kind, 2-4 full house (smallest pair, largest pair, second three), 5-8 flush of
    a suit, 9-11 the three highest straights, 12 three of a kind, 13-14 two pair (the two highest, highest and lowest),
    15 pair, 16 single cards.
    """
    once, twice, thrice, four = rank_counts(cards)
    single = once & ~twice
    if form == 0:
        for suit in range(4):
            straight = straight_ranks((cards >> (13 * suit)) & SUIT, 0, ace_low_straight)
            if straight != 0:
                return straight << (13 * suit)
        return 0
    if form == 1:
        rank = highest(four)
        return of_rank(cards, rank, 4) | kickers(cards, once & ~rank, single, 1, low) if four != 0 else 0
    if form <= 4:
        return full_house(cards, form, twice, thrice)
    if form <= 8:
        suit = form - 5
        return five_highest((cards >> (13 * suit)) & SUIT) << (13 * suit)
    if form <= 11:
        return from_short_suits(cards, straight_ranks(once, form - 9, ace_low_straight))
    if form == 12:
        rank = highest(thrice)
        return of_rank(cards, rank, 3) | kickers(cards, once & ~rank, single, 2, low) if thrice != 0 else 0
    if form <= 14:
        rank = highest(twice)
        other = highest(twice & ~rank) if form == 13 else twice & -twice
        if other == rank or other == 0:
            return 0
        return (
            of_rank(cards, rank, 2) | of_rank(cards, other, 2) | kickers(cards, once & ~rank & ~other, single, 1, low)
        )
    if form == 15:
        rank = highest(twice)
        return of_rank(cards, rank, 2) | kickers(cards, once & ~rank, single, 3, low) if twice != 0 else 0
    return kickers(cards, once, single, 5, low)


@kernel
def full_house(cards: int, form: int, twice: int, thrice: int) -> int:
    """The full houses of `form_hand`."""
    three = highest(thrice)
    if form == 4:
        three = highest(thrice & ~three)
    pairs = twice & ~three
    if three == 0 or pairs == 0 or (form == 3 and not several(pairs)):
        return 0
    pair = highest(pairs) if form == 3 else pairs & -pairs
    return of_rank(cards, three, 3) | of_rank(cards, pair, 2)


@kernel
def is_five(cards: int) -> bool:
    """Whether a set has exactly five members."""
    for _ in range(4):
        cards &= cards - 1
    return cards != 0 and not several(cards)


@kernel
def best_five(cards: int, ace_low_straight: bool) -> int:
    """The strongest five of a set of five or more cards."""
    best, strongest = 0, -1
    for form in range(FORMS):
        hand = form_hand(cards, form, False, ace_low_straight)
        if is_five(hand):
            strength = set_strength(hand, ace_low_straight)
            if strength > strongest:
                best, strongest = hand, strength
    return best


@kernel
def greedy_split(options: Options, cards: int) -> Split:
    """The best five of fifteen to slot 3, the best five of the rest to slot 2."""
    high = best_five(cards, options.ace_low_straight)
    middle = best_five(cards & ~high, options.ace_low_straight)
    return cards & ~high & ~middle, middle, high


@kernel
def misere_five(cards: int, ace_low_straight: bool) -> int:
    """Five low cards of different ranks that make nothing, as far as a set of five or more cards allows."""
    once = rank_counts(cards)[0]
    hand = kickers(cards, once, 0, 5, True)
    above = once & ~((highest(rank_counts(hand)[0]) << 1) - 1)
    while not is_five(hand):
        rest = cards & ~hand
        hand |= of_rank(rest, rank_counts(rest)[0] & -rank_counts(rest)[0], 1)
    if above != 0 and set_strength(hand, ace_low_straight) >> CATEGORY_SHIFT >= Category.STRAIGHT:
        top = highest(rank_counts(hand)[0])
        hand = (hand & ~of_rank(hand, top, 1)) | of_rank(cards, above & -above, 1)
    return hand


@kernel
def misere_split(options: Options, cards: int) -> Split:
    """The lowest five of fifteen to slot 3, the lowest five of the rest to slot 2."""
    high = misere_five(cards, options.ace_low_straight)
    middle = misere_five(cards & ~high, options.ace_low_straight)
    return cards & ~high & ~middle, middle, high


@kernel
def grade(cards: int, ace_low_straight: bool) -> int:
    """The column of CHANCES for five cards: `13 * category + highest leading rank` (of a hand of nothing, its highest
    rank)."""
    strength = set_strength(cards, ace_low_straight)
    leading = (strength >> LEADING_SHIFT) & SUIT
    return 13 * (strength >> CATEGORY_SHIFT) + int(TOP_RANK[leading if leading != 0 else strength & SUIT])


@kernel
def strong_split(options: Options, chances: npt.NDArray[Any], spread: float, cards: int) -> Split:
    """Of a dozen or two good splits, in all orders, the one that wins the most points by `chances` [3 or more rounds,
    grades].

    Each round's points are weighed up to `spread` heavier, by an amount drawn from the cards.
    """
    low_ace = options.ace_low_straight
    stream = np.uint64(cards)
    stream, first = rng.below(stream, 1024)
    stream, second = rng.below(stream, 1024)
    stream, third = rng.below(stream, 1024)
    weight_1 = options.round_points[0] * (1 + spread * first / 1024)
    weight_2 = options.round_points[1] * (1 + spread * second / 1024)
    weight_3 = options.round_points[2] * (1 + spread * third / 1024)
    best = -1.0
    low, middle, high = 0, 0, 0
    for form in range(FORMS):
        if form >= NARROW and best >= 0:
            break
        a = form_hand(cards, form, True, low_ace)
        if not is_five(a):
            continue
        grade_a = grade(a, low_ace)
        a1, a2, a3 = weight_1 * chances[0, grade_a], weight_2 * chances[1, grade_a], weight_3 * chances[2, grade_a]
        for other_form in range(FORMS):
            b = form_hand(cards & ~a, other_form, True, low_ace)
            if not is_five(b):
                continue
            c = cards & ~a & ~b
            grade_b, grade_c = grade(b, low_ace), grade(c, low_ace)
            b1, b2, b3 = weight_1 * chances[0, grade_b], weight_2 * chances[1, grade_b], weight_3 * chances[2, grade_b]
            c1, c2, c3 = weight_1 * chances[0, grade_c], weight_2 * chances[1, grade_c], weight_3 * chances[2, grade_c]
            if max(a1 + b2 + c3, a1 + c2 + b3, b1 + a2 + c3, b1 + c2 + a3, c1 + a2 + b3, c1 + b2 + a3) <= best:
                continue
            if a1 + b2 + c3 > best:
                best, low, middle, high = a1 + b2 + c3, a, b, c
            if a1 + c2 + b3 > best:
                best, low, middle, high = a1 + c2 + b3, a, c, b
            if b1 + a2 + c3 > best:
                best, low, middle, high = b1 + a2 + c3, b, a, c
            if b1 + c2 + a3 > best:
                best, low, middle, high = b1 + c2 + a3, b, c, a
            if c1 + a2 + b3 > best:
                best, low, middle, high = c1 + a2 + b3, c, a, b
            if c1 + b2 + a3 > best:
                best, low, middle, high = c1 + b2 + a3, c, b, a
    return low, middle, high


# Exchanges


@kernel
def simple_discard(cards: int, ace_low_straight: bool) -> int:
    """The set of the card to throw from a hand, or none: the lowest loose card, or the odd one of four to a flush."""
    once, twice, _, _ = rank_counts(cards)
    category = set_strength(cards, ace_low_straight) >> CATEGORY_SHIFT
    loose = once & ~twice
    if category >= Category.STRAIGHT or loose == 0:
        return 0
    if category <= Category.PAIR:
        for suit in range(4):
            odd = cards & ~(SUIT << (13 * suit))
            if odd != 0 and not several(odd):
                return odd
    return of_rank(cards, loose & -loose, 1)


@kernel
def misere_discard(cards: int, ace_low_straight: bool) -> int:
    """The set of the card to throw where the lower hand wins: one of a pair or better, or a card above the nine."""
    once, twice, _, _ = rank_counts(cards)
    if twice != 0:
        return of_rank(cards, highest(twice), 1)
    made = set_strength(cards, ace_low_straight) >> CATEGORY_SHIFT != Category.NOTHING
    top = highest(once)
    return of_rank(cards, top, 1) if made or top > NINE else 0


@kernel
def strong_discard(
    cards: int, unseen: int, now: npt.NDArray[Any], after: npt.NDArray[Any], ace_low_straight: bool
) -> int:
    """The set of the card to throw, or none: what wins most often over all cards that may be drawn.

    `now` and `after` [grades] are the chances of a hand that stands and of one that has exchanged.
    """
    stay = grade(cards, ace_low_straight)
    best, chosen = now[stay], 0
    if stay >= 13 * Category.FULL_HOUSE:
        return 0
    count = 0
    rest = unseen
    while rest != 0:
        rest &= rest - 1
        count += 1
    hand = cards
    while hand != 0:
        card = hand & -hand
        hand &= hand - 1
        total = 0.0
        rest = unseen
        while rest != 0:
            total += after[grade((cards & ~card) | (rest & -rest), ace_low_straight)]
            rest &= rest - 1
        if total > best * count:
            best, chosen = total / count, card
    return chosen


# Decisions


@kernel
def to_slot(observation: Observation, mask: npt.NDArray[np.int8], split: Split) -> int:
    """The next card to its slot of a split; where a slot is full, because someone else began this one, to the first
    with room."""
    card = held(observation.next_card)
    action = ASSIGN + (0 if split[0] & card != 0 else 1 if split[1] & card != 0 else 2)
    if mask[action] == 0:
        action = ASSIGN
        while mask[action] == 0:
            action += 1
    return action


@kernel
def forced(mask: npt.NDArray[np.int8]) -> bool:
    """Whether the next card can go to one slot only, so that no split need be thought of."""
    return int(mask[ASSIGN]) + int(mask[ASSIGN + 1]) + int(mask[ASSIGN + 2]) == 1


@kernel
def slotted(observation: Observation) -> int:
    """The set of my cards in slots."""
    return held(observation.slots[0]) | held(observation.slots[1]) | held(observation.slots[2])


@kernel
def fighting(observation: Observation) -> int:
    """The slot being fought."""
    return 0 if observation.current_slot[0] == 1 else 1 if observation.current_slot[1] == 1 else 2


@kernel
def throw(mask: npt.NDArray[np.int8], card: int) -> int:
    """Discard the card of a set of one; stand where it is none, or where nothing may be discarded."""
    for suit in range(4):
        rank = (card >> (13 * suit)) & SUIT
        if rank != 0:
            action = 13 * suit + int(TOP_RANK[rank])
            return action if mask[action] == 1 else STAND
    return STAND


@kernel
def simple_exchange(options: Options, observation: Observation, mask: npt.NDArray[np.int8]) -> int:
    """Exchange by rule of thumb."""
    hand = held(observation.slots[fighting(observation)])
    if options.misere:
        return throw(mask, misere_discard(hand, options.ace_low_straight))
    return throw(mask, simple_discard(hand, options.ace_low_straight))


@kernel
def greedy(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """§6: best hand to slot 3, next best to slot 2; exchanges the lowest loose card."""
    if observation.phase[0] == 0:
        return simple_exchange(options, observation, mask)
    cards = slotted(observation) | held(observation.unassigned)
    if options.misere:
        return to_slot(observation, mask, misere_split(options, cards))
    return to_slot(observation, mask, greedy_split(options, cards))


@kernel
def blotto(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """§6: as greedy, but with one deal in ten the weaker two hands change places, and with one in ten the stronger
    two."""
    if observation.phase[0] == 0:
        return simple_exchange(options, observation, mask)
    cards = slotted(observation) | held(observation.unassigned)
    # Drawn from the cards and not from the key, which is another at each of the fifteen decisions.
    _, lot = rng.below(np.uint64(cards), 10)
    low, middle, high = misere_split(options, cards) if options.misere else greedy_split(options, cards)
    if lot == 0:
        return to_slot(observation, mask, (middle, low, high))
    if lot == 1:
        return to_slot(observation, mask, (low, high, middle))
    return to_slot(observation, mask, (low, middle, high))


@kernel
def strong(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """§6: splits for the most points, exchanges for the best chance, both against a measured field. In misère as
    greedy."""
    if options.misere:
        return greedy(options, observation, mask, key)
    mine = slotted(observation)
    if observation.phase[0] == 1:
        if forced(mask):
            return to_slot(observation, mask, (PACK, 0, 0))
        chances = CHANCES[min(2, options.exchanges_per_round)]
        return to_slot(observation, mask, strong_split(options, chances, SPREAD, mine | held(observation.unassigned)))
    slot = fighting(observation)
    unseen = PACK & ~(
        mine | held(observation.discards[0]) | held(observation.exposed[0]) | held(observation.exposed[1])
    )
    if options.discards_public:
        unseen &= ~held(observation.discards[1])
    row = SLOTS if observation.phase[2] == 1 else slot
    after = CHANCES[min(2, int(observation.turns_left[0]) - 1), row]
    now = CHANCES[0, row] if options.stand_is_final else after
    return throw(mask, strong_discard(held(observation.slots[slot]), unseen, now, after, options.ace_low_straight))


BOTS = (
    Bot("blotto", blotto, "greedy, but every fifth deal two neighbouring hands change places"),
    Bot(
        "greedy",
        greedy,
        "best five of fifteen to slot 3, best five of the rest to slot 2; exchanges the lowest loose card",
    ),
    Bot(
        "strong",
        strong,
        "splits for the most points and exchanges for the best chance, against a measured field",
        fast=False,
    ),
)
