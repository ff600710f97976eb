"""What the seats of Twenty-One learn besides the actions that they see, and the cards yet to be drawn.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import OVER
from ..core.compile.kernel import kernel
from ..core.rules.events import EVERYBODY, NOBODY, OWN, Events, Kind, Log, all_but, tell
from ..core.rules.tricks import lowest_card
from .state import (
    BANKER,
    BET_MIN,
    BET_POT,
    DECLARE,
    ENDED_BY_KING,
    MOST_CARDS,
    MOST_DECISIONS,
    NEW_BANKER,
    NUM_CARDS,
    PUNTERS,
    STAND,
    STOOD,
    Episode,
    Options,
    State,
)
from .state import EVERYBODY as OPEN

RESHUFFLED, DRAWS, SHOWS, STANDS, WINS, LOSES = range(OWN, OWN + 6)
KINDS = (
    Kind("discards shuffled", "The stock was used up, and the discards are the new one (§1.4).", "nothing"),
    Kind("draws", "A seat learns the card that it is dealt or draws (§1.4, §1.5).", "card"),
    Kind(
        "shows",
        "Everybody sees cards of a seat, in the order of their numbers: a hand that is traded, royal or bust, what the "
        "banker draws or announces, and the banker's hand when stakes are settled (§1.4, §1.5, §1.6, §1.7).",
        "card",
    ),
    Kind("stands", "A seat's turn is over: it stands by choice, or a punter has 21 (§1.5, §2).", "nothing"),
    Kind("wins", "A punter's stake wins (§1.5, §1.7).", "nothing"),
    Kind("loses", "A punter's stake goes to the pot (§1.5, §1.7).", "nothing"),
)


@kernel
def tell_deal(options: Options, state: State, log: Log) -> None:
    """§1.4: what has been dealt from a new stock. If the discards are that stock, all cards dealt of it are new, and
    those that lie in the discards now."""
    reshuffled = state.shuffles > 0
    if reshuffled:
        tell(log, EVERYBODY, RESHUFFLED, NOBODY, 0)
    elif state.drawn == 0:
        return
    over = state.seat == OVER or state.phase == NEW_BANKER
    for seat in range(options.num_players):
        drawn = 0
        for index in range(int(state.count[seat])):
            card = int(state.cards[seat, index])
            if state.origin[card] == state.shuffles:
                tell(log, seat, DRAWS, seat, card)
                drawn += 1
        if reshuffled and drawn > 0 and seat != state.banker and state.status[seat] == STOOD:
            tell(log, EVERYBODY, STANDS, seat, 0)
        hand = held(state, seat)
        if not over:  # what is older and open lay open before
            hand &= ~older(state)
        tell_cards(log, seat, hand & open_cards(state, 0))
    tell_cards(log, NOBODY, discarded(state, 0) & open_cards(state, 0))


@kernel
def tell_step(options: Options, before: State, state: State, action: int, log: Log) -> None:
    """§1.4 to §1.7: cards are drawn and turned up, stakes are settled, and another round may be dealt."""
    if before.phase == DECLARE and state.drawn == before.drawn:
        return
    seat = int(before.seat)
    if action == STAND or (before.phase == PUNTERS and state.status[seat] == STOOD):
        tell(log, all_but(seat) if action == STAND else EVERYBODY, STANDS, seat, 0)  # a seat knows its own action
    if before.phase != DECLARE and hand_goes_on(before, state):
        if state.drawn != before.drawn:
            tell(log, seat, DRAWS, seat, int(state.cards[seat, int(state.count[seat]) - 1]))
        if before.phase == BANKER:
            tell_cards(log, seat, open_of(state, held(state, seat)) & ~open_of(before, held(before, seat)))
        return
    if state.bank == before.bank or state.result != ENDED_BY_KING:
        for who in range(options.num_players):
            staked = before.own[who] > 0 or (who == seat and BET_MIN <= action <= BET_POT)
            if staked and state.own[who] == 0:
                tell(log, EVERYBODY, WINS if state.purse[who] > before.purse[who] else LOSES, who, 0)
    earlier = min(int(before.discarded), int(state.discarded))  # discards, which stay as they lie
    fresh, lying = open_cards(state, earlier) & ~open_cards(before, earlier), 0
    for who in range(options.num_players):
        had, has = held(before, who), held(state, who)
        if has & ~had:
            tell_new(state, who, has & ~had, log)
        tell_cards(log, who, fresh & (had | has))
        lying |= had | has
    tell_cards(log, seat, fresh & ~lying)  # drawn, and discarded at once with the hand


def secret(options: Options, action: int) -> bool:
    """§2: others see that a seat stands, and not whether it chose to."""
    return action == STAND


@kernel
def hand_goes_on(before: State, state: State) -> bool:
    """Whether an action had no more effect than a card drawn, or none, and the banker's turned up. This is only for
    speed."""
    punting = state.seat >= 0 and (state.phase == PUNTERS or state.phase == BANKER)
    return bool(punting and state.round_number == before.round_number and state.discarded == before.discarded)


@kernel
def held(state: State, seat: int) -> int:
    """The set of cards in a hand."""
    found = 0
    for index in range(int(state.count[seat])):
        found |= 1 << int(state.cards[seat, index])
    return found


@kernel
def discarded(state: State, first: int) -> int:
    """The set of cards in the discards, from number `first` on."""
    found = 0
    for index in range(first, int(state.discarded)):
        found |= 1 << int(state.discards[index])
    return found


@kernel
def open_cards(state: State, first: int) -> int:
    """The set of cards that observations show to everybody: the open ones of the banker's hand and of the discards,
    from number `first` on."""
    return open_of(state, held(state, int(state.banker)) | discarded(state, first))


@kernel
def open_of(state: State, cards: int) -> int:
    """Those of a set of cards that lie open."""
    found = 0
    while cards:
        card = lowest_card(cards)
        found |= int(int(state.known[card]) == OPEN) << card
        cards &= cards - 1
    return found


@kernel
def older(state: State) -> int:
    """The set of cards that were not in the stock when it was last shuffled."""
    found = 0
    for card in range(NUM_CARDS):
        found |= int(state.origin[card] != state.shuffles) << card
    return found


@kernel
def tell_new(state: State, seat: int, cards: int, log: Log) -> None:
    """§1.4, §1.5: a seat takes up cards."""
    for index in range(int(state.count[seat])):
        card = int(state.cards[seat, index])
        if (cards >> card) & 1:
            tell(log, seat, DRAWS, seat, card)


@kernel
def tell_cards(log: Log, who: int, cards: int) -> None:
    """Show everybody a set of cards of a seat, in the order of their numbers."""
    while cards:
        tell(log, EVERYBODY, SHOWS, who, lowest_card(cards))
        cards &= cards - 1


@kernel
def stock(options: Options, state: State, out: npt.NDArray[np.int64]) -> int:
    """`GameType.stock`: the stock of a round, top card first. §1.4"""
    if state.phase != DECLARE and state.phase != PUNTERS and state.phase != BANKER:
        return 0
    left = int(state.stock_size) - int(state.drawn)
    for index in range(left):
        out[index] = state.stock[int(state.drawn) + index]
    return left


def most(options: Options) -> int:
    """An action, each stake settled, a turn that ends, a card drawn, a round dealt; it may take as many shuffles as
    cards. A card is turned up once before the next shuffle of it, and each shuffle comes when the stock is used up."""
    drawn = 1 + options.num_players
    return 1 + options.num_players + 1 + 3 * drawn + 2 * NUM_CARDS + drawn


def length(options: Options) -> int:
    """Each decision brings its action, and at most a card drawn, a shuffle and the end of a turn; each round a card to
    each seat, settled stakes, and a shuffle before each of these cards. A card is turned up once after it is drawn.

    Hands can be traded again and again, and only the bound on decisions ends that (§3).
    """
    rounds = min(options.rounds, options.max_rounds) if options.episode == Episode.FIXED_ROUNDS else options.max_rounds
    rounds = 1 if options.episode == Episode.FINAL_ROUND else rounds
    banks = options.banks if options.episode == Episode.SESSION else 1
    rounds, decisions = min(rounds * banks, MOST_DECISIONS), MOST_DECISIONS
    trades = options.trade_seven or options.trade_five_figures or options.trade_fifteen
    if not trades:
        decisions = min(decisions, (1 + options.num_players * MOST_CARDS) * rounds + banks * (options.num_players + 1))
    return 4 * decisions + 4 * options.num_players * rounds


EVENTS = Events(KINDS, deal=tell_deal, step=tell_step, secret=secret, most=most, length=length)
