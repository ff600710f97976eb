"""What a learned policy weighs an action by: numbers of the action itself, which mean the same for all suits and
seats."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...core.compile.kernel import kernel
from ...core.rules import cards, tricks
from ...core.rules.feature_rows import Numbers, start_row
from ...core.rules.tricks import JOKERS_HIGH
from ..observation import Observation, card_shown
from ..scoring import bid_value, hand_points
from ..state import BOARD, PLAY, RAINBOW, Options
from .reading import Table, above, needed, seen_table
from .weighing import chance, expectation, near, power, style_of, wins_now, worth_of_hand

NEAREST = 3
"""Players at one's left who have numbers of their own; sums and counts are over all players."""
PLACES = 5
"""Suits, in the order in which they are shown: trump, the suit led if it is another, and the rest, longest first."""
OF_TABLE, OF_SEAT, OF_SUIT, OF_CARD, OF_BID = 14, 8, 6, 22, 9
SEATS = OF_TABLE
SUITS = SEATS + NEAREST * OF_SEAT
CARD = SUITS + PLACES * OF_SUIT
BID = CARD + OF_CARD + OF_SUIT
FEATURES = BID + OF_BID
"""How many numbers an action has: those that all actions at a decision share, up to CARD, then those of a card, with
its suit's, or of a bid."""
SPENT, RISEN = 0.75, 0.6
"""Guesses that let sums tell high cards from low ones: how often somebody who holds a higher card can still use it, and
how much of a card's lowness one lower card that is out takes away. The network corrects them."""
HELD, FEW = 13.0, 4.0
"""What counts of many cards and of few are divided by: a network learns best from numbers near 1."""


@kernel
def action_features(options: Options, observation: Observation, mask: npt.NDArray[np.int8], out: Numbers) -> None:
    """Write the numbers of each legal action to its row of `out` [A, FEATURES]."""
    table, places, first = seen_table(options, observation), 0, -1
    mean, variance, worth = 0.0, 1.0, 0.0
    if observation.playing == 0:
        mean, variance = expectation(options, observation, table)
    else:
        worth = worth_of_hand(table)
    for action in range(mask.shape[0]):
        if mask[action] == 0:
            continue
        row = start_row(out, action, first, CARD)
        if first < 0:
            first = action
            describe_table(options, observation, table, row)
            for offset in range(1, min(NEAREST + 1, options.num_players)):
                describe_seat(options, observation, offset, table, row)
            places = describe_suits(table, row)
            row[12], row[13] = (mean + worth) / FEW, (variance + worth - needed(observation, 0)) / FEW
        if action >= PLAY:
            describe_card(options, observation, action - PLAY, table, worth, row)
            place = (places >> (3 * tricks.suit(action - PLAY, table.trump))) & 7
            for number in range(OF_SUIT):
                row[CARD + OF_CARD + number] = row[SUITS + OF_SUIT * place + number]
        else:
            describe_bid(options, observation, action, mean, variance, row)


@kernel
def led_suit(table: Table) -> int:
    """The suit led, or -1."""
    return tricks.suit(table.lead, table.trump) if table.lead >= 0 else -1


@kernel
def describe_table(options: Options, observation: Observation, table: Table, out: Numbers) -> None:
    """Write what all actions at a decision share of the table as a whole."""
    seats, waiting, slack, wanting, after, winner = options.num_players, 0, 0, 0, 0, 0
    for offset in range(seats):
        needs = needed(observation, offset) if observation.bid_set[offset] != 0 else 0
        there = observation.bid_set[offset] != 0
        if observation.playing != 0:
            there = card_shown(options, observation, offset) >= 0
            winner += needs if observation.winning[offset] != 0 else 0
        slack += needs
        wanting += int(offset > 0 and needs > 0)
        waiting += int(offset > 0 and not there)
        after += int(offset > 0 and not there and needs > 0)
    leads = table.lead < 0 if observation.playing != 0 else observation.dealer[seats - 1] != 0
    out[0], out[1] = observation.playing, int(leads)
    out[2], out[3] = int(led_suit(table) == table.trump), table.left / HELD
    out[4], out[5] = table.out, cards.count_bits(table.unseen) / (4 * HELD)
    out[6], out[7] = waiting / FEW, wanting / FEW
    out[8], out[9] = needed(observation, 0) / FEW, (slack - table.left) / FEW
    out[10], out[11] = after / FEW, winner / FEW


@kernel
def describe_seat(options: Options, observation: Observation, offset: int, table: Table, out: Numbers) -> None:
    """Write what is known of another player."""
    at, led = SEATS + (offset - 1) * OF_SEAT, led_suit(table)
    out[at], out[at + 1] = observation.bid_set[offset], observation.bid_value[offset] / FEW
    out[at + 2], out[at + 3] = needed(observation, offset) / FEW, int(card_shown(options, observation, offset) >= 0)
    out[at + 4], out[at + 5] = observation.winning[offset], observation.void[offset, led if led >= 0 else table.trump]
    out[at + 6], out[at + 7] = observation.void[offset, table.trump], observation.top_trump[offset] / 15.0


@kernel
def describe_suits(table: Table, out: Numbers) -> int:
    """Write the numbers of trump, of the suit led if that is another, and of the rest, the longest first; return the
    place of each suit, three bits for each."""
    led, places, taken = led_suit(table), 0, 1 << table.trump
    other = led >= 0 and led != table.trump
    describe_suit(table.trump, table, out, SUITS)
    for turn in range(1, PLACES):  # where no other suit is led, its place is the last: four are left if none is trump
        place = turn if other else turn % (PLACES - 1) + 1
        suit = led if other and turn == 1 else tricks.longest_suit(table.hand, table.unseen, taken)
        if suit >= 0:
            taken |= 1 << suit
            places |= place << (3 * suit)
            describe_suit(suit, table, out, SUITS + OF_SUIT * place)
    return places


@kernel
def describe_suit(suit: int, table: Table, out: Numbers, at: int) -> None:
    """Write how one's cards of a suit compare with those unseen: how many there are, one's sure winners and what all
    may win, one's sure losers and how low all are."""
    suited = tricks.suit_set(suit, table.trump)
    mine, unseen = table.hand & suited, table.unseen & suited
    out[at], out[at + 1] = cards.count_bits(mine) / FEW, cards.count_bits(unseen) / HELD
    while mine != 0:
        card = tricks.lowest_card(mine)
        mine &= mine - 1
        higher = cards.count_bits(above(card, unseen, table.trump))
        lower = cards.count_bits(unseen) - higher
        out[at + 2] += int(higher == 0) / FEW
        out[at + 3] += highest_left(higher, table) / FEW
        out[at + 4] += int(lower == 0) / FEW
        out[at + 5] += power(RISEN, lower) / FEW


@kernel
def highest_left(higher: int, table: Table) -> float:
    """About how likely nobody holds one of the higher cards that are unseen, or spends it before."""
    return power(1.0 - SPENT * table.out, higher)


@kernel
def describe_card(
    options: Options, observation: Observation, card: int, table: Table, worth: float, out: Numbers
) -> None:
    """Write the numbers of a card to play; `worth` is what the hand may win with it."""
    suit, led, at, lacking = tricks.suit(card, table.trump), led_suit(table), CARD, 0
    suited = tricks.suit_set(suit, table.trump)
    mine, unseen = table.hand & suited, table.unseen & suited
    higher, own_higher = (
        cards.count_bits(above(card, unseen, table.trump)),
        cards.count_bits(above(card, mine, table.trump)),
    )
    lower, own_lower = cards.count_bits(unseen) - higher, cards.count_bits(mine) - 1 - own_higher
    for offset in range(1, options.num_players):
        lacking += int(observation.void[offset, suit] != 0)
        if offset <= NEAREST:
            out[at + offset - 1] = observation.void[offset, suit]
    likely, wins = chance(card, table, False), wins_now(options, observation, card, table)
    off, slack = worth - likely - needed(observation, 0), style_of(table.seats).slack
    out[at + 3], out[at + 4] = lacking / FEW, int(suit == table.trump)
    out[at + 5], out[at + 6] = int(suit == led), int(led >= 0 and suit == table.trump and suit != led)
    out[at + 7] = int(table.best < 0 or tricks.beats(card, table.best, table.trump, JOKERS_HIGH))
    out[at + 8], out[at + 9] = higher / FEW, lower / FEW
    out[at + 10], out[at + 11] = own_higher / FEW, own_lower / FEW
    out[at + 12], out[at + 13] = int(higher == 0), int(lower == 0)
    out[at + 14], out[at + 15] = tricks.strength(card, JOKERS_HIGH) / 28.0, int(card >= cards.LITTLE_JOKER)
    out[at + 16], out[at + 17] = likely, wins
    out[at + 18], out[at + 19] = highest_left(higher, table), power(RISEN, lower)
    out[at + 20], out[at + 21] = off / FEW, wins * near(off + 1.0, slack) + (1.0 - wins) * near(off, slack)


@kernel
def describe_bid(
    options: Options, observation: Observation, bid: int, mean: float, variance: float, out: Numbers
) -> None:
    """Write the numbers of a bid, beside the tricks that the cards promise."""
    size, bids, at = int(observation.hand_size), 0, BID
    value = bid_value(bid, size)
    for other in observation.bid_value:
        bids += other
    off = value - mean
    made, kept = near(off, variance), hand_points(options, value, size, value)
    out[at], out[at + 1] = value / FEW, off / FEW
    out[at + 2], out[at + 3] = abs(off) / FEW, off * off / HELD
    out[at + 4], out[at + 5] = made, (made * kept - (1.0 - made) * (1.0 + off * off)) / 20.0
    out[at + 6], out[at + 7] = int(bid == BOARD), int(bid == RAINBOW)
    out[at + 8] = (bids + value - size) / FEW
