"""The players of the series, as rules for one hand by what its ends are worth; each game's `bot.py` says the stakes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from .counting import (
    STOOD,
    Stakes,
    count_stub,
    end_worth,
    is_push_hand,
    ladder,
    push_hit_worth,
    replacement_worth,
    worths,
)
from .observation import HandObservation
from .state import ACE, BACKHAND, HIT, LIMIT, MAX_DRAWS, PUSH, STAND, TEN, HandOptions, Method

BOOK_HITS_TO = 13
"""The book's play hits totals up to it."""


@kernel
def only_action(mask: npt.NDArray[np.int8]) -> int:
    """The one legal action, or -1 where there is a choice."""
    found = -1
    for action in range(len(mask)):
        if mask[action]:
            if found >= 0:
                return -1
            found = action
    return found


@kernel
def book(observation: HandObservation, stakes: Stakes) -> int:
    """Hits to 13, then calls backhand where more than half of the stub passes 21 and most of that half is better than a
    hand lost; pushes unless half of the stub would play the push home."""
    stub = count_stub(observation)
    total, draws = int(np.int64(observation.total[0])), int(np.int64(observation.draws[0]))
    passing, beating = 0, 0
    for drawn in range(ACE, TEN + 1):
        if total + drawn > LIMIT:
            passing += stub[drawn]
            if end_worth(stakes, draws, total, drawn, Method.BACKHAND) > max(stakes.tie, stakes.loss):
                beating += stub[drawn]
    if is_push_hand(observation, 0):
        return HIT if 2 * passing < stub[0] else PUSH
    if total == LIMIT:
        return BACKHAND
    return BACKHAND if total > BOOK_HITS_TO and 2 * passing > stub[0] and 2 * beating > passing else HIT


@kernel
def counter(observation: HandObservation, mask: npt.NDArray[np.int8], stakes: Stakes) -> int:
    """The best expectation over the next card alone; a hand that goes on counts half way between the best end and the
    worst."""
    stub = count_stub(observation)
    total, draws = int(np.int64(observation.total[0])), int(np.int64(observation.draws[0]))
    goes_on = (stakes.loss + stakes.won[0]) / 2
    if mask[PUSH]:
        return HIT if push_hit_worth(stub, stakes, total) > goes_on else PUSH
    hit, call = 0.0, 0.0
    for drawn in range(ACE, TEN + 1):
        if total + drawn > LIMIT:
            hit += stub[drawn] * stakes.loss
            call += stub[drawn] * end_worth(stakes, draws, total, drawn, Method.BACKHAND)
        else:
            hit += stub[drawn] * (stakes.won[total + drawn] if draws == MAX_DRAWS - 1 else goes_on)
            call += stub[drawn] * stakes.loss
    return best_of(mask, hit / stub[0], call / stub[0], stakes.won[STOOD + total])


@kernel
def planner(options: HandOptions, observation: HandObservation, mask: npt.NDArray[np.int8], stakes: Stakes) -> int:
    """The best expectation over all the cards that the hand may still draw."""
    stub = count_stub(observation)
    total, draws = int(np.int64(observation.total[0])), int(np.int64(observation.draws[0]))
    if mask[PUSH]:
        return HIT if push_hit_worth(stub, stakes, total) > replacement_worth(options, stub, stakes) else PUSH
    worth = np.empty((MAX_DRAWS, LIMIT + 1))
    ladder(stub, stakes, draws, total, worth, np.empty((MAX_DRAWS, LIMIT + 1), np.bool_))
    hit, call = worths(stub, stakes, draws, total, worth)
    return best_of(mask, hit, call, stakes.won[STOOD + total])


@kernel
def best_of(mask: npt.NDArray[np.int8], hit: float, call: float, stand: float) -> int:
    """The legal action of the greatest worth; hit before backhand before stand where they are level."""
    action, best = HIT, hit
    if mask[BACKHAND] and call > best:
        action, best = BACKHAND, call
    if mask[STAND] and stand > best:
        action = STAND
    return action
