"""Buffalo Bayou Backhand: Backhand where a hand that came off must also beat the dealer total of a show card and the
card last drawn.

The rules are README.md, §2, on top of Backhand's; what the series shares is `backhand/series.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy.typing as npt

from ..backhand import enumeration, series
from ..backhand.series import AceRule
from ..core.base import GameType
from ..core.kernel import kernel
from ..core.parts import Kernels
from . import VERSION


class Options(NamedTuple):
    """What can be agreed before a game."""

    ace_rule: series.AceRuleOption = AceRule.ONCE
    ace_rule_on_replacement: series.ReplacementOption = True
    dealer_total_cap: series.DealerCapOption = True

    @property
    def seats(self) -> int:
        """Hands on the table, the dealer's not counted."""
        return 1


class State(series.DealerState):
    """Everything on the table."""


class Observation(series.DealerObservation):
    """What the seat may know: all but the stub's order."""


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """The show cards, then two cards and the Ace Rule. §2.1"""
    series.open_deck(state, deck)
    series.deal_show_cards(state)
    series.new_hand(options, state, 0, True)
    state.seat = 0


@kernel
def step(options: Options, state: State, action: int) -> None:
    """One action; every draw makes a dealer total. §2.2, §2.4"""
    series.play(options, state, 0, action)
    if action != series.PUSH:
        series.against_dealer(options, state, 0)
    series.finish_one_seat(state)


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """All but the stub's order."""
    series.observe(options, state, seat, out)
    series.observe_dealer(options, state, seat, out)


def piles(options: Options, state: Any) -> Mapping[str, Sequence[int]]:
    """Where every card of the pack lies."""
    return series.piles(("hand",), state)


def table_str(options: Options, state: Any, seat: int | None) -> str:
    """The table in text."""
    return series.table_str(("hand",), state, seat)


GAME = GameType(
    name="buffalo_bayou",
    version=VERSION,
    title="Buffalo Bayou Backhand",
    kernels=Kernels(
        start=series.start_one_seat,
        deal=deal,
        legal=series.legal,
        step=step,
        observe=observe,
        determinize=series.determinize,
    ),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=series.NUM_ACTIONS,
    action_str=series.action_str,
    table_str=table_str,
    piles=piles,
    deck_size=lambda options: series.PACK,
    reward_range=lambda options: (-1.0, 1.0),
    zero_sum=lambda options: False,
    seat_names=("player",),
    enumeration=enumeration.WITH_DEALER,
    enumeration_split=series.SHOW_CARDS,
)
