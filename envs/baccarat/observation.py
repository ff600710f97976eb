"""What a seat of baccarat sees, and what it may imagine of the rest. The § marks are README.md's paragraphs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules import rng
from ..core.rules.record import field
from .bets import DUST, has_purses, legal_bets, level_of, money, side_of
from .coup import cards_used, hands_are_declared, place_value, two_cards
from .state import (
    BANK,
    BANKER_TURN,
    BETTING,
    COUP,
    NATURAL,
    NO_BET,
    NUM_ACTIONS,
    NUM_LEVELS,
    NUM_SIDES,
    PLAYER,
    PLAYER_TURN,
    SHOWN,
    STOOD,
    BankerSees,
    Mode,
    Options,
    State,
    most_coups,
    num_seats,
)

MONEY_DIGITS = 4  # an observation's numbers go up to 255: money is written in base 256


class Observation:
    """§4: what one seat may know now. Index 0 of a row of seats is me, the others follow clockwise."""

    phase: npt.NDArray[np.uint8] = field(
        "u1", 4, "betting, the Player hand, the Banker hand, cards turned up: one of them is 1"
    )
    my_turn: int = field("u1", doc="1 when I am to act")
    my_seat: npt.NDArray[np.uint8] = field("u1", lambda o: (num_seats(o),), "my seat's number is 1")
    hand: npt.NDArray[np.uint8] = field(
        "u1", (2, 2, 10), "values of the first two cards of the Player hand, of the Banker hand, as far as I see them"
    )
    total: npt.NDArray[np.uint8] = field("u1", (2, 10), "and their totals")
    third: npt.NDArray[np.uint8] = field(
        "u1", 11, "value of the Player's third card, 10 where the Player stood; all 0 before"
    )
    remaining: npt.NDArray[np.uint8] = field(
        "u1",
        10,
        "cards of each value that I have not seen; all 0 with `decks` inf",
        high=lambda o: max(1, 16 * o.decks),
    )
    bet: npt.NDArray[np.uint8] = field(
        "u1",
        lambda o: (o.num_bettors, 1 + NUM_SIDES),
        "each seat's bet of this coup, as far as it shows: none, PLAYER, BANK, TIE",
    )
    stake: npt.NDArray[np.uint8] = field("u1", lambda o: (o.num_bettors, NUM_LEVELS), "and its level")
    money: npt.NDArray[np.uint8] = field(
        "u1",
        lambda o: (o.num_bettors, MONEY_DIGITS),
        "what each seat has, in whole units of base 256; all 0 without purses",
        high=255,
    )
    in_debt: npt.NDArray[np.uint8] = field(
        "u1", lambda o: (o.num_bettors,), "1 where that is what a bank could not pay, and owes"
    )
    participant: npt.NDArray[np.uint8] = field(
        "u1", lambda o: (o.num_bettors,), "who handles the Player hand, once bets are placed"
    )
    bank: npt.NDArray[np.uint8] = field("u1", lambda o: (o.num_bettors,), "who has the rotating bank")
    winner: npt.NDArray[np.uint8] = field(
        "u1", 3, "who won the latest coup: Player, Banker, tie; all 0 before the first"
    )
    coup: int = field("u1", doc="coups finished", high=most_coups)


@kernel
def hand_of(options: Options, state: State, seat: int) -> int:
    """§4: the hand that a seat handles in this coup: 0 the Player's, 1 the Banker's, -1 none."""
    if options.mode == Mode.CHEMIN:
        return seat
    return PLAYER if state.phase != BETTING and seat == state.participant else -1


@kernel
def seen_places(options: Options, state: State, seat: int) -> int:
    """§1.5, §4: which of the coup's six places a seat has seen, as bits."""
    if state.phase == BETTING:
        return 0
    if state.phase == SHOWN:
        return (1 << cards_used(state)) - 1
    hand = hand_of(options, state, seat)
    third = 1 << 4 if state.phase == BANKER_TURN and state.player_drew else 0
    if hands_are_declared(options):
        return 0b1111 | third
    if hand < 0 or (hand == BANK and options.banker_sees == BankerSees.TOTAL):
        return third
    return 0b101 << hand | third


@kernel
def bet_shows(options: Options, state: State, seat: int, who: int) -> bool:
    """§4: whether `seat` knows the bet of `who`: its own, and all once they are placed."""
    if state.phase != BETTING:
        return True
    return who < state.seat and (who == seat or options.bets_public)


@kernel
def cards_of(options: Options, points: int) -> int:
    """§1.1: how many cards of a value the packs have."""
    return (4 if points == 0 else 1) * options.suits * options.decks


@kernel
def observe(options: Options, state: State, seat: int, out: Observation) -> None:
    """§4: the hands as far as I see them, the Player's third card, what is left of each value, and bets once they
    show."""
    out.phase[state.phase] = 1
    out.my_turn = int(state.seat == seat)
    out.my_seat[seat] = 1
    seen = seen_places(options, state, seat)
    for hand in range(2):
        if (seen >> hand) & 1:
            out.hand[hand, 0, place_value(state, hand)] = 1
            out.hand[hand, 1, place_value(state, hand + 2)] = 1
        if (seen >> hand) & 1 or hand == hand_of(options, state, seat):
            out.total[hand, two_cards(state, hand)] = 1
    if state.phase == BANKER_TURN or (state.phase == SHOWN and state.player_drew):
        out.third[place_value(state, 4) if state.player_drew else STOOD] = 1
    if options.decks > 0:
        for points in range(10):
            out.remaining[points] = cards_of(options, points) - int(state.exposed[points])
        for place in range(COUP):
            if (seen >> place) & 1:
                out.remaining[place_value(state, place)] -= 1
    if state.winner > 0:
        out.winner[int(state.winner) - 1] = 1
    out.coup = state.coup
    if options.mode != Mode.CHEMIN:
        observe_bets(options, state, seat, out)


@kernel
def observe_bets(options: Options, state: State, seat: int, out: Observation) -> None:
    """§4: bets, who handles the Player hand, who has the bank, and what everybody has."""
    for index in range(options.num_bettors):
        who = (seat + index) % options.num_bettors
        bet = int(state.bets[who])
        if bet_shows(options, state, seat, who):
            out.bet[index, 0 if bet == NO_BET else 1 + side_of(bet)] = 1
            if bet != NO_BET:
                out.stake[index, level_of(bet)] = 1
        out.participant[index] = int(who == state.participant)
        out.bank[index] = int(who == state.banker)
        if has_purses(options):
            observe_money(options, state, who, index, out)


@kernel
def observe_money(options: Options, state: State, who: int, index: int, out: Observation) -> None:
    """§2.5: what a seat has, or owes, without fractions of a unit."""
    exact = money(options, state, who)
    out.in_debt[index] = int(exact < -DUST)
    left = int(abs(exact) + DUST)
    for digit in range(MONEY_DIGITS - 1, -1, -1):
        out.money[index, digit] = left % 256
        left //= 256


@kernel
def possible(options: Options, state: State, banker_total: int) -> bool:
    """§4: whether the two hands could have led here. `banker_total` is what the seat knows of the Banker's, -1 for
    nothing."""
    if state.phase == BETTING or state.phase == SHOWN:
        return True
    player, banker = two_cards(state, PLAYER), two_cards(state, BANK)
    if player >= NATURAL or banker >= NATURAL or (banker_total >= 0 and banker != banker_total):
        return False
    if options.chemin_player_free:
        return True
    if state.phase == PLAYER_TURN:
        return player == 5
    return player <= 5 if state.player_drew else player >= 5


@kernel
def name_alike(options: Options, state: State, seen: int) -> None:
    """§1.1: several packs hold a card several times, and nobody sees from which of them it came: those that have been
    seen become the first ones of their kind, in the order of dealing."""
    if options.decks < 2:
        return
    first, pack = int(state.first), 13 * options.suits
    met = np.zeros(pack, np.int64)
    for place in range(min(first + COUP, state.shoe.shape[0])):
        if place < first or (seen >> (place - first)) & 1:
            card = int(state.shoe[place]) % pack
            state.shoe[place] = card + pack * met[card]
            met[card] += 1


@kernel
def redraw(options: Options, unseen: npt.NDArray[np.uint16], size: int, count: int, key: np.uint64) -> np.uint64:
    """The first `count` of `size` unseen cards become a random sample; with `decks` inf, cards drawn again from a whole
    pack each."""
    if options.decks == 0:
        for index in range(count):
            key, unseen[index] = rng.below(key, 52)
        return key
    return rng.draw(key, unseen, size, count)


@kernel
def determinize(options: Options, state: State, seat: int, key: np.uint64) -> None:
    """§4: draw again the hands that `seat` does not look at, until they could have led here; cards to come; bets that
    do not show."""
    state.asked = 1  # whoever is to act decides now; whether the Player did before, the Banker may not know
    name_alike(options, state, seen_places(options, state, seat))
    if state.phase == BETTING and not options.bets_public:
        key = redraw_bets(options, state, seat, key)
    seen = seen_places(options, state, seat)
    unseen = np.empty(13 * options.suits * max(1, options.decks), np.uint16)
    size = gather_unseen(options, state, seen, unseen)
    sees_total = options.banker_sees == BankerSees.TOTAL and options.mode == Mode.CHEMIN and seat == BANK
    banker_total = two_cards(state, BANK) if sees_total else -1
    first, hidden = int(state.first), 0
    for place in range(4):
        hidden += 1 - ((seen >> place) & 1)
    waiting = True
    while waiting:
        key = redraw(options, unseen, size, hidden, key)
        taken = 0
        for place in range(4):
            if (seen >> place) & 1 == 0:
                state.shoe[first + place] = unseen[taken]
                taken += 1
        waiting = not possible(options, state, banker_total)
    rest = unseen[hidden:]
    later = 0
    for place in range(4, state.shoe.shape[0] - first):
        later += int(place >= COUP or (seen >> place) & 1 == 0)
    key = redraw(options, rest, size - hidden, later, key)
    taken = 0
    for place in range(4, state.shoe.shape[0] - first):
        if place >= COUP or (seen >> place) & 1 == 0:
            state.shoe[first + place] = rest[taken]
            taken += 1


@kernel
def gather_unseen(options: Options, state: State, seen: int, unseen: npt.NDArray[np.uint16]) -> int:
    """The cards that a seat cannot place, in ascending order; gives their number. With `decks` inf there are no such
    cards, only room."""
    if options.decks == 0:
        return 52
    gone = np.zeros(unseen.shape[0], np.bool_)
    for place in range(int(state.first)):
        gone[state.shoe[place]] = True
    for place in range(COUP):
        if (seen >> place) & 1:
            gone[state.shoe[int(state.first) + place]] = True
    count = 0
    for card in range(unseen.shape[0]):
        if not gone[card]:
            unseen[count] = card
            count += 1
    return count


@kernel
def redraw_bets(options: Options, state: State, seat: int, key: np.uint64) -> np.uint64:
    """Bets placed unseen become any that were legal, each as likely."""
    bets = np.zeros(NUM_ACTIONS, np.int8)
    for who in range(options.num_bettors):
        if who != seat and who < state.seat:
            count = legal_bets(options, state, who, bets)
            sits_out = int(options.allow_no_bet or count == 0)
            key, number = rng.below(key, count + sits_out)
            number += 1 - sits_out  # 0 is no bet, and the bets follow from 1
            bet = NO_BET
            while number > 0:
                bet += 1
                number -= int(bets[bet])
            state.bets[who] = bet
    return key
