"""Killer Back Alley Bridge Substitute, as PettingZoo names its environments: `from backalley import killer_bridge_v0`.

Written by `backalley dev types` from the game's Options; not edited by hand.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex, TypedDict, Unpack

from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.registry import EnvSettings, make, with_options_of
from backalley.envs.killer_bridge.game import GAME as game

__all__ = ["EnvOptions", "GivenOptions", "env", "game", "raw_env"]


class GivenOptions(TypedDict, total=False):
    """The options of Killer Back Alley Bridge Substitute, as they may be given; those left out are at their
    defaults."""

    preset: Literal["letter", "recommended", "cutthroat", "real", "half_game", "tiny", "small"]
    """options that go together under a name"""
    num_players: SupportsIndex
    """seats at the table (default: 4)"""
    ultimate: bool | Literal[0, 1]
    """the Ultimate game: exactly 37 points win (default: False)"""
    drinking: bool | Literal[0, 1]
    """the Drinking game: sips are counted (default: False)"""
    scoring: Literal["squared", "linear"] | SupportsIndex
    """f(x) is x², as in Cutthroat, or x (default: "squared")"""
    linear_penalty: Literal["linear", "squared"] | SupportsIndex
    """f(x) of a missed bid in the linear game (default: "linear")"""
    length: Literal["full", "down", "up", "single"] | SupportsIndex
    """hands of all sizes down and up again, down only, up only, or one hand (default: "full")"""
    hand_size: Literal["largest"] | SupportsIndex
    """cards of a single hand (default: 0)"""
    first_dealer: Literal["random"] | SupportsIndex
    """who deals the first hand (default: -1)"""
    allow_board: bool | Literal[0, 1]
    """BOARD may be bid (default: True)"""
    allow_rainbow: bool | Literal[0, 1]
    """RAINBOW may be bid (default: True)"""
    shared_win: bool | Literal[0, 1]
    """equal totals share the win; otherwise the number of bids made decides first (default: True)"""
    sip_rule: Literal["one_per_miss", "difference"] | SupportsIndex
    """sips for a bid missed in the drinking game: one, or one per trick (default: "one_per_miss")"""
    sips_per_miss: SupportsIndex | tuple[SupportsIndex, ...] | list[int]
    """what `sip_rule` gives is so many times as much: one number, or one each for bids missed by 1, 2, 3 and so on, the
    last going on (default: 1)"""
    history: Literal["full", "last_trick"] | SupportsIndex
    """observations show the whole hand's tricks, or the last finished one (default: "full")"""
    scorecard_in_observation: bool | Literal[0, 1]
    """observations hold the whole scorecard (default: False)"""
    reward: Literal["auto", "points", "win"] | SupportsIndex
    """points above the table's mean, or the win; `auto` is points, in `ultimate` the win (default: "auto")"""
    per_hand_rewards: bool | Literal[0, 1]
    """points are paid hand by hand; otherwise when the game ends (default: False)"""
    suits: SupportsIndex
    """suits in the pack, clubs first; fewer, without jokers, are for cut-down games (default: 4)"""


class EnvOptions(EnvSettings, GivenOptions, total=False):
    """The same, and what else `backalley.make` takes."""


@with_options_of(game)
def env(**given: Unpack[EnvOptions]) -> AECEnv:
    """A PettingZoo AEC environment of Killer Back Alley Bridge Substitute. What it takes beside the options: see
    `backalley.make`."""
    return make(game, **given)


raw_env = env
"""The same: order and legality are checked inside, not by wrappers."""
