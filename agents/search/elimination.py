"""Action elimination in racing: who leads, which actions are dropped, the decision, and the result."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.kernels import kernel

BEHIND = 2.0
"""An action that trails the leader by this many standard errors is dropped."""


class Analysis(NamedTuple):
    """The result of a search for n decisions."""

    action: npt.NDArray[np.int64]
    """The chosen actions [n]."""
    value: npt.NDArray[np.float64]
    """The mean gain of the seat to act by each action, from here to where rollouts end; NaN where an action is not
    legal, or where nothing had to be searched [n, A]."""
    error: npt.NDArray[np.float64]
    """The standard error of that [n, A]."""
    determinizations: npt.NDArray[np.int64]
    """The number of determinizations of each action, smaller for those dropped early [n, A]."""


@kernel
def paired(values: npt.NDArray[np.float64], determinizations: int, one: int, other: int) -> tuple[float, float]:
    """Return the mean lead of `one` over `other` in the first `determinizations` of `values` [W, A], and its standard
    error."""
    total = squares = 0.0
    for determinization in range(determinizations):
        lead = values[determinization, one] - values[determinization, other]
        total += lead
        squares += lead * lead
    mean = total / determinizations
    return mean, math.sqrt(max(squares / determinizations - mean * mean, 0.0) / max(determinizations - 1, 1))


@kernel
def drop_hopeless(
    values: npt.NDArray[np.float64], determinizations: int, base: int, played: npt.NDArray[np.int64],
    running: npt.NDArray[np.int8],
) -> int:  # fmt: skip
    """Remove from `running` [A] every action that surely trails the leader, or does no better in any determinization;
    return how many are left. Among equals the `base` leads."""
    leader, best = base, -math.inf
    for action in range(running.shape[0]):
        if running[action]:
            played[action] = determinizations
            mean = values[:determinizations, action].sum() / determinizations
            if mean > best or (mean == best and action == base):
                leader, best = action, mean
    left = 0
    for action in range(running.shape[0]):
        if running[action] and action != leader:
            lead, error = paired(values, determinizations, leader, action)
            if lead >= BEHIND * error:
                running[action] = 0
        left += int(running[action])
    return left


@kernel
def decide(
    values: npt.NDArray[np.float64], played: npt.NDArray[np.int64], running: npt.NDArray[np.int8], base: int,
    z_threshold: float, value: npt.NDArray[np.float64], error: npt.NDArray[np.float64],
) -> int:  # fmt: skip
    """Return the leader, or the `base` unless the leader is ahead of it by more than `z_threshold` standard errors over
    the determinizations that both met; write each action's mean and standard error to `value` and `error` [A]."""
    leader, best = base, -math.inf
    for action in range(running.shape[0]):
        count = played[action]
        if count == 0:
            continue
        total = squares = 0.0
        for determinization in range(count):
            total += values[determinization, action]
            squares += values[determinization, action] ** 2
        mean = total / count
        value[action] = mean
        error[action] = math.sqrt(max(squares / count - mean * mean, 0.0) / max(count - 1, 1))
        if running[action] and (mean > best or (mean == best and action == base)):
            leader, best = action, mean
    both = min(played[base], played[leader])
    if both == 0:
        return base
    lead, doubt = paired(values, both, leader, base)
    return leader if lead > z_threshold * doubt else base


class Racing(NamedTuple):
    """The result of n races with K candidates each."""

    values: npt.NDArray[np.float64]
    """The gain of each in each determinization that it met [n, W, K]."""
    played: npt.NDArray[np.int64]
    """The number of determinizations that each met [n, K]."""
    running: npt.NDArray[np.int8]
    """Which were not dropped [n, K]."""


class RacingPlans(NamedTuple):
    """The result of racing C plans of S steps."""

    plans: npt.NDArray[np.int64]
    """[C, S]"""
    best: int
    value: npt.NDArray[np.float64]
    """[C], as `error` and `determinizations`; NaN where there was no plan, or only one."""
    error: npt.NDArray[np.float64]
    determinizations: npt.NDArray[np.int64]

    def left(self, begun: int) -> npt.NDArray[np.int64]:
        """Return the steps of the best plan after the first `begun` [S], -1 after the last."""
        steps = self.plans[self.best]
        return np.concatenate([steps[begun:], np.full(begun, -1)])

    def tell(self, found: Analysis, row: int, begun: int) -> None:
        """Write the result for a table where `begun` steps of the best plan have been played. The value of an action is
        that of the best plan that agrees with them and has it as its next step."""
        steps = self.plans[self.best]
        found.action[row] = steps[begun]
        for number in np.argsort(self.value):  # NaN come last
            if np.isfinite(self.value[number]) and (self.plans[number, :begun] == steps[:begun]).all():
                action = self.plans[number, begun]
                found.value[row, action] = self.value[number]
                found.error[row, action] = self.error[number]
                found.determinizations[row, action] = self.determinizations[number]
