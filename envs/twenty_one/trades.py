"""Which hands of Twenty-One may be traded for a new first card (§1.5, §1.6)."""

from __future__ import annotations

from ..core.compile.kernel import kernel
from .state import EIGHT, FIFTEEN, FIGURES_TRADED, JACK, KING, SEVEN, Cards, FifteenTest, Options, State
from .valuation import best_of, counted, may_be


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
