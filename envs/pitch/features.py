"""What a learned policy weighs an action of Pitch by: numbers of the action itself, which mean the same for all suits.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from ..core.rules import tricks
from ..core.rules.cards import count_bits
from ..core.rules.feature_rows import Numbers, start_row
from ..core.rules.trick_hand import SCORE_UNIT, marked_place
from ..core.rules.tricks import NO_TRUMP
from .bot import (
    Table,
    book_bid,
    higher,
    is_mine,
    kept,
    may_be_taken,
    needed_for,
    none_out,
    partner_holds,
    seen_table,
    taking,
    weigh_card,
    worth_as_trump,
)
from .observation import Observation
from .points import jack_of, joker_strength, low_card, pips, top_bid
from .state import (
    BID,
    BIDDING,
    HAND,
    JOKER,
    LEAST_BID,
    NAME,
    NAMING,
    NUM_POINTS,
    PASS,
    PLAY,
    SPADES,
    SUITS,
    JokerPitch,
    Options,
)
from .styles import SHARP

NEAREST = 3
"""Players at one's left who have numbers of their own."""
OF_TABLE, OF_SEAT, OF_TRUMP, OF_SUIT, OF_CARD, OF_BID = 36, 9, 34, 7, 38, 11
SEATS = OF_TABLE
TRUMP = SEATS + NEAREST * OF_SEAT
SUIT = TRUMP + OF_TRUMP
CARD = SUIT + (SUITS - 1) * OF_SUIT
BIDS = CARD + OF_CARD
FEATURES = BIDS + OF_BID
"""How many numbers an action has: those that all actions at a decision share, up to TRUMP; those of the suit that is
trump, or would be by this action; and those of a card or of a bid."""
FEW, MANY, PIPS = 4.0, 13.0, 40.0
"""What small counts, counts of cards, and pips are divided by: a network learns best from numbers near 1."""
TEN, ACE = 8, 12
FAR = 20.0
"""The same for points that a side lacks."""


@kernel
def action_features(options: Options, observation: Observation, mask: npt.NDArray[np.int8], out: Numbers) -> None:
    """Write the numbers of each legal action to its row of `out` [A, FEATURES]."""
    table, first = seen_table(options, observation), -1
    best = suit_to_name(options, table.hand)
    for action in range(mask.shape[0]):
        if mask[action] == 0:
            continue
        row = start_row(out, action, first, CARD)
        trump = table.trump if table.trump != NO_TRUMP else trump_by(options, action, best)
        if first < 0:
            describe_table(options, observation, table, row)
            describe_sides(options, observation, table, row)
            for offset in range(1, min(NEAREST + 1, options.num_players)):
                describe_seat(observation, offset, table, row)
        if first < 0 or (table.trump == NO_TRUMP and action >= PLAY):
            describe_trump(options, trump, table, row)
        first = action if first < 0 else first
        if action < PLAY:
            describe_bid(options, observation, action, mask, table, best, row)
        elif action < NAME:
            describe_card(options, observation, action - PLAY, trump, table, row)


@kernel
def suit_to_name(options: Options, hand: int) -> int:
    """The suit that the hand would have as trump; of suits that are worth as much, that of the higher cards, so that
    the suits' names do not matter."""
    best, most, highest = 0, -1.0, -1
    for suit in range(SUITS):
        worth, ranks = worth_as_trump(options, hand, suit), tricks.ranks_of(hand, suit)
        if worth > most + 1e-9 or (worth > most - 1e-9 and ranks > highest):
            best, most, highest = suit, worth, ranks
    return best


@kernel
def trump_by(options: Options, action: int, best: int) -> int:
    """The suit that an action makes trump, or that of a bid would be."""
    if action < PLAY:
        return best
    if action == PLAY + JOKER:
        return SPADES if options.joker_pitch == JokerPitch.SPADES else best
    return action - NAME if action >= NAME else (action - PLAY) // 13


@kernel
def describe_table(options: Options, observation: Observation, table: Table, out: Numbers) -> None:
    """Write what all actions at a decision share of the table as a whole."""
    seats, against, along = options.num_players, 0, 0
    bidding = observation.phase[BIDDING] != 0
    leader = marked_place(observation.leader)
    for offset in range(1, leader if leader > 0 else seats):
        mine = is_mine(options, offset)
        against += int(not mine)
        along += int(mine)
    leads, stake = table.best < 0 and not bidding, pips(table.in_trick)
    out[0], out[1] = int(bidding), int(leads and table.trump == NO_TRUMP)
    out[2], out[3] = observation.phase[NAMING], int(leads)
    out[4], out[5] = int(table.best >= 0 and table.led == table.trump), (options.hand_size - observation.tricks) / HAND
    out[6], out[7], out[8] = int(table.mine), against / FEW, along
    out[9] = stake / PIPS
    if table.best >= 0:
        low, trumps = low_card(table.in_trick, table.trump), tricks.suit_set(table.trump, table.trump)
        out[10] = (table.in_trick >> jack_of(table.trump)) & 1
        out[11] = int(tricks.suit(table.best, table.trump) == table.trump)
        if low >= 0:
            below = trumps & ((1 << low) - 1)
            if table.gone & ~table.in_trick & below == 0:
                out[12] = none_out(options, count_bits(table.unseen & below))
        out[33] = taking(options, observation, table.best, table.mine, table.trump, table.unseen, table.led, SHARP)
        beating = table.unseen & tricks.suit_set(tricks.suit(table.best, table.trump), table.trump)
        out[34] = higher(options, beating, table.best, table.trump) / FEW
        out[35] = table.best % 13 / 12.0
    pitcher, dealer = marked_place(observation.pitcher), marked_place(observation.dealer)
    out[13] = observation.high_bid / FEW
    out[14], out[15] = int(pitcher == 0), int(pitcher > 0 and is_mine(options, pitcher))
    out[16] = int(pitcher > 0 and not is_mine(options, pitcher))
    out[17], out[18] = int(dealer == 0), int(dealer > 0 and is_mine(options, dealer))


@kernel
def describe_sides(options: Options, observation: Observation, table: Table, out: Numbers) -> None:
    """Write how the sides stand, in the game and in this hand."""
    mine, most, captured = lacked(options, observation, 0), 1e9, 0
    for side in range(1, observation.pips.shape[0]):
        most = min(most, lacked(options, observation, side))
        captured = max(captured, int(observation.pips[side]))
    out[19], out[20] = mine / FAR, most / FAR
    out[21], out[22] = 1.0 / (1.0 + max(0.0, mine)), 1.0 / (1.0 + max(0.0, most))
    out[23] = (observation.pips[0] - captured) / PIPS
    out[24] = pips(table.unseen) / (2 * PIPS)
    out[25] = pips(table.hand) / PIPS
    won, lost = 0, 0
    for point in range(NUM_POINTS):
        there = 0
        for side in range(observation.points.shape[1]):
            there += (1 if side == 0 else -1) * observation.points[point, side]
        out[26 + point] = there
        won += int(there > 0)
        lost += int(there < 0)
    out[31], out[32] = (won - observation.high_bid) / FEW, (lost - observation.high_bid) / FEW


@kernel
def lacked(options: Options, observation: Observation, side: int) -> float:
    """The points that a side lacks of the target; below 0 those that it has beyond it."""
    score = SCORE_UNIT * int(observation.score_128s[side]) + int(observation.score_rest[side])
    return max(-FAR, min(2.0 * FAR, float(options.target - score)))


@kernel
def describe_seat(observation: Observation, offset: int, table: Table, out: Numbers) -> None:
    """Write what is known of another player."""
    at, value = SEATS + (offset - 1) * OF_SEAT, 0
    for number in range(2, observation.bids.shape[1]):
        value += number * observation.bids[offset, number]
    out[at], out[at + 1] = observation.bids[offset, 1], value / FEW
    out[at + 2], out[at + 3] = observation.dealer[offset], observation.pitcher[offset]
    card = marked_place(observation.trick[offset])
    out[at + 4], out[at + 5] = int(card >= 0), observation.winning[offset]
    if table.trump != NO_TRUMP:
        out[at + 6] = observation.void[offset, table.trump]
        suited = tricks.suit_set(table.trump, table.trump)
        for number in range(observation.played.shape[1]):
            out[at + 7] += observation.played[offset, number] * ((suited >> number) & 1) / FEW
    if table.led < NO_TRUMP:
        out[at + 8] = observation.void[offset, table.led]


@kernel
def describe_trump(options: Options, trump: int, table: Table, out: Numbers) -> None:
    """Write the suit that is trump, or would be, rank by rank, and what else is in hand."""
    suited = tricks.suit_set(trump, trump)
    mine, unseen, plain = table.hand & suited, table.unseen & suited, table.hand & ~suited
    for rank in range(13):
        card = 13 * trump + rank
        out[TRUMP + rank] = (mine >> card) & 1
        out[TRUMP + 13 + rank] = (unseen >> card) & 1
    at = TRUMP + 26
    out[at], out[at + 1] = count_bits(mine) / FEW, count_bits(unseen) / MANY
    out[at + 2], out[at + 3] = (mine >> JOKER) & 1, (unseen >> JOKER) & 1
    out[at + 4] = worth_as_trump(options, table.hand, trump) / FEW
    missing, aces, tens = 0, 0, 0
    for suit in range(SUITS):
        held = plain & tricks.suit_set(suit, trump)
        missing += int(held == 0 and suit != trump)
        aces += (held >> (13 * suit + ACE)) & 1
        tens += (held >> (13 * suit + TEN)) & 1
    out[at + 5], out[at + 6], out[at + 7] = aces / FEW, tens / FEW, missing / FEW
    taken = 1 << trump
    for place in range(SUITS - 1):
        led = place == 0 and table.led != trump and table.led < NO_TRUMP
        suit = table.led if led else tricks.longest_suit(table.hand, table.unseen, taken)
        taken |= 1 << suit
        describe_suit(suit, table, out, SUIT + OF_SUIT * place)


@kernel
def describe_suit(suit: int, table: Table, out: Numbers, at: int) -> None:
    """Write a plain suit: how many cards there are, whether one's highest is the best that is left, tens and aces."""
    mine, unseen = tricks.ranks_of(table.hand, suit), tricks.ranks_of(table.unseen, suit)
    out[at], out[at + 1] = count_bits(mine) / FEW, count_bits(unseen) / MANY
    out[at + 2] = int(mine > unseen)
    out[at + 3], out[at + 4] = (mine >> TEN) & 1, (unseen >> TEN) & 1
    out[at + 5], out[at + 6] = (mine >> ACE) & 1, (unseen >> ACE) & 1


@kernel
def describe_card(
    options: Options, observation: Observation, card: int, trump: int, table: Table, out: Numbers
) -> None:
    """Write the numbers of a card to play, with `trump` as trump."""
    suit, at, rank = tricks.suit(card, trump), CARD, card % 13
    suited = tricks.suit_set(suit, trump)
    mine, unseen, gone = table.hand & suited, table.unseen & suited, table.gone & suited
    above, own_above = higher(options, unseen, card, trump), higher(options, mine, card, trump)
    below, own_below = count_bits(unseen) - above, count_bits(mine) - 1 - own_above
    trumps = suit == trump
    out[at], out[at + 1], out[at + 2] = int(trumps), rank / 12.0, pips(1 << card) / 10.0
    out[at + 3], out[at + 4] = int(rank == TEN), int(rank == ACE)
    out[at + 5], out[at + 6] = int(card == jack_of(trump)), int(card == JOKER)
    out[at + 7], out[at + 8] = above / FEW, below / FEW
    out[at + 9], out[at + 10] = own_above / FEW, own_below / FEW
    out[at + 11], out[at + 12] = int(above == 0), int(below == 0)
    if trumps and card != JOKER and (gone | mine) & ((1 << card) - 1) & ~(1 << JOKER) == 0:
        out[at + 13], out[at + 14] = 1.0, none_out(options, below)
    by = Table(table.hand, table.gone, table.unseen, table.in_trick, trump, table.led, table.best, table.mine)
    weighed = weigh_card(options, observation, card, by, SHARP)
    out[at + 15] = int(table.best < 0 or tricks.beats(card, table.best, trump, joker_strength(options)))
    out[at + 16], out[at + 17] = int(suit == table.led), int(table.best >= 0 and trumps and suit != table.led)
    out[at + 18], out[at + 19] = weighed.likely, weighed.stake
    out[at + 20], out[at + 21] = kept(options, card, trump, table.gone, table.unseen, SHARP), weighed.worth
    out[at + 22] = weighed.stake * (2.0 * weighed.likely - 1.0)
    lacking = 0
    for offset in range(1, options.num_players):
        lacking += int(suit < NO_TRUMP and observation.void[offset, suit] != 0)
        if offset <= NEAREST and suit < NO_TRUMP:
            out[at + 22 + offset] = observation.void[offset, suit]
    out[at + 26], out[at + 27] = lacking / FEW, count_bits(unseen) / MANY
    out[at + 28] = count_bits(mine) / FEW
    if suit < NO_TRUMP and not trumps:
        ten, ace = 13 * suit + TEN, 13 * suit + ACE
        out[at + 29], out[at + 30] = (mine >> ten) & 1, (unseen >> ten) & 1
        out[at + 31], out[at + 32] = (mine >> ace) & 1, (unseen >> ace) & 1
    out[at + 33] = none_out(options, above)
    out[at + 34] = none_out(options, below)
    out[at + 35] = weighed.likely - out[33]
    bosses, rest = 0, table.hand & ~(1 << card)
    for plain in range(SUITS):
        if plain != trump:
            bosses += int(tricks.ranks_of(rest, plain) > tricks.ranks_of(table.unseen, plain))
    left = rest & tricks.suit_set(trump, trump)
    out[at + 36], out[at + 37] = bosses / FEW, count_bits(left) / FEW


@kernel
def describe_bid(
    options: Options,
    observation: Observation,
    action: int,
    mask: npt.NDArray[np.int8],
    table: Table,
    best: int,
    out: Numbers,
) -> None:
    """Write the numbers of a bid or a pass, beside what the hand is worth with its best suit as trump."""
    at, worth, second = BIDS, worth_as_trump(options, table.hand, best), 0.0
    for suit in range(SUITS):
        if suit != best:
            second = max(second, worth_as_trump(options, table.hand, suit))
    out[at] = second / FEW
    out[at + 1] = int(book_bid(options, observation, mask, table.hand, SHARP) == action)
    if action == PASS:
        out[at + 2] = 1.0
        return
    value = action - BID + LEAST_BID
    over = worth - needed_for(value, SHARP)
    out[at + 3], out[at + 4] = value / FEW, (worth - value) / FEW
    out[at + 5], out[at + 6] = over / FEW, int(value == top_bid(options))
    out[at + 7] = int(value < top_bid(options) and may_be_taken(options, observation))
    out[at + 8] = int(value == observation.high_bid)
    out[at + 9] = int(partner_holds(options, observation))
    out[at + 10] = int(value >= lacked(options, observation, 0))
