"""What a seat sees of Twenty-One, and redrawing what it does not (§2)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules import rng
from ..core.rules.record import field
from .bank import ends_bank, limit, round_cap
from .state import (
    ACT,
    DECISION_PHASES,
    EVERYBODY,
    LARGEST_MONEY,
    MOST_CARDS,
    NEW_BANKER,
    NUM_CARDS,
    NUM_STATUSES,
    STOOD,
    TARGET,
    Episode,
    Options,
    PassBank,
    State,
)
from .stock import sees
from .valuation import (
    best_of,
    best_total,
    counted,
    counts_fifteen,
    first_card_trades,
    is_five_figures,
    is_royal,
    low_total,
    must_stop_at_21,
    royal_counts,
)

LOGARITHMS = np.array([math.log1p(coins) for coins in range(4096)])
"""Of everyday amounts; a table is several times as fast as the function."""

TRIES = 64
"""Determinizations drawn until one agrees with all that is known; beyond that the last is mended by exchanging
cards."""
MIXING = 128
"""Exchanges made in a mended determinization, so that it does not betray how it was mended."""
MOST_EXCHANGES = 1_000_000
"""A determinization that takes more to mend contradicts the rules: an error here."""
WORSENING = 16
"""While mending, one exchange in so many is kept although it makes things worse, so that no position is a dead end."""


class Observation:
    """§2: what one seat may know now. Of fields over the seats, index 0 is the observer and 1 the next to the left.
    Money is log1p(coins) / log1p(all money), and without bankrolls log1p(coins) / log1p(2**53), negative for debts."""

    hand: npt.NDArray[np.float32] = field("f4", NUM_CARDS, "1 for each of my cards", suits=0)
    first_card: npt.NDArray[np.float32] = field("f4", NUM_CARDS, "1 at the first of them", suits=0)
    discards: npt.NDArray[np.float32] = field("f4", NUM_CARDS, "1 for each of the discards that I have seen", suits=0)
    banker_cards: npt.NDArray[np.float32] = field("f4", NUM_CARDS, "1 for each open card of the banker's", suits=0)
    total: npt.NDArray[np.float32] = field("f4", 2, "least and best total of my hand, in parts of 21")
    trades: npt.NDArray[np.float32] = field(
        "f4", 3, "what my hand is: a first card that may be traded, five figures, a fifteen"
    )
    banker: npt.NDArray[np.float32] = field("f4", lambda o: (o.num_players,), "1 for the banker")
    status: npt.NDArray[np.float32] = field(
        "f4", lambda o: (o.num_players, NUM_STATUSES), "status of each seat: wait, act, stood, bust, royal, out"
    )
    count: npt.NDArray[np.float32] = field("f4", lambda o: (o.num_players,), "cards of each hand, in parts of 15")
    traded: npt.NDArray[np.float32] = field("f4", lambda o: (o.num_players,), "1 where a seat has traded in this round")
    after_seven: npt.NDArray[np.float32] = field(
        "f4", lambda o: (o.num_players,), "1 where a lone eight could be traded"
    )
    stake: npt.NDArray[np.float32] = field("f4", lambda o: (o.num_players,), "own half of each stake, money")
    purse: npt.NDArray[np.float32] = field(
        "f4", lambda o: (o.num_players,), "each purse, money", low=lambda o: 0.0 if o.bankroll > 0 else -1.0
    )
    pot: float = field("f4", doc="the pot, money")
    deposit: float = field("f4", doc="what the banker put into this bank, money")
    limit: float = field("f4", doc="the most that I could bet now, money")
    min_bet: float = field("f4", doc="least opening bet, money")
    phase: npt.NDArray[np.float32] = field(
        "f4", DECISION_PHASES, "declaring, punters' turns, banker's turn, offering the bank, choosing the deposit"
    )
    my_turn: float = field("f4", doc="1 when I am to act")
    back_passing: float = field("f4", doc="1 once Back Passing is declared")
    final_round: float = field("f4", doc="1 once an eight is announced")
    round_number: float = field("f4", doc="round of the bank, in parts of the last it can have")
    bank: float = field("f4", doc="banks that have ended, in parts of those of the episode")
    asked: npt.NDArray[np.float32] = field(
        "f4", lambda o: (o.num_players,), "1 where a seat has declined the next bank, or passed it on"
    )
    my_number: npt.NDArray[np.float32] = field(
        "f4", lambda o: (o.num_players,), "1 at the number of my seat, while the bank is passed to seats by number"
    )
    stock: float = field("f4", doc="cards in the stock, in parts of 32")


@kernel
def logarithm(coins: int) -> float:
    """log1p, of amounts of 0 and more."""
    return float(LOGARITHMS[coins]) if coins < len(LOGARITHMS) else math.log1p(coins)


@kernel
def money_scale(options: Options) -> float:
    """The factor that makes 1 of the logarithm of all money. §2"""
    return 1.0 / logarithm(options.num_players * options.bankroll if options.bankroll > 0 else LARGEST_MONEY)


@kernel
def money(coins: int, scale: float) -> float:
    """An amount of money as observations show it. §2"""
    return min(1.0, logarithm(coins) * scale) if coins >= 0 else max(-1.0, -logarithm(-coins) * scale)


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """§2: my cards, open cards, and the public course of the game."""
    seats = options.num_players
    scale = money_scale(options)
    observe_cards(options, state, seat, out)
    for who in range(seats):
        index = who - seat if who >= seat else who - seat + seats
        out.status[index, state.status[who]] = 1
        out.count[index] = int(state.count[who]) / MOST_CARDS
        out.traded[index] = int(state.trades[who] > 0)
        out.after_seven[index] = state.after_seven[who]
        out.stake[index] = money(int(state.own[who]), scale)
        out.purse[index] = money(int(state.purse[who]), scale)
        out.banker[index] = int(who == int(state.banker))
        out.asked[index] = (int(state.asked) >> who) & 1
    out.pot = money(int(state.pot), scale)
    out.deposit = money(int(state.deposit), scale)
    out.limit = money(max(0, limit(options, state, seat)), scale)
    out.min_bet = money(options.min_bet, scale)
    if state.phase < DECISION_PHASES:
        out.phase[state.phase] = 1
    out.my_turn = int(state.seat == seat)
    out.back_passing = state.back_passing
    out.final_round = state.final_round
    out.round_number = int(state.round_number) / round_cap(options)
    out.bank = int(state.bank) / (options.banks if options.episode == Episode.SESSION else 1)
    if state.phase == NEW_BANKER and options.pass_bank == PassBank.CHOSEN:
        out.my_number[seat] = 1
    out.stock = (int(state.stock_size) - int(state.drawn)) / NUM_CARDS


@kernel
def observe_cards(options: Options, state: State, seat: int, out: Observation) -> None:
    """The rows of cards, and what my hand is."""
    banker = int(state.banker)
    count = int(state.count[seat])
    hand = state.cards[seat]
    for index in range(count):
        out.hand[hand[index]] = 1
    for index in range(int(state.count[banker])):
        card = int(state.cards[banker, index])
        out.banker_cards[card] = int(int(state.known[card]) == EVERYBODY)
    for index in range(int(state.discarded)):
        card = int(state.discards[index])
        out.discards[card] = int(sees(state, seat, card))
    if count == 0:
        return
    out.first_card[hand[0]] = 1
    low, has_chantal = counted(options, hand, count)
    out.total[0] = low / TARGET
    out.total[1] = best_of(low, has_chantal) / TARGET
    if count == 1:
        out.trades[0] = int(first_card_trades(options, int(hand[0]), int(state.after_seven[seat]) == 1))
    else:
        out.trades[1] = int(options.trade_five_figures and is_five_figures(hand, count))
        out.trades[2] = int(options.trade_fifteen and counts_fifteen(options, low, has_chantal))


# Hidden cards. A place is a number: `seat * MOST_CARDS + index` in a hand, from DISCARDS on in the discards, from STOCK
# on in the stock.

DISCARDS = 256
STOCK = DISCARDS + NUM_CARDS


class Hidden(NamedTuple):
    """The n places that are hidden from a seat, filled earliest first."""

    places: npt.NDArray[np.int64]
    """[n]"""
    origins: npt.NDArray[np.int64]
    """[n] the shuffles that they were filled from."""
    marks: npt.NDArray[np.int64]
    """[n] who else knows the card there (times 2), and whether the banker was silent about it (plus 1)."""
    unseen: npt.NDArray[np.int64]
    """[n] their cards, ascending."""


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """§2: deal again all cards that `seat` cannot place to the places that are hidden from it.

    Every determinization that agrees with what the seat knows is equally likely. That is: the cards it has seen;
    discards that it saw before they were shuffled lie in no place filled before that; a hand that was played on was no
    royal, not bust, and not 21 where that ends a turn; the banker's silence. A chosen stand and the one on 21 are
    announced alike. Should TRIES determinizations contradict that, the last of them is mended, and the determinizations
    are nearly equally likely. Not kept: what silence said of a card shuffled since.
    """
    sort_discards(state, seat)
    hidden = hidden_places(options, state, seat)
    key = draw_determinization(state, seat, key, hidden)
    tries = 1
    while contradictions(options, state, seat, hidden) > 0 and tries < TRIES:
        key = draw_determinization(state, seat, key, hidden)
        tries += 1
    mend(options, state, seat, key, hidden)
    for index in range(len(hidden.places)):
        card, mark = card_at(state, hidden.places[index]), hidden.marks[index]
        state.known[card] = mark >> 1
        state.origin[card] = hidden.origins[index]
        state.silent = (int(state.silent) & ~(1 << card)) | ((mark & 1) << card)
    # What others know of earlier shuffles can depend on cards that only they have seen.
    for other in range(options.num_players):
        if other != seat:
            for card in range(NUM_CARDS):
                state.cleared[other, card] = state.cleared[seat, card]


@kernel
def sort_discards(state: State, seat: int) -> None:
    """§2: the discards that a seat has seen come first, in the order of their numbers: it was shown them as sets, and
    may not know who drew which of them first."""
    seen = 0
    for index in range(int(state.discarded)):
        card = int(state.discards[index])
        if sees(state, seat, card):
            for place in range(index, seen, -1):
                state.discards[place] = state.discards[place - 1]
            slot = seen
            while slot > 0 and state.discards[slot - 1] > card:
                state.discards[slot] = state.discards[slot - 1]
                slot -= 1
            state.discards[slot] = card
            seen += 1


@kernel
def hidden_places(options: Options, state: State, seat: int) -> Hidden:
    """The places that are hidden from a seat, and their cards."""
    places, origins = np.empty(NUM_CARDS, np.int64), np.empty(NUM_CARDS, np.int64)
    marks, unseen = np.empty(NUM_CARDS, np.int64), np.empty(NUM_CARDS, np.int64)
    size = 0
    for owner in range(options.num_players):
        for index in range(int(state.count[owner])):
            places[size] = owner * MOST_CARDS + index
            size += int(not sees(state, seat, int(state.cards[owner, index])))
    for index in range(int(state.discarded)):
        places[size] = DISCARDS + index
        size += int(not sees(state, seat, int(state.discards[index])))
    for index in range(int(state.drawn), int(state.stock_size)):
        places[size] = STOCK + index
        size += 1
    hidden = 0
    for index in range(size):
        place = places[index]
        card = card_at(state, place)
        hidden |= 1 << card
        origin = int(state.origin[card])
        slot = index
        while slot > 0 and origins[slot - 1] > origin:
            origins[slot], places[slot], marks[slot] = origins[slot - 1], places[slot - 1], marks[slot - 1]
            slot -= 1
        origins[slot] = origin
        places[slot] = place
        marks[slot] = 2 * int(state.known[card]) + ((int(state.silent) >> card) & 1)
    count = 0
    for card in range(NUM_CARDS):
        if (hidden >> card) & 1:
            unseen[count] = card
            count += 1
    return Hidden(places[:size], origins[:size], marks[:size], unseen[:size])


@kernel
def card_at(state: State, place: int) -> int:
    """The card that lies in a place."""
    if place >= STOCK:
        return int(state.stock[place - STOCK])
    if place >= DISCARDS:
        return int(state.discards[place - DISCARDS])
    return int(state.cards[place // MOST_CARDS, place % MOST_CARDS])


@kernel
def put(state: State, place: int, card: int) -> None:
    """Lay a card into a place."""
    if place >= STOCK:
        state.stock[place - STOCK] = card
    elif place >= DISCARDS:
        state.discards[place - DISCARDS] = card
    else:
        state.cards[place // MOST_CARDS, place % MOST_CARDS] = card


@kernel
def draw_determinization(state: State, seat: int, key: np.uint64, hidden: Hidden) -> np.uint64:
    """Deal the unseen cards to the places. Those filled earliest come first: what later shuffles brought cannot lie
    there."""
    pool = np.empty(NUM_CARDS, np.int64)
    left, added, origins = 0, 0, hidden.origins
    for index in range(len(origins)):
        if index == 0 or origins[index] > origins[index - 1]:
            for card in hidden.unseen:
                if not (added >> card) & 1 and int(state.cleared[seat, card]) <= origins[index]:
                    added |= 1 << card
                    pool[left] = card
                    left += 1
        key, chosen = rng.below(key, left)
        left -= 1
        put(state, hidden.places[index], pool[chosen])
        pool[chosen] = pool[left]
    return key


@kernel
def contradictions(options: Options, state: State, seat: int, hidden: Hidden) -> int:
    """How far the determinization is from agreeing with the course of the round; 0 where it agrees."""
    found = 0
    for owner in range(options.num_players):
        if owner != seat and (state.status[owner] == ACT or state.status[owner] == STOOD):
            found += hand_contradictions(options, state, owner)
    for index in range(len(hidden.marks)):
        if hidden.marks[index] & 1:
            found += 2 * int(ends_bank(card_at(state, hidden.places[index])))
    return found


@kernel
def hand_contradictions(options: Options, state: State, owner: int) -> int:
    """Points beyond 21, and cards drawn after a turn would have been over. §1.5"""
    hand = state.cards[owner]
    count = int(state.count[owner])
    found = max(0, low_total(options, hand, count) - TARGET)
    if is_royal(options, hand, min(2, count)) and royal_counts(options, state, owner):
        found += 1
    if must_stop_at_21(options, state, owner):
        deciding = int(state.seat) == owner and state.phase != NEW_BANKER
        played_on = count if deciding else count - 1
        for held in range(2, played_on + 1):
            found += int(best_total(options, hand, held) == TARGET)
    return found


@kernel
def mend(options: Options, state: State, seat: int, key: np.uint64, hidden: Hidden) -> None:
    """Exchange cards between places until nothing is contradicted, then some more, keeping it so."""
    places, origins, size = hidden.places, hidden.origins, len(hidden.places)
    found = contradictions(options, state, seat, hidden)
    mixing = MIXING if found > 0 else 0
    exchanges = 0
    while mixing > 0:
        exchanges += 1
        assert exchanges < MOST_EXCHANGES
        key, first = rng.below(key, size)
        key, second = rng.below(key, size)
        key, chance = rng.below(key, WORSENING)
        one, other = card_at(state, places[first]), card_at(state, places[second])
        if int(state.cleared[seat, one]) > origins[second] or int(state.cleared[seat, other]) > origins[first]:
            continue
        put(state, places[first], other)
        put(state, places[second], one)
        now = contradictions(options, state, seat, hidden)
        if now <= found or (found > 0 and chance == 0):
            mixing -= int(now == 0 and found == 0)
            found = now
        else:
            put(state, places[first], one)
            put(state, places[second], other)
