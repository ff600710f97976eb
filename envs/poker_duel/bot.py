"""Rule-based players of Poker Duel. They see an Observation and a mask, and keep nothing between decisions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core import rng
from ..core.kernel import kernel
from ..core.parts import Bot
from ..core.pokerhands import SUIT
from .card_sets import TOP_RANK, held
from .chances import CHANCES
from .exchanges import low_discard, misere_discard, simple_discard, strong_discard
from .misere_chances import MISERE_CHANCES
from .observation import Observation
from .splits import SPREAD, Split, greedy_split, low_split, misere_split, strong_split
from .state import ASSIGN, PACK, SLOTS, STAND, Options


@kernel
def to_slot(observation: Observation, mask: npt.NDArray[np.int8], split: Split) -> int:
    """The next card to its slot of a split; where a slot is full, because someone else began this one, to the first
    with room."""
    card = held(observation.next_card)
    action = ASSIGN + (0 if split[0] & card != 0 else 1 if split[1] & card != 0 else 2)
    if mask[action] == 0:
        action = ASSIGN
        while mask[action] == 0:
            action += 1
    return action


@kernel
def forced(mask: npt.NDArray[np.int8]) -> bool:
    """Whether the next card can go to one slot only, so that no split need be thought of."""
    return int(mask[ASSIGN]) + int(mask[ASSIGN + 1]) + int(mask[ASSIGN + 2]) == 1


@kernel
def slotted(observation: Observation) -> int:
    """The set of my cards in slots."""
    return held(observation.slots[0]) | held(observation.slots[1]) | held(observation.slots[2])


@kernel
def fighting(observation: Observation) -> int:
    """The slot being fought."""
    return 0 if observation.current_slot[0] == 1 else 1 if observation.current_slot[1] == 1 else 2


@kernel
def throw(mask: npt.NDArray[np.int8], card: int) -> int:
    """Discard the card of a set of one; stand where it is none, or where nothing may be discarded."""
    for suit in range(4):
        rank = (card >> (13 * suit)) & SUIT
        if rank != 0:
            action = 13 * suit + int(TOP_RANK[rank])
            return action if mask[action] == 1 else STAND
    return STAND


@kernel
def simple_exchange(options: Options, observation: Observation, mask: npt.NDArray[np.int8]) -> int:
    """Exchange by rule of thumb."""
    hand = held(observation.slots[fighting(observation)])
    if options.misere:
        return throw(mask, misere_discard(hand, options.ace_low_straight))
    return throw(mask, simple_discard(hand, options.ace_low_straight))


@kernel
def greedy(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """§6: best hand to slot 3, next best to slot 2; exchanges the lowest loose card."""
    if observation.phase[0] == 0:
        return simple_exchange(options, observation, mask)
    cards = slotted(observation) | held(observation.unassigned)
    if options.misere:
        return to_slot(observation, mask, misere_split(options, cards))
    return to_slot(observation, mask, greedy_split(options, cards))


@kernel
def blotto(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """§6: as greedy, but with one deal in ten the weaker two hands change places, and with one in ten the stronger
    two."""
    if observation.phase[0] == 0:
        return simple_exchange(options, observation, mask)
    cards = slotted(observation) | held(observation.unassigned)
    # Drawn from the cards and not from the key, which is another at each of the fifteen decisions.
    _, drawn = rng.below(np.uint64(cards), 10)
    low, middle, high = misere_split(options, cards) if options.misere else greedy_split(options, cards)
    if drawn == 0:
        return to_slot(observation, mask, (middle, low, high))
    if drawn == 1:
        return to_slot(observation, mask, (low, high, middle))
    return to_slot(observation, mask, (low, middle, high))


@kernel
def unseen_cards(options: Options, observation: Observation) -> int:
    """The cards that may lie in the deck, for all that I know."""
    seen = slotted(observation) | held(observation.discards[0])
    seen |= held(observation.exposed[0]) | held(observation.exposed[1])
    if options.discards_public:
        seen |= held(observation.discards[1])
    return PACK & ~seen


@kernel
def row_of_chances(observation: Observation) -> int:
    """The row of the tables of chances for the slot being fought."""
    return SLOTS if observation.phase[2] == 1 else fighting(observation)


@kernel
def misere(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """§6: wants the lowest hands, whatever the table has agreed: the lowest five of fifteen, and of the rest, where
    they bring the most points, and the discards that most often make them lower than a measured field's."""
    if observation.phase[0] == 1:
        if forced(mask):
            return to_slot(observation, mask, (PACK, 0, 0))
        chances = MISERE_CHANCES[min(2, options.exchanges_per_round)]
        cards = slotted(observation) | held(observation.unassigned)
        return to_slot(observation, mask, low_split(options, chances, SPREAD, cards))
    row = row_of_chances(observation)
    after = MISERE_CHANCES[min(2, int(observation.turns_left[0]) - 1), row]
    now = MISERE_CHANCES[0, row] if options.stand_is_final else after
    hand, unseen = held(observation.slots[fighting(observation)]), unseen_cards(options, observation)
    return throw(mask, low_discard(hand, unseen, now, after, options.ace_low_straight))


@kernel
def strong(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """§6: splits for the most points, exchanges for the best chance, both against a measured field. Where the lower
    hand wins it plays as the misère player."""
    if options.misere:
        return misere(options, observation, mask, key)
    if observation.phase[0] == 1:
        if forced(mask):
            return to_slot(observation, mask, (PACK, 0, 0))
        chances = CHANCES[min(2, options.exchanges_per_round)]
        cards = slotted(observation) | held(observation.unassigned)
        return to_slot(observation, mask, strong_split(options, chances, SPREAD, cards))
    row = row_of_chances(observation)
    after = CHANCES[min(2, int(observation.turns_left[0]) - 1), row]
    now = CHANCES[0, row] if options.stand_is_final else after
    hand, unseen = held(observation.slots[fighting(observation)]), unseen_cards(options, observation)
    return throw(mask, strong_discard(hand, unseen, now, after, options.ace_low_straight))


BOTS = (
    Bot(
        "misere",
        misere,
        "plays for the lowest hands against a measured field: to win in misère, to lose else",
        fast=False,
    ),
    Bot("blotto", blotto, "greedy, but every fifth deal two neighbouring hands change places"),
    Bot(
        "greedy",
        greedy,
        "best five of fifteen to slot 3, best five of the rest to slot 2; exchanges the lowest loose card",
    ),
    Bot(
        "strong",
        strong,
        "splits for the most points and exchanges for the best chance, against a measured field",
        fast=False,
    ),
)
