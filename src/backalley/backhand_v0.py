"""Backhand, as PettingZoo names its environments: `from backalley import backhand_v0`.

Written by `backalley dev types` from the game's Options; not edited by hand.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex, TypedDict, Unpack

from backalley.envs.backhand.game import GAME as game
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.registry import EnvSettings, make, with_options_of

__all__ = ["EnvOptions", "GivenOptions", "env", "game", "raw_env"]


class GivenOptions(TypedDict, total=False):
    """The options of Backhand, as they may be given; those left out are at their defaults."""

    preset: Literal["letter"]
    """options that go together under a name"""
    ace_rule: Literal["once", "until_clean", "off"] | SupportsIndex
    """each ace of an initial hand is replaced once, or until no ace comes, or not at all (default: "once")"""
    ace_rule_on_replacement: bool | Literal[0, 1]
    """whether the Ace Rule also holds for the two cards dealt after a push (default: True)"""


class EnvOptions(EnvSettings, GivenOptions, total=False):
    """The same, and what else `backalley.make` takes."""


@with_options_of(game)
def env(**given: Unpack[EnvOptions]) -> AECEnv:
    """A PettingZoo AEC environment of Backhand. What it takes beside the options: see `backalley.make`."""
    return make(game, **given)


raw_env = env
"""The same: order and legality are checked inside, not by wrappers."""
