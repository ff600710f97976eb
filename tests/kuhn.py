"""Kuhn poker, the smallest game with hidden cards, for tests of the core, the solvers and the trainers.

Rules and the value -1/18: H. W. Kuhn, "A simplified two-person poker" (1950). Three cards, one each; ante 1; check or
bet 1; call or fold.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.compile.interfaces import CHANCE, OVER, Kernels
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.game.game import GameType
from backalley.envs.core.rules import rng
from backalley.envs.core.rules.events import OWN, Events, Kind, Log, tell
from backalley.envs.core.rules.options import option
from backalley.envs.core.rules.record import field
from backalley.envs.core.rules.table import Table, laid_out, pile, place
from tests.bot import BOTS

PASS, BET = 0, 1


class Options(NamedTuple):
    first: Annotated[int, option("who acts first", low=0, high=1)] = 0


class State:
    seat: int = field("i1", doc="who acts")
    reward: npt.NDArray[np.float32] = field("f4", 2, "gains")
    card: npt.NDArray[np.uint8] = field("u1", 2, "each seat's card")
    rest: int = field("u1", doc="the card left over")
    first: int = field("i1", doc="who opened")
    bets: npt.NDArray[np.uint8] = field("u1", 3, "1 pass, 2 bet, in order")
    played: int = field("u1", doc="actions so far")


class Observation:
    card: npt.NDArray[np.uint8] = field("u1", 3, "my card")
    bets: npt.NDArray[np.uint8] = field("u1", (3, 2), "passes and bets in order")


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    state.seat = CHANCE
    state.first = options.first


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    state.card[0], state.card[1] = deck[0], deck[1]
    state.rest = deck[2]
    state.seat = state.first


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    mask[PASS] = 1
    mask[BET] = 1


@kernel
def settle(state: State, winner: int, amount: int) -> None:
    state.reward[winner] += amount
    state.reward[1 - winner] -= amount
    state.seat = OVER


@kernel
def step(options: Options, state: State, action: int) -> None:
    seat = int(state.seat)
    played = int(state.played)
    state.bets[played] = action + 1
    state.played = played + 1
    better = 0 if state.card[0] > state.card[1] else 1
    facing_bet = played > 0 and state.bets[played - 1] == BET + 1
    if facing_bet:
        settle(state, better if action == BET else 1 - seat, 2 if action == BET else 1)
    elif action == PASS and played > 0:
        settle(state, better, 1)
    else:
        state.seat = 1 - seat


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    out.card[state.card[seat]] = 1
    for k in range(state.played):
        out.bets[k, state.bets[k] - 1] = 1


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    mine = int(state.card[seat])
    low, high = (mine + 1) % 3, (mine + 2) % 3
    if low > high:
        low, high = high, low
    key, coin = rng.below(key, 2)
    state.card[1 - seat] = high if coin else low
    state.rest = low if coin else high


DEALT = OWN


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    for seat in range(2):
        tell(log, seat, DEALT, seat, int(state.card[seat]))


EVENTS = Events(
    (Kind("dealt", "The card of the reader.", "card"),),
    deal=tell_deal,
    most=lambda options: 3,
    length=lambda options: 4,
)


def table(options: Options, state: Any, seat: int | None) -> Table:
    hands = [pile([str(card)], shown=seat in (None, who)) for who, card in enumerate(state.card.tolist())]
    bets = " ".join(".pb"[bet] for bet in state.bets[: state.played].tolist())
    return laid_out((f"bets {bets}",), tuple(place(f"seat {who}", [hand], seat=who) for who, hand in enumerate(hands)))


def piles(options: Options, state: Any) -> dict[str, list[int]]:
    return {"hands": state.card.tolist(), "rest": [int(state.rest)]}


GAME = GameType(
    module=__name__,
    name="kuhn",
    version=0,
    title="Kuhn poker",
    kernels=Kernels(start, deal, legal, step, observe, determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=2,
    bots=BOTS,
    action_str=lambda options, action: ("pass", "bet")[action],
    table=table,
    piles=piles,
    events=EVENTS,
    private=("card",),
    deck_size=lambda options: 3,
    reward_range=lambda options: (-2.0, 2.0),
    zero_sum=lambda options: True,
    card_name=str,
    card_number=int,
)
