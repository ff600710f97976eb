"""Kuhn poker, a whole game in one file: the smallest poker with hidden cards.

H. W. Kuhn, "A simplified two-person poker", Contributions to the Theory of Games 1 (1950). There are three cards: J, Q
and K. Both seats put a chip into the pot and get a card each. The first seat passes or bets a chip. The other seat may
bet after a pass; after a bet, it bets, which calls, or passes, which folds. A seat that passed first answers a bet in
the same way. After two passes, or a call, the higher card takes the pot.

The reward at the end is what a seat won of the other's chips, 1 or 2, or lost. In equilibrium the first seat's return
is -1/18.

`vectors.toml` beside this file holds the rules as cases; `backalley check backalley.examples.kuhn` tests all that a
game has to keep. Larger games spread these parts over the files of a folder; `backalley new-game` writes one.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.api.compiled_play import RANDOM_BOT
from backalley.envs.core.game.game import GameType
from backalley.envs.core.game.kernels import CHANCE, OVER, Kernels, kernel
from backalley.envs.core.rules import rng
from backalley.envs.core.rules.events import OWN, Events, Kind, Log, tell
from backalley.envs.core.rules.options import option
from backalley.envs.core.rules.record import field
from backalley.envs.core.rules.table import Table, laid_out, pile, place

CARDS = ("J", "Q", "K")  # numbered from 0
PASS, BET = 0, 1  # actions


class Options(NamedTuple):
    """What can be agreed."""

    first: Annotated[int, option("who acts first", low=0, high=1)] = 0


class State:
    """Everything on the table."""

    seat: int = field("i1", doc="who acts")
    reward: npt.NDArray[np.float32] = field("f4", 2, "gains")
    card: npt.NDArray[np.uint8] = field("u1", 2, "each seat's card")
    rest: int = field("u1", doc="the card left over")
    first: int = field("i1", doc="who acted first")
    bets: npt.NDArray[np.uint8] = field("u1", 3, "1 pass, 2 bet, in order")
    played: int = field("u1", doc="actions so far")


class Observation:
    """What a seat may know: its card, and everything that was done."""

    card: npt.NDArray[np.uint8] = field("u1", 3, "my card")
    bets: npt.NDArray[np.uint8] = field("u1", (3, 2), "passes and bets in order")


# The rules -------------------------------------------------------------------------------------------------------


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """Ask chance for a shuffled pack."""
    state.seat = CHANCE
    state.first = options.first


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """A card to each seat."""
    state.card[0], state.card[1] = deck[0], deck[1]
    state.rest = deck[2]
    state.seat = state.first


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """Both actions, always."""
    mask[PASS] = 1
    mask[BET] = 1


@kernel
def settle(state: State, winner: int, amount: int) -> None:
    """End the game: the other seat's chips go to the winner."""
    state.reward[winner] += amount
    state.reward[1 - winner] -= amount
    state.seat = OVER


@kernel
def step(options: Options, state: State, action: int) -> None:
    """A bet is called or folded to; two passes lead to a showdown; otherwise the other seat acts."""
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


# What a seat may know --------------------------------------------------------------------------------------------


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """The seat's own card, and all bets, which are public."""
    out.card[state.card[seat]] = 1
    for k in range(state.played):
        out.bets[k, state.bets[k] - 1] = 1


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """The other seat has either of the two cards that this seat does not hold; only the key decides which."""
    mine = int(state.card[seat])
    low, high = (mine + 1) % 3, (mine + 2) % 3
    if low > high:
        low, high = high, low
    key, coin = rng.below(key, 2)
    state.card[1 - seat] = high if coin else low
    state.rest = low if coin else high


# What a seat is shown besides the actions, for its history --------------------------------------------------------

DEALT = OWN


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """Each seat is shown its own card."""
    for seat in range(2):
        tell(log, seat, DEALT, seat, int(state.card[seat]))


EVENTS = Events(
    (Kind("dealt", "The card of the reader.", "card"),),
    deal=tell_deal,
    most=lambda options: 3,  # an action, and the two cards of the next game
    length=lambda options: 4,  # a card and three actions
)


# In words --------------------------------------------------------------------------------------------------------


def action_str(options: Options, action: int) -> str:
    """`pass`, `bet`."""
    return "bet" if action == BET else "pass"


def card_number(name: str) -> int:
    """Return the number of a card by its name. Raises ValueError."""
    if name.strip().upper() not in CARDS:
        raise InvalidValue(f"There is no card {name!r}; the cards are {', '.join(CARDS)}.")
    return CARDS.index(name.strip().upper())


def table(options: Options, state: Any, seat: int | None) -> Table:
    """The table as `seat` may see it; None shows everything."""
    hands = [pile([CARDS[card]], shown=seat in (None, who)) for who, card in enumerate(state.card.tolist())]
    bets = " ".join(".pb"[bet] for bet in state.bets[: state.played].tolist())
    return laid_out((f"bets {bets}",), tuple(place(f"seat {who}", [hand], seat=who) for who, hand in enumerate(hands)))


def piles(options: Options, state: Any) -> dict[str, list[int]]:
    """Where every card lies."""
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
    bots=(RANDOM_BOT,),
    action_str=action_str,
    table=table,
    piles=piles,
    events=EVENTS,
    private=("card",),
    deck_size=lambda options: 3,
    reward_range=lambda options: (-2.0, 2.0),
    zero_sum=lambda options: True,
    card_name=CARDS.__getitem__,
    card_number=card_number,
)
