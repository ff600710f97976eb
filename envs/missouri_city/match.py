"""The games of a match, §3.6: which stalemate is replayed, and what a match is worth by its score."""

from __future__ import annotations

import numpy as np

from ..core.compile.kernel import kernel
from .state import MOST_DEALS, Options, Stalemate

DECIDED = 0.66
"""The share of deals that are no stalemate between the bots; by it a game to come is taken for won, lost or drawn."""


@kernel
def is_replayed(options: Options, stalemates: int) -> bool:
    """Whether another stalemate, in a game that has had so many, is replayed. §3.6"""
    return options.stalemate == Stalemate.REPLAY and stalemates + 1 < MOST_DEALS


@kernel
def match_value(options: Options, lead: int, games: int) -> float:
    """The reward to expect of a match by a seat that is `lead` games ahead with `games` to play, the seats alike."""
    decided = 1.0 if options.stalemate == Stalemate.REPLAY else DECIDED
    worth = np.empty(2 * games + 1)
    for place in range(2 * games + 1):
        final = lead - games + place
        worth[place] = (final > 0) - (final < 0)
    for left in range(games, 0, -1):  # one game less to play each time, and a lead of one less at either end
        for place in range(2 * left - 1):
            worth[place] = 0.5 * decided * (worth[place] + worth[place + 2]) + (1.0 - decided) * worth[place + 1]
    return float(worth[0])
