"""Measures how games between equal strong players end, for tables.json: `backalley dev tune poker_duel
game_chances` (about a minute). To be run after the tables of tune.py, by which they play.

A game is counted once for each player, so that the table is as good for one as for the other. How much the dealer is
ahead is measured too, and written down with its interval: the strong player's choices do not depend on who deals.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.api.vector import BatchEnv
from ...core.compile.kernel import kernel
from ...core.rules import pokerhands
from ..bot import strong
from ..game import GAME
from ..observation import Observation
from ..rules import compare_slots
from ..slots import slot_strength
from ..state import SLOTS, Options, State

GAMES, TABLES, SEED = 200_000, 4_000, 1
Counts = npt.NDArray[np.int64]


@kernel
def choose(
    options: Options,
    observation: npt.NDArray[Any],
    mask: npt.NDArray[np.int8],
    rows: npt.NDArray[np.int64],
    actions: npt.NDArray[np.int64],
) -> None:
    """What the strong player does at those tables."""
    for index in range(len(rows)):
        shown: Observation = observation[rows[index]]
        actions[index] = strong(options, shown, mask[rows[index]], np.uint64(0))


@kernel
def count(options: Options, states: npt.NDArray[Any], counts: Counts) -> None:
    """Adds the finished games to `counts` [nothing_scores, 3, 3, 3]: the dealer has lost, tied or won each round."""
    for index in range(len(states)):
        state: State = states[index]
        for scores in range(2):
            place = np.ones(SLOTS, np.int64)
            for slot in range(SLOTS):
                best = max(slot_strength(options, state, 0, slot), slot_strength(options, state, 1, slot))
                if scores or best >> pokerhands.CATEGORY_SHIFT != pokerhands.Category.NOTHING:
                    order = compare_slots(options, state, slot)
                    place[slot] += order if state.dealer == 0 else -order
            counts[scores, place[0], place[1], place[2]] += 1


def played(games: int = GAMES, seed: int = SEED, misere: bool = False) -> Counts:
    """How so many games end for the dealer [nothing_scores, 3, 3, 3]."""
    game = GAME.bind(num_games=1, sudden_death=False, misere=misere)
    counts = np.zeros((2, 3, 3, 3), np.int64)
    for start in range(0, games, TABLES):
        batch = BatchEnv(game, min(TABLES, games - start), seed=seed + start, autoreset=False)
        shown = batch.reset()
        rows = np.flatnonzero(shown.seat >= 0)
        while len(rows):
            actions = np.empty(len(rows), np.int64)
            inner = batch.arrays
            choose(game.options, inner.observation, inner.mask, rows, actions)
            shown = batch.step(actions, rows)
            rows = np.flatnonzero(shown.seat >= 0)
        count(game.options, batch.arrays.state, counts)
        batch.close()
    return counts


def dealers_lead(counts: Counts) -> tuple[float, float]:
    """By how many points the dealer of a game is ahead on average [3, 3, 3], and the half width of the 95 % interval of
    that."""
    gains = np.arange(-1, 2)
    first, second, third = GAME.bind().options.round_points
    lead = first * gains[:, None, None] + second * gains[None, :, None] + third * gains
    share = counts / counts.sum()
    mean = float((share * lead).sum())
    return mean, 1.96 * math.sqrt(float((share * (lead - mean) ** 2).sum()) / float(counts.sum()))


def for_either(counts: Counts) -> Counts:
    """How the games end [nothing_scores, 3, 3, 3] for both players, each game counted twice."""
    return counts + counts[:, ::-1, ::-1, ::-1]


def measured(games: int = GAMES) -> tuple[Counts, npt.NDArray[np.float64]]:
    """How many games end in each way [misère, nothing_scores, 3, 3, 3], and by how many points the dealer is ahead,
    with half the 95 % interval [misère, 2]."""
    found = [played(games, misere=misere) for misere in (False, True)]
    leads = np.array([dealers_lead(counts[1]) for counts in found])
    return np.array([for_either(counts) for counts in found]), leads.round(3)
