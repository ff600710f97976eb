"""What a hand of Twenty-One counts, and when it ends its turn (§1.2, §1.5, §1.6)."""

from __future__ import annotations

from ..core.kernel import kernel
from .state import ACE, BUST, CHANTAL, CHANTAL_EXTRA, POINTS, TARGET, Cards, Options, State


@kernel
def holds_chantal(options: Options, hand: Cards, count: int) -> bool:
    """Whether the hand has a card that counts as its owner likes. §1.2"""
    held = 0
    for index in range(count):
        held += int(int(hand[index]) == CHANTAL)
    return held > 0 and options.chantal


@kernel
def low_total(options: Options, hand: Cards, count: int) -> int:
    """The least possible total: Chantal counts 1. §1.2"""
    total = 0
    for index in range(count):
        card = int(hand[index])
        total += 1 if card == CHANTAL and options.chantal else int(POINTS[card & 7])
    return total


@kernel
def best_total(options: Options, hand: Cards, count: int) -> int:
    """The greatest possible total that is 21 or less, or BUST. §1.2"""
    total = low_total(options, hand, count)
    if total > TARGET:
        return BUST
    if holds_chantal(options, hand, count):
        for extra in CHANTAL_EXTRA:
            if total + extra <= TARGET:
                return total + extra
    return total


@kernel
def can_count(options: Options, hand: Cards, count: int, total: int) -> bool:
    """Whether `total` is one of the hand's possible totals. §1.2"""
    extra = total - low_total(options, hand, count)
    return extra == 0 or (extra in CHANTAL_EXTRA and holds_chantal(options, hand, count))


def totals(options: Options, hand: Cards, count: int) -> list[int]:
    """All possible totals, rising. §1.2"""
    low = low_total(options, hand, count)
    extra = sorted(CHANTAL_EXTRA) if holds_chantal(options, hand, count) else []
    return [low, *(low + more for more in extra)]


@kernel
def is_royal(options: Options, hand: Cards, count: int) -> bool:
    """Royal Black Jack: exactly two cards, both aces; with `chantal_is_ace` Chantal passes for one. §1.2"""
    if count != 2:
        return False
    first, second = int(hand[0]), int(hand[1])
    first_ace = first & 7 == ACE or (options.chantal_is_ace and first == CHANTAL)
    second_ace = second & 7 == ACE or (options.chantal_is_ace and second == CHANTAL)
    return first_ace and second_ace


@kernel
def royal_counts(options: Options, state: State, seat: int) -> bool:
    """Whether two aces would be royal for a seat. §1.5"""
    return options.royal_after_trade or int(state.trades[seat]) == 0


@kernel
def must_stop_at_21(options: Options, state: State, seat: int) -> bool:
    """Whether a seat's turn ends with 21: the banker's always, a punter's unless agreed otherwise. §1.5, §1.6"""
    return seat == int(state.banker) or options.auto_stand_21
