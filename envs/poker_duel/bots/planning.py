"""Poker Duel's planner (`GameType.plans`): the best whole split, and exchanges, by what classes of hands are worth.

A class says what a hand is, in which slot it lies, how many exchanges are left to it, and what the opponent has done in
its round so far; suits do not matter. A split is worth what its eight outcomes (who wins which round) are worth for the
match, each with the chance that its three hands' classes give it. The best is sought among forms of hands, then by
exchanging card for card while that gains; it follows from the fifteen cards and the score alone, ties by the order in
which they are tried. *Measured* over 300 deals: it is the best of all 756,756 splits for 97 % of them, and worth 0.0009
of a match less on average, in a fortieth of the time. A split is found at each of its fifteen steps, or remembered, and
is the same each time. Sets of cards are those of `card_sets`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.compile.interfaces import Planner
from ...core.compile.kernel import kernel
from ...core.rules import rng
from ...core.rules.cards import count_bits
from ...core.rules.pokerhands import CATEGORY_SHIFT, Category, set_strength
from ..bot import fighting, lying, only_slot, throw, to_slot, unseen_cards
from ..card_sets import held, is_five
from ..match import game_points, match_values
from ..observation import Observation
from ..state import ASSIGN, SLOT, SLOTS, Options, Reward
from ..tables import CHANCES
from .exchanges import best_discard
from .grading import (
    DRAWS,
    FLUSHES,
    FOURS,
    FULL_HOUSES,
    KIND,
    KINDS,
    OPEN_KINDS,
    PAIRS,
    STRAIGHT_FLUSHES,
    STRAIGHTS,
    THREES,
    TWO_PAIRS,
    Grading,
    class_of,
    kind_of,
)
from .splits import ALL_FORMS, Split
from .splitter import (
    OUTCOMES,
    Pool,
    Search,
    Worth,
    agrees,
    empty_pool,
    in_order,
    offer,
    offer_forms,
    offer_orders,
    split_around,
    split_of,
)

NEWS = 5
"""What the opponent may have done in a round: nothing yet; stood; exchanged once, and perhaps more to come; exchanged
once and stood; exchanged twice or more."""
CLASSES = (SLOTS + 1) * NEWS * (KINDS + 2 * OPEN_KINDS)
"""Classes; the row after the slots' is that of sudden death."""
STARTS = 2
"""Splits by forms that are improved card by card."""
SWAPPED = 40
"""Of a hundred plans, how many are swapped about where the planner explores."""

# Classes --------------------------------------------------------------------------------------------------------------


@kernel
def first_class(row: int, left: int, news: int) -> int:
    """The class of kind 0 in a row (0..2 the slots, 3 sudden death) with 0..2 exchanges left, after such news."""
    start = (row * NEWS + news) * (KINDS + 2 * OPEN_KINDS)
    return start if left == 0 else start + KINDS + (left - 1) * OPEN_KINDS


@kernel
def news_of(observation: Observation, slot: int) -> int:
    """What the opponent has done in the round of a slot."""
    exchanged, stood = int(observation.exchanges[1, slot]), int(observation.stood[1, slot])
    return stood if exchanged == 0 else 2 + stood if exchanged == 1 else 4


@kernel
def look(
    options: Options, observation: Observation, classes: npt.NDArray[np.int64], outcomes: npt.NDArray[np.float64]
) -> None:
    """`Plans.look`: the class of the hand in each slot once it is complete, and whether it has won its round."""
    classes[:] = -1
    outcomes[:] = np.nan
    if observation.phase[0] == 1:
        return
    sudden = observation.sudden_death > 0
    for slot in range(1 if sudden else SLOTS):
        hand, theirs = held(observation.slots[slot]), held(observation.exposed[slot])
        if not is_five(hand):
            continue
        left = min(2, options.exchanges_per_round)
        if theirs != 0:
            outcomes[slot] = won(options, hand, theirs, sudden)
            left = 0
        elif observation.current_slot[slot] == 1:
            left = min(2, int(observation.turns_left[0]))
        row = SLOTS if sudden else slot
        kind = kind_of(hand, left, options.ace_low_straight)
        classes[slot] = first_class(row, left, news_of(observation, slot)) + kind


@kernel
def won(options: Options, hand: int, theirs: int, sudden: bool) -> float:
    """1 for the hand that wins, 0 for the one that loses, one half where nobody scores."""
    mine = set_strength(hand, options.ace_low_straight)
    other = set_strength(theirs, options.ace_low_straight)
    nothing = max(mine, other) >> CATEGORY_SHIFT == Category.NOTHING
    if mine == other or (nothing and not sudden and not options.nothing_scores):
        return 0.5
    return 1.0 if mine > other else 0.0


def bot_values(options: Any) -> npt.NDArray[np.float32]:
    """`Plans.values`: the strong bot's own chances, which tell fewer hands apart and heed no news."""
    grades = np.empty(KINDS, np.int64)
    for top in range(13):
        grades[PAIRS + 13 * top : PAIRS + 13 * top + 13] = 13 * Category.PAIR + top
        for first, category in ((0, Category.NOTHING), (TWO_PAIRS, Category.TWO_PAIR), (FLUSHES, Category.FLUSH)):
            low = first + top * (top - 1) // 2
            grades[low : low + top] = 13 * category + top
        for first, number in ((THREES, 3), (STRAIGHTS, 4), (FULL_HOUSES, 6), (FOURS, 7), (STRAIGHT_FLUSHES, 8)):
            grades[first + top] = 13 * number + top
    grades[KINDS - 1] = 13 * Category.ROYAL_FLUSH + 12
    found = np.empty((SLOTS + 1, NEWS, KINDS + 2 * OPEN_KINDS), np.float32)
    for row in range(SLOTS + 1):
        for left in range(3):
            chances = CHANCES[left, row][grades]
            if left:
                chances = np.concatenate([np.repeat(chances[:STRAIGHTS], DRAWS), chances[STRAIGHTS:]])
            start = first_class(0, left, 0)
            found[row, :, start : start + len(chances)] = chances
    return found.reshape(-1)


def refuses(options: Any) -> str:
    """`Plans.refuses`: the forms of `splits` are those of high hands."""
    return "with misere the lower hand wins, and splits are planned for the higher one" if options.misere else ""


# Whole splits ---------------------------------------------------------------------------------------------------------


@kernel
def outcome_worth(options: Options, observation: Observation) -> Worth:
    """What the chances to win this game's rounds are worth at this score."""
    most = game_points(options)
    lead = (int(observation.points[0]) - int(observation.points[1])) // 2
    values = np.arange(-most, most + 1) * 1.0
    if options.reward == Reward.MATCH:
        values = match_values(options, lead, options.num_games - int(observation.game) - 1, most)
    worth = np.empty(OUTCOMES)
    for outcome in range(OUTCOMES):
        gain = most
        for slot in range(SLOTS):
            gain += options.round_points[slot] if (outcome >> slot) & 1 else -options.round_points[slot]
        worth[outcome] = values[gain]
    for slot in range(SLOTS):
        for outcome in range(OUTCOMES):
            if (outcome >> slot) & 1:
                worth[outcome] -= worth[outcome ^ (1 << slot)]
    return worth[0], worth[1], worth[2], worth[3], worth[4], worth[5], worth[6], worth[7]


@kernel
def search_for(planner: Planner, observation: Observation) -> Search:
    """How the split of this game is sought; the values may be those of `PlanModel.classes` alone."""
    left = min(2, planner.options.exchanges_per_round)
    values = planner.values
    first, step = first_class(0, left, 0), first_class(1, left, 0) - first_class(0, left, 0)
    if len(values) < CLASSES:
        first, step = 0, len(values) // SLOTS
    slots = values[first:], values[first + step :], values[first + 2 * step :]
    worth = outcome_worth(planner.options, observation)
    return Search(slots, (1.0, 1.0, 1.0), worth, Grading(KIND, left, planner.options.ace_low_straight))


@kernel
def offer_swaps(search: Search, pool: Pool, split: Split) -> None:
    """Offer what comes of a split by exchanging one card of a slot for one of another."""
    for other in range(SLOTS):
        mine, theirs = split[(other + 1) % SLOTS], split[(other + 2) % SLOTS]
        stays = split[other]
        unchanged = class_of(search.grading, stays)
        ours = mine
        while ours != 0:
            one = ours & -ours
            ours &= ours - 1
            rest = theirs
            while rest != 0:
                swap = one | (rest & -rest)
                rest &= rest - 1
                first, second = mine ^ swap, theirs ^ swap
                classes = (class_of(search.grading, first), class_of(search.grading, second), unchanged)
                offer_orders(search, pool, (first, second, stays), classes)


@kernel
def best_splits(search: Search, cards: int, count: int) -> Pool:
    """The best splits of fifteen cards that are found, at most `count`, best first. The first is the same for every
    count."""
    found, pool = empty_pool(STARTS), empty_pool(count)
    offer_forms(search, found, cards, ALL_FORMS, ALL_FORMS)
    for number in range(STARTS):
        best, reached = empty_pool(1), -np.inf
        if found.worth[number] > reached:
            offer(best, found.worth[number], split_of(found, number))
        while best.worth[0] > reached:
            reached = best.worth[0]
            offer_swaps(search, best, split_of(best, 0))
        offer(pool, best.worth[0], split_of(best, 0))
    if count > 1:
        offer_forms(search, pool, cards, ALL_FORMS, ALL_FORMS)
        offer_swaps(search, pool, split_of(pool, 0))
    return pool


# Plans ----------------------------------------------------------------------------------------------------------------


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
def thrown(planner: Planner, observation: Observation) -> int:
    """The set of the card to throw, or none."""
    options, slot, news = planner.options, fighting(observation), news_of(observation, fighting(observation))
    row = SLOTS if observation.phase[2] == 1 else slot
    after = min(2, int(observation.turns_left[0]) - 1)
    now = 0 if options.stand_is_final else after
    stands, exchanged = Grading(KIND, now, options.ace_low_straight), Grading(KIND, after, options.ace_low_straight)
    values = planner.values
    worth, worth_after = values[first_class(row, now, news) :], values[first_class(row, after, news) :]
    hand = held(observation.slots[slot])
    return best_discard(hand, unseen_cards(options, observation), worth, worth_after, stands, exchanged)


@kernel
def act(planner: Planner, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """`Plans.act`: the next card to its slot of the split; in an exchange turn the best discard."""
    if observation.phase[0] == 0:
        return throw(mask, thrown(planner, observation))
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
