"""The player that weighs chances: what each card may win, what is still needed, and the bids of the table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.compile.kernel import kernel
from ...core.rules import cards, tricks
from ...core.rules.tricks import JOKERS_HIGH
from ..observation import Observation, card_shown
from ..scoring import BOARD_BONUS, MADE_POINTS, RAINBOW_BONUS, bid_value
from ..state import BOARD, PACK_SIZE, PLAY, RAINBOW, LinearPenalty, Options, Scoring
from .reading import MARGIN, Table, above, needed, seen_table


class Style(NamedTuple):
    """What the weighing player takes for granted."""

    late_trump: float  # chance of a trump under a higher one that is out, once many cards are left
    guarded: float  # chance of a side card under higher ones that it can outlast
    led: float  # share of a side card's chance lost where others lead, divided by the cards in hand
    spread: float  # variance of the number of tricks beside what the cards' own chances make
    sure: float  # chance to make a bid that equals the expectation
    table_bids: float  # tricks taken off for each that the earlier bids are above their share
    wanting: float  # how often a player who can beat the card does, when they need tricks
    unwanting: float  # how often, when they need none
    slack: float  # variance of the tricks to come, when a card is played


# Found by playing it against itself with four players and one number changed; then, for fewer and for more players, by
# an evolution strategy (CMA-ES) against the first, with three and with seven. See README.md, §5.
FOUR = Style(0.8, 0.4, 1.0, 0.6, 0.74, 0.18, 0.38, 0.4, 5.0)
FEW = Style(1.02, 0.48, 2.92, 2.0, 0.82, 0.39, 0.36, 0.67, 4.28)
MANY = Style(0.57, 0.33, 1.97, 1.05, 0.7, 0.15, 0.23, 0.54, 9.0)


@kernel
def style_of(seats: int) -> Style:
    """The style for a number of players."""
    return FOUR if seats == 4 else FEW if seats < 4 else MANY


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
    table = seen_table(options, observation)
    if observation.playing == 0:
        return weighed_bid(options, observation, mask, table)
    return PLAY + fitting_card(options, observation, mask, table)


@kernel
def chance(card: int, table: Table, leads: bool) -> float:
    """How likely a card is to win a trick of the rest of the hand, if its holder wants it to."""
    style = style_of(table.seats)
    trump, left, hidden = table.trump, table.left, max(1, cards.count_bits(table.unseen))
    suit = tricks.suit(card, trump)
    higher = cards.count_bits(above(card, table.unseen, trump))
    highest = power(1.0 - table.out, higher)
    if suit == trump:
        return highest + (1.0 - highest) * style.late_trump * (left - 1) / (left + 1)
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
        highest += (1.0 - highest) * style.guarded
    led = 1.0 if leads else 1.0 - style.led / left
    return highest * unruffed * led


@kernel
def expectation(options: Options, observation: Observation, table: Table) -> tuple[float, float]:
    """How many tricks a hand will win, before the bid, and the variance of that: the sum of its cards' chances, less a
    part of what the earlier bids are above their share."""
    style = style_of(table.seats)
    size, seats = int(observation.hand_size), options.num_players
    leads = observation.dealer[seats - 1] != 0
    mean, variance = 0.0, style.spread
    for card in range(PACK_SIZE):
        if (table.hand >> card) & 1 != 0:
            likely = chance(card, table, leads)
            mean += likely
            variance += likely * (1.0 - likely)
    for offset in range(1, seats):
        if observation.bid_set[offset] != 0:
            mean -= style.table_bids * (int(observation.bid_value[offset]) - size / seats)
    return mean, variance


@kernel
def weighed_bid(options: Options, observation: Observation, mask: npt.NDArray[np.int8], table: Table) -> int:
    """The legal bid with the best expected points: likely near the sum of the chances, dear far from it."""
    size = int(observation.hand_size)
    mean, variance = expectation(options, observation, table)
    linear = options.scoring == Scoring.LINEAR and options.linear_penalty == LinearPenalty.LINEAR
    chosen, best = -1, 0.0
    for bid in range(RAINBOW + 1):
        if mask[bid] == 0:
            continue
        value = bid_value(bid, size)
        made = style_of(table.seats).sure * near(value - mean, variance)
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
def fitting_card(options: Options, observation: Observation, mask: npt.NDArray[np.int8], table: Table) -> int:
    """The card after which the chances left over come closest to what is still needed, whether it wins this trick or
    not."""
    style = style_of(table.seats)
    wanted, total = needed(observation, 0), worth_of_hand(table)
    chosen, best = -1, 0.0
    for card in range(PACK_SIZE):
        if mask[PLAY + card] == 0:
            continue
        wins = wins_now(options, observation, card, table)
        off = total - chance(card, table, False) - wanted
        worth = wins * near(off + 1.0, style.slack) + (1.0 - wins) * near(off, style.slack)
        if chosen < 0 or worth > best + MARGIN:
            chosen, best = card, worth
    return chosen


@kernel
def worth_of_hand(table: Table) -> float:
    """How many tricks one's cards are likely to win, if that is wanted."""
    worth = 0.0
    for card in range(PACK_SIZE):
        if (table.hand >> card) & 1 != 0:
            worth += chance(card, table, False)
    return worth


@kernel
def near(difference: float, variance: float) -> float:
    """1 where an expectation is right, less the farther it is off: a bell with heavy tails, by arithmetic that every
    runtime does alike."""
    bell = 1.0 / (1.0 + difference * difference / variance)
    return bell * bell


@kernel
def wins_now(options: Options, observation: Observation, card: int, table: Table) -> float:
    """How likely a card is to win this trick."""
    if table.best >= 0 and not tricks.beats(card, table.best, table.trump, JOKERS_HIGH):
        return 0.0
    led = tricks.suit(card if table.lead < 0 else table.lead, table.trump)
    likely = 1.0
    for offset in range(1, options.num_players):
        if table.lead < 0 or card_shown(options, observation, offset) < 0:
            likely *= 1.0 - beaten(observation, offset, card, led, table)
    return likely


@kernel
def beaten(observation: Observation, offset: int, card: int, led: int, table: Table) -> float:
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
    style = style_of(table.seats)
    return beats * (style.wanting if needed(observation, offset) > 0 else style.unwanting)
