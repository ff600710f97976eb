"""Play that mixes: a network of gains that plays each action with probability proportional to exp(gain / temperature).

Where cards are hidden, whoever always plays the likeliest action can be read. A policy that betters its own mixed play
so, again and again, is smooth fictitious play (Fudenberg and Levine 1998); where it settles is a quantal response
equilibrium (McKelvey and Palfrey 1995): a choice between two actions then gives away 0.28 temperatures at most, the
greatest value of x / (1 + exp(x)).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .config import ConfigError, Learned
from .config import Playouts as PlayoutsSettings

_STEEPEST = 30_000.0
"""The greatest weight of a head: a policy's file holds twice as much. Play so steep draws no more than the likeliest
does."""


def check_temperature(settings: PlayoutsSettings) -> None:
    """Raise ConfigError for a temperature of what is not drawn."""
    if settings.temperature and settings.learned != Learned.GAINS:
        learned = settings.learned.name.lower()
        raise ConfigError(
            f"playouts.temperature is {settings.temperature:g} and playouts.learned is {learned}: "
            "only gains tell how much likelier one action is than another; set playouts.learned=gains, or leave the "
            "temperature at 0."
        )


def by_temperature(
    weights: Mapping[str, npt.NDArray[Any]], unit: float, temperature: float
) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a network of gains with its last layer so scaled that its logits are gain / temperature.

    `unit` is what its outputs are counted in, in the game's rewards, as is `temperature`; with a unit of 0 nothing is
    known yet, and every action is as likely. With a temperature of 0 the arrays are as they were.
    """
    scaled = dict(weights)
    if not temperature:
        return scaled
    greatest = max(float(np.abs(weights[name][:-1]).max(initial=0)) for name in ("head.weight", "head.bias"))
    factor = min(unit / temperature, _STEEPEST / max(greatest, 1e-9))
    for name in ("head.weight", "head.bias"):
        scaled[name] = weights[name].copy()
        scaled[name][:-1] *= np.float32(factor)  # the last row is the value, which nobody asks for
    return scaled
