"""The policies that come with a game: each in a folder of its own, `policy/<name>/` beside the game's `game.py`.

They are found by these folders, of games outside this package too. The agent `policy` is the one for the options that
are played, `policy:NAME` any of them.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backalley.envs.core.base import Game, GameType
from backalley.envs.core.options import OptionError, typed

from .policy_file import JSON_FILE, observation_layout, read_metadata

FOLDER = "policy"
"""Where a game's policies lie, below its own folder."""


class NoPolicy(ValueError):
    """No policy that comes with a game is the one asked for."""


class Shipped(NamedTuple):
    """A policy that comes with a game."""

    name: str
    """That of its folder."""
    folder: Path
    metadata: dict[str, Any]
    """Its JSON."""

    @property
    def spec(self) -> str:
        """The agent's name."""
        return f"{FOLDER}:{self.name}"

    def others(self, game: Game) -> dict[str, list[Any]]:
        """The options of `game` that it does not serve, and which values of them it does."""
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
    """The names of a game's policies, in alphabetical order."""
    found = (of.type if isinstance(of, Game) else of).folder / FOLDER
    return sorted(path.parent.name for path in found.glob(f"*/{JSON_FILE}"))


def shipped(of: Game | GameType) -> list[Shipped]:
    """A game's policies, in the order of their names. Raises PolicyFileError for one that is damaged."""
    place = (of.type if isinstance(of, Game) else of).folder / FOLDER
    return [Shipped(name, place / name, read_metadata(place / name)) for name in names(of)]


def policy_for(game: Game, name: str | None = None) -> Shipped:
    """The policy of that name; without one the first that was trained under the game's options, or else the first that
    serves them.

    Raises NoPolicy in a sentence that says what there is, and how to train one of one's own; PolicyFileError for one
    that is damaged.
    """
    found = shipped(game)
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


def _none_serves(game: Game, found: Sequence[Shipped]) -> str:
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
    """The line that trains a policy for these options."""
    return shlex.join(["backalley", "train", game.spec, *game.option_words])
