"""Baccarat, as PettingZoo names its environments: `from backalley import baccarat_v0`.

Written by `backalley dev types` from the game's Options; not edited by hand.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex, TypedDict, Unpack

from backalley.envs.baccarat.game import GAME as game
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.registry import EnvSettings, make, with_options_of

__all__ = ["EnvOptions", "GivenOptions", "env", "game", "raw_env"]


class GivenOptions(TypedDict, total=False):
    """The options of Baccarat, as they may be given; those left out are at their defaults."""

    preset: Literal["letter", "tiny"]
    """options that go together under a name"""
    mode: Literal["table", "punto_banco", "chemin"] | SupportsIndex
    """bets and a choice on five; bets only; or the two hands against each other (default: "table")"""
    hands_declared: Literal["by_mode", "off", "on"] | SupportsIndex
    """both hands lie open while a choice is; `by_mode`: on in `table`, off elsewhere (default: "by_mode")"""
    decks: Literal["inf", "home", "casino6", "casino8"] | SupportsIndex
    """packs mixed (default: 8)"""
    commission: float
    """the house's part of what BANK wins (default: 0.05)"""
    tie_pays: SupportsIndex
    """what TIE wins, to 1 (default: 9)"""
    banker_rule: Literal["third_card", "table_only", "total"] | SupportsIndex
    """what the rows of the Banker's table speak of (default: "third_card")"""
    banker_policy: Literal["by_mode", "table", "free"] | SupportsIndex
    """`by_mode`: free in `chemin`, bound to the table elsewhere (default: "by_mode")"""
    reshuffle: Literal["every_coup", "shoe"] | SupportsIndex
    """mix before every coup, or deal from a shoe (default: "every_coup")"""
    cut_card: SupportsIndex
    """a shoe with this many cards or fewer is not dealt from again (default: 16)"""
    num_coups: Literal["shoe"] | SupportsIndex
    """coups in an episode (default: 1)"""
    stakes: SupportsIndex | tuple[SupportsIndex, ...] | list[int]
    """levels of a bet, in units (default: (1, 2, 5, 10))"""
    num_bettors: SupportsIndex
    """seats at a betting table (default: 1)"""
    purses: SupportsIndex | tuple[SupportsIndex, ...] | list[int]
    """what bettors can lose: nought no limit, one number everybody's (default: (0, 0, 0, 0, 0, 0, 0, 0))"""
    participant: Literal["largest_bet", "player_backer"] | SupportsIndex
    """who handles the Player hand: the largest bet, or of bets on PLAYER first (default: "largest_bet")"""
    banker: Literal["house", "rotating"] | SupportsIndex
    """who has the bank (default: "house")"""
    settles: Literal["bank", "house"] | SupportsIndex
    """who pays and collects where the bank rotates (default: "bank")"""
    first_banker: Literal["right", "richest"] | SupportsIndex
    """who has the rotating bank first (default: "right")"""
    chemin_player_free: bool | Literal[0, 1]
    """the Player of `chemin` chooses on every total from 0 to 7 (default: False)"""
    banker_sees: Literal["composition", "total"] | SupportsIndex
    """what the Banker of `chemin` knows of the Banker hand, where hands are not declared (default: "composition")"""
    bets_public: bool | Literal[0, 1]
    """bets are seen as they are placed, not only when all are (default: False)"""
    allow_no_bet: bool | Literal[0, 1]
    """a bettor may sit a coup out (default: True)"""
    suits: SupportsIndex
    """suits in the pack, clubs first; fewer are for cut-down games, of one pack (default: 4)"""


class EnvOptions(EnvSettings, GivenOptions, total=False):
    """The same, and what else `backalley.make` takes."""


@with_options_of(game)
def env(**given: Unpack[EnvOptions]) -> AECEnv:
    """A PettingZoo AEC environment of Baccarat. What it takes beside the options: see `backalley.make`."""
    return make(game, **given)


raw_env = env
"""The same: order and legality are checked inside, not by wrappers."""
