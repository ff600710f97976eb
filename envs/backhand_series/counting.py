"""What the bots of the Backhand series work out from the cards left in the stub, and how they play one hand by what its
ends are worth; each game's `bot.py` says the stakes.

All cards lie face up, so the numbers of cards left by value are all there is to know of the cards to come. Worths are
expected rewards. Beyond the next card the counts are taken as they stand, as if each card drawn were put back: to take
it out instead changed the mean reward by less than 0.0001 over 2 million deals of Backhand and of Buffalo Bayou.

A kernel gets an observation's numbers as `int(np.int64(...))`: differences of the unsigned numbers themselves would
wrap around.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from .observation import DealerObservation, HandObservation
from .state import (
    ACE,
    BACKHAND,
    HIT,
    LIMIT,
    MAX_DRAWS,
    PLAY_FROM,
    PUSH,
    PUSH_FROM,
    SHOW_CARDS,
    STAND,
    TEN,
    AceRule,
    HandOptions,
    HandType,
    Method,
)
from .stub import dealer_total

Counts = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

# The places of won hands, from the best down, §3.4: five cards by total, stood hands by total, pushes by player total
# and last card, backhands by player total and last card. Only a stood hand's place is a simplification: §3.5 has no
# single order.
STOOD = LIMIT + 1
PUSHED = STOOD + LIMIT + 1
PUSH_CARDS = LIMIT - PUSH_FROM
CALLED = PUSHED + (LIMIT - PUSH_FROM) * PUSH_CARDS
PLACES = CALLED + (LIMIT - PLAY_FROM + 1) * TEN


class Stakes(NamedTuple):
    """What the ends of a hand are worth to the seat that counts."""

    show: Counts
    """Values of the three show cards; zeros where there is no dealer, which every player total beats."""
    cap: bool
    """The option `dealer_total_cap`."""
    stands: bool
    """The option `stand_pat`."""
    won: Numbers
    """The worth of a hand won, by its place."""
    tie: float
    """The worth of a hand level with the dealer."""
    loss: float
    """The worth of a hand lost."""


@kernel
def place(method: int, player_total: int, total: int) -> int:
    """The place of a won hand among all won hands; less is better. §3.4"""
    if method == Method.FIVE_CARDS:
        return total
    if method == Method.STAND:
        return STOOD + total
    if method == Method.PUSH:
        return PUSHED + (player_total - PUSH_FROM) * PUSH_CARDS + total - player_total - 1
    return CALLED + (player_total - PLAY_FROM) * TEN + total - player_total - 1


@kernel
def count_stub(observation: HandObservation) -> Counts:
    """Cards left by value, at 1..10; at 0 all of them."""
    stub = np.empty(TEN + 1, np.int64)
    stub[0] = observation.stub
    for number in range(ACE, TEN):
        stub[number] = observation.left[number - 1]
    stub[TEN] = observation.tens_left
    return stub


@kernel
def show_cards(observation: DealerObservation) -> Counts:
    """Values of the show cards."""
    show = np.empty(SHOW_CARDS, np.int64)
    for number in range(SHOW_CARDS):
        show[number] = observation.show[number]
    return show


@kernel
def is_push_hand(observation: HandObservation, relative: int) -> bool:
    """Whether a hand is a push hand that has not been hit."""
    return bool(observation.draws[relative] == 0 and observation.hand_type[relative, HandType.PUSH] == 1)


# ----------------------------------------------------------------------------------------------------------------------
# The next card


@kernel
def end_worth(stakes: Stakes, draws: int, total: int, drawn: int, method: int) -> float:
    """The worth of a hand of `total` that `drawn`, its draw number `draws` from 0, ends by a backhand or push that came
    off."""
    lead = total - dealer_total(stakes.show[draws], drawn, stakes.cap)
    if lead > 0:
        return float(stakes.won[place(method, total, total + drawn)])
    return stakes.tie if lead == 0 else stakes.loss


@kernel
def push_hit_worth(stub: Counts, stakes: Stakes, total: int) -> float:
    """The worth of a hit on a push hand."""
    worth = 0.0
    for drawn in range(ACE, TEN + 1):
        if total + drawn <= LIMIT:
            worth += stub[drawn] * end_worth(stakes, 0, total, drawn, Method.PUSH)
        else:
            worth += stub[drawn] * stakes.loss
    return float(worth / stub[0])


# ----------------------------------------------------------------------------------------------------------------------
# The cards after it


@kernel
def worths(stub: Counts, stakes: Stakes, draws: int, total: int, best: Numbers) -> tuple[float, float]:
    """The worths of a hit and of a backhand on a hand of `total` after `draws` draws; `best` [draws, total] is the
    worth of later hands."""
    hit, call, within = 0.0, 0.0, 0
    for drawn in range(ACE, TEN + 1):
        count = stub[drawn]
        after = total + drawn
        if after > LIMIT:
            call += count * end_worth(stakes, draws, total, drawn, Method.BACKHAND)
            continue
        within += count
        if draws == MAX_DRAWS - 1:
            hit += count * stakes.won[after]
        elif stakes.stands and total > dealer_total(stakes.show[draws], drawn, stakes.cap):
            hit += count * max(best[draws + 1, after], stakes.won[STOOD + after])
        else:
            hit += count * best[draws + 1, after]
    size = stub[0]
    return (hit + (size - within) * stakes.loss) / size, (call + within * stakes.loss) / size


@kernel
def ladder(stub: Counts, stakes: Stakes, draws: int, total: int, worth: Numbers, calls: npt.NDArray[np.bool_]) -> None:
    """For each [draws, total] that a hand may reach from these, its worth and whether its best play is the backhand."""
    for rung in range(MAX_DRAWS - 1, draws - 1, -1):
        for here in range(total + rung - draws, LIMIT + 1 if rung else PUSH_FROM):
            hit, call = worths(stub, stakes, rung, here, worth)
            calls[rung, here] = here >= PLAY_FROM and call > hit
            worth[rung, here] = call if calls[rung, here] else hit


@kernel
def initial_values(options: HandOptions, stub: Counts) -> Numbers:
    """The chances of each initial value, 0..20, of a hand dealt after a push."""
    card = np.empty(TEN + 1)
    for number in range(ACE, TEN + 1):
        card[number] = stub[number] / stub[0]
    if options.ace_rule_on_replacement and options.ace_rule != AceRule.OFF:
        ace = card[ACE]
        again = ace if options.ace_rule == AceRule.ONCE else ace / (1.0 - ace)
        card[ACE] = ace * ace if options.ace_rule == AceRule.ONCE else 0.0
        for number in range(ACE + 1, TEN + 1):
            card[number] += card[number] * again
    chances = np.zeros(2 * TEN + 1)
    for first in range(ACE, TEN + 1):
        for second in range(ACE, TEN + 1):
            chances[first + second] += card[first] * card[second]
    return chances


@kernel
def replacement_worth(options: HandOptions, stub: Counts, stakes: Stakes) -> float:
    """The worth of a push: that of the hand to come, which is pushed again where it is a push hand."""
    worth = np.empty((MAX_DRAWS, LIMIT + 1))
    ladder(stub, stakes, 0, 2, worth, np.empty((MAX_DRAWS, LIMIT + 1), np.bool_))
    chances = initial_values(options, stub)
    kept, kept_worth = 0.0, 0.0
    for initial in range(2, PUSH_FROM):
        kept += chances[initial]
        kept_worth += chances[initial] * worth[0, initial]
    return kept_worth / kept


@kernel
def result_chances(
    options: HandOptions, stub: Counts, stakes: Stakes, draws: int, total: int, pushes: bool, chances: Numbers
) -> None:
    """Add to `chances` [place] those of the won hands that a live hand may become when it is played for the most by
    these stakes."""
    live = np.zeros((MAX_DRAWS, LIMIT + 1))
    least = 2 if pushes else total
    if pushes:
        initial = initial_values(options, stub)
        kept = 0.0
        for number in range(2, PUSH_FROM):
            kept += initial[number]
        for number in range(2, PUSH_FROM):
            live[0, number] = initial[number] / kept
    else:
        live[draws, total] = 1.0
    worth = np.empty((MAX_DRAWS, LIMIT + 1))
    calls = np.empty((MAX_DRAWS, LIMIT + 1), np.bool_)
    ladder(stub, stakes, draws, least, worth, calls)
    for rung in range(draws, MAX_DRAWS):
        for here in range(least, LIMIT + 1):
            reached = live[rung, here] / stub[0]
            if reached == 0.0:
                continue
            for drawn in range(ACE, TEN + 1):
                after = here + drawn
                if calls[rung, here]:
                    if after > LIMIT and here > dealer_total(stakes.show[rung], drawn, stakes.cap):
                        chances[place(Method.BACKHAND, here, after)] += reached * stub[drawn]
                elif after <= LIMIT and rung == MAX_DRAWS - 1:
                    chances[after] += reached * stub[drawn]
                elif after <= LIMIT:
                    live[rung + 1, after] += reached * stub[drawn]


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
