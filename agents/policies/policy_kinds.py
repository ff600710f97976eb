"""The kinds of policies on disk: `policy.json` says under `player` how its arrays are played.

A kind of player is one class here. Its fields are what the JSON holds besides the kind, validated before a single array
is used; `shapes` says which arrays the file must have. One of them, `OwnPlayer`, is for networks of a user's own, which
`register_policy` makes known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy.typing as npt

from backalley.console.errors import InvalidType, InvalidValue
from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import ActionFeatures
from backalley.envs.core.rules import options as option_rules

Arrays = Mapping[str, npt.NDArray[Any]]

_MAX_WIDTH, _MAX_LAYERS, _MAX_CLASSES, _MAX_TABLES = 65536, 64, 2**24, 1024


class NetworkPlayer(NamedTuple):
    """A network that reads the observation and returns the actions' logits (`network.PolicyNetwork`)."""

    width: int
    layers: int
    greedy: bool
    """Whether it plays its most likely action, or draws."""
    features: bool = False
    """Whether it rates one action after the other by its features (`inference.py`), in place of reading the
    observation."""

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Return the shapes of its arrays by name."""
        if self.features:
            return rated_shapes(game, self.width, self.layers)
        return network_shapes(game.observation_size, game.num_actions, self.width, self.layers)

    def proper(self) -> bool:
        """Return whether these are numbers that training can have written."""
        return _sized(self) and isinstance(self.greedy, bool) and isinstance(self.features, bool)


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
    features: bool = False
    """Whether it rates one action after the other by its features, in place of reading the observation: a lead over the
    bot's action is what it predicts."""

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
        if self.features:
            return rated_shapes(game, self.width, self.layers)
        return network_shapes(game.observation_size + game.num_actions, game.num_actions, self.width, self.layers)

    def proper(self) -> bool:
        """Return whether these are values that training can have written."""
        margin = self.margin is None or (_number(self.margin) and math.isfinite(self.margin) and self.margin >= 0)
        named = isinstance(self.bot, str) and isinstance(self.behaviour_digest, str)
        return _sized(self) and named and margin and isinstance(self.features, bool)


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


class MixturePlayer(NamedTuple):
    """A game's own planner, which makes each plan by one of several tables of values. A hash of the seat's own cards
    draws the table (`mixture.py`), so play is deterministic, and cannot be foreseen by who does not see them."""

    classes: int
    tables: int
    planned: int
    """The classes that decide plans (`PlanModel.classes`)."""
    field: float
    """The share of plans by the first table, the best response to a field; the others share the rest by `shares`."""
    digest: str
    """The digest of the classes, as in PlansPlayer."""

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Values for all that is no plan, those of the tables, and the shares of all but the first."""
        rest = (self.tables - 1,)
        return {"values": (self.classes,), "tables": (self.tables, self.planned), "shares": rest}

    def proper(self) -> bool:
        """Return whether these are values that training can have written."""
        sizes = _within(self.classes, _MAX_CLASSES) and _within(self.planned, _MAX_CLASSES)
        share = _number(self.field) and 0 <= self.field <= 1
        return (
            sizes and _within(self.tables, _MAX_TABLES) and self.tables > 1 and share and isinstance(self.digest, str)
        )


class TablePlayer(NamedTuple):
    """A table of observations, each with its action (`base/table.py`)."""

    entries: int

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Return the shapes of its arrays by name."""
        return {"rows": (self.entries, game.observation_size), "actions": (self.entries,)}

    def proper(self) -> bool:
        """Return whether this is a number that training can have written."""
        return _within(self.entries, _MAX_CLASSES)


class PolicyKind(NamedTuple):
    """A kind of network of a user's own: see `register_policy`."""

    name: str
    """Its name in the files of policies."""
    settings: type
    """A NamedTuple: each field is `Annotated[type, option("what it is")]`. A policy's file holds their values."""
    network: Callable[[Game, Any], Any]
    """Makes a `torch.nn.Module` from the game and the settings. Its forward pass takes observations [n, O], float32,
    and returns logits of all actions [n, A], legal or not, alone or first in a tuple. Equal settings give arrays of
    equal names and shapes, all of them of real numbers."""
    reads_events: bool = False
    """Whether it takes information states [n, I] instead, as `BatchEnv.information_state_tensor` has them."""


_registered: dict[str, PolicyKind] = {}


def register_policy(kind: PolicyKind) -> PolicyKind:
    """Let policies be saved, loaded and played by a network of one's own (`own_player`); return the kind.

    A kind is known in this process. Another one knows it after importing the module that registers it: a policy's file
    names the kind, and imports nothing. A kind of the same module and name replaces the earlier one. Raises ValueError
    for a name that is no word or belongs to another module, TypeError for what is no PolicyKind.
    """
    if not isinstance(kind, PolicyKind) or not callable(kind.network) or not hasattr(kind.settings, "_fields"):
        raise InvalidType(f"register_policy takes a PolicyKind(name, settings, network); {kind!r} was given.")
    if not isinstance(kind.name, str) or not kind.name.isidentifier():
        raise InvalidValue(f"The kind of policy is named {kind.name!r}; it takes a word of letters, digits and _.")
    known = _registered.get(kind.name, kind)
    if known.settings.__module__ != kind.settings.__module__:
        raise InvalidValue(
            f"There is a kind of policy named {kind.name!r} already, of {known.settings.__module__}; choose another."
        )
    option_rules.declared(kind.settings)  # raises TypeError for a field without option(...)
    _registered[kind.name] = kind
    return kind


class OwnPlayer(NamedTuple):
    """A network of a user's own kind."""

    name: str
    settings: dict[str, Any]
    greedy: bool
    """Whether it plays its most likely action, or draws."""

    def network(self, game: Game) -> Any:
        """Return a new network of its settings, a `torch.nn.Module`. Raises ValueError for a kind that is not
        registered in this process, or for settings that it does not have."""
        kind = self.kind
        given = option_rules.parse(f"The network {self.name}", kind.settings, self.settings, what="setting")
        return kind.network(game, given)

    @property
    def kind(self) -> PolicyKind:
        """Its registered kind. Raises ValueError where there is none in this process."""
        if self.name not in _registered:
            raise InvalidValue(
                f"It plays by a network of the kind {self.name!r}, which is not registered here: first import the "
                f"module that calls register_policy for it. Registered are: {', '.join(_registered) or 'none'}."
            )
        return _registered[self.name]

    def shapes(self, game: Game) -> dict[str, tuple[int, ...]]:
        """Return the shapes of its arrays by name. Raises ValueError as `network` does."""
        return {name: tuple(tensor.shape) for name, tensor in self.network(game).state_dict().items()}

    def proper(self) -> bool:
        """Return whether these are values that `own_player` can have written."""
        named = isinstance(self.name, str) and self.name.isidentifier()
        return named and isinstance(self.settings, dict) and isinstance(self.greedy, bool)


def own_player(name: str, settings: Any, *, greedy: bool) -> OwnPlayer:
    """Return the player of a registered kind of network with these settings, for `save_policy`."""
    return OwnPlayer(name, option_rules.as_dict(settings), greedy)


Player = NetworkPlayer | Residual | PlansPlayer | MixturePlayer | TablePlayer | OwnPlayer

KINDS: dict[str, type[Any]] = {
    "network": NetworkPlayer, "residual": Residual, "plans": PlansPlayer,
    "mixture": MixturePlayer, "table": TablePlayer, "own": OwnPlayer,
}  # fmt: skip
"""The kinds by their names in files."""


def network_shapes(inputs: int, actions: int, width: int, layers: int) -> dict[str, tuple[int, ...]]:
    """Return the arrays' shapes of a policy's network by name: a trunk, and a head with a number for each action and a
    value."""
    sizes = [inputs] + [width] * layers
    found: dict[str, tuple[int, ...]] = {}
    for number, (before, after) in enumerate(itertools.pairwise(sizes)):
        found |= {f"trunk.{number}.weight": (after, before), f"trunk.{number}.bias": (after,)}
    return found | {"head.weight": (actions + 1, width), "head.bias": (actions + 1,)}


def rated_shapes(game: Game, width: int, layers: int) -> dict[str, tuple[int, ...]]:
    """Return the same of a network that rates one action by its features, and of their means. Raises ValueError for a
    game without features."""
    features = game.type.action_features
    if features is None:
        raise InvalidValue(f"It rates actions by their features, and {game.name} has none.")
    return network_shapes(features.number, 1, width, layers) | {"features": (features.number,)}


def features_of(player: Player, game: Game) -> ActionFeatures | None:
    """Return the features that a player's network reads in place of the observation, if it does."""
    return game.type.action_features if isinstance(player, NetworkPlayer | Residual) and player.features else None


def network_player(weights: Arrays, *, greedy: bool, features: bool = False) -> NetworkPlayer:
    """Return the player of a network's arrays (`network.weights_of`)."""
    return NetworkPlayer(*network_size(weights), greedy, features)


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
    values = {**kind._field_defaults, **{name: value for name, value in given.items() if name != "kind"}}
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
