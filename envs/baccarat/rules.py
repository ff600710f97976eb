"""The rules of baccarat, in the order of play. The § marks are README.md's paragraphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import CHANCE, OVER
from ..core.compile.kernel import kernel
from .bets import legal_bets, participant_of, richest, settle
from .coup import banker_draws, banker_is_free, cards_used, place_value, player_choice, total, two_cards
from .state import (
    BANK,
    BANKER_TURN,
    BETTING,
    COUP,
    DRAW,
    NATURAL,
    NO_BET,
    PLAYER,
    PLAYER_TURN,
    SHOWN,
    STAND,
    STOOD,
    Bank,
    FirstBanker,
    Mode,
    Options,
    Reshuffle,
    State,
)


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """§1.2: who has the bank first; then a pack is asked for, before the bets."""
    state.banker = -1
    if options.banker == Bank.ROTATING:
        state.banker = richest(options) if options.first_banker == FirstBanker.RICHEST else options.num_bettors - 1
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """§2.2: a new shoe, or as many cards as a coup can use."""
    for place in range(state.shoe.shape[0]):
        state.shoe[place] = deck[place]
    state.first = 0
    state.exposed[:] = 0
    if begin_coup(options, state):
        go_on(options, state)


@kernel
def begin_coup(options: Options, state: State) -> bool:
    """§1.3: bets first; chemin de fer has none. True when the coup ends without anybody being asked."""
    state.player_drew = 0
    state.banker_drew = 0
    state.participant = -1
    state.bets[:] = NO_BET
    if options.mode == Mode.CHEMIN:
        return open_hands(options, state)
    state.phase = BETTING
    state.seat = 0
    return False


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """§3: bets; stand or draw; and standing alone where nothing is left but to turn up the cards."""
    if state.phase == BETTING:
        bets = legal_bets(options, state, int(state.seat), mask)
        # Whoever can bet nothing makes no bet, even where betting is compulsory (§2.5).
        mask[NO_BET] = int(options.allow_no_bet or bets == 0)
        return
    mask[STAND] = 1
    mask[DRAW] = int(state.phase != SHOWN)


@kernel
def step(options: Options, state: State, action: int) -> None:
    """§1.3: a bet, or to draw or stand."""
    seat = int(state.seat)
    state.asked = 1
    ended = True
    if state.phase == BETTING:
        state.bets[seat] = action
        if seat + 1 < options.num_bettors:
            state.seat = seat + 1
            return
        state.participant = participant_of(options, state)
        ended = open_hands(options, state)
    elif state.phase == PLAYER_TURN:
        ended = after_player(options, state, action == DRAW)
    elif state.phase == BANKER_TURN:
        state.banker_drew = int(action == DRAW)
    else:
        state.seat = OVER
        return
    if ended:
        go_on(options, state)


@kernel
def open_hands(options: Options, state: State) -> bool:
    """§1.3: naturals end the coup; then the Player hand, by choice or by rule. True when the coup is at its end."""
    points = two_cards(state, PLAYER)
    if points >= NATURAL or two_cards(state, BANK) >= NATURAL:
        return True
    seat = player_choice(options, state, points)
    if seat >= 0:
        state.phase = PLAYER_TURN
        state.seat = seat
        return False
    return after_player(options, state, points <= 5)


@kernel
def after_player(options: Options, state: State, draws: bool) -> bool:
    """§1.3: the Player hand's third card, then the Banker's choice or rule. True when the coup is at its end."""
    state.player_drew = int(draws)
    if banker_is_free(options):
        state.phase = BANKER_TURN
        state.seat = 1
        return False
    third = place_value(state, 4) if draws else STOOD
    state.banker_drew = int(banker_draws(options.banker_rule, two_cards(state, BANK), third, total(state, PLAYER)))
    return True


@kernel
def go_on(options: Options, state: State) -> None:
    """The coup is at its end: on to the next decision, the next shoe, or the end of the episode."""
    ended = True
    while ended:
        ended = finish_coup(options, state) and begin_coup(options, state)


@kernel
def finish_coup(options: Options, state: State) -> bool:
    """§2.2: after a coup, the end of the episode, a new shoe, or (True) another coup from this one."""
    settle(options, state)
    state.coup = int(state.coup) + 1
    used = cards_used(state)
    left = state.shoe.shape[0] - int(state.first) - used
    spent = options.reshuffle != Reshuffle.SHOE or left <= options.cut_card or left < COUP
    if state.coup == options.num_coups or (options.num_coups == 0 and spent):
        state.phase = SHOWN
        # An episode needs a decision: where naturals left none, seat 0 turns the cards up.
        state.seat = OVER if state.asked else 0
        return False
    remember(state)
    if state.banker >= 0 and state.winner == PLAYER + 1:
        state.banker = (int(state.banker) - 1) % options.num_bettors
    if spent:
        state.participant = -1
        state.seat = CHANCE
        return False
    for place in range(used):
        state.exposed[place_value(state, place)] += 1
    state.first = int(state.first) + used
    return True


@kernel
def remember(state: State) -> None:
    """Keep a finished coup's cards in view, now that others take their place."""
    state.last_drew[0] = state.player_drew
    state.last_drew[1] = state.banker_drew
    used = cards_used(state)
    for place in range(COUP):
        state.last[place] = int(state.shoe[int(state.first) + place]) % 52 if place < used else 0


def info(options: Options, state: State, seat: int) -> dict[str, float]:
    """§3: what the seat has won when the episode has ended."""
    return {"units": round(float(state.units[seat]), 4)}
