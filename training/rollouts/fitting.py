"""Fit a network to targets, minibatch after minibatch, and let it mix its play.

A network of gains plays each action with probability proportional to exp(gain / temperature), both in standard
deviations of the targets. Where cards are hidden, opponents can predict a player who always plays the most likely
action. A policy that repeatedly improves its own mixed play is smooth fictitious play (Fudenberg and Levine 1998); it
converges to a quantal response equilibrium (McKelvey and Palfrey 1995), in which a choice between two actions loses
0.28 temperatures at most, the greatest value of x / (1 + exp(x)).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from backalley.agents.policies.network import one_thread
from backalley.agents.policies.policy_kinds import network_size
from backalley.envs.core.game.kernels import kernel

from ..shared.learner import Learner, Outputs, Part

Loss = Callable[[Outputs, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.float64]], None]
"""`loss(outputs, targets, weights, sums)` writes its derivative by each of the outputs [n, A + 1] over them, and adds
the rows' weight and their loss to `sums` [2]; targets and weights [n, A], or [n, A + 1] with those of the value."""
Rows = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
"""Inputs [n, I], targets [n, A] and weights [n, A]."""


_UPDATES = 1000
"""How many updates the weights of a policy that learning begins from count as in the average: the first ones would
otherwise replace them."""


@kernel
def squared(
    outputs: npt.NDArray[np.float32],
    targets: npt.NDArray[np.float32],
    weights: npt.NDArray[np.float32],
    sums: npt.NDArray[np.float64],
) -> None:
    """Weighted squared errors."""
    actions = targets.shape[1]
    for row in range(targets.shape[0]):
        for action in range(actions):
            missed, weight = outputs[row, action] - targets[row, action], weights[row, action]
            sums[0] += weight
            sums[1] += weight * missed * missed
            outputs[row, action] = 2 * weight * missed
        for value in range(actions, outputs.shape[1]):  # one without a target
            outputs[row, value] = 0


@kernel
def centred(
    outputs: npt.NDArray[np.float32],
    targets: npt.NDArray[np.float32],
    rows: npt.NDArray[np.float32],
    sums: npt.NDArray[np.float64],
) -> None:
    """Squared errors of a network that rates one action [n, 1], beside the mean error over the legal actions of its
    decision: only differences between them are played by. `rows` [n, 1] says at a decision's first action how many
    there are."""
    first = 0
    while first < targets.shape[0]:
        last, mean = first + int(rows[first, 0]), 0.0
        for row in range(first, last):
            mean += (outputs[row, 0] - targets[row, 0]) / (last - first)
        for row in range(first, last):
            missed = outputs[row, 0] - targets[row, 0] - mean
            sums[0] += 1.0
            sums[1] += missed * missed
            outputs[row, 0], outputs[row, 1] = 2 * missed, 0
        first = last


class Fitting(Learner):
    """A network that is fitted to targets."""

    def __init__(
        self,
        bound: npt.NDArray[np.float64],
        num_actions: int,
        *,
        width: int,
        layers: int,
        start: Mapping[str, npt.NDArray[Any]] | None = None,
        **learner: Any,
    ) -> None:
        """Arguments as in Learner. `start` are the arrays of a policy's network to begin from, which then say its size:
        their average begins as if after `_UPDATES` updates."""
        width, layers = network_size(start) if start else (width, layers)
        super().__init__(bound, num_actions, width=width, layers=layers, **learner)
        if start:
            self.begin_from(start)
            self.averaged = _UPDATES

    def learn(self, count: int, rows: Callable[[int, int], Rows], loss: Loss) -> float:
        """Make one step on a minibatch of `count` rows; `rows(low, high)` gives some of them, on any thread. Return the
        mean loss."""

        def part(low: int, high: int) -> Part:
            inputs, targets, weights = rows(low, high)

            def summed(outputs: Outputs) -> npt.NDArray[np.float64]:
                sums = np.zeros(2)
                loss(outputs, targets, weights, sums)
                return sums

            return torch.from_numpy(inputs), summed

        weight, total = self.descend(count, part)
        self.follow()
        return float(total / max(weight, 1e-9))

    def outputs(self, inputs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the averaged network's outputs for inputs [n, I]: float32 [n, A]."""
        with torch.no_grad(), one_thread():
            found: npt.NDArray[np.float32] = self.average(torch.from_numpy(inputs).to(self.device))[0].cpu().numpy()
        return found


# Mixed play -----------------------------------------------------------------------------------------------------------

_STEEPEST = 30_000.0
"""The greatest weight of a head: a policy's file holds twice as much. Steeper play would draw only the most likely
action anyway."""


def by_temperature(weights: Mapping[str, npt.NDArray[Any]], temperature: float) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a network of gains with its last layer scaled so that its logits are gain / temperature.

    With an infinite temperature every action is equally likely. With a temperature of 0 the arrays are unchanged.
    """
    scaled = dict(weights)
    if not temperature:
        return scaled
    greatest = max(float(np.abs(weights[name][:-1]).max(initial=0)) for name in ("head.weight", "head.bias"))
    factor = min(1 / temperature, _STEEPEST / max(greatest, 1e-9))
    for name in ("head.weight", "head.bias"):
        scaled[name] = weights[name].copy()
        scaled[name][:-1] *= np.float32(factor)  # the last row is the value, which nobody asks for
    return scaled
