"""Splits: fifteen cards into three hands of five, as the bots would make them.

A split is found again at each of its fifteen decisions and is the same each time, since it depends on the fifteen cards
alone. Sets of cards and of ranks are those of `card_sets`.
"""

from __future__ import annotations

from ...core.compile.kernel import kernel
from ...core.rules.pokerhands import CATEGORY_SHIFT, SUIT, WHEEL, Category, rank_counts, set_strength
from ..card_sets import from_short_suits, highest, is_five, kickers, of_rank, several
from ..state import SLOT, Options

FORMS = 17
"""How many ways `form_hand` knows to take five cards out of a set."""
ALL_FORMS = FORMS + 5
"""How many ways `any_form` knows to take five cards out of a set."""

Split = tuple[int, int, int]
"""The sets of cards of slots 1, 2, 3."""


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
def spare_flush(cards: int, suit: int) -> int:
    """Five of a suit that break up as few pairs and threes as can be, or none."""
    ranks = (cards >> (13 * suit)) & SUIT
    once, twice, thrice, _ = rank_counts(cards)
    chosen, left = 0, SLOT
    for wanted in (once & ~twice, twice & ~thrice, thrice):
        found = ranks & wanted
        while found != 0 and left > 0:
            rank = highest(found)
            found &= ~rank
            chosen |= rank
            left -= 1
    return chosen << (13 * suit) if left == 0 else 0


@kernel
def any_form(cards: int, form: int, ace_low_straight: bool) -> int:
    """`form_hand`, and five forms more: a flush of each suit that spares other hands, and the full house with
    the second highest pair."""
    if form < FORMS:
        return form_hand(cards, form, True, ace_low_straight)
    if form < FORMS + 4:
        return spare_flush(cards, form - FORMS)
    _, twice, thrice, _ = rank_counts(cards)
    three = highest(thrice)
    pairs = twice & ~three
    pair = highest(pairs & ~highest(pairs))
    return of_rank(cards, three, 3) | of_rank(cards, pair, 2) if three != 0 and pair != 0 else 0


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
def greedy_split(options: Options, cards: int, low: bool = False) -> Split:
    """The best five of fifteen to slot 3, the best five of the rest to slot 2; with `low`, the lowest."""
    straight = options.ace_low_straight
    high = misere_five(cards, straight) if low else best_five(cards, straight)
    rest = cards & ~high
    middle = misere_five(rest, straight) if low else best_five(rest, straight)
    return rest & ~middle, middle, high
