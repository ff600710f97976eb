"""The player of the Ultimate game who tries to finish on exactly 37 (§1.5 of README.md).

Near the end it knows what every score is worth: how likely 37 can still be met from it in the hands to come, reckoned
back from the last. Its bids and cards are those after which that is likeliest, whether the bid is made or missed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...core.compile.kernel import kernel
from ...core.rules.trick_hand import SCORE_UNIT
from ..observation import Observation
from ..schedule import size_of_hand
from ..scoring import ULTIMATE_POINTS, hand_points
from ..state import BOARD, PACK_SIZE, PLAY, RAINBOW, Options, num_hands
from .reading import MARGIN, Table, seen_table
from .weighing import chance, expectation, near, weigh, wins_now, worth_of_hand

AROUND = 64
"""Scores farther than this from 37 are only distinguished by how far."""
HANDS_AHEAD = 6
"""Hands reckoned back from the last; before these every score is worth what it is worth then."""
MOST_AIMED = 8
"""The most tricks by which a bid to come is thought to be missed on purpose."""
MOST_BID = 5
"""The highest bid to come that is thought to be made on purpose."""
LEEWAY = 5
"""Points for each hand to come by which one may be behind and not have lost yet."""
MOST_LIKELY = 0.95
"""The most that a hand not yet seen is trusted with."""


# What the steering player takes for granted: set so that what it expects in the last hands is what happens there, then
# changed one at a time by play against `weigh`.

MET = 0.36
"""Chance to win exactly the tricks one means to, in a large hand not yet seen..."""
MET_SMALL = 0.42
"""... and how much more in a small one."""
BY_ONE = 0.6
"""How much of the chance to make a bid is at least there to miss it by one instead."""
SPREAD = 8.0
"""Variance of the tricks that a hand not yet seen is good for, about its share."""
DEARER = 0.95
"""How much of the chance to miss by so many tricks is left for every trick more."""
BESIDE = 1.55
"""How much likelier it is to miss by so many tricks, above or below, than to win so many."""
NATURAL = 1.5
"""Variance of tricks about the sum of the chances, for a hand of one card..."""
NATURAL_EACH = 0.3
"""... and more for each further card."""
STEERED = 4.0
"""Variance about the number one means to win."""


@kernel
def thirty_seven(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Steers to 37 in the Ultimate game; plays as `weigh` outside it, and where 37 is out of reach."""
    if not options.ultimate:
        return weigh(options, observation, mask, key)
    worth = np.zeros(2 * AROUND + 1)
    reckon_worth(options, int(observation.hand_index), worth)
    table, least = seen_table(options, observation), fair_share(options, observation)
    if observation.playing == 0:
        chosen = steered_bid(options, observation, mask, table, least, worth)
    else:
        chosen = steered_card(options, observation, mask, table, least, worth)
    return chosen if chosen >= 0 else weigh(options, observation, mask, key)


@kernel
def score_of(observation: Observation, offset: int) -> int:
    """A seat's points."""
    return SCORE_UNIT * int(observation.score_128s[offset]) + int(observation.score_rest[offset])


@kernel
def fair_share(options: Options, observation: Observation) -> float:
    """An equal share of the win while it may still be won by points, afterwards nothing: steering must promise more."""
    ahead = 0
    for offset in range(1, options.num_players):
        ahead = min(ahead, score_of(observation, 0) - score_of(observation, offset))
    to_come = num_hands(options) - int(observation.hand_index)
    return 1.0 / options.num_players if ahead >= -LEEWAY * to_come else 0.0


# --- what a score is worth


@kernel
def worth_of(worth: npt.NDArray[np.float64], score: int) -> float:
    """The worth of a score, less the farther it is out of what is reckoned."""
    off = score - ULTIMATE_POINTS
    if -AROUND <= off <= AROUND:
        return float(worth[off + AROUND])
    edge = float(worth[0] if off < 0 else worth[2 * AROUND])
    return edge * AROUND / (2.0 * abs(off))


@kernel
def reckon_worth(options: Options, hand: int, worth: npt.NDArray[np.float64]) -> None:
    """How likely 37 is met from every score once hand `hand` is over."""
    worth[AROUND] = 1.0
    before = np.zeros(2 * AROUND + 1)
    last = num_hands(options) - 1
    for index in range(last, max(hand, last - HANDS_AHEAD), -1):
        before[:] = worth
        size = size_of_hand(options, index)
        for place in range(2 * AROUND + 1):
            worth[place] = best_aim(options, size, place + ULTIMATE_POINTS - AROUND, before)


@kernel
def best_aim(options: Options, size: int, score: int, after: npt.NDArray[np.float64]) -> float:
    """The best chance that a hand not yet seen gives: a small bid made, or any missed by so much."""
    met = MET + MET_SMALL / (size + 0.4)
    best = 0.0
    short = worth_of(after, score + hand_points(options, 0, size, 1))
    for bid in range(min(MOST_BID, size) + 1):
        likely = met * near(bid - size / options.num_players, SPREAD)
        made = worth_of(after, score + hand_points(options, bid, size, bid))
        best = max(best, likely * made + min(1.0 - likely, met) * BY_ONE * short)
    likely = min(MOST_LIKELY, met * BESIDE)
    for missed_by in range(1, min(MOST_AIMED, size) + 1):
        less = worth_of(after, score + hand_points(options, 0, size, missed_by - 1))
        more = worth_of(after, score + hand_points(options, 0, size, min(size, missed_by + 1)))
        exact = worth_of(after, score + hand_points(options, 0, size, missed_by))
        best = max(best, likely * exact + (1.0 - likely) * 0.5 * (less + more))
        likely *= DEARER
    return best


# --- bids and cards


@kernel
def steered_bid(
    options: Options,
    observation: Observation,
    mask: npt.NDArray[np.int8],
    table: Table,
    least: float,
    worth: npt.NDArray[np.float64],
) -> int:
    """The legal bid from which 37 is likeliest met; -1 where that is no likelier than `least`."""
    size = int(observation.hand_size)
    mean, _ = expectation(options, observation, table)
    score = score_of(observation, 0)
    chosen, best = -1, least
    for bid in range(RAINBOW + 1):
        if mask[bid] != 0:
            likely = likeliest(options, bid, size, 0, size, mean, score, worth)
            if likely > best + MARGIN:
                chosen, best = bid, likely
    return chosen


@kernel
def steered_card(
    options: Options,
    observation: Observation,
    mask: npt.NDArray[np.int8],
    table: Table,
    least: float,
    worth: npt.NDArray[np.float64],
) -> int:
    """The card after which 37 is likeliest met; -1 where that is no likelier than `least`."""
    size, won, bid = int(observation.hand_size), int(observation.won[0]), bid_of(observation)
    total, score = worth_of_hand(table), score_of(observation, 0)
    chosen, best = -1, least
    for card in range(PACK_SIZE):
        if mask[PLAY + card] == 0:
            continue
        wins = wins_now(options, observation, card, table)
        rest, left = total - chance(card, table, False), table.left - 1
        likely = wins * likeliest(options, bid, size, won + 1, left, rest, score, worth)
        likely += (1.0 - wins) * likeliest(options, bid, size, won, left, rest, score, worth)
        if likely > best + MARGIN:
            chosen, best = card, likely
    return PLAY + chosen if chosen >= 0 else -1


@kernel
def bid_of(observation: Observation) -> int:
    """My bid as an action."""
    if observation.bid_board[0] != 0:
        return BOARD
    return RAINBOW if observation.bid_rainbow[0] != 0 else int(observation.bid_value[0])


@kernel
def likeliest(
    options: Options,
    bid: int,
    size: int,
    won: int,
    left: int,
    mean: float,
    score: int,
    worth: npt.NDArray[np.float64],
) -> float:
    """The chance of 37 from here on if one means to win the best number of the tricks left, of which `mean` are to be
    expected."""
    natural = NATURAL + NATURAL_EACH * left
    best = 0.0
    for aim in range(max(0, int(mean) - 2), min(left, int(mean) + 3) + 1):
        total, sum_worth = 0.0, 0.0
        for tricks in range(max(0, aim - 3), min(left, aim + 3) + 1):
            likely = near(tricks - mean, natural) * near(float(tricks - aim), STEERED)
            total += likely
            sum_worth += likely * worth_of(worth, score + hand_points(options, bid, size, won + tricks))
        best = max(best, sum_worth / total)
    return best
