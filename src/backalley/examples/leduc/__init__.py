"""Leduc poker, a whole game in one file: two rounds of betting and a public card.

F. Southey et al., "Bayes' bluff: opponent modelling in poker", UAI 2005. There are six cards: J, Q and K in two suits,
which never matter. Both seats put a chip into the pot, the ante, and get a card each. Then there are two rounds of
betting; after the first, a third card is turned up, the public card. In a round the seats take turns. They fold, which
is only possible after a raise and ends the game; call, which is a check where there is nothing to call; or raise, by 2
chips in the first round and by 4 in the second. A round has at most two raises. It ends when both seats have acted and
have put in as much. After the second round a pair with the public card wins, or else the higher rank; two equal ranks
share the pot.

The reward at the end is the chips that a seat won of the other's, or lost: at most 1 + 2 * 2 + 2 * 4 = 13. The ante is
one chip, so rewards are in antes, too. In equilibrium the first seat's return is -0.0856. A seat that draws its actions
uniformly loses 2.3736 to a best response, as the mean over both seats (half of NashConv).

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
from backalley.envs.core.rules.events import EVERYBODY, NOBODY, OWN, Events, Kind, Log, tell
from backalley.envs.core.rules.options import option
from backalley.envs.core.rules.record import field
from backalley.envs.core.rules.table import Table, laid_out, pile, place

RANKS, SUITS = 3, 2
PACK = RANKS * SUITS
CARDS = tuple(f"{rank}{suit}" for rank in "JQK" for suit in "SH")  # numbered from 0; the rank is card // SUITS
FOLD, CALL, RAISE = 0, 1, 2  # actions
ANTE, MOST_RAISES = 1, 2
ROUNDS, MOST_ACTIONS = 2, 4  # check, raise, raise, call


class Options(NamedTuple):
    """What can be agreed."""

    first: Annotated[int, option("who acts first in both rounds", low=0, high=1)] = 0


class State:
    """Everything on the table. Numbers are signed: the difference of two unsigned ones would wrap around."""

    seat: int = field("i1", doc="who acts; -1 a shuffled pack is wanted, -2 over")
    reward: npt.NDArray[np.float32] = field("f4", 2, "what each seat gained by the latest action, in chips")
    card: npt.NDArray[np.int8] = field("i1", 2, "each seat's card")
    public: int = field("i1", doc="the public card, face down in the first round")
    betting_round: int = field("i1", doc="0 before the public card is turned up, 1 after it")
    chips: npt.NDArray[np.int8] = field("i1", 2, "what each seat has put into the pot")
    played: int = field("i1", doc="actions so far in this round")
    raises: int = field("i1", doc="raises so far in this round")
    bets: npt.NDArray[np.int8] = field("i1", (ROUNDS, MOST_ACTIONS), "1 call or check, 2 raise, in order")


class Observation:
    """What a seat may know: its card, the public card, and everything that was done. Suits are left out."""

    card: npt.NDArray[np.uint8] = field("u1", RANKS, "1 for my card's rank")
    public: npt.NDArray[np.uint8] = field("u1", RANKS, "1 for the public card's rank, once it is turned up")
    first: int = field("u1", doc="1 if I act first in both rounds")
    bets: npt.NDArray[np.uint8] = field("u1", (ROUNDS, MOST_ACTIONS, 2), "calls (or checks) and raises in order")


# The rules -------------------------------------------------------------------------------------------------------


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """Both seats put in the ante; chance is asked for a shuffled pack."""
    state.seat = CHANCE
    state.chips[0] = state.chips[1] = ANTE


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """A card to each seat; the third is turned up after the first round."""
    state.card[0], state.card[1] = deck[0], deck[1]
    state.public = deck[2]
    state.seat = options.first


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """A call always; a fold when there is something to call; a raise while the round has fewer than two."""
    mask[CALL] = 1
    mask[FOLD] = state.raises > 0
    mask[RAISE] = state.raises < MOST_RAISES


@kernel
def step(options: Options, state: State, action: int) -> None:
    """A fold ends the game. A call ends the round, unless it is a check by the seat that acts first."""
    seat, played = int(state.seat), int(state.played)
    other = 1 - seat
    if action == FOLD:
        pay(state, other)
        return
    state.bets[state.betting_round, played] = action
    state.played = played + 1
    state.seat = other
    if action == RAISE:
        state.chips[seat] = int(state.chips[other]) + (4 if state.betting_round else 2)
        state.raises += 1
        return
    state.chips[seat] = state.chips[other]
    if played > 0:
        end_round(options, state)


@kernel
def end_round(options: Options, state: State) -> None:
    """After the first round the public card is turned up; the second leads to a showdown."""
    if state.betting_round == 1:
        pay(state, better_hand(state))
        return
    state.betting_round = 1
    state.played = state.raises = 0
    state.seat = options.first


@kernel
def better_hand(state: State) -> int:
    """The seat that wins a showdown: a pair with the public card before the higher rank; -1 for equal ranks."""
    ranks = int(state.card[0]) // SUITS, int(state.card[1]) // SUITS
    public = int(state.public) // SUITS
    if ranks[0] == ranks[1]:
        return -1
    if ranks[0] == public or ranks[1] == public:
        return 0 if ranks[0] == public else 1
    return 0 if ranks[0] > ranks[1] else 1


@kernel
def pay(state: State, winner: int) -> None:
    """End the game: the winner gets what the other seat has put in, and -1 nobody anything."""
    if winner >= 0:
        amount = int(state.chips[1 - winner])
        state.reward[winner] += amount
        state.reward[1 - winner] -= amount
    state.seat = OVER


# What a seat may know --------------------------------------------------------------------------------------------


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """The seat's own card, the public card once it is turned up, and all actions."""
    out.card[int(state.card[seat]) // SUITS] = 1
    if state.betting_round == 1:
        out.public[int(state.public) // SUITS] = 1
    out.first = seat == options.first
    for betting_round in range(ROUNDS):
        for k in range(MOST_ACTIONS):
            action = int(state.bets[betting_round, k])
            if action > 0:
                out.bets[betting_round, k, action - CALL] = 1


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """Every card that the seat cannot see is equally likely for the other seat and, face down, as the public card."""
    seen = 1 << int(state.card[seat])
    if state.betting_round == 1:
        seen |= 1 << int(state.public)
    key, state.card[1 - seat] = unseen_card(key, seen)
    if state.betting_round == 0:
        key, state.public = unseen_card(key, seen | 1 << int(state.card[1 - seat]))


@kernel
def unseen_card(key: np.uint64, seen: int) -> tuple[np.uint64, int]:
    """The key advanced, and a card that is not in a set of cards."""
    left = PACK
    for card in range(PACK):
        left -= seen >> card & 1
    key, place = rng.below(key, left)
    drawn = 0
    for card in range(PACK):
        if not seen >> card & 1:
            if place == 0:
                drawn = card
            place -= 1
    return key, drawn


@kernel
def card_kind(card: int) -> int:
    """A card's rank: suits never matter."""
    return card // SUITS


# What a seat is shown besides the actions, for its history --------------------------------------------------------

DEALT, TURNED_UP = OWN, OWN + 1
_RANKS = tuple("JQK")


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """Each seat is shown its own card."""
    for seat in range(2):
        tell(log, seat, DEALT, seat, int(state.card[seat]) // SUITS)


@kernel
def tell_step(options: Options, before: State, state: State, action: int, log: Log) -> None:
    """The public card is shown to both after the first round."""
    if state.betting_round > before.betting_round:
        tell(log, EVERYBODY, TURNED_UP, NOBODY, int(state.public) // SUITS)


EVENTS = Events(
    (
        Kind("dealt", "The rank of the reader's card.", words=_RANKS),
        Kind("turned up", "The rank of the public card.", words=_RANKS),
    ),
    deal=tell_deal,
    step=tell_step,
    most=lambda options: 3,  # an action, and the two cards of the next game
    length=lambda options: 2 + ROUNDS * MOST_ACTIONS,
)


# In words --------------------------------------------------------------------------------------------------------


def action_str(options: Options, action: int) -> str:
    """`fold`, `call`, `raise`."""
    return ("fold", "call", "raise")[action]


def card_number(name: str) -> int:
    """Return the number of a card by its name. Raises ValueError."""
    if name.strip().upper() not in CARDS:
        raise InvalidValue(f"There is no card {name!r}; the cards are {', '.join(CARDS)}.")
    return CARDS.index(name.strip().upper())


def table(options: Options, state: Any, seat: int | None) -> Table:
    """The table as `seat` may see it; None shows everything."""
    bets = ["".join(".cr"[bet] for bet in line if bet) for line in state.bets.tolist()]
    seats = [
        place(f"seat {who}", [pile([CARDS[card]], shown=seat in (None, who))], [f"{chips} in the pot"], seat=who)
        for who, (card, chips) in enumerate(zip(state.card.tolist(), state.chips.tolist(), strict=True))
    ]
    public = place("public card", [pile([CARDS[int(state.public)]], shown=seat is None or state.betting_round == 1)])
    return laid_out((f"bets {' '.join(line for line in bets if line)}".rstrip(),), (*seats, public))


def piles(options: Options, state: Any) -> dict[str, list[int]]:
    """Where every card lies."""
    dealt = [*state.card.tolist(), int(state.public)]
    return {"hands": dealt[:2], "public": dealt[2:], "rest": [card for card in range(PACK) if card not in dealt]}


GAME = GameType(
    module=__name__,
    name="leduc",
    version=0,
    title="Leduc poker",
    kernels=Kernels(start, deal, legal, step, observe, determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=3,
    bots=(RANDOM_BOT,),
    action_str=action_str,
    table=table,
    piles=piles,
    events=EVENTS,
    private=("card",),
    deck_size=lambda options: PACK,
    cards_needed=lambda options: 3,
    reward_range=lambda options: (-13.0, 13.0),
    zero_sum=lambda options: True,
    card_name=CARDS.__getitem__,
    card_number=card_number,
    card_kind=card_kind,
)
