"""How a learned network is played: in float32, one number after the other, by compiled code.

No matrix library takes part, so an action is the same alone and in any batch, on any number of threads and with or
without torch: every sum has one order, in which inputs of zero are left out (they add nothing, and most of an
observation is zero). *Measured*: 6 microseconds a decision for 736
inputs, a tenth of them not zero, two layers of 256 and 56 actions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core import rng
from backalley.envs.core.kernel import kernel

_DRAWS = 2**31


class Room(NamedTuple):
    """What a pass through a network works in: no two threads may share one."""

    units: npt.NDArray[np.float32]
    """A layer's units."""
    inputs: npt.NDArray[np.int64]
    """The numbers of its inputs that are not zero."""
    values: npt.NDArray[np.float32]
    """What these are."""


class Net(NamedTuple):
    """A network as its kernel takes it: an argument, since a kernel would keep a global array of its first compilation
    on disk."""

    sizes: npt.NDArray[np.int64]
    """Numbers of inputs, of units of each layer, and of actions [L + 2]."""
    numbers: npt.NDArray[np.float32]
    """Layer by layer the weights [inputs, outputs], then the biases."""
    greedy: bool
    """Whether the likeliest action is played, or one drawn."""
    room: Room


def net_of(weights: Mapping[str, npt.NDArray[Any]], bound: npt.NDArray[np.float64], *, greedy: bool) -> Net:
    """A Net of the arrays of `network.PolicyNetwork` (`trunk.0.weight` [outputs, inputs] and so on); what it reads is
    divided by `bound` [O], in the weights of the first layer. The value, its last output, is left out."""
    names = [f"trunk.{number}" for number in range(sum(name.startswith("trunk.") for name in weights) // 2)]
    layers = [(weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in names]
    layers.append((weights["head.weight"][:-1], weights["head.bias"][:-1]))
    sizes = [layers[0][0].shape[1], *(len(bias) for _, bias in layers)]
    parts = []
    for number, (weight, bias) in enumerate(layers):
        factor = scale_of(bound) if number == 0 else np.float32(1)
        parts += [(weight.astype(np.float32) * factor).T.reshape(-1), bias.astype(np.float32)]
    return Net(np.array(sizes), np.concatenate(parts), greedy, _room(max(sizes)))


def _room(widest: int) -> Room:
    return Room(np.zeros(widest, np.float32), np.zeros(widest, np.int64), np.zeros(widest, np.float32))


def scale_of(bound: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """What each number of an observation is multiplied by, so that a network sees -1..1; what has no bound stays as it
    is."""
    usable = np.isfinite(bound) & (bound > 0)
    return np.where(usable, 1 / np.where(usable, bound, 1), 1).astype(np.float32)


def own_room(net: Net) -> Net:
    """The same network with room of its own, for another thread."""
    return net._replace(room=_room(len(net.room.units)))


@kernel
def keep_inputs(given: npt.NDArray[Any], room: Room) -> int:
    """Note the inputs that are not zero; how many they are."""
    count = 0
    for number in range(given.shape[0]):
        if given[number] != 0:
            room.inputs[count], room.values[count] = number, np.float32(given[number])
            count += 1
    return count


@kernel
def add_four(units: npt.NDArray[np.float32], weights: npt.NDArray[np.float32], room: Room, first: int) -> None:
    """Add four inputs to the units of a layer, one after the other: the sums of four times `add_one`, with a quarter of
    the way to memory."""
    outputs = units.shape[0]
    one, two = room.inputs[first] * outputs, room.inputs[first + 1] * outputs
    three, four = room.inputs[first + 2] * outputs, room.inputs[first + 3] * outputs
    w, x, y, z = room.values[first], room.values[first + 1], room.values[first + 2], room.values[first + 3]
    first_row, second_row = weights[one : one + outputs], weights[two : two + outputs]
    third_row, fourth_row = weights[three : three + outputs], weights[four : four + outputs]
    for unit in range(outputs):
        units[unit] = (
            ((units[unit] + w * first_row[unit]) + x * second_row[unit]) + y * third_row[unit]
        ) + z * fourth_row[unit]


@kernel
def add_one(units: npt.NDArray[np.float32], weights: npt.NDArray[np.float32], room: Room, which: int) -> None:
    """Add one input to the units of a layer."""
    value, begin = room.values[which], room.inputs[which] * units.shape[0]
    row = weights[begin : begin + units.shape[0]]
    for unit in range(units.shape[0]):
        units[unit] += value * row[unit]


@kernel
def forward(net: Net, shown: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """The logits of every action, in the net's room until it is used again."""
    return through_layers(net, keep_inputs(shown, net.room))


@kernel
def forward_advised(net: Net, shown: npt.NDArray[Any], advice: int) -> npt.NDArray[np.float32]:
    """The same for a network that has an input for each action beside the observation: 1 for the `advice`."""
    count = keep_inputs(shown, net.room)
    net.room.inputs[count], net.room.values[count] = shown.shape[0] + advice, np.float32(1)
    return through_layers(net, count + 1)


@kernel
def through_layers(net: Net, count: int) -> npt.NDArray[np.float32]:
    """The network's outputs for the `count` inputs that its room holds."""
    last, place, room = net.sizes.shape[0] - 2, 0, net.room
    for layer in range(last + 1):
        outputs = net.sizes[layer + 1]
        biases = place + net.sizes[layer] * outputs
        units, weights = room.units[:outputs], net.numbers[place:biases]
        units[:] = net.numbers[biases : biases + outputs]
        fours = count - count % 4
        for first in range(0, fours, 4):
            add_four(units, weights, room, first)
        for which in range(fours, count):
            add_one(units, weights, room, which)
        if layer < last:
            for unit in range(outputs):
                units[unit] = max(units[unit], np.float32(0))
            count = keep_inputs(units, room)
        place = biases + outputs
    return room.units[: net.sizes[last + 1]]


@kernel
def likeliest(logits: npt.NDArray[np.float32], mask: npt.NDArray[np.int8]) -> int:
    """The legal action of the greatest logit, of equals the first; -1 where there is none."""
    best = -1
    for action in range(mask.shape[0]):
        if mask[action] and (best < 0 or logits[action] > logits[best]):
            best = action
    return best


@kernel
def drawn(logits: npt.NDArray[np.float32], mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """A legal action drawn by `key`, with probabilities as the logits say (inverse of the distribution function); -1
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
    """`out` [A] becomes the probability with which `act` plays each action."""
    logits = forward(net, shown)
    first = likeliest(logits, mask)
    out[:] = 0.0
    total = 0.0
    for action in range(mask.shape[0]):
        if mask[action] and not net.greedy:
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
    """`out[k]` becomes an action drawn by `keys[k]` as row k says."""
    for k in range(out.shape[0]):
        out[k] = drawn(logits[k], mask[k], keys[k])


@kernel
def logits_rows(net: Net, shown: npt.NDArray[Any], out: npt.NDArray[np.float32]) -> None:
    """`out[k]` becomes the logits of row k."""
    for k in range(out.shape[0]):
        out[k] = forward(net, shown[k])


@kernel
def act(net: Net, shown: npt.NDArray[Any], mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """The network's action, in the form of a bot's kernel that is shown the flat vector."""
    logits = forward(net, shown)
    return likeliest(logits, mask) if net.greedy else drawn(logits, mask, key)
