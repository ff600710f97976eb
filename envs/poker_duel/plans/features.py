"""Classes of hands in the slots: what a planner learns the worth of (`GameType.plans`).

A class says what a hand is, in which slot it lies, how many exchanges are left to it, and what the opponent has done in
its round so far. Suits do not matter. Sets of cards are those of `card_sets`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.compile.kernel import kernel
from ...core.rules.pokerhands import CATEGORY_SHIFT, Category, set_strength
from ..bots.grading import (
    DRAWS,
    FLUSHES,
    FOURS,
    FULL_HOUSES,
    KINDS,
    OPEN_KINDS,
    PAIRS,
    STRAIGHT_FLUSHES,
    STRAIGHTS,
    THREES,
    TWO_PAIRS,
    kind_of,
)
from ..card_sets import held, is_five
from ..observation import Observation
from ..state import SLOTS, Options
from ..tables import CHANCES

NEWS = 5
"""What the opponent may have done in a round: nothing yet; stood; exchanged once, and perhaps more to come; exchanged
once and stood; exchanged twice or more."""
CLASSES = (SLOTS + 1) * NEWS * (KINDS + 2 * OPEN_KINDS)
"""Classes; the row after the slots' is that of sudden death."""


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
