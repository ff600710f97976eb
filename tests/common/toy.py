"""A toy that hides nothing but the order of its six cards, for tests of what is worked out exactly: draw as often as
you like without passing 6, then stop; another seat then does the same."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.compile.interfaces import CHANCE, OVER, Enumeration, Kernels
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.game.game import GameType
from backalley.envs.core.rules.options import option
from backalley.envs.core.rules.record import field
from backalley.envs.core.rules.table import Table

PACK = (1, 1, 2, 3, 3, 5)
"""Values of the six cards."""
STOP, DRAW = 0, 1


class Options(NamedTuple):
    seats: Annotated[int, option("who plays", low=1, high=2)] = 2


class State:
    seat: int = field("i1", doc="who acts")
    reward: npt.NDArray[np.float32] = field("f4", lambda o: (o.seats,), "gains")
    deck: npt.NDArray[np.int8] = field("i1", len(PACK), "the pack")
    next_card: int = field("i1", doc="cards dealt")
    total: npt.NDArray[np.int8] = field("i1", 2, "sums")


class Observation:
    total: npt.NDArray[np.uint8] = field("u1", 2, "sums", high=20)


VALUES = np.array(PACK)


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    for place in range(len(PACK)):
        state.deck[place] = deck[place]
    state.next_card = 1
    state.total[0] = VALUES[deck[0]]
    state.seat = 0


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    mask[0] = 1
    mask[1] = state.next_card < len(PACK)


@kernel
def step(options: Options, state: State, action: int) -> None:
    seat = int(state.seat)
    if action == 1:
        state.total[seat] += VALUES[state.deck[int(state.next_card)]]
        state.next_card = int(state.next_card) + 1
        if int(state.total[seat]) <= 6:
            return
    if seat + 1 < options.seats:
        state.seat = seat + 1
        return
    state.seat = OVER
    mine, its = int(state.total[0]), int(state.total[1])
    mine, its = (mine if mine <= 6 else 0), (its if its <= 6 else 0)
    gain = (mine > its) - (mine < its) if options.seats == 2 else mine / 8
    state.reward[0] += gain
    if options.seats == 2:
        state.reward[1] -= gain


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    out.total[0] = state.total[0]


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    pass


@kernel
def deck(state: State) -> npt.NDArray[np.int8]:
    return state.deck


@kernel
def next_card(state: State) -> int:
    return int(state.next_card)


@kernel
def kind(card: int) -> int:
    return int(VALUES[card])


@kernel
def key(options: Options, state: State) -> int:
    left = 0
    for place in range(state.next_card, len(PACK)):
        left += 8 ** int(VALUES[state.deck[place]])
    return ((left * 20 + int(state.total[0])) * 20 + int(state.total[1])) * 2 + int(state.seat)


TOY = GameType(
    module=__name__,
    name="toy",
    version=0,
    title="Toy",
    kernels=Kernels(start, deal, legal, step, observe, determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=2,
    action_str=lambda options, action: ("stop", "draw")[action],
    table=lambda options, state, seat: Table(),
    piles=lambda options, state: {"pack": state.deck.tolist()},
    deck_size=lambda options: len(PACK),
    reward_range=lambda options: (-1.0, 1.0),
    zero_sum=lambda options: True,
    enumeration=Enumeration(deck, next_card, kind, key),
)


def by_hand(
    seats: int,
    draws: Callable[[int], Fraction] | None = None,
    *,
    best: bool = False,
    worth: Callable[[Fraction], Fraction] = Fraction,
) -> Fraction:
    """The toy solved in exact fractions, from its description alone, over single cards: best play, or play that draws
    with the probability `draws(total)`, by default one half. `worth` is what a return counts for."""

    def value(seat: int, totals: tuple[int, ...], left: tuple[int, ...]) -> Fraction:
        if seat == seats:
            mine, its = (total if total <= 6 else 0 for total in totals)
            return worth(Fraction((mine > its) - (mine < its)) if seats == 2 else Fraction(mine, 8))
        stops = value(seat + 1, totals, left)
        if not left:
            return stops
        goes_on = Fraction(0)
        for index, card in enumerate(left):
            new = tuple(total + card * (who == seat) for who, total in enumerate(totals))
            onward = seat if new[seat] <= 6 else seat + 1
            goes_on += value(onward, new, left[:index] + left[index + 1 :]) / len(left)
        if best:
            return max(stops, goes_on) if seat == 0 else min(stops, goes_on)
        share = Fraction(1, 2) if draws is None else draws(totals[seat])
        return share * goes_on + (1 - share) * stops

    first = [value(0, (card, 0), PACK[:index] + PACK[index + 1 :]) for index, card in enumerate(PACK)]
    return sum(first, Fraction(0)) / len(PACK)
