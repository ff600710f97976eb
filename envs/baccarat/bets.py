"""Bets: what they are, who handles the Player hand for them, and what they win. The § marks are README.md's
paragraphs."""

from __future__ import annotations

from ..core.kernel import kernel
from .coup import total
from .state import BANK, NO_BET, NUM_LEVELS, NUM_SIDES, PLAYER, TIE, Bank, Mode, Options, State, most_coups

ODDS_SCALE = 9  # rewards are units over nine times the largest stake (§3)


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
def net(options: Options, bet: int, winner: int) -> float:
    """§1.4: what a bet gains, in units; on a tie PLAYER and BANK come back."""
    stake = float(stake_of(options, bet))
    if bet == NO_BET:
        return 0.0
    side = side_of(bet)
    if side == winner:
        return stake * (
            1.0 if side == PLAYER else 1.0 - options.commission if side == BANK else float(options.tie_pays)
        )
    return 0.0 if winner == TIE else -stake


@kernel
def participant_of(options: Options, state: State) -> int:
    """§1.2: the largest bet on PLAYER, or without one the largest at all; the lowest seat of equals; never the seat
    that has the bank."""
    found, most = -1, 0
    for seat in range(options.num_bettors):
        bet = int(state.bets[seat])
        if bet == NO_BET or seat == state.banker:
            continue
        # A bet on PLAYER comes before any other.
        weight = stake_of(options, bet) + (1 << 20 if side_of(bet) == PLAYER else 0)
        if weight > most:
            found, most = seat, weight
    return found


@kernel
def gain(state: State, seat: int, units: float, scale: float) -> None:
    """Units won, and the same as a reward."""
    state.units[seat] = float(state.units[seat]) + units
    state.reward[seat] = float(state.reward[seat]) + units * scale


@kernel
def settle(options: Options, state: State) -> None:
    """§1.3, §1.4: compare the totals, pay and collect. A seat that has the bank gains what the others and the house do
    not."""
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
    for seat in range(options.num_bettors):
        if seat != state.banker:
            bet = int(state.bets[seat])
            units = net(options, bet, winner)
            gain(state, seat, units, scale)
            collected -= units
            if winner == BANK and bet != NO_BET and side_of(bet) == BANK:
                collected -= options.commission * stake_of(options, bet)
    if state.banker >= 0:
        gain(state, int(state.banker), collected, scale)


def reward_range(options: Options) -> tuple[float, float]:
    """§3: bounds of what a seat can lose and win in an episode."""
    coups = most_coups(options)
    if options.mode == Mode.CHEMIN:
        return -float(coups), float(coups)
    # The bank pays every other bettor's best bet, and collects every other bettor's stake.
    others = options.num_bettors - 1 if options.banker == Bank.ROTATING else 0
    best = max(1.0, float(options.tie_pays)) / ODDS_SCALE * coups
    return -max(coups / ODDS_SCALE, others * best), max(best, others * coups / ODDS_SCALE)


def zero_sum(options: Options) -> bool:
    """§1.4: whether what some win others lose: not against the house, and not where the house takes a commission."""
    return options.mode == Mode.CHEMIN or (options.banker == Bank.ROTATING and options.commission == 0)
