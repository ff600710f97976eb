"""Bezique, as PettingZoo names its environments: `from backalley import bezique_v0`.

Written by `backalley dev types` from the game's Options; not edited by hand.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex, TypedDict, Unpack

from backalley.envs.bezique.game import GAME as game
from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.registry import EnvSettings, make, with_options_of

__all__ = ["EnvOptions", "GivenOptions", "env", "game", "raw_env"]


class GivenOptions(TypedDict, total=False):
    """The options of Bezique, as they may be given; those left out are at their defaults."""

    preset: Literal["letter", "tiny"]
    """options that go together under a name"""
    stock_top_open: bool | Literal[0, 1]
    """the top card of the stock lies face up (default: True)"""
    turn_up: Literal["kept_for_last", "taken_first"] | SupportsIndex
    """the turn-up is drawn last, or by the winner of trick 1 (default: "kept_for_last")"""
    seven_rule: Literal["hand", "trick", "both"] | SupportsIndex
    """the seven of trumps is declared from the hand, with an exchange; or from the trick just won; or it is declared
    from the hand and exchanged from the trick (default: "hand")"""
    seven_is_declaration: bool | Literal[0, 1]
    """the seven counts as the trick's one declaration; otherwise it may be a second (default: True)"""
    quartet: Literal["one_of_each_suit", "any"] | SupportsIndex
    """four of a kind: one of each suit, or any four (default: "one_of_each_suit")"""
    plain_sequence: SupportsIndex
    """points of a sequence that is not trumps; 0: it cannot be declared (default: 100)"""
    reuse: Literal["class", "free", "once"] | SupportsIndex
    """how often a card may be declared: once in each kind, freely, once in all (default: "class")"""
    declare_at_trick_24: bool | Literal[0, 1]
    """the winner of trick 24 may still declare (default: True)"""
    endgame: Literal["source", "classic"] | SupportsIndex
    """the duty of the second player in the last eight tricks: to win first, or to follow suit first (default:
    "source")"""
    last_trick: Literal["trick_24"] | SupportsIndex
    """points of trick 32, or ten for trick 24 (default: 10)"""
    melds_face_up: bool | Literal[0, 1]
    """declared cards lie face up; otherwise they are named and laid face down (default: True)"""
    mode: Literal["deal", "match"] | SupportsIndex
    """one deal, or a match up to `target` (default: "deal")"""
    target: SupportsIndex
    """points that end a match (default: 1000)"""
    cards_dealt: SupportsIndex
    """cards dealt to each player, and tricks without a stock; fewer are for cut-down games (default: 8)"""
    first_dealer: Literal["seat_0", "seat_1", "random"] | SupportsIndex
    """who deals first (0 and 1 are taken too) (default: "random")"""
    reward: Literal["result", "points"] | SupportsIndex
    """the result of the deal or match at its end, or points as they are made (default: "result")"""
    lowest: Literal["seven", "eight", "nine", "jack", "queen", "king", "ten", "ace"] | SupportsIndex
    """lowest rank of the pack; above sevens for cut-down games (default: "seven")"""
    highest: Literal["seven", "eight", "nine", "jack", "queen", "king", "ten", "ace"] | SupportsIndex
    """highest rank of the pack; below aces for cut-down games (default: "ace")"""
    suits: SupportsIndex
    """suits of the pack; fewer, spades first, then diamonds, are for cut-down games (default: 4)"""
    copies: SupportsIndex
    """copies of each card; one is for cut-down games (default: 2)"""


class EnvOptions(EnvSettings, GivenOptions, total=False):
    """The same, and what else `backalley.make` takes."""


@with_options_of(game)
def env(**given: Unpack[EnvOptions]) -> AECEnv:
    """A PettingZoo AEC environment of Bezique. What it takes beside the options: see `backalley.make`."""
    return make(game, **given)


raw_env = env
"""The same: order and legality are checked inside, not by wrappers."""
