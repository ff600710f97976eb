"""Rule-based players: one that never wants a trick, one that counts its high cards, one that weighs chances and the
table's bids (`weighing.py`), and one that plays like it but steers to exactly 37 in the Ultimate game (`steering.py`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import Bot
from ..core.compile.kernel import kernel
from ..core.rules import cards, tricks
from ..core.rules.cards import BIG_JOKER
from ..core.rules.tricks import JOKERS_HIGH
from .bots.reading import Table, above, nearest_bid, needed, seen_table
from .bots.steering import thirty_seven
from .bots.weighing import weigh
from .observation import Observation, card_shown
from .state import BOARD, PACK, PACK_SIZE, PLAY, RAINBOW, Options

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
    for card in range(PACK_SIZE):
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
    if needed(observation, 0) > 0:
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
    for card in range(PACK_SIZE):
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
    for card in range(PACK_SIZE):
        if mask[PLAY + card] != 0:
            weight = weight_of(card, table.trump)
            wins = table.best < 0 or tricks.beats(card, table.best, table.trump, JOKERS_HIGH)
            value = 50 - weight if not wins else 100 - weight if last else 100 + weight
            if chosen < 0 or value > height:
                chosen, height = card, value
    return chosen


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
    Bot(
        "thirty_seven",
        thirty_seven,
        "Steers to exactly 37 in the Ultimate game, whether by bids made or missed; elsewhere it plays as `weigh`.",
        fast=False,
    ),
)
