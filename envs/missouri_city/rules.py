"""The rules of Missouri City Backhand, README.md §3: two hands by the rules of the series, each against the dealer
hand, and which of two hands won is better."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..backhand_series import dealer
from ..backhand_series import rules as series
from ..backhand_series.state import PUSH, STAND, Method, Verdict
from ..backhand_series.stub import open_deck
from ..core.kernel import kernel
from ..core.parts import CHANCE, OVER
from .state import NOBODY, UNSUCCESSFUL, DealtFirst, Options, State


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """Who is dealt first is agreed or drawn by lot. §3.1"""
    state.dealt_first = start_outcome if options.dealt_first == DealtFirst.RANDOM else int(options.dealt_first)
    state.winner = NOBODY
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """The show cards; the first hand with its Ace Rule; the second with its own. A replaced ace is the second seat's
    first play. §3.1"""
    open_deck(state, deck)
    dealer.deal_show_cards(state)
    first = int(state.dealt_first)
    second = 1 - first
    series.new_hand(options, state, first, True)
    series.new_hand(options, state, second, True)
    state.seat = first if int(state.replaced_aces[second]) > 0 else second


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """What the seat to act may do: as in Backhand, and standing. §3.5"""
    series.legal(options, state, mask)
    if options.stand_pat and int(state.advantage[int(state.seat)]) > 0:
        mask[STAND] = 1


@kernel
def step(options: Options, state: State, action: int) -> None:
    """One action, one play; then the other seat's turn, if its hand still goes on. §3.2"""
    seat = int(state.seat)
    other = 1 - seat
    series.play(options, state, seat, action)
    if action == STAND:
        state.verdict[seat] = Verdict.WIN
    elif action != PUSH:
        dealer.against_dealer(options, state, seat)
    if int(state.method[other]) == Method.NONE:
        state.seat = other
    elif int(state.method[seat]) != Method.NONE:
        finish(state)


@kernel
def winning_method(state: State, seat: int) -> int:
    """The method a hand was won by; UNSUCCESSFUL for any other, one level with the dealer included. §3.3"""
    return int(state.method[seat]) if int(state.verdict[seat]) == Verdict.WIN else UNSUCCESSFUL


@kernel
def comparison(
    method: int, player_total: int, total: int, other_method: int, other_player_total: int, other_total: int
) -> int:
    """1 where the first hand beats the second, -1 where it loses, 0 in a stalemate; methods as `winning_method` gives
    them. §3.4"""
    if method == UNSUCCESSFUL or other_method == UNSUCCESSFUL:
        return (other_method == UNSUCCESSFUL) - (method == UNSUCCESSFUL)
    if method != other_method and (method == Method.FIVE_CARDS or other_method == Method.FIVE_CARDS):
        return 1 if method == Method.FIVE_CARDS else -1
    lead = 0
    if method == other_method and method != Method.FIVE_CARDS:
        lead = other_player_total - player_total
    if lead == 0:
        lead = other_total - total
    return (lead > 0) - (lead < 0)


@kernel
def finish(state: State) -> None:
    """Both hands have ended: the winner gains 1, the loser loses 1. §3.4"""
    result = comparison(
        winning_method(state, 0),
        int(state.player_total[0]),
        int(state.total[0]),
        winning_method(state, 1),
        int(state.player_total[1]),
        int(state.total[1]),
    )
    if result != 0:
        state.winner = 0 if result > 0 else 1
    state.reward[0] = result
    state.reward[1] = -result
    state.seat = OVER
