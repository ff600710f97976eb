"""What the bots read off an observation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.compile.kernel import kernel
from ...core.rules import cards, tricks
from ...core.rules.trick_hand import marked_cards, marked_place
from ..observation import Observation, card_shown, played_by
from ..state import Options, pack_size

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
def cards_shown(options: Options, observation: Observation) -> int:
    """All cards that have been played in this hand, as far as the observation tells."""
    shown = 0
    for offset in range(options.num_players):
        shown |= played_by(options, observation, offset)
    return shown


@kernel
def seen_table(options: Options, observation: Observation) -> Table:
    """Read an observation."""
    hand = marked_cards(observation.hand)
    shown = marked_cards(observation.turned) | cards_shown(options, observation)
    unseen = ((1 << pack_size(options)) - 1) & ~hand & ~shown
    left = cards.count_bits(hand)
    lead, best = -1, -1
    if observation.playing != 0:
        lead = card_shown(options, observation, marked_place(observation.leader))
        winning = marked_place(observation.winning)
        if winning >= 0:
            best = card_shown(options, observation, winning)
    hidden = cards.count_bits(unseen)
    out = min(1.0, (options.num_players - 1) * left / hidden) if hidden > 0 else 0.0
    return Table(hand, unseen, marked_place(observation.trump), options.num_players, left, lead, best, out)


@kernel
def needed(observation: Observation, offset: int) -> int:
    """Tricks that a seat still needs for its bid; below 0 those that it has won beyond it."""
    return int(observation.bid_value[offset]) - int(observation.won[offset])


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
