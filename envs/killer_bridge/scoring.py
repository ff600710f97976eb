"""What a bid scores, what the points pay, and who wins.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

from ..core.compile.kernel import kernel
from .schedule import hand_sizes
from .state import BOARD, RAINBOW, Length, LinearPenalty, Options, Scoring, SipRule, State, pays_points

MADE_POINTS = 10  # for any bid made, beside f(bid) (§1.4)
BOARD_BONUS = 25  # won or lost with BOARD (§1.4)
RAINBOW_BONUS = 20  # won with RAINBOW, never lost (§1.4)
ULTIMATE_POINTS = 37  # a total that wins outright (§1.5)
GAME_SCALE = 1000.0  # points to one unit of reward (§3)
HAND_SCALE = 100.0  # of a single hand, and of a lone player


@kernel
def bid_value(bid: int, size: int) -> int:
    """§1.3: how many tricks a bid (an action) stands for in a hand of that size."""
    if bid == BOARD:
        return size
    return size // 4 if bid == RAINBOW else bid


@kernel
def hand_points(options: Options, bid: int, size: int, won: int) -> int:
    """§1.4: what a bid (an action) scores in a hand of `size` tricks of which `won` were won."""
    value = bid_value(bid, size)
    if value == won:
        made = value * value if options.scoring == Scoring.SQUARED else value
        bonus = BOARD_BONUS if bid == BOARD else RAINBOW_BONUS if bid == RAINBOW else 0
        return MADE_POINTS + made + bonus
    missed_by = abs(value - won)
    squared = options.scoring == Scoring.SQUARED or options.linear_penalty == LinearPenalty.SQUARED
    penalty = missed_by * missed_by if squared else missed_by
    return -penalty - BOARD_BONUS if bid == BOARD else -penalty


@kernel
def sips_of(options: Options, bid: int, size: int, won: int) -> int:
    """§1.5: the sips that a bid (an action) costs in the drinking game. What the table has last goes on for all larger
    misses."""
    missed_by = abs(bid_value(bid, size) - won)
    if not options.drinking or missed_by == 0:
        return 0
    each = options.sips_per_miss[min(missed_by, len(options.sips_per_miss)) - 1]
    return each * (missed_by if options.sip_rule == SipRule.DIFFERENCE else 1)


def score_bounds(options: Options) -> tuple[int, int]:
    """§3: the least and the greatest points of one seat in a whole game."""
    low, high = 0, 0
    for size in hand_sizes(options):
        bids = [
            size,
            *([BOARD] if options.allow_board else []),
            *([RAINBOW] if options.allow_rainbow and size % 4 == 0 else []),
        ]
        if options.num_players == 1:
            # They win every trick and may not bid them all (§4).
            values = [hand_points(options, bid, size, size) for bid in (0, size - 1)]
        else:
            values = [hand_points(options, bid, size, won) for bid in bids for won in (0, bid_value(bid, size), size)]
            values.append(hand_points(options, 0, size, size))
        low, high = low + min(values), high + max(values)
    return low, high


@kernel
def winners(options: Options, state: State) -> int:
    """§1.5: who has won, as a set of seats: in the ultimate game all who stand on 37, else the highest total."""
    exact, best, most_made = 0, int(state.score[0]), 0
    for seat in range(options.num_players):
        best = max(best, int(state.score[seat]))
        exact |= int(state.score[seat] == ULTIMATE_POINTS) << seat
    if options.ultimate and exact != 0:
        return exact
    for seat in range(options.num_players):
        if state.score[seat] == best:
            most_made = max(most_made, int(state.made[seat]))
    chosen = 0
    for seat in range(options.num_players):
        if state.score[seat] == best and (options.shared_win or state.made[seat] == most_made):
            chosen |= 1 << seat
    return chosen


@kernel
def scale(options: Options) -> float:
    """§3: points to one unit of reward."""
    return HAND_SCALE if options.num_players == 1 or options.length == Length.SINGLE else GAME_SCALE


@kernel
def paid(options: Options, points: int, total: int) -> float:
    """§3: the reward for points, of which all seats together have `total`; a lone player has no mean to beat."""
    mean = total / options.num_players if options.num_players > 1 else 0.0
    return (points - mean) / scale(options)


@kernel
def total_score(options: Options, state: State) -> int:
    """The points of all seats together."""
    total = 0
    for seat in range(options.num_players):
        total += int(state.score[seat])
    return total


def reward_range(options: Options) -> tuple[float, float]:
    """§3: bounds of a seat's return."""
    seats = options.num_players
    if not pays_points(options):
        return -1.0 / seats, 1.0 - 1.0 / seats
    low, high = score_bounds(options)
    if seats == 1:
        return low / scale(options), high / scale(options)
    most = (high - low) * (seats - 1) / seats / scale(options)
    return -most, most
