"""Rule-based players of Poker Duel. They see an Observation and a mask, and keep nothing between decisions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import Bot
from ..core.compile.kernel import kernel
from ..core.rules import rng
from ..core.rules.pokerhands import SUIT
from .bots.around import chances_around, ordered_around
from .bots.exchanges import best_discard, misere_discard, simple_discard
from .bots.grading import GRADE, MISERE_GRADE, Grading
from .bots.splits import Split
from .card_sets import TOP_RANK, held
from .observation import Observation
from .state import ASSIGN, SLOTS, STAND, Options, pack_size
from .tables import CHANCES, MISERE_CHANCES


@kernel
def to_slot(observation: Observation, split: Split) -> int:
    """The next card to its slot of a split."""
    card = held(observation.next_card)
    return ASSIGN + (0 if split[0] & card != 0 else 1 if split[1] & card != 0 else 2)


@kernel
def only_slot(mask: npt.NDArray[np.int8]) -> int:
    """The assignment of a card that can go to one slot only, so that no split need be thought of; else -1."""
    if int(mask[ASSIGN]) + int(mask[ASSIGN + 1]) + int(mask[ASSIGN + 2]) != 1:
        return -1
    return ASSIGN + (0 if mask[ASSIGN] == 1 else 1 if mask[ASSIGN + 1] == 1 else 2)


@kernel
def lying(observation: Observation) -> Split:
    """The sets of my cards in slots 1, 2, 3."""
    return held(observation.slots[0]), held(observation.slots[1]), held(observation.slots[2])


@kernel
def slotted(observation: Observation) -> int:
    """The set of my cards in slots."""
    low, middle, high = lying(observation)
    return low | middle | high


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
def ordered_split(options: Options, observation: Observation, high: int, middle: int) -> Split:
    """The split of `ordered_around` for what is seen."""
    return ordered_around(options, lying(observation), held(observation.unassigned), high, middle)


@kernel
def greedy(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """§6: best hand to slot 3, next best to slot 2; exchanges the lowest loose card."""
    if observation.phase[0] == 0:
        return simple_exchange(options, observation, mask)
    only = only_slot(mask)
    return only if only >= 0 else to_slot(observation, ordered_split(options, observation, 2, 1))


@kernel
def blotto(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """§6: as greedy, but with one deal in ten the weaker two hands change places, and with one in ten the stronger
    two."""
    if observation.phase[0] == 0:
        return simple_exchange(options, observation, mask)
    only = only_slot(mask)
    if only >= 0:
        return only
    # Drawn from the cards and not from the key, which is another at each of the fifteen decisions.
    _, drawn = rng.below(np.uint64(slotted(observation) | held(observation.unassigned)), 10)
    high, middle = (2, 0) if drawn == 0 else (1, 2) if drawn == 1 else (2, 1)
    return to_slot(observation, ordered_split(options, observation, high, middle))


@kernel
def unseen_cards(options: Options, observation: Observation) -> int:
    """The cards that may lie in the deck, for all that I know."""
    seen = slotted(observation) | held(observation.discards[0])
    seen |= held(observation.exposed[0]) | held(observation.exposed[1])
    if options.discards_public:
        seen |= held(observation.discards[1])
    return ((1 << pack_size(options)) - 1) & ~seen


@kernel
def by_chances(options: Options, observation: Observation, mask: npt.NDArray[np.int8], low: bool) -> int:
    """Split for the most points, exchange for the best chance, both against a measured field; with `low` for the lower
    hands."""
    if observation.phase[0] == 1:
        only = only_slot(mask)
        if only >= 0:
            return only
        return to_slot(observation, chances_around(options, lying(observation), held(observation.unassigned), low))
    tables, row = MISERE_CHANCES if low else CHANCES, SLOTS if observation.phase[2] == 1 else fighting(observation)
    after = tables[min(2, int(observation.turns_left[0]) - 1), row]
    now = tables[0, row] if options.stand_is_final else after
    grading = Grading(MISERE_GRADE if low else GRADE, 0, options.ace_low_straight)
    hand = held(observation.slots[fighting(observation)])
    return throw(mask, best_discard(hand, unseen_cards(options, observation), now, after, grading, grading))


@kernel
def misere(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """§6: wants the lowest hands, whatever the table has agreed: the lowest five of fifteen, and of the rest, where
    they bring the most points, and the discards that most often make them lower than a measured field's."""
    return by_chances(options, observation, mask, True)


@kernel
def strong(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """§6: splits for the most points, exchanges for the best chance, both against a measured field. Where the lower
    hand wins it plays as the misère player."""
    return by_chances(options, observation, mask, options.misere)


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
