"""What a hand of Twenty-One counts, and when it ends its turn (§1.2, §1.5, §1.6)."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from .state import ACE, BUST, CHANTAL, CHANTAL_EXTRA, POINTS, TARGET, Cards, Options, State


@kernel
def counted(options: Options, hand: Cards, count: int) -> tuple[int, bool]:
    """What all totals of a hand follow from: the least of them, in which Chantal counts 1, and whether it has a card
    that counts as its owner likes. §1.2"""
    total, has_chantal = 0, False
    for index in range(count):
        card = int(hand[index])
        likes = card == CHANTAL and options.chantal
        total += 1 if likes else int(POINTS[card & 7])
        has_chantal = has_chantal or likes
    return total, has_chantal


@kernel
def best_of(low: int, has_chantal: bool) -> int:
    """The greatest possible total that is 21 or less, or BUST. §1.2"""
    if low > TARGET:
        return BUST
    if has_chantal:
        for extra in CHANTAL_EXTRA:
            if low + extra <= TARGET:
                return low + extra
    return low


@kernel
def may_be(total: int, low: int, has_chantal: bool) -> bool:
    """Whether `total` is one of the possible totals. §1.2"""
    extra = total - low
    return extra == 0 or (extra in CHANTAL_EXTRA and has_chantal)


@kernel
def low_total(options: Options, hand: Cards, count: int) -> int:
    """The least possible total: Chantal counts 1. §1.2"""
    low, _ = counted(options, hand, count)
    return low


@kernel
def best_total(options: Options, hand: Cards, count: int) -> int:
    """The greatest possible total that is 21 or less, or BUST. §1.2"""
    low, has_chantal = counted(options, hand, count)
    return best_of(low, has_chantal)


def totals(options: Options, hand: Cards, count: int) -> list[int]:
    """All possible totals, rising. §1.2"""
    low, has_chantal = counted(options, hand, count)
    extra = sorted(CHANTAL_EXTRA) if has_chantal else []
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
