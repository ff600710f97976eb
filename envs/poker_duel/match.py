"""What a match is worth by its score, §1.2: for searches, which stop at the end of a game."""

from __future__ import annotations

import numpy as np

from ..core.kernel import kernel
from .game_chances import GAME_CHANCES
from .state import Options


@kernel
def game_points(options: Options) -> int:
    """What a game's three rounds are worth together."""
    return options.round_points[0] + options.round_points[1] + options.round_points[2]


@kernel
def match_value(options: Options, lead: int, games: int) -> float:
    """The reward to expect of a match by a seat that is `lead` points ahead with `games` to play, the seats alike.

    A level match is worth nothing to either, whether it is drawn or goes to sudden death; nor is it worth anything to
    deal.
    """
    most = game_points(options)
    share = np.zeros(2 * most + 1)
    for first in range(3):
        for second in range(3):
            for third in range(3):
                gain = (first - 1) * options.round_points[0]
                gain += (second - 1) * options.round_points[1] + (third - 1) * options.round_points[2]
                share[most + gain] += GAME_CHANCES[
                    int(options.misere), int(options.nothing_scores), first, second, third
                ]
    worth = np.empty(2 * most * games + 1)
    for place in range(len(worth)):
        final = lead - most * games + place
        worth[place] = int(final > 0) - int(final < 0)
    for left in range(games - 1, -1, -1):  # one game less to play each time, and less that either may gain
        for place in range(2 * most * left + 1):
            total = 0.0
            for gain in range(2 * most + 1):
                total += share[gain] * worth[place + gain]
            worth[place] = total
    return float(worth[0])
