"""Mixed play: a network of gains plays each action with probability proportional to exp(gain / temperature), both in
standard deviations of the targets.

Where cards are hidden, opponents can predict a player who always plays the most likely action. A policy that repeatedly
improves its own mixed play is smooth fictitious play (Fudenberg and Levine 1998); it converges to a quantal response
equilibrium (McKelvey and Palfrey 1995), in which a choice between two actions loses 0.28 temperatures at most, the
greatest value of x / (1 + exp(x)).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

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
