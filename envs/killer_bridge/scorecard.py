"""The scorecard: a line for every finished hand, which anybody may read at any time.

The § marks are README.md's paragraphs.
"""

from __future__ import annotations

import functools
import operator
from typing import NamedTuple

from ..core.compile.kernel import kernel, uncompiled
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
    kept = (state.scorecard_turned, state.scorecard_bid, state.scorecard_won)
    return _scorecard(options, _dealer(options, state, 0), *(array[:lines].tobytes() for array in kept))


_dealer, _size = uncompiled(dealer_of_line), uncompiled(size_of_hand)
_points, _sips = uncompiled(hand_points), uncompiled(sips_of)


@functools.lru_cache(maxsize=256)  # so that a game's next line, or another look at the card, costs that line or nothing
def _scorecard(
    options: Options, first_dealer: int, turned: bytes, bids: bytes, won: bytes
) -> tuple[ScorecardLine, ...]:
    """Of the bytes of the State's fields: none of their numbers is negative."""
    if not turned:
        return ()
    seats = options.num_players
    before = _scorecard(options, first_dealer, turned[:-1], bids[:-seats], won[:-seats])
    size = _size(options, len(before))
    pairs = list(zip(bids[-seats:], won[-seats:], strict=True))
    points = tuple(_points(options, bid, size, tricks) for bid, tricks in pairs)
    line = ScorecardLine(
        hand=len(before) + 1,
        cards=size,
        dealer=(first_dealer + len(before)) % seats,
        turned=turned[-1],
        bids=tuple(bids[-seats:]),
        won=tuple(won[-seats:]),
        points=points,
        totals=tuple(map(operator.add, before[-1].totals, points)) if before else points,
        sips=tuple(_sips(options, bid, size, tricks) for bid, tricks in pairs),
    )
    return (*before, line)
