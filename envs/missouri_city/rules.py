"""The rules of Missouri City Backhand, README.md §3: two hands by the rules of the series, each against the dealer
hand, which of two hands won is better, and what follows a game."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..backhand_series import rules as series
from ..backhand_series import stub
from ..backhand_series.state import PUSH, STAND, Method, Verdict
from ..core.compile.interfaces import CHANCE, OVER
from ..core.compile.kernel import kernel
from .match import is_replayed, match_value
from .pack import open_pack
from .state import NOBODY, UNSUCCESSFUL, DealtFirst, Options, State


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """Who is dealt first is agreed, drawn by lot, or green where it changes with every deal. §3.1"""
    state.dealt_first = int(options.dealt_first)
    if options.dealt_first == DealtFirst.RANDOM:
        state.dealt_first = start_outcome
    elif options.dealt_first == DealtFirst.ALTERNATE:
        state.dealt_first = DealtFirst.GREEN
    state.winner = NOBODY
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """The show cards; the first hand with its Ace Rule; the second with its own. A replaced ace is the second seat's
    first play. §3.1"""
    clear_table(state)
    open_pack(options, state, deck)
    stub.deal_show_cards(state)
    first = int(state.dealt_first)
    second = 1 - first
    series.new_hand(options, state, first, True)
    series.new_hand(options, state, second, True)
    state.seat = first if int(state.replaced_aces[second]) > 0 else second


@kernel
def clear_table(state: State) -> None:
    """Take up all cards of the last deal: nothing of it matters but who won. §3.6"""
    state.cards[:] = 0
    state.draws[:] = 0
    state.pushes[:] = 0
    state.player_total[:] = 0
    state.method[:] = 0
    state.success[:] = 0
    state.verdict[:] = 0
    state.dealer_total[:] = 0
    state.advantage[:] = 0


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
        stub.against_dealer(options, state, seat)
    if int(state.method[other]) == Method.NONE:
        state.seat = other
    elif int(state.method[seat]) != Method.NONE:
        finish_deal(options, state)


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
def finish_deal(options: Options, state: State) -> None:
    """Both hands have ended: somebody has won the game, or it is a stalemate. §3.4, §3.6"""
    result = comparison(
        winning_method(state, 0),
        int(state.player_total[0]),
        int(state.total[0]),
        winning_method(state, 1),
        int(state.player_total[1]),
        int(state.total[1]),
    )
    if result == 0 and is_replayed(options, int(state.stalemates)):
        state.stalemates += 1
        next_deal(options, state)
        return
    if result != 0:
        state.games_won[0 if result > 0 else 1] += 1
    state.game += 1
    if int(state.game) < options.num_games:
        state.stalemates = 0
        next_deal(options, state)
    else:
        finish_match(state)


@kernel
def next_deal(options: Options, state: State) -> None:
    """A new pack is wanted; with `alternate` the other seat is dealt first. §3.1, §3.6"""
    if options.dealt_first == DealtFirst.ALTERNATE:
        state.dealt_first = 1 - int(state.dealt_first)
    state.seat = CHANCE


@kernel
def finish_match(state: State) -> None:
    """All games are played: who has won more of them gains 1, the other loses 1. §3.6"""
    lead = games_ahead(state, 0)
    result = (lead > 0) - (lead < 0)
    if result != 0:
        state.winner = 0 if result > 0 else 1
    state.reward[0] = result
    state.reward[1] = -result
    state.seat = OVER


@kernel
def games_ahead(state: State, seat: int) -> int:
    """How many more games a seat has won than the other."""
    return int(state.games_won[seat]) - int(state.games_won[1 - seat])


@kernel
def leaf_value(options: Options, state: State, seat: int) -> float:
    """What a seat may expect of the match before a deal. §3.6"""
    return match_value(options, games_ahead(state, seat), options.num_games - int(state.game))
