"""Baccarat's rule-based players. On whole packs no bet has a positive expectation (§8), so to sit out is right; a shoe
may tell more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core import rng
from ..core.kernel import kernel
from ..core.parts import Bot
from .bets import bet_on
from .coup import banker_draws
from .observation import Observation
from .state import (
    BANK,
    BANKER_TURN,
    BETTING,
    DRAW,
    NO_BET,
    NUM_LEVELS,
    PLAYER,
    SHOWN,
    STAND,
    STOOD,
    TIE,
    BankerRule,
    BankerSees,
    Mode,
    Options,
)

# From `odds.py`, eight packs, for each reading of the Banker's table (§6.1): how often each side comes, and by how many
# millionths that changes when one card of value 0-9 is taken out.
COMES = ((0.4462466, 0.4585974, 0.0951560), (0.4607431, 0.4482453, 0.0910116), (0.4553888, 0.4640228, 0.0805885))
REMOVED = (
    (
        (-37.4, -29.6, -13.8, -21.7, -43.5, 56.7, 120.8, 101.5, -9.7, -11.2),
        (-19.6, 15.2, 40.4, 45.5, 76.0, -27.3, 8.0, 19.8, -63.0, -36.1),
        (57.0, 14.4, -26.6, -23.8, -32.5, -29.4, -128.8, -121.3, 72.7, 47.3),
    ),
    (
        (23.7, 10.2, -16.7, -124.5, -169.1, -26.7, 40.1, 89.2, 52.5, 50.1),
        (-63.3, -28.8, 17.5, 106.9, 181.0, 57.2, 81.5, 24.9, -107.5, -79.9),
        (39.5, 18.6, -0.9, 17.6, -11.9, -30.5, -121.6, -114.2, 55.0, 29.8),
    ),
    (
        (-3.0, 37.0, 55.6, 20.1, -85.9, -6.2, -10.7, 82.2, -49.5, -30.6),
        (6.8, -21.1, -30.9, -24.5, 45.1, -62.7, -28.9, 49.4, 16.7, 29.8),
        (-3.8, -15.9, -24.6, 4.4, 40.8, 68.9, 39.7, -131.6, 32.8, 0.8),
    ),
)
CARDS_AFTER = 415  # cards left when one of eight packs' is gone

# Equilibrium of chemin de fer (§7.3): chances to draw, in millionths. By totals: Kemeny and Snell 1957; by cards:
# `odds.py`, eight packs.
FIVE_BY_TOTALS, SIX_BY_TOTALS = 818_182, 375_437
FIVE_BY_CARDS, SIX_BY_CARDS = 808_569, 632_864
MILLION = 1_000_000


@kernel
def which(row: npt.NDArray[np.uint8]) -> int:
    """Where a row has its 1, or -1."""
    for index in range(row.shape[0]):
        if row[index]:
            return index
    return -1


@kernel
def stake_on(options: Options, side: int, largest: bool) -> int:
    """The largest or the smallest stake on a side."""
    best = 0
    for level in range(1, NUM_LEVELS):
        stake = options.stakes[level]
        if stake > 0 and (stake > options.stakes[best]) == largest:
            best = level
    return bet_on(best, side)


@kernel
def by_the_table(options: Options, observation: Observation) -> bool:
    """§1.3: whether the Banker's table draws, read as casinos read it."""
    return banker_draws(BankerRule.THIRD_CARD, which(observation.total), which(observation.third), 0)


@kernel
def backer(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """The smallest stake on BANK; draws to a five; the Banker's table."""
    if observation.phase[BETTING]:
        return stake_on(options, BANK, False)
    if observation.phase[BANKER_TURN]:
        return DRAW if by_the_table(options, observation) else STAND
    return DRAW if mask[DRAW] and which(observation.total) <= 5 else STAND


@kernel
def chance(options: Options, observation: Observation, side: int, left: int) -> float:
    """How likely a side is to come, estimated linearly from the `left` cards of each value; packs without end never
    change."""
    if left == 0:
        return COMES[options.banker_rule][side]
    change = 0.0
    for value in range(10):
        change -= REMOVED[options.banker_rule][side][value] * float(observation.remaining[value])
    return COMES[options.banker_rule][side] + change * 1e-6 * CARDS_AFTER / left


@kernel
def counted_bet(options: Options, observation: Observation, mask: npt.NDArray[np.int8]) -> int:
    """The largest stake on the best side where the count gives it more than nothing; else none, or where one must bet,
    the smallest."""
    left = 0
    for value in range(10):
        left += int(observation.remaining[value])
    player, banker = chance(options, observation, PLAYER, left), chance(options, observation, BANK, left)
    best, most = PLAYER, player - banker
    worth = banker * (1.0 - options.commission) - player
    if worth > most:
        best, most = BANK, worth
    worth = chance(options, observation, TIE, left) * (options.tie_pays + 1) - 1.0
    if worth > most:
        best, most = TIE, worth
    if most > 0.0:
        return stake_on(options, best, True)
    return NO_BET if mask[NO_BET] else stake_on(options, best, False)


@kernel
def banker_chance(options: Options, observation: Observation) -> int:
    """How likely the Banker of chemin de fer should draw, in millionths."""
    points, third = which(observation.total), which(observation.third)
    low, high = which(observation.hand[0]), which(observation.hand[1])
    if options.banker_sees == BankerSees.TOTAL or options.decks == 0:
        if points == 6 and third == STOOD:
            return SIX_BY_TOTALS
    elif points == 6 and third == STOOD:
        if low == 8 and high == 8:
            return MILLION
        if low == 0 or high == 0:
            return SIX_BY_CARDS
    elif points == 5 and third == 4 and (low == 2 or high == 2):
        return 0
    return MILLION if by_the_table(options, observation) else 0


@kernel
def counter(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Bets by the count; on a five, what helps the bettor's own bet; in chemin de fer, the equilibrium."""
    if observation.phase[BETTING]:
        return counted_bet(options, observation, mask)
    if observation.phase[SHOWN]:
        return STAND
    if options.mode != Mode.CHEMIN:
        return STAND if observation.bet[0, 1 + BANK] else DRAW
    points = which(observation.total)
    if observation.phase[BANKER_TURN]:
        draws = banker_chance(options, observation)
    elif points == 5:
        draws = FIVE_BY_TOTALS if options.decks == 0 or options.banker_sees == BankerSees.TOTAL else FIVE_BY_CARDS
    else:
        draws = MILLION if points < 5 else 0
    key, drawn = rng.below(key, MILLION)
    return DRAW if drawn < draws else STAND


BOTS = (
    Bot(
        "backer",
        backer,
        "Puts the smallest stake on BANK every coup, draws to a five, and as the Banker follows the table.",
    ),
    Bot(
        "counter",
        counter,
        "Sits out but where the cards left in the shoe favour a side, then "
        "bets the largest stake; on a five it draws unless its own money "
        "is on BANK; in `chemin` it plays the equilibrium.",
    ),
)
