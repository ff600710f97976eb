"""Poker Duel, as PettingZoo names its environments: `from backalley import poker_duel_v0`.

Written by `backalley dev types` from the game's Options; not edited by hand.
"""

from __future__ import annotations

from typing import Literal, SupportsIndex, TypedDict, Unpack

from backalley.envs.core.api.aec import AECEnv
from backalley.envs.core.api.registry import EnvSettings, make, with_options_of
from backalley.envs.poker_duel.game import GAME as game

__all__ = ["EnvOptions", "GivenOptions", "env", "game", "raw_env"]


class GivenOptions(TypedDict, total=False):
    """The options of Poker Duel, as they may be given; those left out are at their defaults."""

    preset: Literal["letter", "tiny", "small"]
    """options that go together under a name"""
    num_games: SupportsIndex
    """games in a match (default: 2)"""
    first_dealer: Literal["seat_0", "seat_1", "random"] | SupportsIndex
    """who deals the first game (0 and 1 are taken too) (default: "random")"""
    round_points: tuple[SupportsIndex, SupportsIndex, SupportsIndex] | list[int]
    """what the three rounds are worth (default: (1, 2, 3))"""
    exchanges_per_round: SupportsIndex
    """exchange turns of each player in a round (default: 2)"""
    exchange_order: Literal["alternate", "both_at_once"] | SupportsIndex
    """turn by turn, or all of the non-dealer's first (default: "alternate")"""
    stand_is_final: bool | Literal[0, 1]
    """standing gives up the round's other turns; otherwise only this one (default: True)"""
    discards_public: bool | Literal[0, 1]
    """discards are laid face up (default: False)"""
    tie_points: Literal["none", "split"] | SupportsIndex
    """what equal hands score: nothing, or half each (default: "none")"""
    nothing_scores: bool | Literal[0, 1]
    """a round scores even if neither hand has a pair or better (default: True)"""
    misere: bool | Literal[0, 1]
    """the lower hand wins (default: False)"""
    ace_low_straight: bool | Literal[0, 1]
    """A 2 3 4 5 is a straight, the lowest (default: True)"""
    sudden_death: bool | Literal[0, 1]
    """a level match is decided by single hands; otherwise it is drawn (default: True)"""
    max_sudden_death: SupportsIndex
    """tied sudden-death hands that make a draw (default: 5)"""
    skip_forced: bool | Literal[0, 1]
    """cards with only one slot left to go to are placed without a step (default: False)"""
    reward: Literal["match", "points", "per_round"] | SupportsIndex
    """the match won, points of the match, or points as they are scored (default: "match")"""
    episode: Literal["match", "sudden_death"] | SupportsIndex
    """a match, or the hands of a sudden death alone, as a drill (default: "match")"""
    suits: SupportsIndex
    """suits in the pack, clubs first; fewer are for cut-down games (default: 4)"""


class EnvOptions(EnvSettings, GivenOptions, total=False):
    """The same, and what else `backalley.make` takes."""


@with_options_of(game)
def env(**given: Unpack[EnvOptions]) -> AECEnv:
    """A PettingZoo AEC environment of Poker Duel. What it takes beside the options: see `backalley.make`."""
    return make(game, **given)


raw_env = env
"""The same: order and legality are checked inside, not by wrappers."""
