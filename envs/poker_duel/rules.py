"""The rules of Poker Duel, in the order of play. The § marks are README.md's paragraphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import CHANCE, OVER
from ..core.compile.kernel import kernel
from ..core.rules import pokerhands
from .match import game_points, match_value
from .slots import discarded, offer_cards, placed, slot_strength, sort_slot, stock_left
from .state import (
    ARRANGE,
    ASSIGN,
    EXCHANGE,
    HAND,
    SLOT,
    SLOTS,
    STAND,
    Episode,
    ExchangeOrder,
    FirstDealer,
    Options,
    Reward,
    State,
    TiePoints,
    pack_size,
)


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """§1.2, §1.4: a match begins, or sudden death alone; with a random first dealer the start_outcome is the cut for
    it."""
    state.dealer = start_outcome if options.first_dealer == FirstDealer.RANDOM else options.first_dealer
    state.sudden_death = int(options.episode == Episode.SUDDEN_DEATH)
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """§1.3, §1.4: one card at a time, non-dealer first; fifteen each, five each in sudden death."""
    clear_hand(state)
    leader = 1 - int(state.dealer)
    size = HAND if state.sudden_death == 0 else SLOT
    for index in range(2 * size, pack_size(options)):
        state.stock[index - 2 * size] = deck[index]
    if state.sudden_death > 0:
        for index in range(SLOT):
            state.slots[leader, 0, index] = deck[2 * index]
            state.slots[1 - leader, 0, index] = deck[2 * index + 1]
        for seat in range(2):  # the order of a hand's cards means nothing: solvers then take equal hands for equal
            sort_slot(state, seat, 0)
        state.filled[0, 0] = SLOT
        state.filled[1, 0] = SLOT
        begin_round(options, state)
        return
    leads, deals = 0, 0
    for index in range(HAND):
        leads |= 1 << int(deck[2 * index])
        deals |= 1 << int(deck[2 * index + 1])
    offer_cards(state, leader, leads)
    offer_cards(state, 1 - leader, deals)
    state.phase = ARRANGE
    state.seat = leader


@kernel
def clear_hand(state: State) -> None:
    """Take up all cards of the last game: nothing of it matters but the points."""
    state.slots[:] = 0
    state.filled[:] = 0
    state.offer[:] = 0
    state.stock[:] = 0
    state.discards[:] = 0
    state.exchanges[:] = 0
    state.stood[:] = 0
    state.turns_left[:] = 0
    state.drawn = 0
    state.round_index = 0


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """§3: a slot with room for the next card; or standing, and any card of the slot being fought while the deck
    lasts."""
    seat = int(state.seat)
    if state.phase == ARRANGE:
        for slot in range(SLOTS):
            mask[ASSIGN + slot] = int(state.filled[seat, slot] < SLOT)
        return
    mask[STAND] = 1
    if stock_left(options, state) > 0:
        for index in range(SLOT):
            mask[state.slots[seat, state.round_index, index]] = 1


@kernel
def step(options: Options, state: State, action: int) -> None:
    """§1.3: assign a card, exchange one, or stand."""
    seat = int(state.seat)
    if action >= ASSIGN:
        assign(options, state, seat, action - ASSIGN)
        return
    if action == STAND:
        stand(options, state, seat)
    else:
        exchange(state, seat, action)
    pass_turn(options, state, seat)


@kernel
def assign(options: Options, state: State, seat: int, slot: int) -> None:
    """§1.3: the next card goes to a slot; once a seat has placed all, the dealer arranges, and then round 1 begins."""
    place(state, seat, slot)
    if options.skip_forced:
        only = only_room(state, seat)
        while only >= 0 and placed(state, seat) < HAND:
            place(state, seat, only)
    if placed(state, seat) < HAND:
        return
    if seat != state.dealer:
        state.seat = state.dealer
        return
    state.phase = EXCHANGE
    begin_round(options, state)


@kernel
def place(state: State, seat: int, slot: int) -> None:
    """Put a seat's next card into a slot."""
    index = placed(state, seat)
    state.slots[seat, slot, state.filled[seat, slot]] = state.offer[seat, index]
    state.offer[seat, index] = 0
    state.filled[seat, slot] += 1


@kernel
def only_room(state: State, seat: int) -> int:
    """The only slot with room, or -1 where two or three have it."""
    only = -1
    for slot in range(SLOTS):
        if state.filled[seat, slot] < SLOT:
            if only >= 0:
                return -1
            only = slot
    return only


@kernel
def exchange(state: State, seat: int, card: int) -> None:
    """§1.5: a card of the slot being fought goes out of play, then the top card of the deck takes its place."""
    slot = int(state.round_index)
    index = 0
    while int(state.slots[seat, slot, index]) != card:
        index += 1
    top = int(state.drawn)
    state.discards[seat, discarded(state, seat)] = card
    state.slots[seat, slot, index] = state.stock[top]
    state.stock[top] = 0
    state.drawn = top + 1
    state.exchanges[seat, slot] += 1
    state.stood[seat, slot] = 0
    state.turns_left[seat] -= 1


@kernel
def stand(options: Options, state: State, seat: int) -> None:
    """§1.5: no exchange; final for the round unless the table agreed otherwise."""
    state.stood[seat, state.round_index] = 1
    state.turns_left[seat] = 0 if options.stand_is_final else int(state.turns_left[seat]) - 1


@kernel
def pass_turn(options: Options, state: State, seat: int) -> None:
    """§1.5: who exchanges next; with no turn left on either side, the showdown."""
    preferred = 1 - seat if options.exchange_order == ExchangeOrder.ALTERNATE else seat
    if state.turns_left[preferred] > 0:
        state.seat = preferred
    elif state.turns_left[1 - preferred] > 0:
        state.seat = 1 - preferred
    else:
        showdown(options, state)
        begin_round(options, state)


@kernel
def begin_round(options: Options, state: State) -> None:
    """§1.3: the next round's turns, non-dealer first; after the last round, what follows the game.

    Where nobody may exchange, the remaining rounds are shown down at once.
    """
    rounds = SLOTS if state.sudden_death == 0 else 1
    while state.round_index < rounds:
        if options.exchanges_per_round > 0:
            state.turns_left[:] = options.exchanges_per_round
            state.phase = EXCHANGE
            state.seat = 1 - int(state.dealer)
            return
        showdown(options, state)
    if state.sudden_death > 0:
        finish_sudden_death(options, state)
    else:
        finish_game(options, state)


@kernel
def compare_slots(options: Options, state: State, slot: int) -> int:
    """§1.6, §1.7: 1 where seat 0's hand wins that slot, -1 where seat 1's does, 0 where they tie."""
    difference = slot_strength(options, state, 0, slot) - slot_strength(options, state, 1, slot)
    order = int(difference > 0) - int(difference < 0)
    return -order if options.misere else order


@kernel
def showdown(options: Options, state: State) -> None:
    """§1.6: both hands of the slot are shown and score; those of sudden death have no points."""
    slot = int(state.round_index)
    state.round_index = slot + 1
    if state.sudden_death == 0:
        award(options, state, slot, compare_slots(options, state, slot))


@kernel
def award(options: Options, state: State, slot: int, order: int) -> None:
    """§1.6: the round's points to the winner; equal hands get none or half each."""
    value = float(options.round_points[slot])
    if not options.nothing_scores:
        best = max(slot_strength(options, state, 0, slot), slot_strength(options, state, 1, slot))
        if best >> pokerhands.CATEGORY_SHIFT == pokerhands.Category.NOTHING:
            return
    if order == 0:
        if options.tie_points == TiePoints.SPLIT:
            state.points[0] += 0.5 * value
            state.points[1] += 0.5 * value
        return
    state.points[0 if order > 0 else 1] += value
    if options.reward == Reward.PER_ROUND:
        pay(state, order * value / game_points(options))


@kernel
def pay(state: State, amount: float) -> None:
    """Reward seat 0 at the cost of seat 1."""
    state.reward[0] = float(state.reward[0]) + amount
    state.reward[1] = float(state.reward[1]) - amount


@kernel
def finish_game(options: Options, state: State) -> None:
    """§1.2: another game, or the match is decided, or it is level and goes to sudden death."""
    lead = float(state.points[0]) - float(state.points[1])
    if int(state.game) + 1 < options.num_games:
        state.game += 1
        next_dealer(state)
    elif lead == 0 and options.sudden_death:
        state.game += 1
        state.sudden_death = 1
        next_dealer(state)
    else:
        finish_match(options, state, int(lead > 0) - int(lead < 0))


@kernel
def finish_sudden_death(options: Options, state: State) -> None:
    """§1.4: the higher hand wins the match; a tie is dealt again, and the last tie is a draw."""
    order = compare_slots(options, state, 0)
    if order == 0 and int(state.sudden_death) < options.max_sudden_death:
        state.sudden_death += 1
        next_dealer(state)
    else:
        finish_match(options, state, order)


@kernel
def next_dealer(state: State) -> None:
    """§1.2: the other player deals."""
    state.dealer = 1 - int(state.dealer)
    state.seat = CHANCE


@kernel
def finish_match(options: Options, state: State, winner: int) -> None:
    """§3: `winner` is 1 for seat 0, -1 for seat 1, 0 for a draw; sudden death alone has no points to be paid for."""
    state.seat = OVER
    if options.reward == Reward.MATCH or options.episode == Episode.SUDDEN_DEATH:
        pay(state, float(winner))
    elif options.reward == Reward.POINTS:
        lead = float(state.points[0]) - float(state.points[1])
        pay(state, lead / (game_points(options) * options.num_games))


@kernel
def leaf_value(options: Options, state: State, seat: int) -> float:
    """§3: what a seat may expect before a deal, the players alike; they have an even chance in sudden death and in the
    points of games to come."""
    if options.reward == Reward.PER_ROUND or state.sudden_death > 0:
        return 0.0
    lead = float(state.points[seat]) - float(state.points[1 - seat])
    if options.reward == Reward.POINTS:
        return lead / (game_points(options) * options.num_games)
    return match_value(options, int(lead), options.num_games - int(state.game))


def reward_range(options: Options) -> tuple[float, float]:
    """§3: bounds of what a seat can lose and win in a match."""
    by_round = options.reward == Reward.PER_ROUND and options.episode == Episode.MATCH
    most = float(options.num_games) if by_round else 1.0
    return -most, most
