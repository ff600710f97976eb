"""Liar's Dice with one die each, a whole game in one file: bids that climb, and a bluff that is called.

The game and its numbers are those of OpenSpiel's `liars_dice` (M. Lanctot et al., "OpenSpiel", arXiv 1908.09453): two
seats roll a die of six faces each and hide it. They bid in turn that at least so many of both dice, one or two, show a
face. A six counts as every face. A bid has to be higher than the one before: more dice, or as many of a higher face.
Instead of bidding, a seat may call the latest bid a lie; after the highest bid it has to. The call ends the game: the
bidder wins if the bid holds, and the caller if it does not.

The reward is 1 for the winner and -1 for the loser. There are 24,576 information sets: six faces times the 2^12 sets of
bids that can have been made. In equilibrium the first seat's return is -7/258, by a linear program over the sequences
of both seats. A seat that draws its actions uniformly loses 0.7807 to a best response, as the mean over both seats
(half of NashConv).

`vectors.toml` beside this file holds the rules as cases. `backalley.examples.kuhn` is a smaller game of this form.
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

SEATS, FACES = 2, 6
WILD = FACES - 1  # the six; faces are numbered from 0
BIDS = SEATS * FACES  # `(dice - 1) * FACES + face`, in rising order
LIAR = BIDS  # the action after the bids
NUM_ACTIONS = BIDS + 1
NO_BID = -1


class Options(NamedTuple):
    """What can be agreed."""

    first: Annotated[int, option("who bids first", low=0, high=1)] = 0


class State:
    """Everything on the table. Numbers are signed: the difference of two unsigned ones would wrap around."""

    seat: int = field("i1", doc="who acts; -1 a roll of the dice is wanted, -2 over")
    reward: npt.NDArray[np.float32] = field("f4", SEATS, "what each seat gained by the latest action")
    die: npt.NDArray[np.int8] = field("i1", SEATS, "the face of each seat's die, from 0")
    latest: int = field("i1", doc="the latest bid; -1: none")
    made: npt.NDArray[np.int8] = field("i1", (SEATS, BIDS), "1 for each bid that a seat has made")


class Observation:
    """What a seat may know: its die, and all bids, which came in rising order."""

    die: npt.NDArray[np.uint8] = field("u1", FACES, "1 for the face of my die")
    made: npt.NDArray[np.uint8] = field("u1", (SEATS, BIDS), "1 for each bid that I have made, and the other seat")


# The rules -------------------------------------------------------------------------------------------------------


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """Ask chance for a roll of both dice."""
    state.seat = CHANCE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """A face for each seat's die: each is drawn from all six."""
    for seat in range(SEATS):
        state.die[seat] = deck[seat]
    state.latest = NO_BID
    state.seat = options.first


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """Every higher bid; a call once there is a bid."""
    for bid in range(int(state.latest) + 1, BIDS):
        mask[bid] = 1
    mask[LIAR] = state.latest != NO_BID


@kernel
def step(options: Options, state: State, action: int) -> None:
    """A bid, and the other seat's turn; or a call, which ends the game."""
    seat = int(state.seat)
    other = 1 - seat
    if action != LIAR:
        state.made[seat, action] = 1
        state.latest = action
        state.seat = other
        return
    winner = other if holds(state, int(state.latest)) else seat
    state.reward[winner] += 1
    state.reward[1 - winner] -= 1
    state.seat = OVER


@kernel
def holds(state: State, bid: int) -> bool:
    """Whether as many dice as were bid show the face, sixes included."""
    shown = 0
    for seat in range(SEATS):
        face = int(state.die[seat])
        shown += face in (bid % FACES, WILD)
    return shown > bid // FACES


# What a seat may know --------------------------------------------------------------------------------------------


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """The seat's own die, and all bids."""
    out.die[int(state.die[seat])] = 1
    for bid in range(BIDS):
        out.made[0, bid] = state.made[seat, bid]
        out.made[1, bid] = state.made[1 - seat, bid]


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """The other die may show any face."""
    key, face = rng.below(key, FACES)
    state.die[1 - seat] = face


# What a seat is shown besides the actions, for its history --------------------------------------------------------

ROLLED = OWN
_FACES = tuple("123456")


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """Each seat is shown its own die."""
    for seat in range(SEATS):
        tell(log, seat, ROLLED, seat, int(state.die[seat]))


EVENTS = Events(
    (Kind("rolled", "The face of the reader's die.", words=_FACES),),
    deal=tell_deal,
    most=lambda options: 3,  # an action, and the two dice of the next game
    length=lambda options: 2 + BIDS,  # a die, all bids and a call
)


# In words --------------------------------------------------------------------------------------------------------


def action_str(options: Options, action: int) -> str:
    """`1-5` for one die that shows a five, `liar`."""
    return "liar" if action == LIAR else f"{action // FACES + 1}-{_FACES[action % FACES]}"


def face_number(name: str) -> int:
    """Return the number of a face by its name, 1 to 6. Raises ValueError."""
    if name.strip() not in _FACES:
        raise InvalidValue(f"There is no face {name!r}; the faces are {', '.join(_FACES)}.")
    return _FACES.index(name.strip())


def table(options: Options, state: Any, seat: int | None) -> Table:
    """The table as `seat` may see it; None shows everything."""
    bids = [action_str(options, bid) for bid in range(BIDS) if state.made[:, bid].any()]
    dice = [pile([_FACES[face]], shown=seat in (None, who)) for who, face in enumerate(state.die.tolist())]
    return laid_out(
        (f"bids {' '.join(bids)}",), tuple(place(f"seat {who}", [die], seat=who) for who, die in enumerate(dice))
    )


def piles(options: Options, state: Any) -> dict[str, list[int]]:
    """Both dice."""
    return {"dice": state.die.tolist()}


GAME = GameType(
    module=__name__,
    name="liars_dice",
    version=0,
    title="Liar's Dice",
    kernels=Kernels(start, deal, legal, step, observe, determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=NUM_ACTIONS,
    bots=(RANDOM_BOT,),
    action_str=action_str,
    table=table,
    piles=piles,
    events=EVENTS,
    private=("die",),
    deck_size=lambda options: FACES,
    cards_needed=lambda options: SEATS,
    with_replacement=lambda options: True,
    reward_range=lambda options: (-1.0, 1.0),
    zero_sum=lambda options: True,
    card_name=_FACES.__getitem__,
    card_number=face_number,
)
