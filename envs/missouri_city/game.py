"""Missouri City Backhand: two Buffalo Bayou hands on one deck and one dealer hand; of two hands won, the better method
or lower total wins.

The rules are README.md, §3, on top of Backhand's and Buffalo Bayou's; what the series shares is `backhand/series.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..backhand import series
from ..backhand.series import STAND, AceRule, Method, Verdict, per_seat
from ..core.base import GameType
from ..core.kernel import kernel
from ..core.options import option
from ..core.parts import CHANCE, OVER, Kernels
from ..core.record import field
from . import VERSION

SEAT_NAMES = ("green", "red")
NOBODY = -1
UNSUCCESSFUL = int(Method.NONE)  # the winning method of a hand that was not won, §3.3


class DealtFirst(IntEnum):
    """Which seat is dealt first, §3.1."""

    GREEN = 0
    RED = 1
    RANDOM = 2


class Options(NamedTuple):
    """What can be agreed before a game."""

    ace_rule: series.AceRuleOption = AceRule.ONCE
    ace_rule_on_replacement: series.ReplacementOption = True
    dealer_total_cap: series.DealerCapOption = True
    stand_pat: Annotated[
        bool, option("whether a seat whose hit left it ahead of the dealer may stand on its next turn, §3.5")
    ] = False
    dealt_first: Annotated[DealtFirst, option("the seat dealt first: green (0), red (1), or by lot in each game")] = (
        DealtFirst.RANDOM
    )

    @property
    def seats(self) -> int:
        """Hands on the table, the dealer's not counted."""
        return 2


class State(series.DealerState):
    """Everything on the table."""

    dealt_first: int = field("i1", doc="the seat dealt first")
    winner: int = field("i1", doc="the seat that won the game; -1 nobody (yet)")


class Observation(series.DealerObservation):
    """What a seat may know: all but the stub's order."""

    dealt_first: npt.NDArray[np.uint8] = field("u1", per_seat, "1 for the seat dealt first")


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
    series.open_deck(state, deck)
    series.deal_show_cards(state)
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
    elif action != series.PUSH:
        series.against_dealer(options, state, seat)
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


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """All but the stub's order."""
    series.observe(options, state, seat, out)
    series.observe_dealer(options, state, seat, out)
    out.dealt_first[0 if int(state.dealt_first) == seat else 1] = 1


def piles(options: Options, state: Any) -> Mapping[str, Sequence[int]]:
    """Where every card of the pack lies."""
    return series.piles(SEAT_NAMES, state)


def table_str(options: Options, state: Any, seat: int | None) -> str:
    """The table in text."""
    return series.table_str(SEAT_NAMES, state, seat)


GAME = GameType(
    name="missouri_city",
    version=VERSION,
    title="Missouri City Backhand",
    kernels=Kernels(start=start, deal=deal, legal=legal, step=step, observe=observe, determinize=series.determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=series.NUM_ACTIONS,
    action_str=series.action_str,
    table_str=table_str,
    piles=piles,
    deck_size=lambda options: series.PACK,
    reward_range=lambda options: (-1.0, 1.0),
    zero_sum=lambda options: True,
    num_start_outcomes=lambda options: 2 if options.dealt_first == DealtFirst.RANDOM else 1,
    seat_names=SEAT_NAMES,
)
