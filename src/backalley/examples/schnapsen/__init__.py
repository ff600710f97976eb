"""Schnapsen, a whole game in one file: two seats, 20 cards, a stock to draw from, marriages, and a stock that may be
closed. `docs/guides/games.md` goes through this file from the text of the rules to a table in a browser.

The § are those of README.md beside this file; `vectors.toml` holds them as cases. `backalley.examples.leduc` is a
smaller game of this form.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import GameType
from backalley.envs.core.game.kernels import CHANCE, OVER, Bot, Kernels, kernel
from backalley.envs.core.rules import rng
from backalley.envs.core.rules.cards import count_bits, list_set
from backalley.envs.core.rules.events import EVERYBODY, NOBODY, OWN, Events, Kind, Log, tell
from backalley.envs.core.rules.options import option
from backalley.envs.core.rules.record import field
from backalley.envs.core.rules.table import Table, laid_out, pile, place, trick

RANKS, SUITS = 5, 4
PACK = RANKS * SUITS
CARDS = tuple(f"{rank}{suit}" for suit in "CDHS" for rank in "JQKTA")  # numbered from 0: suit * 5 + rank, §1.1
VALUES = (2, 3, 4, 10, 11)  # of jack, queen, king, ten, ace, §1.1
JACK, QUEEN, KING = 0, 1, 2  # ranks
HAND, STOCK = 5, 9  # the cards of a hand, and those face down in the stock, §1.2
ALL, OF_A_SUIT = (1 << PACK) - 1, (1 << RANKS) - 1  # sets of cards
MARRY, EXCHANGE, CLOSE = PACK, PACK + 2 * SUITS, PACK + 2 * SUITS + 1  # actions; those below MARRY play a card
ACTIONS = CLOSE + 1
TO_WIN, HALF = 66, 33  # points, §1.7


class Options(NamedTuple):
    """§2: what can be agreed."""

    first: Annotated[int, option("who leads to the first trick, §1.2", low=0, high=1)] = 0
    closing: Annotated[bool, option("the stock may be closed, §1.6")] = True


class State:
    """Everything on the table. A set of cards is the bits of a whole number."""

    seat: int = field("i1", doc="who acts; -1 a shuffled pack is wanted, -2 over")
    reward: npt.NDArray[np.float32] = field("f4", 2, "what each seat gained by the latest action, in game points")
    hand: npt.NDArray[np.int64] = field("i8", 2, "the seats' cards, a set each")
    stock: npt.NDArray[np.int8] = field("i1", STOCK, "the cards face down, the next first; 0 where one was drawn")
    drawn: int = field("i1", doc="cards drawn from the stock")
    turned_up: int = field("i1", doc="the card that lies face up under the stock, drawn last")
    trump: int = field("i1", doc="the suit of trumps")
    led: int = field("i1", doc="the card that was led to the present trick, -1 before that")
    played: int = field("i8", doc="all cards that have been played, a set")
    known: npt.NDArray[np.int64] = field("i8", 2, "the cards in each hand that both seats have seen")
    cannot: npt.NDArray[np.int64] = field("i8", 2, "the cards that a seat showed not to have by how it followed")
    points: npt.NDArray[np.int16] = field("i2", 2, "points of tricks and marriages")
    pending: npt.NDArray[np.int16] = field("i2", 2, "points of marriages that wait for a trick")
    tricks: npt.NDArray[np.int8] = field("i1", 2, "tricks won")
    closed_by: int = field("i1", doc="who closed the stock, -1 nobody")
    stake: int = field("i1", doc="the game points that the closing seat wins if it does what it said")


class Observation:
    """What a seat may know; seats are turned so that 0 is the seat itself."""

    hand: npt.NDArray[np.uint8] = field("u1", PACK, "1 for each of my cards")
    played: npt.NDArray[np.uint8] = field("u1", PACK, "1 for each card that has been played")
    led: npt.NDArray[np.uint8] = field("u1", PACK, "1 for the card led to the present trick")
    turned_up: npt.NDArray[np.uint8] = field("u1", PACK, "1 for the card under the stock, while it lies there")
    trump: npt.NDArray[np.uint8] = field("u1", SUITS, "1 for the suit of trumps")
    known: npt.NDArray[np.uint8] = field("u1", (2, PACK), "1 for each card in a hand that both have seen")
    cannot: npt.NDArray[np.uint8] = field("u1", (2, PACK), "1 for each card that a seat showed not to have")
    points: npt.NDArray[np.uint8] = field("u1", 2, "points of tricks and marriages", high=TO_WIN - 1 + 40)
    pending: npt.NDArray[np.uint8] = field("u1", 2, "points of marriages that wait for a trick", high=40)
    tricks: npt.NDArray[np.uint8] = field("u1", 2, "tricks won", high=PACK // 2)
    left: int = field("u1", doc="cards in the stock, with the one face up", high=STOCK + 1)
    closed: npt.NDArray[np.uint8] = field("u1", 2, "1 for the seat that closed the stock")
    stake: int = field("u1", doc="the game points that the closing seat wins", high=3)
    leads: int = field("u1", doc="1 if I am to lead, or have led")


# The rules -------------------------------------------------------------------------------------------------------


@kernel
def start(options: Options, state: State, start_outcome: int) -> None:
    """A game wants its pack. §1.2"""
    state.seat = CHANCE
    state.led = state.closed_by = -1


@kernel
def deal(options: Options, state: State, deck: npt.NDArray[Any]) -> None:
    """Five cards to each seat; the next is turned up, and the others are the stock. §1.2"""
    for k in range(HAND):
        state.hand[options.first] |= 1 << int(deck[k])
        state.hand[1 - options.first] |= 1 << int(deck[HAND + k])
    state.turned_up = deck[2 * HAND]
    state.trump = state.turned_up // RANKS
    for k in range(STOCK):
        state.stock[k] = deck[2 * HAND + 1 + k]
    state.seat = options.first


@kernel
def legal(options: Options, state: State, mask: npt.NDArray[np.int8]) -> None:
    """Cards that may be played; before a lead also marriages, the exchange and closing. §1.3 to §1.6"""
    hand = int(state.hand[state.seat])
    may = hand if state.led < 0 else following(state, hand)
    for card in range(PACK):
        mask[card] = may >> card & 1
    if state.led >= 0:
        return
    for suit in range(SUITS):
        both = hand >> (suit * RANKS + QUEEN) & 3
        mask[MARRY + 2 * suit] = mask[MARRY + 2 * suit + 1] = both == 3
    if is_open(state):
        mask[EXCHANGE] = hand >> (int(state.trump) * RANKS + JACK) & 1
        mask[CLOSE] = options.closing


@kernel
def is_open(state: State) -> bool:
    """Whether the stock has cards and is not closed. §1.3"""
    return state.closed_by < 0 and state.drawn <= STOCK


@kernel
def of_suit(suit: int) -> int:
    """All cards of a suit. §1.1"""
    return OF_A_SUIT << (suit * RANKS)


@kernel
def above(card: int) -> int:
    """The higher cards of a card's suit. §1.1"""
    return of_suit(card // RANKS) & ~((2 << card) - 1)


@kernel
def following(state: State, hand: int) -> int:
    """The cards of a hand that may be played to a lead. §1.4"""
    led = int(state.led)
    suited, trumps = hand & of_suit(led // RANKS), hand & of_suit(int(state.trump))
    if is_open(state):
        return hand
    if suited != 0:
        return suited & above(led) if suited & above(led) != 0 else suited
    return trumps if trumps != 0 else hand


@kernel
def step(options: Options, state: State, action: int) -> None:
    """One of the actions. §1.3 to §1.6"""
    if action == EXCHANGE:
        exchange(state)
    elif action == CLOSE:
        close(state)
    elif action >= MARRY:
        marry(state, (action - MARRY) // 2, (action - MARRY) % 2)
    else:
        play(state, action)


@kernel
def exchange(state: State) -> None:
    """The jack of trumps goes under the stock, and the card there into the hand. §1.6"""
    seat, jack, card = int(state.seat), int(state.trump) * RANKS + JACK, int(state.turned_up)
    state.hand[seat] = int(state.hand[seat]) & ~(1 << jack) | 1 << card
    state.known[seat] |= 1 << card
    state.turned_up = jack


@kernel
def close(state: State) -> None:
    """Nobody draws any more; what the other seat has now decides what a win is worth. §1.6"""
    state.closed_by = state.seat
    state.stake = worth(state, 1 - int(state.seat))


@kernel
def marry(state: State, suit: int, which: int) -> None:
    """King and queen are shown, and one of them is led. §1.5"""
    seat, queen = int(state.seat), suit * RANKS + QUEEN
    state.known[seat] |= 3 << queen
    state.pending[seat] += 40 if suit == state.trump else 20
    count_marriages(state, seat)
    if state.points[seat] >= TO_WIN:
        win(state, seat)
        return
    play(state, queen + which)


@kernel
def count_marriages(state: State, seat: int) -> None:
    """Marriages count for a seat that has won a trick. §1.5"""
    if state.tricks[seat] > 0:
        state.points[seat] += state.pending[seat]
        state.pending[seat] = 0


@kernel
def play(state: State, card: int) -> None:
    """A card is led, or ends the trick. §1.3"""
    seat, led = int(state.seat), int(state.led)
    if led >= 0 and not is_open(state):
        state.cannot[seat] |= not_there(state, led, card)
    state.hand[seat] = int(state.hand[seat]) & ~(1 << card)
    state.known[seat] = int(state.known[seat]) & ~(1 << card)
    state.played |= 1 << card
    if led < 0:
        state.led = card
        state.seat = 1 - seat
        return
    state.led = -1
    winner = seat if beats(state, card, led) else 1 - seat
    state.points[winner] += VALUES[led % RANKS] + VALUES[card % RANKS]
    state.tricks[winner] += 1
    count_marriages(state, winner)
    state.seat = winner
    if state.points[winner] >= TO_WIN:
        win(state, winner)
    elif state.hand[0] == 0 and state.hand[1] == 0:
        win(state, winner if state.closed_by < 0 else 1 - int(state.closed_by))
    elif is_open(state):
        draw(state, winner)
        draw(state, 1 - winner)


@kernel
def beats(state: State, card: int, led: int) -> bool:
    """Whether a card wins the trick against the one led. §1.3"""
    if card // RANKS == led // RANKS:
        return card > led
    return card // RANKS == state.trump


@kernel
def not_there(state: State, led: int, card: int) -> int:
    """What a seat shows not to have by a card that it plays to a lead under the strict rules. §1.4"""
    if card // RANKS == led // RANKS:
        return above(led) if card < led else 0
    shown = of_suit(led // RANKS)
    return shown if card // RANKS == state.trump else shown | of_suit(int(state.trump))


@kernel
def draw(state: State, seat: int) -> None:
    """A seat draws the next card; the last one is the card turned up, which both have seen. §1.3"""
    place = int(state.drawn)
    if place == STOCK:
        state.known[seat] |= 1 << int(state.turned_up)
        state.hand[seat] |= 1 << int(state.turned_up)
    else:
        state.hand[seat] |= 1 << int(state.stock[place])
        state.stock[place] = 0
    state.drawn = place + 1


@kernel
def worth(state: State, loser: int) -> int:
    """Game points of a win against what the other seat has. §1.7"""
    if state.tricks[loser] == 0:
        return 3
    return 2 if state.points[loser] < HALF else 1


@kernel
def win(state: State, winner: int) -> None:
    """End the game. Who closed and failed loses two, or three if the other seat had no trick then. §1.7"""
    gained = worth(state, 1 - winner)
    if state.closed_by >= 0:
        gained = max(int(state.stake), 1 if winner == state.closed_by else 2)
    state.reward[winner] += gained
    state.reward[1 - winner] -= gained
    state.seat = OVER


# What a seat may know --------------------------------------------------------------------------------------------


@kernel
def mark(cards: int, out: npt.NDArray[Any]) -> None:
    """Write 1 for each card of a set."""
    for card in range(PACK):
        out[card] = cards >> card & 1


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """The seat's own hand, and all that lies or was played face up. §4"""
    mark(int(state.hand[seat]), out.hand)
    mark(int(state.played), out.played)
    if state.led >= 0:
        out.led[state.led] = 1
    if state.drawn <= STOCK:
        out.turned_up[state.turned_up] = 1
    out.trump[state.trump] = 1
    for k in range(2):
        who = seat if k == 0 else 1 - seat
        mark(int(state.known[who]), out.known[k])
        mark(int(state.cannot[who]), out.cannot[k])
        out.points[k], out.pending[k], out.tricks[k] = state.points[who], state.pending[who], state.tricks[who]
        out.closed[k] = who == state.closed_by
    out.left, out.stake = STOCK + 1 - state.drawn, state.stake
    out.leads = (state.led < 0) == (state.seat == seat)


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """The other hand is any that it did not show not to be, all equally likely; the rest is the stock, in any order."""
    other = 1 - seat
    size, sure = count_bits(int(state.hand[other])), int(state.known[other])
    hidden = ALL & ~(int(state.hand[seat]) | int(state.played) | sure)
    if state.drawn <= STOCK:
        hidden &= ~(1 << int(state.turned_up))
    state.hand[other] = sure
    for _ in range(size - count_bits(sure)):
        key, card = one_of(key, hidden & ~int(state.cannot[other]))
        state.hand[other] |= 1 << card
        hidden &= ~(1 << card)
    for k in range(state.drawn, STOCK):
        key, state.stock[k] = one_of(key, hidden)
        hidden &= ~(1 << int(state.stock[k]))


@kernel
def one_of(key: np.uint64, cards: int) -> tuple[np.uint64, int]:
    """The key advanced, and a card of a set, each equally likely."""
    key, place = rng.below(key, count_bits(cards))
    drawn = 0
    for card in range(PACK):
        if cards >> card & 1:
            if place == 0:
                drawn = card
            place -= 1
    return key, drawn


@kernel
def stock(options: Options, state: State, out: npt.NDArray[Any]) -> int:
    """The cards face down that are yet to be drawn, the next first. §1.3"""
    if state.closed_by >= 0:
        return 0
    left = STOCK - min(STOCK, int(state.drawn))
    for k in range(left):
        out[k] = state.stock[int(state.drawn) + k]
    return left


# What a seat is shown besides the actions, for its history -------------------------------------------------------

DEALT, TURNED_UP, DREW = OWN, OWN + 1, OWN + 2


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """Each seat sees its own cards, and both the card turned up. §1.2"""
    for seat in range(2):
        for card in range(PACK):
            if int(state.hand[seat]) >> card & 1:
                tell(log, seat, DEALT, seat, card)
    tell(log, EVERYBODY, TURNED_UP, NOBODY, int(state.turned_up))


@kernel
def tell_step(options: Options, before: State, state: State, action: int, log: Log) -> None:
    """Each seat sees the card that it draws. §1.3"""
    if state.drawn > before.drawn:
        for seat in range(2):
            for card in range(PACK):
                if (int(state.hand[seat]) & ~int(before.hand[seat])) >> card & 1:
                    tell(log, seat, DREW, seat, card)


EVENTS = Events(
    (
        Kind("dealt", "A card of the reader's hand, §1.2.", "card"),
        Kind("turned up", "The card under the stock, §1.2.", "card"),
        Kind("drew", "The card that the reader drew, §1.3.", "card"),
    ),
    deal=tell_deal,
    step=tell_step,
    most=lambda options: 1 + 2 * HAND + 1,  # an action and the next deal, or two draws
    length=lambda options: HAND + 1 + HAND + PACK + 2,  # the deal, draws, cards played, an exchange, closing
)


# A player --------------------------------------------------------------------------------------------------------


@kernel
def thrifty(options: Options, shown: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Exchange and marry at once, trumps first; win what is worth a card, and otherwise play the lowest. §5"""
    if mask[EXCHANGE]:
        return EXCHANGE
    trump, led = 0, -1
    for suit in range(SUITS):
        trump = suit if shown.trump[suit] else trump
    for k in range(SUITS):
        action = MARRY + 2 * ((trump + k) % SUITS)
        if mask[action]:
            return action
    for card in range(PACK):
        led = card if shown.led[card] else led
    strict = shown.left == 0 or shown.closed[0] or shown.closed[1]
    best, found = -100, 0
    for card in range(PACK):
        value, is_trump = VALUES[card % RANKS], card // RANKS == trump
        score = value if led < 0 and strict else -value - 12 * is_trump
        if led >= 0:
            wins = card > led if card // RANKS == led // RANKS else is_trump
            prize = VALUES[led % RANKS]
            score = prize + value - 12 * is_trump if wins and (prize >= 10 or not is_trump) else score
        if mask[card] and score > best:
            best, found = score, card
    return found


# In words --------------------------------------------------------------------------------------------------------


def action_str(options: Options, action: int) -> str:
    """`play QS`, `marry QS`, `exchange`, `close`."""
    if action < MARRY:
        return f"play {CARDS[action]}"
    if action < EXCHANGE:
        suit, which = divmod(action - MARRY, 2)
        return f"marry {CARDS[suit * RANKS + QUEEN + which]}"
    return "exchange" if action == EXCHANGE else "close"


def card_number(name: str) -> int:
    """Return the number of a card by its name. Raises ValueError."""
    if name.strip().upper() not in CARDS:
        raise InvalidValue(f"There is no card {name!r}; the cards are {', '.join(CARDS)}.")
    return CARDS.index(name.strip().upper())


def table(options: Options, state: Any, seat: int | None) -> Table:
    """The table as `seat` may see it; None shows everything."""
    places = []
    for who in range(2):
        cards = [CARDS[card] for card in list_set(int(state.hand[who]))]
        said = [f"{state.points[who]} points", f"tricks: {state.tricks[who]}"]
        said += [f"{state.pending[who]} wait for a trick"] if state.pending[who] else []
        said += ["closed the stock"] if state.closed_by == who else []
        places.append(place(f"seat {who}", [pile(cards, shown=seat in (None, who))], said, seat=who))
    face_down = [CARDS[card] for card in state.stock[int(state.drawn) :].tolist()]
    under = [CARDS[int(state.turned_up)]] if state.drawn <= STOCK else []
    places.append(place("stock", [pile(face_down, shown=seat is None), pile(under, "turned up")]))
    if state.led >= 0:
        places.append(trick([(1 - int(state.seat), CARDS[int(state.led)])]))
    return laid_out((f"trumps are {'CDHS'[int(state.trump)]}",), places)


def piles(options: Options, state: Any) -> dict[str, list[int]]:
    """Where every card lies."""
    lying = {f"hand {who}": list_set(int(state.hand[who])) for who in range(2)}
    lying |= {"played": list_set(int(state.played)), "stock": state.stock[int(state.drawn) :].tolist()}
    return lying | {"turned up": [int(state.turned_up)] if state.drawn <= STOCK else []}


GAME = GameType(
    module=__name__,
    name="schnapsen",
    version=0,
    title="Schnapsen",
    kernels=Kernels(start, deal, legal, step, observe, determinize),
    Options=Options,
    State=State,
    Observation=Observation,
    num_actions=ACTIONS,
    bots=(Bot("thrifty", thrifty, "Exchanges and marries at once, wins tens and aces, and saves its trumps."),),
    action_str=action_str,
    table=table,
    piles=piles,
    events=EVENTS,
    private=("hand",),
    stock=stock,
    deck_size=lambda options: PACK,
    cards_needed=lambda options: PACK,
    reward_range=lambda options: (-3.0, 3.0),
    zero_sum=lambda options: True,
    card_name=CARDS.__getitem__,
    card_number=card_number,
)
