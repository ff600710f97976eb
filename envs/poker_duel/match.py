"""What a match is worth by its score, §1.2: for searches, which stop at the end of a game."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from .state import Options
from .tables import GAME_CHANCES


@kernel
def game_points(options: Options) -> int:
    """What a game's three rounds are worth together."""
    return options.round_points[0] + options.round_points[1] + options.round_points[2]


@kernel
def game_gains(options: Options) -> npt.NDArray[np.float64]:
    """The chance of each gain of one game between equal players, from losing all its points to winning them [2 * points
    of a game + 1]."""
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
    return share


@kernel
def match_values(options: Options, lead: int, games: int, around: int) -> npt.NDArray[np.float64]:
    """The reward to expect of a match by a seat that is ahead by `lead - around` to `lead + around` points with `games`
    to play, the seats alike [2 * around + 1].

    A level match is worth nothing to either, whether it is drawn or goes to sudden death; nor is it worth anything to
    deal.
    """
    most = game_points(options)
    share = game_gains(options)
    worth = np.empty(2 * (most * games + around) + 1)
    for place in range(len(worth)):
        final = lead - most * games - around + place
        worth[place] = int(final > 0) - int(final < 0)
    for left in range(games - 1, -1, -1):  # one game less to play each time, and less that either may gain
        for place in range(2 * (most * left + around) + 1):
            total = 0.0
            for gain in range(2 * most + 1):
                total += share[gain] * worth[place + gain]
            worth[place] = total
    return worth[: 2 * around + 1]


@kernel
def match_value(options: Options, lead: int, games: int) -> float:
    """The reward to expect of a match by a seat that is `lead` points ahead with `games` to play, see
    `match_values`."""
    return float(match_values(options, lead, games, 0)[0])
