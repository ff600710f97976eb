"""Bets of Twenty-One: how much, which of them are legal, and the banker's match (§1.1, §1.5, §3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.compile.kernel import kernel
from .state import BET_HALF, BET_MIN, BET_POT, BET_QUARTER, LARGEST_MONEY, WHOLE, Options, State


@kernel
def credit(options: Options) -> int:
    """How far a purse may go below 0: not at all, or without a bankroll as far as keeps all money within LARGEST_MONEY.
    §1.1"""
    return 0 if options.bankroll > 0 else LARGEST_MONEY // options.num_players


@kernel
def limit(options: Options, state: State, seat: int) -> int:
    """The most a seat can bet now. §1.5"""
    return min(int(state.pot), int(state.purse[seat]) + credit(options))


@kernel
def opening(state: State, seat: int) -> bool:
    """Whether a punter has not bet yet in this round. §1.5"""
    return seat != int(state.banker) and int(state.own[seat]) == 0


@kernel
def bet_size(options: Options, state: State, seat: int, action: int) -> int:
    """What a bet amounts to now. §3"""
    most = limit(options, state, seat)
    return min(options.min_bet, most) if action == BET_MIN else share(most, options.bet_fractions[action - BET_QUARTER])


@kernel
def share(most: int, thousandths: int) -> int:
    """A share of the most one can bet, rounded up to whole coins. §3"""
    return (most * thousandths + WHOLE - 1) // WHOLE  # below 2**63, since no money passes 2**53


@kernel
def legal_bets(options: Options, state: State, seat: int, least: int, mask: npt.NDArray[np.int8]) -> None:
    """§3: bets of `least` and more, of those that amount to the same only the first."""
    most = limit(options, state, seat)
    if most <= 0:
        return
    shares = options.bet_fractions
    lowest, quarter, half, pot = (
        min(options.min_bet, most),
        share(most, shares[0]),
        share(most, shares[1]),
        share(most, shares[2]),
    )
    mask[BET_MIN] = 1
    mask[BET_QUARTER] = int(quarter >= least and quarter != lowest)
    mask[BET_HALF] = int(half >= least and half != lowest and half != quarter)
    mask[BET_POT] = int(pot >= least and pot != lowest and pot != quarter and pot != half)


@kernel
def bet(state: State, seat: int, size: int) -> None:
    """§1.5: the banker matches a punter's bet from the pot."""
    state.purse[seat] = int(state.purse[seat]) - size
    state.own[seat] = int(state.own[seat]) + size
    state.pot = int(state.pot) - size
