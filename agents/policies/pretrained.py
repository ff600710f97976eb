"""Pretrained policies of a game: each in a folder of its own, `policy/<name>/` beside the game's `game.py`.

They are found by these folders, for games outside this package too. The agent `policy` is the one for the present
options, `policy:NAME` any of them.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game, GameType
from backalley.envs.core.rules.options import OptionError, typed

from ..base.agent import POLICY
from .policy_file import JSON_FILE, observation_layout, read_metadata

FOLDER = POLICY
"""The folder of a game's policies, below its own folder."""


class NoPolicy(InvalidValue):
    """The requested pretrained policy does not exist."""


class Pretrained(NamedTuple):
    """A policy that comes with a game."""

    name: str
    """The name of its folder."""
    folder: Path
    metadata: dict[str, Any]
    """Its JSON."""

    @property
    def spec(self) -> str:
        """The agent's name."""
        return f"{FOLDER}:{self.name}"

    def others(self, game: Game) -> dict[str, list[Any]]:
        """Return the options of `game` that it is not suitable for, and the values for which it is."""
        try:
            trained = game.type.bind(self.metadata["options"]).option_values
        except OptionError:  # options that the game no longer has
            trained = {}
        served = {
            option: [*([trained[option]] if option in trained else []), *self.metadata["serves"].get(option, [])]
            for option in game.option_values
        }
        return {option: served[option] for option, value in game.option_values.items() if value not in served[option]}

    def is_for(self, game: Game) -> bool:
        """Whether it was trained under just these options."""
        return bool(self.metadata["options"] == game.option_values)


def names(of: Game | GameType) -> list[str]:
    """Return the names of a game's policies, in alphabetical order."""
    found = (of.type if isinstance(of, Game) else of).folder / FOLDER
    return sorted(path.parent.name for path in found.glob(f"*/{JSON_FILE}"))


def pretrained(of: Game | GameType) -> list[Pretrained]:
    """Return a game's policies, in the order of their names. Raises PolicyFileError for one that is damaged."""
    place = (of.type if isinstance(of, Game) else of).folder / FOLDER
    return [Pretrained(name, place / name, read_metadata(place / name)) for name in names(of)]


def policy_for(game: Game, name: str | None = None) -> Pretrained:
    """Return the policy of that name; without a name the first that was trained under the game's options, or else the
    first that is suitable for them.

    Raises NoPolicy, which says what there is and how to train another; PolicyFileError for one that is damaged.
    """
    found = pretrained(game)
    if not found:
        raise NoPolicy(f"{game.name} comes with no policy. Train one: {_training(game)}")
    if name is not None:
        chosen = next((one for one in found if one.name == name), None)
        if chosen is None:
            there = ", ".join(one.spec for one in found)
            raise NoPolicy(f"{game.name} comes with no policy {name!r}; it comes with {there}.")
        return chosen
    best = sorted(found, key=lambda one: (bool(one.others(game)), not one.is_for(game)))[0]
    if best.others(game):
        raise NoPolicy(_none_serves(game, found))
    return best


def _none_serves(game: Game, found: Sequence[Pretrained]) -> str:
    reasons = [f"{one.spec} is for {_served(one.others(game))}" for one in found]
    odd = {option for one in found for option in one.others(game)}
    here = ", ".join(f"{option}={typed(game.option_values[option])}" for option in game.option_values if option in odd)
    plays = [one.spec for one in found if one.metadata["observation"] == observation_layout(game)]
    anyway = f" By name {' and '.join(plays)} would play all the same, as well as can be." if plays else ""
    return (
        f"No policy that comes with {game.name} serves {here}: {'; '.join(reasons)}.{anyway} "
        f"Train one: {_training(game)}"
    )


def _served(others: dict[str, list[Any]]) -> str:
    return ", ".join(f"{option}={'|'.join(map(typed, values))}" for option, values in others.items())


def _training(game: Game) -> str:
    """The command that trains a policy for these options."""
    return shlex.join(["backalley", "train", game.spec, *game.option_words])
