"""Pitch, as PettingZoo names its environments: `from backalley import pitch_v0`.

Written by `backalley dev types` from the game's Options; not edited by hand.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex, TypedDict, Unpack

from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.registry import EnvSettings, make, with_options_of
from backalley.envs.pitch.game import GAME as game

__all__ = ["EnvOptions", "GivenOptions", "env", "game", "raw_env"]


class GivenOptions(TypedDict, total=False):
    """The options of Pitch, as they may be given; those left out are at their defaults."""

    preset: Literal["letter", "setback", "tiny", "small"]
    """options that go together under a name"""
    target: SupportsIndex
    """points that win a game (default: 21)"""
    low: Literal["captured", "dealt"] | SupportsIndex
    """Low is for whoever captures it, or for whoever was dealt it (default: "captured")"""
    game_tie: Literal["none", "non_bidder", "bidder"] | SupportsIndex
    """who has Game where the most pips are equal (default: "none")"""
    follow: Literal["or_trump", "strict"] | SupportsIndex
    """to a plain suit follow or trump; or trump only who has none of the suit (default: "or_trump")"""
    must_trump_when_void: bool | Literal[0, 1]
    """who cannot follow a plain suit must trump if they can (default: False)"""
    dealer_can_take: bool | Literal[0, 1]
    """the dealer may take a bid below a smudge for as much (default: True)"""
    smudge_takeable: bool | Literal[0, 1]
    """the dealer may take a smudge for as much (default: False)"""
    all_pass: Literal["dealer_forced_2", "redeal", "dealer_exactly_2"] | SupportsIndex
    """where all others pass the dealer must bid; or may pass and deals again; or must bid just two (default:
    "dealer_forced_2")"""
    smudge_wins_game: bool | Literal[0, 1]
    """a smudge that is made wins the game at once (default: False)"""
    joker: Literal["none", "low_trump", "below_jack"] | SupportsIndex
    """no joker; the lowest trump; or a trump between jack and ten (default: "none")"""
    joker_pitch: Literal["spades", "name"] | SupportsIndex
    """trump after a pitched joker: spades, or what the pitcher names (default: "spades")"""
    game_end: Literal["bidder_must_make", "first_past", "bidder_must_win", "next_auction"] | SupportsIndex
    """only a bidder whose bid is made wins; or whoever is at the target; or the bidder who is, made or not; or who is
    there wins with the next auction that they win (default: "bidder_must_make")"""
    mode: Literal["match", "hand"] | SupportsIndex
    """a game, or one hand (default: "match")"""
    teams: Literal["partners", "solo"] | SupportsIndex
    """two partnerships, or everybody alone (default: "partners")"""
    num_players: SupportsIndex
    """seats at the table; other than 4 only alone; 2 are for cut-down games (default: 4)"""
    max_hands: SupportsIndex
    """hands after which the higher score wins (default: 64)"""
    first_dealer: Literal["random"] | SupportsIndex
    """who deals the first hand (default: -1)"""
    hand_size: SupportsIndex
    """cards dealt to each player; fewer are for cut-down games (default: 6)"""
    suits: SupportsIndex
    """suits in the pack, clubs first; fewer are for cut-down games (default: 4)"""


class EnvOptions(EnvSettings, GivenOptions, total=False):
    """The same, and what else `backalley.make` takes."""


@with_options_of(game)
def env(**given: Unpack[EnvOptions]) -> AECEnv:
    """A PettingZoo AEC environment of Pitch. What it takes beside the options: see `backalley.make`."""
    return make(game, **given)


raw_env = env
"""The same: order and legality are checked inside, not by wrappers."""
