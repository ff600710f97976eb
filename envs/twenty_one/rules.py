"""The rules of Twenty-One with Back Passing, in the order of play. The § marks are paragraphs of README.md."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import CHANCE
from ..core.compile.kernel import kernel
from .bank import (
    answer,
    bet,
    bet_size,
    end_by_king,
    end_round,
    ends_bank,
    legal_answers,
    legal_bets,
    legal_deposits,
    limit,
    live_stakes,
    open_bank,
    opening,
    pay,
    put_deposit,
    settle,
)
from .state import (
    ACT,
    BACK_PASS,
    BANKER,
    BET_POT,
    BUSTED,
    DEAL,
    DEALING,
    DECLARE,
    DEPOSIT,
    DEPOSITS,
    EIGHT,
    EVERYBODY,
    HIT,
    KING_OF_HEARTS,
    MOST_TRADES,
    NEW_BANKER,
    OUT,
    PUNTERS,
    PUT_DEPOSIT,
    ROYAL,
    RUNNING,
    SETTLE,
    SEVEN,
    SHUFFLE,
    STAND,
    STOOD,
    TARGET,
    TRADE,
    BackPassTrigger,
    Banker,
    EightChain,
    Episode,
    Options,
    Reshuffle,
    State,
)
from .stock import clear_round, discard_hand, gather, give, lay_pack, restock, stack_eight
from .valuation import best_of, counted, is_royal, may_trade, must_stop_at_21, royal_counts

# The course of the game (§1.4)


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """§1.3: all purses hold the bankroll; the first banker is agreed, or drawn by lot."""
    for seat in range(options.num_players):
        state.purse[seat] = options.bankroll
        state.told[seat] = options.bankroll
    state.banker = start_outcome if options.banker == Banker.RANDOM else options.banker
    open_bank(options, state)


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[np.int64]) -> None:
    """§1.4: all cards for a round; or, where the stock is used up, the discards in the order in which they lie in
    `deck`."""
    state.seat = RUNNING
    if state.phase == SHUFFLE:
        lay_pack(options, state, deck)
        if options.episode == Episode.FINAL_ROUND:
            stack_eight(options, state)
        declare(options, state)
    else:
        restock(options, state, deck)
        if state.phase != DEALING:
            state.seat = state.turn
            give(options, state, int(state.turn))
            judge(options, state, int(state.turn))
    play_on(options, state)


@kernel
def play_on(options: Options, state: State) -> None:
    """§1.4: the round goes on until a seat has to decide, chance has to shuffle, or the episode is over."""
    while state.seat == RUNNING:
        if state.phase == PUNTERS:
            next_punter(options, state)
        elif state.phase == DEALING:
            deal_first_cards(options, state)
        elif state.phase == SETTLE:
            settle(options, state)
            end_round(options, state)
        else:
            new_round(options, state)


@kernel
def new_round(options: Options, state: State) -> None:
    """§1.4: the same banker, the same pot."""
    state.round_number = int(state.round_number) + 1
    if options.reshuffle == Reshuffle.EVERY_ROUND:
        gather(options, state)
        state.phase = SHUFFLE
        state.seat = CHANCE
        return
    for seat in range(options.num_players):
        discard_hand(state, seat, False)
    clear_round(state)
    declare(options, state)


@kernel
def declare(options: Options, state: State) -> None:
    """§1.4: unless Back Passing has been declared, or is forced from this round on, the banker is asked."""
    forced = options.force_back_pass_round > 0 and int(state.round_number) >= options.force_back_pass_round
    if forced:
        state.back_passing = 1
    if state.back_passing:
        state.phase = DEALING
    else:
        state.phase = DECLARE
        state.seat = state.banker


@kernel
def deal_first_cards(options: Options, state: State) -> None:
    """§1.4: one card face down to each seat from the banker's left, the banker last, who has to look at it in Back
    Passing."""
    while int(state.dealt) < options.num_players:
        if state.drawn == state.stock_size:
            state.seat = CHANCE
            return
        give(options, state, (int(state.banker) + 1 + int(state.dealt)) % options.num_players)
        state.dealt = int(state.dealt) + 1
    state.turn = state.banker
    state.phase = PUNTERS
    if state.back_passing:
        check_banker_card(options, state)


@kernel
def check_banker_card(options: Options, state: State) -> None:
    """§1.4: the banker's latest card counts in Back Passing. KH ends the bank, an eight is announced, silence tells of
    neither."""
    banker = int(state.banker)
    card = int(state.cards[banker, int(state.count[banker]) - 1])
    if not ends_bank(card):
        state.silent = int(state.silent) | (1 << card)
        return
    state.known[card] = EVERYBODY
    if card == KING_OF_HEARTS:
        end_by_king(options, state)
    else:
        state.final_round = 1


@kernel
def next_punter(options: Options, state: State) -> None:
    """§1.4: the next seat that can bet; after the last, the banker if a stake is live."""
    seat = (int(state.turn) + 1) % options.num_players
    state.turn = seat
    if seat == int(state.banker):
        if live_stakes(options, state) == 0:
            state.phase = SETTLE
            return
        state.phase = BANKER
    elif limit(options, state, seat) <= 0:
        state.status[seat] = OUT
        return
    state.status[seat] = ACT
    state.seat = seat


# A turn (§1.5, §1.6, §3)


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """§3: what the seat to act may do."""
    seat = int(state.seat)
    if state.phase == DECLARE:
        mask[DEAL] = 1
        mask[BACK_PASS] = int(int(state.round_number) >= options.back_pass_earliest_round)
    elif state.phase == NEW_BANKER:
        legal_answers(options, state, seat, mask)
    elif state.phase == DEPOSIT:
        legal_deposits(options, state, seat, mask)
    else:
        mask[TRADE] = int(may_trade(options, state, seat))
        if opening(state, seat):
            mask[STAND] = int(options.decline_opening_bet)
            legal_bets(options, state, seat, min(options.min_bet, limit(options, state, seat)), mask)
            return
        mask[STAND] = int(int(state.count[seat]) >= 2)
        mask[HIT] = 1
        if seat != int(state.banker):
            legal_bets(options, state, seat, 1, mask)


@kernel
def step(options: Options, state: State, action: int) -> None:
    """A decision, and all that follows from it until the next."""
    seat = int(state.seat)
    if action == STAND:
        state.status[seat] = OUT if opening(state, seat) else STOOD
        end_turn(state)
    elif action == TRADE:
        trade(options, state, seat)
        draw(options, state, seat)
    elif action <= BET_POT:
        if action != HIT:
            bet(state, seat, bet_size(options, state, seat, action))
        draw(options, state, seat)
    elif action <= BACK_PASS:
        if action == BACK_PASS:
            state.back_passing = 1
        state.phase = DEALING
        state.seat = RUNNING
    elif action < PUT_DEPOSIT:
        answer(options, state, seat, action)
    else:
        put_deposit(state, DEPOSITS[action - PUT_DEPOSIT] * options.initial_deposit)
    play_on(options, state)


@kernel
def trade(options: Options, state: State, seat: int) -> None:
    """§1.5: the hand is shown and discarded; an eight that replaces a lone seven may be traded in its turn."""
    rank = int(state.cards[seat, 0]) & 7
    lone = int(state.count[seat]) == 1
    again = lone and (rank == SEVEN or (rank == EIGHT and options.eight_chain == EightChain.REPEAT))
    discard_hand(state, seat, True)
    state.after_seven[seat] = int(again)
    state.trades[seat] = min(MOST_TRADES, int(state.trades[seat]) + 1)


@kernel
def draw(options: Options, state: State, seat: int) -> None:
    """§1.5: one card; chance shuffles the discards where the stock is used up."""
    if state.drawn == state.stock_size:
        state.seat = CHANCE
        return
    give(options, state, seat)
    judge(options, state, seat)


@kernel
def judge(options: Options, state: State, seat: int) -> None:
    """§1.5, §1.6: what the card just drawn means: the bank's end, a royal, a bust, 21, or another decision."""
    count = int(state.count[seat])
    if seat == int(state.banker) and state.back_passing and drawn_card_counts(options, count):
        check_banker_card(options, state)
        if state.seat != seat:
            return
    if count < 2:
        return
    hand = state.cards[seat]
    low, has_chantal = counted(options, hand, count)
    if is_royal(options, hand, count) and royal_counts(options, state, seat):
        finish_hand(options, state, seat, ROYAL)
    elif low > TARGET:
        finish_hand(options, state, seat, BUSTED)
    elif best_of(low, has_chantal) == TARGET and must_stop_at_21(options, state, seat):
        state.status[seat] = STOOD
        end_turn(state)


@kernel
def drawn_card_counts(options: Options, count: int) -> bool:
    """§1.4: whether a card that the banker draws, the hand being `count` with it, counts in Back Passing."""
    if options.back_pass_trigger == BackPassTrigger.FIRST_CARD_AFTER_TRADES:
        return count == 1
    return options.back_pass_trigger == BackPassTrigger.ANY_CARD


@kernel
def finish_hand(options: Options, state: State, seat: int, status: int) -> None:
    """§1.5: a royal or bust hand is shown and discarded. A punter's is settled at once, the banker's with the
    stakes."""
    state.status[seat] = status
    discard_hand(state, seat, True)
    stake = 2 * int(state.own[seat])
    if seat != int(state.banker):
        if status == ROYAL:
            extra = min(int(state.pot), (options.royal_payout - 1) * int(state.own[seat]))
            state.pot = int(state.pot) - extra
            pay(options, state, seat, stake + extra)
        else:
            state.pot = int(state.pot) + stake
        state.own[seat] = 0
    end_turn(state)


@kernel
def end_turn(state: State) -> None:
    """§1.4: each turn is completed before the next; after the banker's, the round is settled."""
    if state.phase == BANKER:
        state.phase = SETTLE
    state.seat = RUNNING
