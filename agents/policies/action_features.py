"""Networks that rate one action after the other by the features that a game declares (`GameType.action_features`).

A network that reads the whole observation learns for each card, suit and seat apart what a card is worth. This one
learns it once. *Measured* in Killer Bridge with three players, residuals after 300 s of processor time: +0.137 on
`weigh` by features, +0.041 by the observation (1,024 and 600 deals)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.game import Game
from backalley.envs.core.game.kernels import ActionFeatures, Bound, specialise, template, unbound

from .inference import Net, drawn, forward, likeliest, logits_to_chances


class Rated(NamedTuple):
    """The first argument of `act_rated`."""

    options: Any
    net: Net


WRITE = unbound
"""The game's features in the templates below."""


@template
def rate(options: Any, net: Net, shown: Any, mask: npt.NDArray[np.int8]) -> None:
    """Write to `net.room.gains` what the network makes of each legal action at a record."""
    features = net.room.features
    WRITE(options, shown, mask, features)
    for action in range(mask.shape[0]):
        if mask[action]:
            net.room.gains[action] = forward(net, features[action])[0]


@template
def act_rated(by: Rated, shown: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Return the network's action, in the form of a bot's kernel."""
    rate(by.options, by.net, shown, mask)
    gains = by.net.room.gains
    return likeliest(gains, mask) if by.net.greedy else drawn(gains, mask, key)


@template
def chances_rated(by: Rated, shown: Any, mask: npt.NDArray[np.int8], out: npt.NDArray[np.float64]) -> None:
    """Write to `out` [A] the probability with which `act_rated` plays each action."""
    rate(by.options, by.net, shown, mask)
    logits_to_chances(by.net.room.gains, mask, by.net.greedy, out)


@template
def features_of_rows(
    options: Any, shown: Any, mask: npt.NDArray[np.int8], room: npt.NDArray[np.float32], out: npt.NDArray[np.float32]
) -> None:
    """Write the features of every legal action to `out` [n, F], row after row; `room` [A, F] is a buffer."""
    place = 0
    for k in range(mask.shape[0]):
        WRITE(options, shown[k], mask[k], room)
        for action in range(mask.shape[1]):
            if mask[k, action]:
                for number in range(out.shape[1]):
                    out[place, number] = room[action, number]
                place += 1


@functools.cache
def rated_kernels(features: ActionFeatures) -> dict[str, Callable[..., Any]]:
    """Return these templates for the features of a game."""
    return specialise([rate, act_rated, chances_rated, features_of_rows], {"WRITE": features.write})


class FeatureRows:
    """Reads the features of legal actions off observations."""

    def __init__(self, game: Game, features: ActionFeatures) -> None:
        self.game, self.number = game, features.number
        self._write = Bound(lambda: rated_kernels(features)["features_of_rows"])

    def __call__(self, observation: npt.NDArray[Any], legal: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the features of the `legal` actions [n, A] of observations [n, O], one after the other."""
        mask, room = legal.astype(np.int8), np.zeros((legal.shape[1], self.number), np.float32)
        out = np.empty((int(mask.sum()), self.number), np.float32)
        self._write(self.game.options, self.game.records(np.ascontiguousarray(observation)), mask, room, out)
        return out

    def means(self) -> npt.NDArray[np.float32]:
        """Return the mean of each feature over positions that are always the same: a policy's file holds them, and so
        knows its features again."""
        from .behaviour_digest import random_positions

        shown = [(tables.arrays.flat.copy(), tables.arrays.mask.copy()) for tables, _ in random_positions(self.game)]
        flat, mask = (np.concatenate(parts) for parts in zip(*shown, strict=True))
        means: npt.NDArray[np.float32] = self(flat, mask).mean(0, np.float64).astype(np.float32)
        return means
