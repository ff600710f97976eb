"""Baccarat's rule-based players. On whole packs no bet has a positive expectation (§8), so to sit out is right; a shoe
may tell more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.interfaces import Bot
from ..core.compile.kernel import kernel
from ..core.rules import rng
from ..core.rules.trick_hand import marked_place
from .answers import (
    NOTHING,
    SLIGHT,
    banker_answers,
    cards_left,
    choice_is_worth,
    gained,
    gains_of,
    mean,
    player_answers,
)
from .bets import bet_on, stake_of, top_stake
from .coup import banker_draws, hands_are_declared
from .observation import Observation
from .state import (
    BANK,
    BANKER_TURN,
    BETTING,
    DRAW,
    NO_BET,
    NUM_LEVELS,
    NUM_SIDES,
    PLAYER,
    SHOWN,
    STAND,
    STOOD,
    TIE,
    Bank,
    BankerRule,
    BankerSees,
    Mode,
    Options,
    Participant,
    Settles,
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
def stake_on(options: Options, mask: npt.NDArray[np.int8], side: int, largest: bool) -> int:
    """The largest or the smallest stake on a side that is legal; no bet where none is."""
    best = NO_BET
    for level in range(NUM_LEVELS):
        bet = bet_on(level, side)
        if mask[bet] and (best == NO_BET or (stake_of(options, bet) > stake_of(options, best)) == largest):
            best = bet
    return best


@kernel
def by_the_table(options: Options, observation: Observation) -> bool:
    """§1.3: whether the Banker's table draws, read as casinos read it."""
    return banker_draws(
        BankerRule.THIRD_CARD, marked_place(observation.total[BANK]), marked_place(observation.third), 0
    )


@kernel
def backer(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """The smallest stake on BANK; draws to a five; the Banker's table."""
    if observation.phase[BETTING]:
        return stake_on(options, mask, BANK, False)
    if observation.phase[BANKER_TURN]:
        return DRAW if by_the_table(options, observation) else STAND
    return DRAW if mask[DRAW] and marked_place(observation.total[PLAYER]) <= 5 else STAND


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
def handles(options: Options, observation: Observation, bet: int, side: int) -> bool:
    """§1.2: whether this bet makes me the participant whatever the others bet, which the first of the bettors can be
    sure of."""
    if options.mode != Mode.TABLE or observation.bank[0]:
        return False
    if options.num_bettors > 1 and (
        stake_of(options, bet) < top_stake(options)
        or (options.participant == Participant.PLAYER_BACKER and side != PLAYER)
    ):
        return False
    for index in range(options.num_bettors - marked_place(observation.my_seat), options.num_bettors):
        if not observation.bank[index]:
            return False
    return True


@kernel
def counted_bet(options: Options, observation: Observation, mask: npt.NDArray[np.int8]) -> int:
    """The largest stake on the best side where that gives more than nothing; else none, or where one must bet, the
    smallest. A bet with oneself, having the bank, gives nothing."""
    left = cards_left(observation)
    comes = (
        chance(options, observation, PLAYER, left),
        chance(options, observation, BANK, left),
        chance(options, observation, TIE, left),
    )
    more = choice_is_worth(options, observation, left) if hands_are_declared(options) else (0.0, 0.0, 0.0)
    best, most = -1, 0.0
    for side in range(NUM_SIDES):
        bet = stake_on(options, mask, side, True)
        if bet != NO_BET:
            worth = mean(gains_of(options, side), comes)
            if handles(options, observation, bet, side):
                worth += more[side]
            if best < 0 or worth > most:
                best, most = side, worth
    own_bank = options.banker == Bank.ROTATING and options.settles == Settles.BANK and observation.bank[0]
    if best >= 0 and most > 0.0 and not own_bank:
        return stake_on(options, mask, best, True)
    return NO_BET if mask[NO_BET] else stake_on(options, mask, best, False)


@kernel
def declared_answer(options: Options, observation: Observation) -> int:
    """§1.5: stand or draw with both hands open, exactly: for my bet, in chemin de fer for my hand; of equals to draw,
    as the text's experts do."""
    left = cards_left(observation)
    player, banker = marked_place(observation.total[PLAYER]), marked_place(observation.total[BANK])
    if observation.phase[BANKER_TURN]:
        side, third = BANK, marked_place(observation.third)
        if third != STOOD:
            player = (player + third) % 10
        stood = banker_answers(observation, left, player, banker, NOTHING, False)
        drew = banker_answers(observation, left, player, banker, NOTHING, True)
    else:
        side = PLAYER if options.mode == Mode.CHEMIN else marked_place(observation.bet[0]) - 1
        stood = player_answers(options, observation, left, player, banker, False)
        drew = player_answers(options, observation, left, player, banker, True)
    return STAND if gained(options, side, stood, drew) > SLIGHT else DRAW


@kernel
def banker_chance(options: Options, observation: Observation) -> int:
    """How likely the Banker of chemin de fer should draw, in millionths."""
    points, third = marked_place(observation.total[BANK]), marked_place(observation.third)
    low, high = marked_place(observation.hand[BANK, 0]), marked_place(observation.hand[BANK, 1])
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
def mixed_answer(options: Options, observation: Observation) -> int:
    """How likely a hand of chemin de fer is to draw, in millionths."""
    points = marked_place(observation.total[PLAYER])
    if observation.phase[BANKER_TURN]:
        return banker_chance(options, observation)
    if points == 5:
        return FIVE_BY_TOTALS if options.decks == 0 or options.banker_sees == BankerSees.TOTAL else FIVE_BY_CARDS
    return MILLION if points < 5 else 0


@kernel
def counter_choice(options: Options, observation: Observation, mask: npt.NDArray[np.int8]) -> tuple[int, int]:
    """Bets by the count; on a five, what helps the bettor's own bet; in chemin de fer, the equilibrium; with both hands
    open, the best answer. Returns an action and its probability in millionths; the rest is STAND's."""
    if observation.phase[BETTING]:
        return counted_bet(options, observation, mask), MILLION
    if observation.phase[SHOWN]:
        return STAND, MILLION
    if hands_are_declared(options):
        return declared_answer(options, observation), MILLION
    if options.mode != Mode.CHEMIN:
        return STAND if observation.bet[0, 1 + BANK] else DRAW, MILLION
    return DRAW, mixed_answer(options, observation)


@kernel
def counter(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Draw from `counter_choice`."""
    action, likely = counter_choice(options, observation, mask)
    key, drawn = rng.below(key, MILLION)
    return action if drawn < likely else STAND


@kernel
def counter_chances(
    options: Options, observation: Observation, mask: npt.NDArray[np.int8], out: npt.NDArray[np.float64]
) -> None:
    """Tell `counter_choice`."""
    action, likely = counter_choice(options, observation, mask)
    out[:] = 0.0
    out[action] = likely / MILLION
    out[STAND] += 1.0 - likely / MILLION


BOTS = (
    Bot(
        "backer",
        backer,
        "Puts the smallest stake on BANK every coup, draws to a five, and as the Banker follows the table.",
    ),
    Bot(
        "counter",
        counter,
        "Sits out but where the cards left in the shoe favour a side, its own answers to a five counted in, then bets "
        "the largest stake; on a five it reckons what helps its bet against the hand declared, or where hands are not "
        "declared draws unless its money is on BANK; in `chemin` it plays the equilibrium.",
        chances=counter_chances,
    ),
)
