"""Rule-based players: one that never wants a trick, one that counts its high cards, and one that weighs chances and the
table's bids.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import cards, tricks
from ..core.cards import BIG_JOKER
from ..core.kernel import kernel
from ..core.parts import Bot
from ..core.tricks import JOKERS_HIGH
from .game import Options
from .hands import (
    BOARD,
    BOARD_BONUS,
    MADE_POINTS,
    PACK,
    PLAY,
    RAINBOW,
    RAINBOW_BONUS,
    LinearPenalty,
    Scoring,
)
from .observation import WIDE_TABLE, Observation

MARGIN = 1e-9
"""By how much a card or bid must be better to be preferred: compiled and uncompiled sums differ by less."""


class Table(NamedTuple):
    """What a player keeps in mind at a decision. Sets of cards are bits."""

    hand: int
    unseen: int
    """Cards neither held, nor played, nor turned up."""
    trump: int
    seats: int
    left: int
    """Cards in hand."""
    lead: int
    """The card led, or -1."""
    best: int
    """The card that wins the trick so far, or -1."""
    out: float
    """How likely an unseen card is in somebody's hand, rather than left over."""


@kernel
def card_shown(options: Options, observation: Observation, offset: int) -> int:
    """A seat's card in this trick, or -1."""
    if options.num_players > WIDE_TABLE:
        return int(observation.trick[offset, 0]) - 1
    for card in range(observation.trick.shape[1]):
        if observation.trick[offset, card] != 0:
            return card
    return -1


@kernel
def cards_shown(options: Options, observation: Observation) -> int:
    """All cards that have been played in this hand, as far as the observation tells."""
    shown = 0
    for offset in range(options.num_players):
        for index in range(observation.played.shape[1]):
            value = int(observation.played[offset, index])
            if value != 0:
                shown |= 1 << (index if options.num_players <= WIDE_TABLE else value - 1)
    return shown


@kernel
def marked(row: npt.NDArray[np.int16]) -> int:
    """The cards marked in a row of 54, as a set."""
    found = 0
    for card in range(row.shape[0]):
        if row[card] != 0:
            found |= 1 << card
    return found


@kernel
def position(row: npt.NDArray[np.int16]) -> int:
    """Where a one-hot row has its 1, or -1."""
    for index in range(row.shape[0]):
        if row[index] != 0:
            return index
    return -1


@kernel
def seen_table(options: Options, observation: Observation) -> Table:
    """Read an observation."""
    hand = marked(observation.hand)
    unseen = PACK & ~hand & ~marked(observation.turned) & ~cards_shown(options, observation)
    left = cards.count_bits(hand)
    lead, best = -1, -1
    if observation.playing != 0:
        lead = card_shown(options, observation, position(observation.leader))
        winning = position(observation.winning)
        if winning >= 0:
            best = card_shown(options, observation, winning)
    hidden = cards.count_bits(unseen)
    out = min(1.0, (options.num_players - 1) * left / hidden) if hidden > 0 else 0.0
    return Table(hand, unseen, position(observation.trump), options.num_players, left, lead, best, out)


@kernel
def above(card: int, held: int, trump: int) -> int:
    """The cards of a set that are of this card's suit and higher."""
    return held & tricks.suit_set(tricks.suit(card, trump), trump) & ~((1 << (card + 1)) - 1)


@kernel
def nearest_bid(observation: Observation, mask: npt.NDArray[np.int8], wanted: float) -> int:
    """The legal number nearest to an estimate."""
    chosen, distance = -1, 0.0
    for bid in range(int(observation.hand_size) + 1):
        if mask[bid] != 0 and (chosen < 0 or abs(bid - wanted) < distance - MARGIN):
            chosen, distance = bid, abs(bid - wanted)
    return chosen


# --- duck: the sanity level


@kernel
def duck(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Bids nothing, or as little as it may, and never takes a trick that it can leave."""
    if observation.playing == 0:
        return nearest_bid(observation, mask, 0.0)
    return PLAY + losing_card(seen_table(options, observation), mask)


@kernel
def losing_card(table: Table, mask: npt.NDArray[np.int8]) -> int:
    """The highest card that loses to the best so far; the lowest where all win, or at the lead."""
    chosen, height = -1, 0
    for card in range(54):
        if mask[PLAY + card] != 0:
            loses = table.best >= 0 and not tricks.beats(card, table.best, table.trump, JOKERS_HIGH)
            value = weight_of(card, table.trump)
            value = 100 + value if loses else 99 - value
            if chosen < 0 or value > height:
                chosen, height = card, value
    return chosen


@kernel
def weight_of(card: int, trump: int) -> int:
    """0 .. 42: how much a card weighs, trumps above all others."""
    return tricks.strength(card, JOKERS_HIGH) // 2 + (28 if tricks.suit(card, trump) == trump else 0)


# --- count: high cards bid, needed tricks taken cheaply


@kernel
def count(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Counts what its high cards and spare trumps are usually worth; then takes the tricks it needs as cheaply as it
    can, and ducks."""
    table = seen_table(options, observation)
    if observation.playing == 0:
        return counted_bid(observation, mask, counted_tricks(table))
    if observation.needed[0] > 0:
        return PLAY + winning_card(options, observation, table, mask)
    return PLAY + losing_card(table, mask)


@kernel
def counted_bid(observation: Observation, mask: npt.NDArray[np.int8], estimate: float) -> int:
    """BOARD with three cards or fewer that should all win, RAINBOW within half a trick, else the nearest legal
    number."""
    size = int(observation.hand_size)
    if mask[RAINBOW] != 0 and abs(estimate - size / 4) <= 0.5:
        return RAINBOW
    if mask[BOARD] != 0 and size <= 3 and estimate > size - 0.25:
        return BOARD
    return nearest_bid(observation, mask, estimate)


@kernel
def counted_tricks(table: Table) -> float:
    """How many tricks a hand's cards are usually worth: fixed values, side cards less the more players and the longer
    the suit."""
    total, low_trumps = 0.0, 0
    crowd = max(1.0, table.seats / 4)
    for card in range(54):
        if (table.hand >> card) & 1 == 0:
            continue
        higher = cards.count_bits(above(card, PACK, table.trump))
        if tricks.suit(card, table.trump) == table.trump:
            if higher < 5:
                total += trump_worth(higher, table)
            else:
                low_trumps += 1
                total += 0.35 if low_trumps > 2 else 0.0
        elif higher < 2:
            length = cards.count_bits(table.hand & tricks.suit_set(card // 13, table.trump))
            worth = 0.75 if higher == 0 else 0.4
            total += worth / crowd * (1.0 if length < 5 else 0.7)
    return min(total, float(table.left))


@kernel
def trump_worth(higher: int, table: Table) -> float:
    """The two jokers, ace, king and queen of trumps. The little joker is worth less while the big one may be out."""
    if higher == 0:
        return 1.0
    if higher == 1:
        return 0.7 if table.out > 0.75 and (table.unseen >> BIG_JOKER) & 1 != 0 else 0.95
    return 0.9 if higher == 2 else 0.75 if higher == 3 else 0.55


@kernel
def winning_card(options: Options, observation: Observation, table: Table, mask: npt.NDArray[np.int8]) -> int:
    """The highest at the lead; else the cheapest card that wins if nobody plays after, the highest that wins otherwise;
    else the lowest."""
    last = True
    for offset in range(1, options.num_players):
        last = last and card_shown(options, observation, offset) >= 0
    chosen, height = -1, 0
    for card in range(54):
        if mask[PLAY + card] != 0:
            weight = weight_of(card, table.trump)
            wins = table.best < 0 or tricks.beats(card, table.best, table.trump, JOKERS_HIGH)
            value = 50 - weight if not wins else 100 - weight if last else 100 + weight
            if chosen < 0 or value > height:
                chosen, height = card, value
    return chosen


# --- weigh: chances, what is still needed, and the bids of the table


class Weights(NamedTuple):
    """What the weighing player takes for granted. Found by playing it against itself with one number changed; see
    README.md, §5."""

    late_trump: float = 0.8
    """Chance of a trump under a higher one that is out, once many cards are left."""
    guarded: float = 0.4
    """Chance of a side card under higher ones that it can outlast."""
    led: float = 1.0
    """What is lost, of a hand of one card, to others not leading the suit."""
    spread: float = 0.6
    """Variance of the number of tricks beside what the cards' own chances make."""
    sure: float = 0.74
    """Chance to make a bid that equals the expectation."""
    table_bids: float = 0.18
    """Tricks taken off for each that the earlier bids are above their share."""
    wanting: float = 0.38
    """How often a player who can beat the card does, when he needs tricks."""
    unwanting: float = 0.4
    """How often, when he needs none."""
    slack: float = 5.0
    """Variance of the tricks to come, when a card is played."""


WEIGHTS = Weights()


@kernel
def power(base: float, exponent: int) -> float:
    """A power by multiplication, the same in every runtime."""
    result = 1.0
    for _ in range(exponent):
        result *= base
    return result


@kernel
def weigh(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Gives every card its chance, bids what then pays best, and plays the card after which what is left fits what is
    still needed."""
    return weighed(options, observation, mask, WEIGHTS)


@kernel
def weighed(options: Options, observation: Observation, mask: npt.NDArray[np.int8], weights: Weights) -> int:
    """The weighing player's action under certain weights."""
    table = seen_table(options, observation)
    if observation.playing == 0:
        return weighed_bid(options, observation, mask, table, weights)
    return PLAY + fitting_card(options, observation, mask, table, weights)


@kernel
def chance(card: int, table: Table, leads: bool, weights: Weights) -> float:
    """How likely a card is to win a trick of the rest of the hand, if its holder wants it to."""
    trump, left, hidden = table.trump, table.left, max(1, cards.count_bits(table.unseen))
    suit = tricks.suit(card, trump)
    higher = cards.count_bits(above(card, table.unseen, trump))
    highest = power(1.0 - table.out, higher)
    if suit == trump:
        return highest + (1.0 - highest) * weights.late_trump * (left - 1) / (left + 1)
    suited = tricks.suit_set(suit, trump)
    mine = table.hand & suited
    rounds = cards.count_bits(above(card, mine, trump))
    share = cards.count_bits(table.unseen & suited) / hidden
    short = power(1.0 - share, left)
    if rounds > 0:
        short += left * share * power(1.0 - share, left - 1)
    if rounds > 1:
        short += left * (left - 1) / 2 * share * share * power(1.0 - share, max(0, left - 2))
    armed = 1.0 - power(1.0 - cards.count_bits(table.unseen & tricks.suit_set(trump, trump)) / hidden, left)
    unruffed = power(1.0 - min(1.0, short) * armed, table.seats - 1)
    if 0 < higher <= 2 and cards.count_bits(mine) > rounds + higher:
        highest += (1.0 - highest) * weights.guarded
    led = 1.0 if leads else 1.0 - weights.led / left
    return highest * unruffed * led


@kernel
def weighed_bid(
    options: Options, observation: Observation, mask: npt.NDArray[np.int8], table: Table, weights: Weights
) -> int:
    """The legal bid with the best expected points: likely near the sum of the chances, dear far from it."""
    size, seats = int(observation.hand_size), options.num_players
    leads = observation.dealer[seats - 1] != 0
    mean, variance = 0.0, weights.spread
    for card in range(54):
        if (table.hand >> card) & 1 != 0:
            likely = chance(card, table, leads, weights)
            mean += likely
            variance += likely * (1.0 - likely)
    for offset in range(1, seats):
        if observation.bid_set[offset] != 0:
            mean -= weights.table_bids * (int(observation.bid_value[offset]) - size / seats)
    linear = options.scoring == Scoring.LINEAR and options.linear_penalty == LinearPenalty.LINEAR
    chosen, best = -1, 0.0
    for bid in range(RAINBOW + 1):
        if mask[bid] == 0:
            continue
        value = size if bid == BOARD else size // 4 if bid == RAINBOW else bid
        made = weights.sure * near(value - mean, variance)
        gain = MADE_POINTS + (value * value if options.scoring == Scoring.SQUARED else value)
        loss = 1.0 + (abs(value - mean) if linear else (value - mean) * (value - mean))
        if bid == BOARD:
            gain += BOARD_BONUS
            loss += BOARD_BONUS
        elif bid == RAINBOW:
            gain += RAINBOW_BONUS
        worth = made * gain - (1.0 - made) * loss
        if chosen < 0 or worth > best + MARGIN:
            chosen, best = bid, worth
    return chosen


@kernel
def fitting_card(
    options: Options, observation: Observation, mask: npt.NDArray[np.int8], table: Table, weights: Weights
) -> int:
    """The card after which the chances left over come closest to what is still needed, whether it wins this trick or
    not."""
    needed = int(observation.needed[0]) - int(observation.surplus[0])
    total = 0.0
    for card in range(54):
        if (table.hand >> card) & 1 != 0:
            total += chance(card, table, False, weights)
    chosen, best = -1, 0.0
    for card in range(54):
        if mask[PLAY + card] == 0:
            continue
        wins = wins_now(options, observation, card, table, weights)
        off = total - chance(card, table, False, weights) - needed
        worth = wins * near(off + 1.0, weights.slack) + (1.0 - wins) * near(off, weights.slack)
        if chosen < 0 or worth > best + MARGIN:
            chosen, best = card, worth
    return chosen


@kernel
def near(difference: float, variance: float) -> float:
    """1 where an expectation is right, less the farther it is off: a bell with heavy tails, by arithmetic that every
    runtime does alike."""
    bell = 1.0 / (1.0 + difference * difference / variance)
    return bell * bell


@kernel
def wins_now(options: Options, observation: Observation, card: int, table: Table, weights: Weights) -> float:
    """How likely a card is to win this trick."""
    if table.best >= 0 and not tricks.beats(card, table.best, table.trump, JOKERS_HIGH):
        return 0.0
    led = tricks.suit(card if table.lead < 0 else table.lead, table.trump)
    likely = 1.0
    for offset in range(1, options.num_players):
        if table.lead < 0 or card_shown(options, observation, offset) < 0:
            likely *= 1.0 - beaten(observation, offset, card, led, table, weights)
    return likely


@kernel
def beaten(observation: Observation, offset: int, card: int, led: int, table: Table, weights: Weights) -> float:
    """How likely a seat that is still to play beats a card that wins so far."""
    trump, left, hidden = table.trump, table.left, max(1, cards.count_bits(table.unseen))
    suit = tricks.suit(card, trump)
    lacks_led, lacks_trump = observation.void[offset, led] != 0, observation.void[offset, trump] != 0
    higher = 1.0 - power(1.0 - cards.count_bits(above(card, table.unseen, trump)) / hidden, left)
    if lacks_trump if suit == trump else lacks_led:
        higher = 0.0
    void = (
        1.0 if lacks_led else power(1.0 - cards.count_bits(table.unseen & tricks.suit_set(led, trump)) / hidden, left)
    )
    beats = higher
    if suit == trump and led != trump:
        beats = void * higher
    elif suit != trump and not lacks_trump:
        trumps = cards.count_bits(table.unseen & tricks.suit_set(trump, trump))
        beats += void * (1.0 - power(1.0 - trumps / hidden, left))
    return beats * (weights.wanting if observation.needed[offset] > 0 else weights.unwanting)


BOTS = (
    Bot("duck", duck, "Bids as little as it may and avoids every trick it can."),
    Bot(
        "count",
        count,
        (
            "Bids what its high cards are usually worth, takes tricks "
            "as cheaply as it can while it needs them, then ducks."
        ),
    ),
    Bot(
        "weigh",
        weigh,
        "Gives every card a chance, bids what pays best, plays the card after which the rest fits what it still needs.",
    ),
)
