"""The exact value of a game to its first seat, or bounds of it, where a solver takes the game."""

from __future__ import annotations

import functools
from collections.abc import Callable

from backalley.envs.core.game.game import Game

from ..exact.equilibrium import find_equilibrium
from ..exact.exact import Unsolvable, check_solvable, solve
from ..exact.openings import grouped_openings
from ..exact.solver import Bounds
from ..exact.walk import TooLarge

NOT_EXACT = (Unsolvable, TooLarge)
"""What `value_of` raises."""
MOST_SETS = 4_000_000
"""Information sets of a game whose equilibrium takes seconds."""

_MOST_GROUPS = 20
"""Groups of openings of a game that is solved in seconds."""


@functools.lru_cache(maxsize=1)
def value_of(game: Game, num_threads: int = 1, most: int = MOST_SETS) -> Bounds:
    """Return bounds of what seat 0 gains: at best play in a game of one seat, where they are equal, else in
    equilibrium, if there are at most about `most` information sets. Raises Unsolvable, TooLarge."""
    if game.num_seats == 1:
        check_quick(game)
        value = solve(game, num_threads=num_threads).best_return
        return Bounds(value, value)
    return find_equilibrium(game, progress=no_more_than(most)).value


def check_quick(game: Game) -> None:
    """Raise Unsolvable for a game that cannot be solved, or in hours only."""
    check_solvable(game, whole=True)
    if len(grouped_openings(game)) > _MOST_GROUPS:
        raise Unsolvable(
            f"{game.name} has too many openings to be solved again and again; `backalley solve` solves it."
        )


def no_more_than(most: int) -> Callable[[int, int], None]:
    """Return what ends a walk, by TooLarge, soon after it has found `most` information sets."""

    def check(found: int, _: int) -> None:
        if found > most:
            raise TooLarge(f"There are more than {most:,} information sets; that takes too long here.")

    return check
