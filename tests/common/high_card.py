"""A tiny game for any number of seats, for tests of matches: one card each, everybody stays in or folds, the highest
card still in wins.

With two seats or more those who stay put in 2 and those who fold 1; where nobody stays, all of it goes back. Alone,
staying wins 1 with one of the upper half of the cards and loses 1 with another, and folding is free.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.compile.interfaces import CHANCE, OVER, Kernels
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.engine.batch_play import RANDOM_BOT
from backalley.envs.core.game.game import GameType
from backalley.envs.core.rules import rng
from backalley.envs.core.rules.options import option
from backalley.envs.core.rules.record import field
from backalley.envs.core.rules.table import Table, laid_out, pile, place

CARDS = 12
FOLD, STAY = 0, 1


class Options(NamedTuple):
    seats: Annotated[int, option("seats at the table", low=1, high=4)] = 3


class State:
    seat: int = field("i1", doc="who acts")
    reward: npt.NDArray[np.float32] = field("f4", lambda options: (options.seats,), "gains")
    card: npt.NDArray[np.uint8] = field("u1", lambda options: (options.seats,), "each seat's card")
    stays: npt.NDArray[np.uint8] = field("u1", lambda options: (options.seats,), "1 for those who stayed in")


class Observation:
    card: npt.NDArray[np.uint8] = field("u1", CARDS, "my card")


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    for seat in range(options.seats):
        state.card[seat] = deck[seat]
    state.seat = 0


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    mask[FOLD] = 1
    mask[STAY] = 1


@kernel
def step(options: Options, state: State, action: int) -> None:
    state.stays[state.seat] = action
    state.seat = state.seat + 1
    if state.seat < options.seats:
        return
    state.seat = OVER
    winner, pot = -1, 0.0
    for seat in range(options.seats):
        if state.stays[seat] and (winner < 0 or state.card[seat] > state.card[winner]):
            winner = seat
        pot += 2.0 if state.stays[seat] else 1.0
    if winner < 0:
        return
    if options.seats == 1:
        state.reward[0] = 1.0 if state.card[0] >= CARDS // 2 else -1.0
        return
    for seat in range(options.seats):
        state.reward[seat] -= 2.0 if state.stays[seat] else 1.0
    state.reward[winner] += pot


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    out.card[state.card[seat]] = 1


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    others = np.empty(CARDS, np.int64)
    count = 0
    for card in range(CARDS):
        if card != state.card[seat]:
            others[count] = card
            count += 1
    rng.shuffle(key, others, count)
    for other in range(options.seats):
        if other != seat:
            state.card[other] = others[other]


def table(options: Options, state: Any, seat: int | None) -> Table:
    hands = [pile([str(card)], shown=seat in (None, who)) for who, card in enumerate(state.card.tolist())]
    return laid_out((), tuple(place(f"seat {who}", [hand], seat=who) for who, hand in enumerate(hands)))


GAME = GameType(
    module=__name__,
    name="high_card",
    version=0,
    title="High card",
    kernels=Kernels(start, deal, legal, step, observe, determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=2,
    bots=(RANDOM_BOT,),
    action_str=lambda options, action: ("fold", "stay")[action],
    table=table,
    piles=lambda options, state: {
        "hands": state.card.tolist(),
        "rest": sorted(set(range(CARDS)) - set(state.card.tolist())),
    },
    deck_size=lambda options: CARDS,
    reward_range=lambda options: (-2.0, 6.0),
    zero_sum=lambda options: options.seats > 1,
    card_name=str,
    card_number=int,
)
