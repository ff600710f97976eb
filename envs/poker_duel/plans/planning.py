"""Poker Duel's planner (`GameType.plans`): the best whole split, and exchanges, by what classes of hands are worth.

A split is found at each of its fifteen steps, or remembered, and is the same each time. Sets of cards are those of
`card_sets`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...core.compile.interfaces import Planner
from ...core.compile.kernel import kernel
from ...core.rules import rng
from ...core.rules.cards import count_bits
from ...core.rules.pokerhands import CATEGORY_SHIFT, Category, set_strength
from ..bot import fighting, lying, only_slot, row_of_chances, throw, to_slot, unseen_cards
from ..bots.grading import kind_of
from ..bots.splits import Split
from ..bots.splitter import agrees, in_order, split_around, split_of
from ..card_sets import held
from ..observation import Observation
from ..state import ASSIGN, SLOT, SLOTS, Options
from .features import first_class, news_of
from .whole_splits import best_splits, search_for

SWAPPED = 40
"""Of a hundred plans, how many are swapped about where the planner explores."""


@kernel
def remembered(planner: Planner, observation: Observation, cards: int) -> Split:
    """The best split of fifteen cards at this score; exploring, sometimes swapped about. What the planner remembers
    saves time alone."""
    points = 256 * int(observation.points[0]) + int(observation.points[1])
    score = 64 * points + int(observation.game)
    luck = np.int64(planner.luck >> np.uint64(1))
    row = planner.memory[int(rng.mix(np.uint64(cards)) >> np.uint64(32)) % len(planner.memory)]
    if row[0] != cards or row[1] != score or row[2] != luck:
        split = split_of(best_splits(search_for(planner, observation), cards, 1), 0)
        if planner.luck != 0:
            split = swapped_about(split, rng.mix(planner.luck ^ np.uint64(cards)))
        row[0], row[1], row[2] = cards, score, luck
        row[3], row[4], row[5] = split
    return row[3], row[4], row[5]


@kernel
def swapped_about(split: Split, stream: np.uint64) -> Split:
    """With SWAPPED plans of a hundred, one to three exchanges of cards or of whole hands between two slots."""
    stream, drawn = rng.below(stream, 100)
    if drawn >= SWAPPED:
        return split
    hands = np.array(split)
    stream, times = rng.below(stream, 3)
    for _ in range(times + 1):
        stream, one = rng.below(stream, SLOTS)
        stream, step = rng.below(stream, SLOTS - 1)
        other = (one + step + 1) % SLOTS
        stream, mine = rng.below(stream, SLOT + 1)
        stream, theirs = rng.below(stream, SLOT)
        swap = hands[one] | hands[other]
        if mine < SLOT:
            swap = in_order(hands[one])[mine] | in_order(hands[other])[theirs]
        hands[one] ^= swap
        hands[other] ^= swap
    return hands[0], hands[1], hands[2]


@kernel
def planned(planner: Planner, observation: Observation) -> Split:
    """The split to go on with."""
    placed, rest = lying(observation), held(observation.unassigned)
    split = remembered(planner, observation, placed[0] | placed[1] | placed[2] | rest)
    return split if agrees(split, placed) else split_around(search_for(planner, observation), placed, rest)


@kernel
def best_discard(planner: Planner, observation: Observation) -> int:
    """The set of the card to throw, or none: what wins most often over all cards that may be drawn."""
    options, values, slot = planner.options, planner.values, fighting(observation)
    row, news, low_ace = row_of_chances(observation), news_of(observation, slot), options.ace_low_straight
    after = min(2, int(observation.turns_left[0]) - 1)
    now = 0 if options.stand_is_final else after
    hand, unseen = held(observation.slots[slot]), unseen_cards(options, observation)
    best, chosen = float(values[first_class(row, now, news) + kind_of(hand, now, low_ace)]), 0
    if set_strength(hand, low_ace) >> CATEGORY_SHIFT >= Category.FULL_HOUSE:
        return 0
    first, count = first_class(row, after, news), count_bits(unseen)
    cards = hand
    while cards != 0:
        card = cards & -cards
        cards &= cards - 1
        total, rest = 0.0, unseen
        while rest != 0:
            total += float(values[first + kind_of((hand & ~card) | (rest & -rest), after, low_ace)])
            rest &= rest - 1
        if total > best * count:
            best, chosen = total / count, card
    return chosen


@kernel
def act(planner: Planner, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """`Plans.act`: the next card to its slot of the split; in an exchange turn the best discard."""
    if observation.phase[0] == 0:
        return throw(mask, best_discard(planner, observation))
    only = only_slot(mask)
    return only if only >= 0 else to_slot(observation, planned(planner, observation))


@kernel
def candidates(
    planner: Planner, observation: Observation, mask: npt.NDArray[np.int8], out: npt.NDArray[np.int64]
) -> int:
    """`Plans.candidates`: the best splits that agree with the cards that lie in the slots, as the slots of the cards
    yet to be assigned."""
    if observation.phase[0] == 0:
        return 0
    out[:] = -1
    placed, rest = lying(observation), held(observation.unassigned)
    search = search_for(planner, observation)
    pool = best_splits(search, placed[0] | placed[1] | placed[2] | rest, len(out))
    found = 0
    for number in range(len(out)):
        split = split_of(pool, number)
        if pool.worth[number] > -np.inf and agrees(split, placed):
            write_steps(planner.options, split, placed, rest, out[found])
            found += 1
    if found == 0:
        write_steps(planner.options, split_around(search, placed, rest), placed, rest, out[0])
        found = 1
    return found


@kernel
def write_steps(options: Options, split: Split, placed: Split, rest: int, steps: npt.NDArray[np.int64]) -> None:
    """The actions that make a split of what lies in the slots; with `skip_forced`, without those that the rules
    take."""
    room = np.array([SLOT - count_bits(placed[0]), SLOT - count_bits(placed[1]), SLOT - count_bits(placed[2])])
    for number, card in enumerate(in_order(rest)):
        if options.skip_forced and (room > 0).sum() == 1:
            return
        slot = 0 if split[0] & card != 0 else 1 if split[1] & card != 0 else 2
        steps[number] = ASSIGN + slot
        room[slot] -= 1
