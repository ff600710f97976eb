"""Missouri City Backhand, as PettingZoo names its environments: `from backalley import missouri_city_v0`.

Written by `backalley dev types` from the game's Options; not edited by hand.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex, TypedDict, Unpack

from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.registry import EnvSettings, make, with_options_of
from backalley.envs.missouri_city.game import GAME as game

__all__ = ["EnvOptions", "GivenOptions", "env", "game", "raw_env"]


class GivenOptions(TypedDict, total=False):
    """The options of Missouri City Backhand, as they may be given; those left out are at their defaults."""

    preset: Literal["letter", "tiny", "small"]
    """options that go together under a name"""
    ace_rule: Literal["once", "until_clean", "off"] | SupportsIndex
    """each ace of an initial hand is replaced once, or until no ace comes, or not at all (default: "once")"""
    ace_rule_on_replacement: bool | Literal[0, 1]
    """whether the Ace Rule also holds for the two cards dealt after a push (default: True)"""
    dealer_total_cap: bool | Literal[0, 1]
    """an ace drawn against a shown ace: true makes the dealer total 12, false 22 (default: True)"""
    stand_pat: bool | Literal[0, 1]
    """whether a seat whose hit left it ahead of the dealer may stand on its next turn, §3.5 (default: False)"""
    dealt_first: Literal["green", "red", "random", "alternate"] | SupportsIndex
    """the seat dealt first: green (0), red (1), by lot once a match, or in turn from deal to deal, green first
    (default: "random")"""
    stalemate: Literal["replay", "draw"] | SupportsIndex
    """a game that nobody won: replayed with a new pack, 100 deals at most, or drawn, §3.6 (default: "replay")"""
    num_games: SupportsIndex
    """games in a match, §3.6 (default: 1)"""
    lowest: SupportsIndex
    """least value of the cards in the pack; above 1 for cut-down games, §3.7 (default: 1)"""
    highest: SupportsIndex
    """greatest value of the cards in the pack; below 10 for cut-down games, §3.7 (default: 10)"""
    suits: SupportsIndex
    """suits in the pack, clubs first; fewer are for cut-down games (default: 4)"""


class EnvOptions(EnvSettings, GivenOptions, total=False):
    """The same, and what else `backalley.make` takes."""


@with_options_of(game)
def env(**given: Unpack[EnvOptions]) -> AECEnv:
    """A PettingZoo AEC environment of Missouri City Backhand. What it takes beside the options: see
    `backalley.make`."""
    return make(game, **given)


raw_env = env
"""The same: order and legality are checked inside, not by wrappers."""
