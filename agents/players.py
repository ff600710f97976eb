"""What a policy on disk can be: `policy.json` says under `player` how its arrays are played.

A kind of player is one class here. Its fields are what the JSON holds beside the kind, checked before a single array is
used; `shapes` says which arrays the file must have.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy.typing as npt

from backalley.envs.core.base import Game

Arrays = Mapping[str, npt.NDArray[Any]]

_MAX_WIDTH, _MAX_LAYERS, _MAX_CLASSES = 65536, 64, 2**24


class NetworkPlayer(NamedTuple):
    """A network that reads the observation and gives the actions' logits (`network.PolicyNetwork`)."""

    width: int
    layers: int
    greedy: bool
    """Whether it plays its likeliest action, or draws."""

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Its arrays by name."""
        return network_shapes(game.observation_size, game.num_actions, self.width, self.layers)

    def proper(self) -> bool:
        """Whether these are numbers that training can have written."""
        return _sized(self) and isinstance(self.greedy, bool)


class Corrections(NamedTuple):
    """A bot with learned corrections: a network reads the observation and the bot's action (one input for each action),
    and says how much better each other action is, in units of its training; the best one is played where that exceeds
    `margin`, and otherwise what the bot says."""

    width: int
    layers: int
    bot: str
    fingerprint: str
    """Of the bot's play (`fingerprint.py`): corrections of another one mean nothing."""
    margin: float | None
    """None: the bot's action always."""

    @property
    def title(self) -> str:
        """What tables call it."""
        return self.bot if self.margin is None else f"{self.bot} + corrections"

    @property
    def meaning(self) -> str:
        """What it is, in words."""
        learned = "itself: no correction bettered it" if self.margin is None else "with learned corrections"
        return f"bot:{self.bot} {learned}"

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Its arrays by name."""
        return network_shapes(game.observation_size + game.num_actions, game.num_actions, self.width, self.layers)

    def proper(self) -> bool:
        """Whether these are values that training can have written."""
        margin = self.margin is None or (_number(self.margin) and math.isfinite(self.margin) and self.margin >= 0)
        return _sized(self) and isinstance(self.bot, str) and isinstance(self.fingerprint, str) and margin


class PlansPlayer(NamedTuple):
    """A game's own planner (`GameType.plans`) with learned values of its classes."""

    classes: int
    digest: str
    """Of the classes (`planner.classes_digest`): values of others mean nothing."""

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Its one array."""
        return {"values": (self.classes,)}

    def proper(self) -> bool:
        """Whether these are values that training can have written."""
        return _within(self.classes, _MAX_CLASSES) and isinstance(self.digest, str)


Player = NetworkPlayer | Corrections | PlansPlayer

KINDS: dict[str, type[Any]] = {"network": NetworkPlayer, "corrections": Corrections, "plans": PlansPlayer}
"""The kinds by the names they have in files."""


def network_shapes(inputs: int, actions: int, width: int, layers: int) -> dict[str, tuple[int, ...]]:
    """The arrays of a policy's network by name: a trunk, and a head with a number for each action and a value."""
    sizes = [inputs] + [width] * layers
    found: dict[str, tuple[int, ...]] = {}
    for number, (before, after) in enumerate(itertools.pairwise(sizes)):
        found |= {f"trunk.{number}.weight": (after, before), f"trunk.{number}.bias": (after,)}
    return found | {"head.weight": (actions + 1, width), "head.bias": (actions + 1,)}


def network_player(weights: Arrays, *, greedy: bool) -> NetworkPlayer:
    """The player of a network's arrays (`network.weights_of`)."""
    return NetworkPlayer(*network_size(weights), greedy)


def network_size(weights: Arrays) -> tuple[int, int]:
    """Width and number of layers of a network's trunk."""
    return weights["head.weight"].shape[1], sum(name.endswith(".weight") for name in weights) - 1


def to_json(player: Player) -> dict[str, Any]:
    """What stands in a policy's JSON."""
    kind = next(name for name, made in KINDS.items() if isinstance(player, made))
    return {"kind": kind, **player._asdict()}


def from_json(given: Mapping[str, Any]) -> Player:
    """The player that a policy's JSON describes. Raises ValueError in a clause."""
    named = given.get("kind")
    kind = KINDS.get(named) if isinstance(named, str) else None
    if kind is None:
        raise ValueError(f"describes a player of the kind {named!r}; there are {', '.join(KINDS)}")
    values = {name: value for name, value in given.items() if name != "kind"}
    player = kind(**values) if set(values) == set(kind._fields) else None
    if player is None or not player.proper():
        raise ValueError(f"describes a player that Back Alley does not make: {dict(given)}")
    found: Player = player
    return found


def _sized(player: Any) -> bool:
    return _within(player.width, _MAX_WIDTH) and _within(player.layers, _MAX_LAYERS)


def _within(number: Any, limit: int) -> bool:
    return type(number) is int and 1 <= number <= limit


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
