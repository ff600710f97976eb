"""What a race is made of: who leads, who has fallen behind, what is decided, and what is found."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.kernel import kernel

BEHIND = 2.0
"""Standard errors by which an action that trails the leader is dropped."""


class Judgement(NamedTuple):
    """What a search found for n decisions."""

    action: npt.NDArray[np.int64]
    """What it would play [n]."""
    value: npt.NDArray[np.float64]
    """What the seat to act gains on average by each action, from here to where playouts end; NaN where an action is not
    legal, or where nothing had to be searched [n, A]."""
    error: npt.NDArray[np.float64]
    """The standard error of that [n, A]."""
    worlds: npt.NDArray[np.int64]
    """The worlds that each action was played in: those dropped early met fewer [n, A]."""


@kernel
def paired(values: npt.NDArray[np.float64], worlds: int, one: int, other: int) -> tuple[float, float]:
    """By how much `one` leads `other` on average over the first `worlds` of `values` [W, A], and the standard error."""
    total = squares = 0.0
    for world in range(worlds):
        lead = values[world, one] - values[world, other]
        total += lead
        squares += lead * lead
    mean = total / worlds
    return mean, math.sqrt(max(squares / worlds - mean * mean, 0.0) / max(worlds - 1, 1))


@kernel
def drop_hopeless(
    values: npt.NDArray[np.float64], worlds: int, base: int, played: npt.NDArray[np.int64],
    running: npt.NDArray[np.int8],
) -> int:  # fmt: skip
    """Take out of `running` [A] who trails the leader surely, or does no better in any world; gives how many are left.
    Among equals the `base` leads."""
    leader, best = base, -math.inf
    for action in range(running.shape[0]):
        if running[action]:
            played[action] = worlds
            mean = values[:worlds, action].sum() / worlds
            if mean > best or (mean == best and action == base):
                leader, best = action, mean
    left = 0
    for action in range(running.shape[0]):
        if running[action] and action != leader:
            lead, error = paired(values, worlds, leader, action)
            if lead >= BEHIND * error:
                running[action] = 0
        left += int(running[action])
    return left


@kernel
def decide(
    values: npt.NDArray[np.float64], played: npt.NDArray[np.int64], running: npt.NDArray[np.int8], base: int,
    caution: float, value: npt.NDArray[np.float64], error: npt.NDArray[np.float64],
) -> int:  # fmt: skip
    """The leader, or the `base` where it does not lead that one by more than `caution` standard errors over the worlds
    that both met; `value` and `error` [A] become what each action was found to be worth."""
    leader, best = base, -math.inf
    for action in range(running.shape[0]):
        count = played[action]
        if count == 0:
            continue
        total = squares = 0.0
        for world in range(count):
            total += values[world, action]
            squares += values[world, action] ** 2
        mean = total / count
        value[action] = mean
        error[action] = math.sqrt(max(squares / count - mean * mean, 0.0) / max(count - 1, 1))
        if running[action] and (mean > best or (mean == best and action == base)):
            leader, best = action, mean
    both = min(played[base], played[leader])
    if both == 0:
        return base
    lead, doubt = paired(values, both, leader, base)
    return leader if lead > caution * doubt else base


class Race(NamedTuple):
    """How n races went, of K runners each."""

    values: npt.NDArray[np.float64]
    """What each gained in each world that it met [n, W, K]."""
    played: npt.NDArray[np.int64]
    """The worlds that each met [n, K]."""
    running: npt.NDArray[np.int8]
    """Who was not dropped [n, K]."""


class RacedPlans(NamedTuple):
    """What came of racing C plans of S steps."""

    plans: npt.NDArray[np.int64]
    """[C, S]"""
    best: int
    value: npt.NDArray[np.float64]
    """[C], as `error` and `worlds`; NaN where there was no plan, or no other one."""
    error: npt.NDArray[np.float64]
    worlds: npt.NDArray[np.int64]

    def left(self, begun: int) -> npt.NDArray[np.int64]:
        """The steps of the best plan that are left after the first `begun` [S], -1 after the last."""
        steps = self.plans[self.best]
        return np.concatenate([steps[begun:], np.full(begun, -1)])

    def tell(self, found: Judgement, row: int, begun: int) -> None:
        """Write what was found for a table at which `begun` steps of the best plan lie. An action is worth the
        best plan that agrees with them and goes on with it."""
        steps = self.plans[self.best]
        found.action[row] = steps[begun]
        for number in np.argsort(self.value):  # NaN come last
            if np.isfinite(self.value[number]) and (self.plans[number, :begun] == steps[:begun]).all():
                action = self.plans[number, begun]
                found.value[row, action] = self.value[number]
                found.error[row, action] = self.error[number]
                found.worlds[row, action] = self.worlds[number]
