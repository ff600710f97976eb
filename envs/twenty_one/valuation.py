"""What a hand of Twenty-One counts, when it ends its turn, and when it may be traded (§1.2, §1.5, §1.6)."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from .state import (
    ACE,
    BUST,
    CHANTAL,
    CHANTAL_EXTRA,
    EIGHT,
    FIFTEEN,
    FIGURES_TRADED,
    JACK,
    KING,
    POINTS,
    SEVEN,
    TARGET,
    Cards,
    FifteenTest,
    Options,
    State,
)


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


@kernel
def first_card_trades(options: Options, card: int, after_seven: bool) -> bool:
    """Whether a lone first card may be traded: any seven, or an eight that replaced a traded seven. §1.5"""
    rank = card & 7
    return (rank == SEVEN and options.trade_seven) or (
        rank == EIGHT and after_seven and options.trade_eight_after_seven
    )


@kernel
def is_five_figures(hand: Cards, count: int) -> bool:
    """Exactly five cards, all of them figures. §1.5"""
    if count != FIGURES_TRADED:
        return False
    figures = 0
    for index in range(FIGURES_TRADED):
        figures += int(JACK <= int(hand[index]) & 7 <= KING)
    return figures == FIGURES_TRADED


@kernel
def counts_fifteen(options: Options, low: int, has_chantal: bool) -> bool:
    """Whether a hand, as `counted` gives it, counts as a fifteen. §1.5"""
    if options.fifteen_test == FifteenTest.BEST_ONLY:
        return best_of(low, has_chantal) == FIFTEEN
    return may_be(FIFTEEN, low, has_chantal)


@kernel
def is_fifteen(options: Options, hand: Cards, count: int) -> bool:
    """Whether the hand counts as a fifteen. §1.5"""
    low, has_chantal = counted(options, hand, count)
    return counts_fifteen(options, low, has_chantal)


@kernel
def hand_trades(options: Options, hand: Cards, count: int, fifteen_allowed: bool) -> bool:
    """Whether a hand of several cards may be traded: five figures, or a fifteen. §1.5"""
    if options.trade_five_figures and is_five_figures(hand, count):
        return True
    return count >= 2 and fifteen_allowed and options.trade_fifteen and is_fifteen(options, hand, count)


@kernel
def may_trade(options: Options, state: State, seat: int) -> bool:
    """§1.5, §1.6: whether a seat may trade what it holds."""
    count = int(state.count[seat])
    if count == 1:
        return first_card_trades(options, int(state.cards[seat, 0]), int(state.after_seven[seat]) == 1)
    banker_in_final_round = seat == int(state.banker) and int(state.final_round) == 1
    return hand_trades(options, state.cards[seat], count, options.final_round_fifteen or not banker_in_final_round)
