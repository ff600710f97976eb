"""The scorecard: a line for every finished hand, which anybody may read at any time.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from ..core.kernel import kernel
from .schedule import size_of_hand
from .scoring import hand_points, sips_of
from .state import Options, State


@kernel
def write_line(state: State) -> None:
    """§1.6: the hand that has just been played gets its line. What follows from it (cards, dealer, points, totals and
    sips) is not kept."""
    line = int(state.lines)
    state.scorecard_turned[line] = state.turned
    for seat in range(state.bid.shape[0]):
        state.scorecard_bid[line, seat] = state.bid[seat]
        state.scorecard_won[line, seat] = state.won[seat]
    state.lines += 1


@kernel
def dealer_of_line(options: Options, state: State, line: int) -> int:
    """§1.2: who dealt the hand of that line: the deal has passed to the left with every hand since."""
    return (int(state.dealer) - int(state.hand_index) + line) % options.num_players


class ScorecardLine(NamedTuple):
    """§1.6: what the scorecard tells of one finished hand; what each seat has a number of, in the order of seats."""

    hand: int
    """Which hand of the game, from 1."""
    cards: int
    """Cards dealt to each seat, and so tricks."""
    dealer: int
    turned: int
    """The number of the card turned up, 54 for none."""
    bids: tuple[int, ...]
    """As actions: 55 is BOARD and 56 RAINBOW."""
    won: tuple[int, ...]
    """Tricks won."""
    points: tuple[int, ...]
    """Of this hand."""
    totals: tuple[int, ...]
    """Of all hands so far."""
    sips: tuple[int, ...]
    """For this hand; all 0 where the game is not the drinking one."""


def scorecard(options: Options, state: State) -> tuple[ScorecardLine, ...]:
    """§1.6: the lines so far."""
    lines = int(state.lines)
    if lines == 0:
        return ()
    return _scorecard(
        options,
        int(dealer_of_line(options, state, 0)),
        tuple(state.scorecard_turned[:lines].tolist()),
        tuple(map(tuple, state.scorecard_bid[:lines].tolist())),
        tuple(map(tuple, state.scorecard_won[:lines].tolist())),
    )


@functools.lru_cache(maxsize=256)  # it is asked for at every step and grows once a hand
def _scorecard(
    options: Options,
    first_dealer: int,
    turned: tuple[int, ...],
    bids: tuple[tuple[int, ...], ...],
    won: tuple[tuple[int, ...], ...],
) -> tuple[ScorecardLine, ...]:
    found = []
    totals = (0,) * options.num_players
    for index in range(len(turned)):
        size = int(size_of_hand(options, index))
        pairs = list(zip(bids[index], won[index], strict=True))
        points = tuple(int(hand_points(options, bid, size, tricks)) for bid, tricks in pairs)
        sips = tuple(int(sips_of(options, bid, size, tricks)) for bid, tricks in pairs)
        totals = tuple(total + gained for total, gained in zip(totals, points, strict=True))
        dealer = (first_dealer + index) % options.num_players
        found.append(
            ScorecardLine(index + 1, size, dealer, turned[index], bids[index], won[index], points, totals, sips)
        )
    return tuple(found)
