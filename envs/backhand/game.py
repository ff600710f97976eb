"""Backhand, the card game: build a hand that passes 21 by a called backhand, stays within it with five cards, or plays
its push home.

The rules are README.md, §1; what the game shares with the two others of its series is `series.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy.typing as npt

from ..core.base import GameType
from ..core.kernel import kernel
from ..core.parts import Kernels
from . import VERSION, enumeration, series
from .series import AceRule, Verdict


class Options(NamedTuple):
    """What can be agreed before a game."""

    ace_rule: series.AceRuleOption = AceRule.ONCE
    ace_rule_on_replacement: series.ReplacementOption = True

    @property
    def seats(self) -> int:
        """Hands on the table."""
        return 1


class State(series.HandState):
    """Everything on the table."""


class Observation(series.HandObservation):
    """What the seat may know: all but the stub's order."""


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """Two cards and the Ace Rule. §1.2"""
    series.open_deck(state, deck)
    series.new_hand(options, state, 0, True)
    state.seat = 0


@kernel
def step(options: Options, state: State, action: int) -> None:
    """One action. A hand that came off is won: nothing is compared. §1.4, §1.6"""
    series.play(options, state, 0, action)
    if int(state.method[0]) != series.Method.NONE:
        state.verdict[0] = Verdict.WIN if int(state.success[0]) else Verdict.LOSS
    series.finish_one_seat(state)


def piles(options: Options, state: Any) -> Mapping[str, Sequence[int]]:
    """Where every card of the pack lies."""
    return series.piles(("hand",), state)


def table_str(options: Options, state: Any, seat: int | None) -> str:
    """The table in text."""
    return series.table_str(("hand",), state, seat)


GAME = GameType(
    name="backhand",
    version=VERSION,
    title="Backhand",
    kernels=Kernels(
        start=series.start_one_seat,
        deal=deal,
        legal=series.legal,
        step=step,
        observe=series.observe,
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
    enumeration=enumeration.ENUMERATION,
)
