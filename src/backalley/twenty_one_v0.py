"""Twenty-One with Back Passing, as PettingZoo names its environments: `from backalley import twenty_one_v0`.

Written by `backalley dev types` from the game's Options; not edited by hand.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex, TypedDict, Unpack

from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.registry import EnvSettings, make, with_options_of
from backalley.envs.twenty_one.game import GAME as game

__all__ = ["EnvOptions", "GivenOptions", "env", "game", "raw_env"]


class GivenOptions(TypedDict, total=False):
    """The options of Twenty-One with Back Passing, as they may be given; those left out are at their defaults."""

    preset: Literal["letter", "tiny", "small"]
    """options that go together under a name"""
    num_players: SupportsIndex
    """seats at the table (default: 4)"""
    initial_deposit: SupportsIndex
    """what a banker puts into the pot, or the least of it (default: 20)"""
    deposit: Literal["fixed", "chosen"] | SupportsIndex
    """every banker puts in `initial_deposit`, or chooses it once, twice or five times (default: "fixed")"""
    min_bet: SupportsIndex
    """least opening bet, unless pot or purse hold less (default: 1)"""
    bankroll: Literal["none"] | SupportsIndex
    """money of each player at the start; 0: purses begin at 0 and may go below (default: 100)"""
    banker: (
        Literal["seat_0", "seat_1", "seat_2", "seat_3", "seat_4", "seat_5", "seat_6", "seat_7", "random"]
        | SupportsIndex
    )
    """who holds the first bank (a seat's number is taken too) (default: "seat_0")"""
    auto_stand_21: bool | Literal[0, 1]
    """a punter stands on 21 without being asked (default: True)"""
    trade_seven: bool | Literal[0, 1]
    """a seven as first card may be traded (default: True)"""
    trade_eight_after_seven: bool | Literal[0, 1]
    """an eight that replaced a traded seven may be traded (default: True)"""
    trade_five_figures: bool | Literal[0, 1]
    """a hand of five figures may be traded (default: True)"""
    trade_fifteen: bool | Literal[0, 1]
    """a hand of fifteen may be traded (default: True)"""
    fifteen_test: Literal["any_valuation", "best_only"] | SupportsIndex
    """what makes a hand with Chantal a fifteen: any of its totals, or its best (default: "any_valuation")"""
    eight_chain: Literal["once", "repeat"] | SupportsIndex
    """whether an eight that replaced a traded eight may be traded too (default: "once")"""
    chantal: bool | Literal[0, 1]
    """the seven of hearts counts 1, 7, 10 or 11; otherwise it is a seven like others (default: True)"""
    chantal_is_ace: bool | Literal[0, 1]
    """Chantal and an ace are a Royal Black Jack (default: False)"""
    royal_payout: SupportsIndex
    """what a royal wins for each coin staked, as far as the pot reaches (default: 1)"""
    royal_after_trade: bool | Literal[0, 1]
    """two aces are royal after a trade too; otherwise they are 22 (default: True)"""
    back_pass_trigger: Literal["dealt_card", "first_card_after_trades", "any_card"] | SupportsIndex
    """which of the banker's cards end the bank in Back Passing (default: "dealt_card")"""
    back_pass_earliest_round: SupportsIndex
    """first round in which Back Passing may be declared (default: 1)"""
    banker_card_open: bool | Literal[0, 1]
    """the banker's first card is dealt face up (default: False)"""
    decline_opening_bet: bool | Literal[0, 1]
    """a punter may stand instead of betting, and is out of the round (default: False)"""
    reshuffle: Literal["every_round", "when_empty"] | SupportsIndex
    """all cards for every round, or the discards when the stock is used up (default: "every_round")"""
    breaker: Literal["last_winner", "largest_winner"] | SupportsIndex
    """who of the winners has broken the pot, and is the next banker: the one paid last, or most (default:
    "last_winner")"""
    pass_bank: Literal["clockwise", "chosen"] | SupportsIndex
    """in a session, a bank not wanted goes to the next seat, or to one that is named (default: "clockwise")"""
    final_round_fifteen: bool | Literal[0, 1]
    """the banker may trade a fifteen in the final round (default: True)"""
    episode: Literal["single_bank", "fixed_rounds", "session", "final_round"] | SupportsIndex
    """what an episode is: one bank, `rounds` rounds of it, `banks` banks, or a final round alone (default:
    "single_bank")"""
    rounds: SupportsIndex
    """rounds of an episode "fixed_rounds" (default: 1)"""
    banks: SupportsIndex
    """banks of an episode "session" (default: 4)"""
    force_back_pass_round: Literal["none"] | SupportsIndex
    """round from which Back Passing is declared without being asked; 0: never (default: 10)"""
    max_rounds: SupportsIndex
    """rounds after which a bank ends and the pot is the banker's (default: 40)"""
    bet_fractions: tuple[float, float, float] | list[float]
    """bets a quarter, half and pot, as shares of the most one can bet (default: (0.25, 0.5, 1.0))"""
    reward: Literal["episode", "per_round"] | SupportsIndex
    """what each seat gained is shown at the end or after every round (default: "episode")"""
    suits: SupportsIndex
    """suits in the pack, clubs first; fewer are for cut-down games (default: 4)"""


class EnvOptions(EnvSettings, GivenOptions, total=False):
    """The same, and what else `backalley.make` takes."""


@with_options_of(game)
def env(**given: Unpack[EnvOptions]) -> AECEnv:
    """A PettingZoo AEC environment of Twenty-One with Back Passing. What it takes beside the options: see
    `backalley.make`."""
    return make(game, **given)


raw_env = env
"""The same: order and legality are checked inside, not by wrappers."""
