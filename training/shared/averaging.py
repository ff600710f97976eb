"""Averaged weights of a learner's network, and their form in a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt
import torch

from backalley.agents.policies.network import PolicyNetwork, weights_of

from .checkpoint import Arrays

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def follow(average: PolicyNetwork, network: PolicyNetwork, updates: int, averaging: float) -> None:
    """Add the weights after the `updates`-th update (from 1) to the average, with more weight on later ones: with
    `averaging` = e the t-th has weight (e + 1) / (t + e) when it is added, so that at any time about the last 1 / (e +
    1) of the run counts; 0 is the plain mean. There is no horizon, so a run does not depend on its budget. (Shamir and
    Zhang 2013, polynomial-decay averaging.)
    """
    share = (averaging + 1) / (updates + averaging)
    with torch.no_grad():
        for kept, new in zip(average.parameters(), network.parameters(), strict=True):
            kept.lerp_(new, share)


def learner_arrays(network: PolicyNetwork, average: PolicyNetwork, adam: torch.optim.Optimizer) -> Arrays:
    """Return weights, their average and Adam's moments, by name."""
    kept: dict[str, npt.NDArray[Any]] = {f"network.{name}": array for name, array in weights_of(network).items()}
    kept |= {f"average.{name}": array for name, array in weights_of(average).items()}
    for name, parameter in network.named_parameters():
        for key, value in adam.state[parameter].items():
            kept[f"adam.{name}.{key}"] = value.detach().cpu().numpy()
    return kept


def restore_learner(
    arrays: Mapping[str, npt.NDArray[Any]],
    network: PolicyNetwork,
    average: PolicyNetwork,
    adam: torch.optim.Optimizer,
) -> None:
    """Restore from `learner_arrays`, to the network's device. Raises KeyError or RuntimeError where they do not fit."""
    for part, target in (("network", network), ("average", average)):
        target.load_state_dict({name: torch.from_numpy(arrays[f"{part}.{name}"]) for name in target.state_dict()})
    for name, parameter in network.named_parameters():
        state = {key: arrays[f"adam.{name}.{key}"] for key in _MOMENTS if f"adam.{name}.{key}" in arrays}
        if state:
            found = {key: torch.from_numpy(array) for key, array in state.items()}
            adam.state[parameter] = {k: v if k == "step" else v.to(parameter.device) for k, v in found.items()}
