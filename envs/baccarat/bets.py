"""Bets: what they are, who handles the Player hand for them, and what they win. The § marks are README.md's
paragraphs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from .coup import total
from .state import (
    BANK,
    NO_BET,
    NUM_LEVELS,
    NUM_SIDES,
    PLAYER,
    TIE,
    Bank,
    Mode,
    Options,
    Participant,
    Settles,
    State,
    most_coups,
)

ODDS_SCALE = 9  # rewards are units over nine times the largest stake (§3)
NO_LIMIT = 1 << 62  # units, where there are no purses
DUST = 1e-5  # what sums of commissions may be out by; no money that a purse holds is less


@kernel
def bet_on(level: int, side: int) -> int:
    """§3: the action that puts the stake of a level on PLAYER, BANK or TIE."""
    return 1 + NUM_SIDES * level + side


@kernel
def level_of(bet: int) -> int:
    """The level of an action that is a bet."""
    return (bet - 1) // NUM_SIDES


@kernel
def side_of(bet: int) -> int:
    """PLAYER, BANK or TIE, of an action that is a bet."""
    return (bet - 1) % NUM_SIDES


@kernel
def stake_of(options: Options, bet: int) -> int:
    """The units of a bet."""
    return 0 if bet == NO_BET else options.stakes[level_of(bet)]


@kernel
def top_stake(options: Options) -> int:
    """The largest stake of the table."""
    most = 0
    for level in range(NUM_LEVELS):
        most = max(most, options.stakes[level])
    return most


@kernel
def unit_net(options: Options, side: int, winner: int) -> float:
    """§1.4: what a unit on a side gains; on a tie PLAYER and BANK come back."""
    if side == winner:
        return 1.0 if side == PLAYER else 1.0 - options.commission if side == BANK else float(options.tie_pays)
    return 0.0 if winner == TIE else -1.0


@kernel
def net(options: Options, bet: int, winner: int) -> float:
    """§1.4: what a bet gains, in units."""
    return 0.0 if bet == NO_BET else stake_of(options, bet) * unit_net(options, side_of(bet), winner)


@kernel
def participant_of(options: Options, state: State) -> int:
    """§1.2: the largest bet, or `player_backer`: the largest on PLAYER if there is one; the lowest seat of equals;
    never the seat that has the bank."""
    found, most = -1, 0
    for seat in range(options.num_bettors):
        bet = int(state.bets[seat])
        if bet == NO_BET or seat == state.banker:
            continue
        first = options.participant == Participant.PLAYER_BACKER and side_of(bet) == PLAYER
        weight = stake_of(options, bet) + (1 << 20 if first else 0)
        if weight > most:
            found, most = seat, weight
    return found


@kernel
def has_purses(options: Options) -> bool:
    """§2.5: whether bets are limited."""
    return options.purses[0] > 0


@kernel
def purse_of(options: Options, seat: int) -> int:
    """§2.5: what a seat begins with: its own purse, or the one that is everybody's."""
    return options.purses[seat if options.purses[1] > 0 else 0]


@kernel
def money(options: Options, state: State, seat: int) -> float:
    """§2.5: what a seat has, by its purse and what it has won so far; a bank that owed more than it had is below
    nought."""
    return purse_of(options, seat) + float(state.units[seat])


@kernel
def whole_units(options: Options, state: State, seat: int) -> int:
    """§2.3: what a seat has as far as stakes can use it, which are whole units."""
    return math.floor(money(options, state, seat) + DUST)


@kernel
def richest(options: Options) -> int:
    """§1.2: the seat with the largest purse, the lowest of equals."""
    best = 0
    for seat in range(1, options.num_bettors):
        if purse_of(options, seat) > purse_of(options, best):
            best = seat
    return best


@kernel
def bank_settles(options: Options, state: State) -> bool:
    """§1.4: whether a seat pays and collects."""
    return bool(state.banker >= 0) and options.settles == Settles.BANK


@kernel
def legal_bets(options: Options, state: State, seat: int, mask: npt.NDArray[np.int8]) -> int:
    """§2.3, §2.5: stakes that the table has and the seat's money covers, and that the bank, if a seat's, could pay were
    each the only one: so what is legal tells nothing of bets that are hidden. Gives their number."""
    own, bank = NO_LIMIT, NO_LIMIT
    if has_purses(options):
        own = whole_units(options, state, seat)
        if bank_settles(options, state):
            bank = whole_units(options, state, int(state.banker))
    bets = 0
    for level in range(NUM_LEVELS):
        stake = options.stakes[level]
        covered = 0 < stake <= own
        even = int(covered and stake <= bank)
        tie = int(covered and stake * options.tie_pays <= bank)
        mask[bet_on(level, PLAYER)] = even
        mask[bet_on(level, BANK)] = even
        mask[bet_on(level, TIE)] = tie
        bets += 2 * even + tie
    return bets


@kernel
def gain(state: State, seat: int, units: float, scale: float) -> None:
    """Units won, and the same as a reward."""
    state.units[seat] = float(state.units[seat]) + units
    state.reward[seat] = float(state.reward[seat]) + units * scale


@kernel
def settle(options: Options, state: State) -> None:
    """§1.3, §1.4: compare the totals, pay and collect. A seat that has the bank and settles gains what the others and
    the house do not, and its own bet is with itself."""
    player, banker = total(state, PLAYER), total(state, BANK)
    winner = PLAYER if player > banker else BANK if banker > player else TIE
    state.totals[PLAYER] = player
    state.totals[BANK] = banker
    state.winner = winner + 1
    if options.mode == Mode.CHEMIN:
        order = float(int(winner == PLAYER) - int(winner == BANK))
        gain(state, 0, order, 1.0)
        gain(state, 1, -order, 1.0)
        return
    scale = 1.0 / (ODDS_SCALE * top_stake(options))
    collected = 0.0
    from_bank = bank_settles(options, state)
    for seat in range(options.num_bettors):
        if not from_bank or seat != state.banker:
            bet = int(state.bets[seat])
            units = net(options, bet, winner)
            gain(state, seat, units, scale)
            collected -= units
            if winner == BANK and bet != NO_BET and side_of(bet) == BANK:
                collected -= options.commission * stake_of(options, bet)
    if from_bank:
        gain(state, int(state.banker), collected, scale)


def reward_range(options: Options) -> tuple[float, float]:
    """§3: bounds of what a seat can lose and win in an episode."""
    coups = most_coups(options)
    if options.mode == Mode.CHEMIN:
        return -float(coups), float(coups)
    # A bank that settles pays every other bettor's best bet, and collects every other bettor's stake.
    from_bank = options.banker == Bank.ROTATING and options.settles == Settles.BANK
    others = options.num_bettors - 1 if from_bank else 0
    best = max(1.0, float(options.tie_pays)) / ODDS_SCALE * coups
    return -max(coups / ODDS_SCALE, others * best), max(best, others * coups / ODDS_SCALE)


def zero_sum(options: Options) -> bool:
    """§1.4: whether what some win others lose: not against the house, and not where the house takes a commission."""
    from_bank = options.banker == Bank.ROTATING and options.settles == Settles.BANK
    return options.mode == Mode.CHEMIN or (from_bank and options.commission == 0)
