"""The kinds of policies on disk: `policy.json` says under `player` how its arrays are played.

A kind of player is one class here. Its fields are what the JSON holds besides the kind, validated before a single array
is used; `shapes` says which arrays the file must have.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.game import Game

Arrays = Mapping[str, npt.NDArray[Any]]

_MAX_WIDTH, _MAX_LAYERS, _MAX_CLASSES = 65536, 64, 2**24


class NetworkPlayer(NamedTuple):
    """A network that reads the observation and returns the actions' logits (`network.PolicyNetwork`)."""

    width: int
    layers: int
    greedy: bool
    """Whether it plays its most likely action, or draws."""

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Return the shapes of its arrays by name."""
        return network_shapes(game.observation_size, game.num_actions, self.width, self.layers)

    def proper(self) -> bool:
        """Return whether these are numbers that training can have written."""
        return _sized(self) and isinstance(self.greedy, bool)


class Residual(NamedTuple):
    """A bot with a learned residual: a network reads the observation and the bot's action (one input for each action),
    and predicts how much better each other action is, in units of its training. The best one is played if that exceeds
    `margin`, otherwise the bot's action."""

    width: int
    layers: int
    bot: str
    behaviour_digest: str
    """The behaviour digest of the bot (`behaviour_digest.py`): the residual belongs to this play only."""
    margin: float | None
    """None: the bot's action always."""

    @property
    def title(self) -> str:
        """Its name in tables."""
        return self.bot if self.margin is None else f"{self.bot} + residual"

    @property
    def meaning(self) -> str:
        """What it is, in words."""
        learned = "itself: no residual improved on it" if self.margin is None else "with a learned residual"
        return f"bot:{self.bot} {learned}"

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Return the shapes of its arrays by name."""
        return network_shapes(game.observation_size + game.num_actions, game.num_actions, self.width, self.layers)

    def proper(self) -> bool:
        """Return whether these are values that training can have written."""
        margin = self.margin is None or (_number(self.margin) and math.isfinite(self.margin) and self.margin >= 0)
        return _sized(self) and isinstance(self.bot, str) and isinstance(self.behaviour_digest, str) and margin


class PlansPlayer(NamedTuple):
    """A game's own planner (`GameType.plans`) with learned values of its classes."""

    classes: int
    digest: str
    """The digest of the classes (`planner.classes_digest`): the values belong to these only."""

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Its one array."""
        return {"values": (self.classes,)}

    def proper(self) -> bool:
        """Return whether these are values that training can have written."""
        return _within(self.classes, _MAX_CLASSES) and isinstance(self.digest, str)


Player = NetworkPlayer | Residual | PlansPlayer

KINDS: dict[str, type[Any]] = {"network": NetworkPlayer, "residual": Residual, "plans": PlansPlayer}
"""The kinds by their names in files."""


def network_shapes(inputs: int, actions: int, width: int, layers: int) -> dict[str, tuple[int, ...]]:
    """Return the arrays' shapes of a policy's network by name: a trunk, and a head with a number for each action and a
    value."""
    sizes = [inputs] + [width] * layers
    found: dict[str, tuple[int, ...]] = {}
    for number, (before, after) in enumerate(itertools.pairwise(sizes)):
        found |= {f"trunk.{number}.weight": (after, before), f"trunk.{number}.bias": (after,)}
    return found | {"head.weight": (actions + 1, width), "head.bias": (actions + 1,)}


def network_player(weights: Arrays, *, greedy: bool) -> NetworkPlayer:
    """Return the player of a network's arrays (`network.weights_of`)."""
    return NetworkPlayer(*network_size(weights), greedy)


def network_size(weights: Arrays) -> tuple[int, int]:
    """Return width and number of layers of a network's trunk."""
    return weights["head.weight"].shape[1], sum(name.endswith(".weight") for name in weights) - 1


def to_json(player: Player) -> dict[str, Any]:
    """Return the player's entry in a policy's JSON."""
    kind = next(name for name, made in KINDS.items() if isinstance(player, made))
    return {"kind": kind, **player._asdict()}


def from_json(given: Mapping[str, Any]) -> Player:
    """Return the player that a policy's JSON describes. Raises ValueError in a clause."""
    named = given.get("kind")
    kind = KINDS.get(named) if isinstance(named, str) else None
    if kind is None:
        raise InvalidValue(f"describes a player of the kind {named!r}; there are {', '.join(KINDS)}")
    values = {name: value for name, value in given.items() if name != "kind"}
    player = kind(**values) if set(values) == set(kind._fields) else None
    if player is None or not player.proper():
        raise InvalidValue(f"describes a player that Back Alley does not make: {dict(given)}")
    found: Player = player
    return found


def _sized(player: Any) -> bool:
    return _within(player.width, _MAX_WIDTH) and _within(player.layers, _MAX_LAYERS)


def _within(number: Any, limit: int) -> bool:
    return type(number) is int and 1 <= number <= limit


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
