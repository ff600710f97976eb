"""Inference of a learned network in compiled code: in float32, one number after the other.

A network that reads the whole observation learns for each card, suit and seat apart what a card is worth; one that
rates one action after the other, by features that the game declares (`GameType.action_features`), learns it once.
*Measured* in Killer Bridge with three players, residuals after 300 s of processor time: +0.137 on `weigh` by features,
+0.041 by the observation (1,024 and 600 deals).

It uses no matrix library, so an action is the same alone and in any batch, on any number of threads and with or without
torch: every sum has one order, in which inputs of zero are left out (they add nothing, and most of an observation is
zero). *Measured*: 6 microseconds a decision for 736 inputs, a tenth of them not zero, two layers of 256 and 56 actions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.kernels import ActionFeatures, Bound, bounded, kernel, specialise, template, unbound
from backalley.envs.core.rules import rng

if TYPE_CHECKING:
    from backalley.envs.core.game.game import Game

_DRAWS = 2**31


class Room(NamedTuple):
    """Buffers for a pass through a network; each thread needs its own."""

    units: npt.NDArray[np.float32]
    """A layer's units."""
    inputs: npt.NDArray[np.int64]
    """Which of its inputs are not zero."""
    values: npt.NDArray[np.float32]
    """What these are."""
    features: npt.NDArray[np.float32]
    """The features of each action, for a network that reads these [A, F]; else empty."""
    gains: npt.NDArray[np.float32]
    """What that network makes of them [A]."""


class Net(NamedTuple):
    """A network in the form that its kernel takes: an argument, since a kernel would store a global array in its
    compiled code."""

    sizes: npt.NDArray[np.int64]
    """Numbers of inputs, of units of each layer, and of actions [L + 2]."""
    numbers: npt.NDArray[np.float32]
    """Layer by layer the weights [inputs, outputs], then the biases."""
    greedy: bool
    """Whether it plays the most likely action, or draws one."""
    room: Room


def net_of(
    weights: Mapping[str, npt.NDArray[Any]],
    bound: npt.NDArray[np.float64],
    *,
    greedy: bool,
    value: bool = False,
    rates: int = 0,
) -> Net:
    """Return a Net of the arrays of `network.PolicyNetwork` (`trunk.0.weight` [outputs, inputs] and so on); the
    division of its inputs by `bound` [O] is part of the first layer's weights. Its last output, the value, is left out
    unless `value` is set. `rates` is the number of actions of a network that rates one by its features."""
    names = [f"trunk.{number}" for number in range(sum(name.startswith("trunk.") for name in weights) // 2)]
    layers = [(weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in names]
    outputs = len(weights["head.bias"]) - (0 if value else 1)
    layers.append((weights["head.weight"][:outputs], weights["head.bias"][:outputs]))
    sizes = [layers[0][0].shape[1], *(len(bias) for _, bias in layers)]
    parts = []
    for number, (weight, bias) in enumerate(layers):
        factor = scale_of(bound) if number == 0 else np.float32(1)
        parts += [(weight.astype(np.float32) * factor).T.reshape(-1), bias.astype(np.float32)]
    return Net(np.array(sizes), np.concatenate(parts), greedy, _room(max(sizes), rates, sizes[0] if rates else 0))


def _room(widest: int, rates: int, features: int) -> Room:
    units = np.zeros(widest, np.float32), np.zeros(widest, np.int64), np.zeros(widest, np.float32)
    return Room(*units, np.zeros((rates, features), np.float32), np.zeros(rates, np.float32))


def scale_of(bound: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return the factor of each number of an observation, so that a network sees -1..1; 1 for a number without
    bounds."""
    usable = np.isfinite(bound) & (bound > 0)
    return np.where(usable, 1 / np.where(usable, bound, 1), 1).astype(np.float32)


def own_room(net: Net) -> Net:
    """Return the same network with buffers of its own, for another thread."""
    return net._replace(room=_room(len(net.room.units), *net.room.features.shape))


@bounded
def keep_inputs(given: npt.NDArray[Any], room: Room) -> int:
    """Record the inputs that are not zero; return how many there are. There is no branch: after a ReLU the processor
    would guess wrongly at every other unit (*measured*: that took a quarter of a pass)."""
    count = 0
    for number in range(given.shape[0]):
        value = np.float32(given[number])
        room.inputs[count], room.values[count] = number, value
        count += int(value != 0)
    return count


@kernel
def add_eight(units: npt.NDArray[np.float32], weights: npt.NDArray[np.float32], room: Room, first: int) -> None:
    """Add eight inputs to the units of a layer, one after the other: the sums of eight times `add_one`, with an eighth
    of the memory traffic."""
    outputs, inputs, v = units.shape[0], room.inputs, room.values
    a, b, c, d = inputs[first], inputs[first + 1], inputs[first + 2], inputs[first + 3]
    e, f, g, h = inputs[first + 4], inputs[first + 5], inputs[first + 6], inputs[first + 7]
    a_row, b_row = weights[a * outputs : (a + 1) * outputs], weights[b * outputs : (b + 1) * outputs]
    c_row, d_row = weights[c * outputs : (c + 1) * outputs], weights[d * outputs : (d + 1) * outputs]
    e_row, f_row = weights[e * outputs : (e + 1) * outputs], weights[f * outputs : (f + 1) * outputs]
    g_row, h_row = weights[g * outputs : (g + 1) * outputs], weights[h * outputs : (h + 1) * outputs]
    p, q, r, s = v[first], v[first + 1], v[first + 2], v[first + 3]
    t, w, x, y = v[first + 4], v[first + 5], v[first + 6], v[first + 7]
    for unit in range(outputs):
        four = (((units[unit] + p * a_row[unit]) + q * b_row[unit]) + r * c_row[unit]) + s * d_row[unit]
        units[unit] = (((four + t * e_row[unit]) + w * f_row[unit]) + x * g_row[unit]) + y * h_row[unit]


@kernel
def add_one(units: npt.NDArray[np.float32], weights: npt.NDArray[np.float32], room: Room, which: int) -> None:
    """Add one input to the units of a layer."""
    value, begin = room.values[which], room.inputs[which] * units.shape[0]
    row = weights[begin : begin + units.shape[0]]
    for unit in range(units.shape[0]):
        units[unit] += value * row[unit]


@kernel
def forward(net: Net, shown: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Return the logits of every action; they are overwritten by the next call."""
    return through_layers(net, keep_inputs(shown, net.room))


@kernel
def forward_with_reference(net: Net, shown: npt.NDArray[Any], advice: int) -> npt.NDArray[np.float32]:
    """Return the same for a network that has an input for each action besides the observation: 1 for the `advice`."""
    count = keep_inputs(shown, net.room)
    net.room.inputs[count], net.room.values[count] = shown.shape[0] + advice, np.float32(1)
    return through_layers(net, count + 1)


@bounded
def through_layers(net: Net, count: int) -> npt.NDArray[np.float32]:
    """Return the network's outputs for the `count` recorded inputs."""
    last, place, room = net.sizes.shape[0] - 2, 0, net.room
    for layer in range(last + 1):
        outputs = net.sizes[layer + 1]
        biases = place + net.sizes[layer] * outputs
        units, weights = room.units[:outputs], net.numbers[place:biases]
        for unit in range(outputs):  # for `units[:] =` Numba compiles a message about shapes, which takes seconds
            units[unit] = net.numbers[biases + unit]
        eights = count - count % 8
        for first in range(0, eights, 8):
            add_eight(units, weights, room, first)
        for which in range(eights, count):
            add_one(units, weights, room, which)
        if layer < last:
            for unit in range(outputs):
                units[unit] = max(units[unit], np.float32(0))
            count = keep_inputs(units, room)
        place = biases + outputs
    return room.units[: net.sizes[last + 1]]


@kernel
def likeliest(logits: npt.NDArray[np.float32], mask: npt.NDArray[np.int8]) -> int:
    """Return the legal action of the greatest logit, the first among equals; -1 where there is none."""
    best = -1
    for action in range(mask.shape[0]):
        if mask[action] and (best < 0 or logits[action] > logits[best]):
            best = action
    return best


@kernel
def drawn(logits: npt.NDArray[np.float32], mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Return a legal action drawn by `key` with the logits' probabilities (inverse of the distribution function); -1
    where there is none."""
    chosen = likeliest(logits, mask)
    if chosen < 0:
        return chosen
    highest, total = float(logits[chosen]), 0.0
    for action in range(mask.shape[0]):
        if mask[action]:
            total += math.exp(float(logits[action]) - highest)
    left = total * ((rng.below(key, _DRAWS)[1] + 0.5) / _DRAWS)
    for action in range(mask.shape[0]):
        if mask[action]:
            chosen = action
            left -= math.exp(float(logits[action]) - highest)
            if left <= 0.0:
                break
    return chosen


@kernel
def chances(net: Net, shown: npt.NDArray[Any], mask: npt.NDArray[np.int8], out: npt.NDArray[np.float64]) -> None:
    """Write to `out` [A] the probability with which `act` plays each action."""
    logits_to_chances(forward(net, shown), mask, net.greedy, out)


@kernel
def logits_to_chances(
    logits: npt.NDArray[np.float32], mask: npt.NDArray[np.int8], greedy: bool, out: npt.NDArray[np.float64]
) -> None:
    """Write to `out` [A] the probabilities of `drawn`, or of `likeliest` if `greedy`."""
    first = likeliest(logits, mask)
    out[:] = 0.0
    total = 0.0
    for action in range(mask.shape[0]):
        if mask[action] and not greedy:
            out[action] = math.exp(float(logits[action]) - float(logits[first]))
            total += out[action]
    if total > 0.0:
        out /= total
    elif first >= 0:
        out[first] = 1.0


@kernel
def drawn_rows(
    logits: npt.NDArray[np.float32],
    mask: npt.NDArray[np.int8],
    keys: npt.NDArray[np.uint64],
    out: npt.NDArray[np.int64],
) -> None:
    """Write to `out[k]` an action drawn by `keys[k]` from row k."""
    for k in range(out.shape[0]):
        out[k] = drawn(logits[k], mask[k], keys[k])


@kernel
def chances_of_rows(
    logits: npt.NDArray[np.float32], mask: npt.NDArray[np.int8], greedy: bool, out: npt.NDArray[np.float64]
) -> None:
    """Write the probabilities for the logits of row k to `out[k]`."""
    for k in range(out.shape[0]):
        logits_to_chances(logits[k], mask[k], greedy, out[k])


@kernel
def logits_rows(net: Net, shown: npt.NDArray[Any], out: npt.NDArray[np.float32]) -> None:
    """Write the logits of row k to `out[k]`."""
    for k in range(out.shape[0]):
        out[k] = forward(net, shown[k])


@kernel
def act(net: Net, shown: npt.NDArray[Any], mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Return the network's action, in the form of a bot's kernel that reads the flat vector."""
    logits = forward(net, shown)
    return likeliest(logits, mask) if net.greedy else drawn(logits, mask, key)


# Networks that rate one action after the other ------------------------------------------------------------------------


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
        mask, room = np.ascontiguousarray(legal, np.int8), np.zeros((legal.shape[1], self.number), np.float32)
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
