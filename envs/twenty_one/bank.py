"""Money in Twenty-One: bets and the banker's match; the bank with its deposits and pay-outs, how rounds and banks end,
and rewards (§1.1, §1.3, §1.5, §1.7, §1.8, §1.9, §3)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import CHANCE, OVER
from ..core.compile.kernel import kernel
from .state import (
    BET_HALF,
    BET_MIN,
    BET_POT,
    BET_QUARTER,
    BROKEN,
    BUST,
    BUSTED,
    CAPPED,
    CASHED,
    DECLINE_BANK,
    DEPOSIT,
    DEPOSITS,
    EIGHT,
    ENDED_BY_KING,
    KING_OF_HEARTS,
    LARGEST_MONEY,
    NEW_BANKER,
    NEW_ROUND,
    PASS_BANK,
    PUT_DEPOSIT,
    ROYAL,
    SHUFFLE,
    TAKE_BANK,
    TARGET,
    WHOLE,
    Breaker,
    Deposit,
    Episode,
    Options,
    PassBank,
    Reward,
    State,
)
from .stock import gather, show_hand
from .valuation import best_total


@kernel
def credit(options: Options) -> int:
    """How far a purse may go below 0: not at all, or without a bankroll as far as keeps all money within LARGEST_MONEY.
    §1.1"""
    return 0 if options.bankroll > 0 else LARGEST_MONEY // options.num_players


@kernel
def limit(options: Options, state: State, seat: int) -> int:
    """The most a seat can bet now. §1.5"""
    return min(int(state.pot), int(state.purse[seat]) + credit(options))


@kernel
def opening(state: State, seat: int) -> bool:
    """Whether a punter has not bet yet in this round. §1.5"""
    return seat != int(state.banker) and int(state.own[seat]) == 0


@kernel
def bet_size(options: Options, state: State, seat: int, action: int) -> int:
    """What a bet amounts to now. §3"""
    most = limit(options, state, seat)
    return min(options.min_bet, most) if action == BET_MIN else share(most, options.bet_fractions[action - BET_QUARTER])


@kernel
def share(most: int, thousandths: int) -> int:
    """A share of the most one can bet, rounded up to whole coins. §3"""
    return (most * thousandths + WHOLE - 1) // WHOLE  # below 2**63, since no money passes 2**53


@kernel
def legal_bets(options: Options, state: State, seat: int, least: int, mask: npt.NDArray[np.int8]) -> None:
    """§3: bets of `least` and more, of those that amount to the same only the first."""
    most = limit(options, state, seat)
    if most <= 0:
        return
    shares = options.bet_fractions
    lowest, quarter, half, pot = (
        min(options.min_bet, most),
        share(most, shares[0]),
        share(most, shares[1]),
        share(most, shares[2]),
    )
    mask[BET_MIN] = 1
    mask[BET_QUARTER] = int(quarter >= least and quarter != lowest)
    mask[BET_HALF] = int(half >= least and half != lowest and half != quarter)
    mask[BET_POT] = int(pot >= least and pot != lowest and pot != quarter and pot != half)


@kernel
def bet(state: State, seat: int, size: int) -> None:
    """§1.5: the banker matches a punter's bet from the pot."""
    state.purse[seat] = int(state.purse[seat]) - size
    state.own[seat] = int(state.own[seat]) + size
    state.pot = int(state.pot) - size


BANKER_SHARE, BANKER_SHARE_IN_BACK_PASSING = 0.75, 0.85
"""Of the pot that the banker will take home, as found where `bot:dp` plays in all seats (§7)."""


@kernel
def open_bank(options: Options, state: State) -> None:
    """§1.3: a bank begins with the deposit, which its banker may have to choose before all else. §1.9: a final round
    alone is one of a bank in Back Passing."""
    state.deposit = 0
    state.asked = 0
    state.back_passing = int(options.episode == Episode.FINAL_ROUND)
    state.final_round = 0
    state.round_number = 1
    if options.deposit == Deposit.CHOSEN:
        gather(options, state)
        state.phase = DEPOSIT
        state.turn = state.banker
        state.seat = state.banker
    else:
        put_deposit(state, options.initial_deposit)


@kernel
def put_deposit(state: State, coins: int) -> None:
    """§1.3: the banker puts the deposit into the pot, and all cards are shuffled."""
    banker = int(state.banker)
    state.purse[banker] = int(state.purse[banker]) - coins
    state.pot = coins
    state.deposit = coins
    state.phase = SHUFFLE
    state.seat = CHANCE


@kernel
def can_deposit(options: Options, state: State, seat: int, times: int) -> bool:
    """Whether a purse holds so many times the least deposit. §1.3"""
    return int(state.purse[seat]) + credit(options) >= times * options.initial_deposit


@kernel
def legal_deposits(options: Options, state: State, seat: int, mask: npt.NDArray[np.int8]) -> None:
    """§1.3: what a banker may put in."""
    for index in range(len(DEPOSITS)):
        mask[PUT_DEPOSIT + index] = int(can_deposit(options, state, seat, DEPOSITS[index]))


@kernel
def live_stakes(options: Options, state: State) -> int:
    """How many punters have a stake on the table. §1.6"""
    live = 0
    for seat in range(options.num_players):
        live += int(int(state.own[seat]) > 0)
    return live


@kernel
def pay(options: Options, state: State, seat: int, amount: int) -> None:
    """§1.7: a punter wins, and may have broken the pot if it is empty after the round. §1.8"""
    state.purse[seat] = int(state.purse[seat]) + amount
    if options.breaker == Breaker.LAST_WINNER or amount >= int(state.largest):
        state.breaker = seat
    state.largest = max(int(state.largest), amount)


@kernel
def settle(options: Options, state: State) -> None:
    """§1.7: stakes still live, from the banker's left: with a better total than the banker's they win, otherwise the
    pot takes them."""
    if live_stakes(options, state) == 0:
        return
    banker = int(state.banker)
    to_beat = banker_total(options, state)
    show_hand(state, banker)
    for place in range(1, options.num_players):
        seat = (banker + place) % options.num_players
        stake = 2 * int(state.own[seat])
        if stake == 0:
            continue
        show_hand(state, seat)
        state.own[seat] = 0
        if best_total(options, state.cards[seat], int(state.count[seat])) > to_beat:
            pay(options, state, seat, stake)
        else:
            state.pot = int(state.pot) + stake


@kernel
def banker_total(options: Options, state: State) -> int:
    """§1.6: the total that punters have to pass: any does if the banker is bust, none with a royal."""
    banker = int(state.banker)
    if state.status[banker] == BUSTED:
        return BUST
    if state.status[banker] == ROYAL:
        return TARGET
    return best_total(options, state.cards[banker], int(state.count[banker]))


@kernel
def ends_bank(card: int) -> bool:
    """Whether a card that counts in Back Passing is one that ends the bank, at once or after the round: KH or an eight.
    §1.4"""
    return card == KING_OF_HEARTS or card & 7 == EIGHT


@kernel
def end_by_king(options: Options, state: State) -> None:
    """§1.4: no bets are realised when the king of hearts ends a bank: each half goes back where it came from."""
    for seat in range(options.num_players):
        half = int(state.own[seat])
        state.purse[seat] = int(state.purse[seat]) + half
        state.pot = int(state.pot) + half
        state.own[seat] = 0
    if options.reward == Reward.PER_ROUND:
        pay_rewards(options, state)
    end_bank(options, state, ENDED_BY_KING)


@kernel
def end_round(options: Options, state: State) -> None:
    """§1.8: whether the bank ends with this round."""
    if options.reward == Reward.PER_ROUND:
        pay_rewards(options, state)
    if state.final_round:
        end_bank(options, state, CASHED)
    elif int(state.pot) == 0:
        end_bank(options, state, BROKEN)
    elif int(state.round_number) >= round_cap(options) or not anybody_can_bet(options, state):
        end_bank(options, state, CAPPED)
    else:
        state.phase = NEW_ROUND


@kernel
def round_cap(options: Options) -> int:
    """The round after which a bank ends. §1.8, §1.9"""
    if options.episode == Episode.FINAL_ROUND:
        return 1
    return min(options.rounds, options.max_rounds) if options.episode == Episode.FIXED_ROUNDS else options.max_rounds


@kernel
def anybody_can_bet(options: Options, state: State) -> bool:
    """§1.8: whether a punter has money."""
    able = 0
    for seat in range(options.num_players):
        able += int(seat != int(state.banker) and limit(options, state, seat) > 0)
    return able > 0


@kernel
def end_bank(options: Options, state: State, result: int) -> None:
    """§1.8, §1.9: what is left in the pot is the banker's; in a session the next bank is offered, otherwise the episode
    is over."""
    banker = int(state.banker)
    state.result = result
    state.purse[banker] = int(state.purse[banker]) + int(state.pot)
    state.pot = 0
    state.bank = int(state.bank) + 1
    broken = result == BROKEN and not state.back_passing
    state.next_banker = state.breaker if broken else (banker + 1) % options.num_players
    if options.episode == Episode.SESSION and int(state.bank) < options.banks:
        state.phase = NEW_BANKER
        state.turn = state.next_banker
        state.seat = state.turn
    else:
        end_episode(options, state)


@kernel
def left_to_ask(options: Options, state: State, seat: int) -> int:
    """The set of seats that could be asked after this one. §1.9"""
    return ((1 << options.num_players) - 1) & ~int(state.asked) & ~(1 << seat)


@kernel
def legal_answers(options: Options, state: State, seat: int, mask: npt.NDArray[np.int8]) -> None:
    """§1.9: a bank is taken with the least deposit; it is declined, or passed to a seat while there is one to name."""
    mask[TAKE_BANK] = int(can_deposit(options, state, seat, 1))
    left = left_to_ask(options, state, seat) if options.pass_bank == PassBank.CHOSEN else 0
    mask[DECLINE_BANK] = int(left == 0)
    for other in range(options.num_players):
        mask[PASS_BANK + other] = (left >> other) & 1


@kernel
def answer(options: Options, state: State, seat: int, action: int) -> None:
    """§1.9: a seat takes the bank, or it is offered to the next, or the one named; when all have been asked, the
    episode is over."""
    if action == TAKE_BANK:
        state.banker = seat
        open_bank(options, state)
        return
    left = left_to_ask(options, state, seat)
    state.asked = int(state.asked) | (1 << seat)
    if left == 0:
        end_episode(options, state)
    else:
        state.turn = (seat + 1) % options.num_players if action == DECLINE_BANK else action - PASS_BANK
        state.seat = state.turn


@kernel
def end_episode(options: Options, state: State) -> None:
    """§3: all seats are shown what they have gained."""
    pay_rewards(options, state)
    state.seat = OVER


@kernel
def pay_rewards(options: Options, state: State) -> None:
    """§3: the change of each purse since the last reward, the pot being the banker's, in units of `reward_unit`. No
    stake is live."""
    for seat in range(options.num_players):
        worth = int(state.purse[seat])
        if seat == int(state.banker):
            worth += int(state.pot)
        state.reward[seat] = float(state.reward[seat]) + (worth - int(state.told[seat])) / reward_unit(options)
        state.told[seat] = worth


@kernel
def reward_unit(options: Options) -> int:
    """§3: what a reward of 1 stands for: all that the others have, or without bankrolls the deposit."""
    return (options.num_players - 1) * options.bankroll if options.bankroll > 0 else options.initial_deposit


def reward_range(options: Options) -> tuple[float, float]:
    """§3: no seat can lose more than its bankroll, or credit, nor win more than all the others'."""
    each = options.bankroll or LARGEST_MONEY // options.num_players
    return -each / reward_unit(options), (options.num_players - 1) * each / reward_unit(options)


@kernel
def leaf_value(options: Options, state: State, seat: int) -> float:
    """What `seat` will gain yet, before the cards of a round are shuffled: its share of the pot as it is on average,
    which a final round alone is not. §7"""
    if state.phase != SHUFFLE or options.episode == Episode.FINAL_ROUND:
        return math.nan
    share = BANKER_SHARE_IN_BACK_PASSING if state.back_passing else BANKER_SHARE
    if seat != int(state.banker):
        share = (1.0 - share) / (options.num_players - 1)
    worth = int(state.purse[seat]) + share * int(state.pot)
    return (worth - int(state.told[seat])) / reward_unit(options)
