"""What `Agent.action_probabilities` and `action_frequencies` are made of, for agents that answer keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from backalley.console.errors import InvalidValue
from backalley.envs.core.game.arguments import count

from .keys import forked

Probabilities = npt.NDArray[np.float64]
Answers = Callable[[npt.NDArray[np.uint64]], npt.NDArray[np.int64]]
"""`answers(keys)`: the actions of an agent for n tables [n] where its keys are these [n]."""
DRAWS = 256
"""Keys that `action_frequencies` asks by default."""
_SUMS_TO = 1e-6


class NoProbabilities(InvalidValue):
    """An agent that does not tell the probabilities of its actions; the message says why."""


def no_probabilities(who: str, is_deterministic: bool | None) -> NoProbabilities:
    """Return the error for an agent that cannot tell them."""
    if is_deterministic is False:
        return NoProbabilities(
            f"{who} draws by its key in a way whose exact probabilities are not known; action_frequencies estimates "
            "them."
        )
    return NoProbabilities(
        f"{who} does not tell the probabilities of its actions. Let it define action_probabilities(view), or say "
        "is_deterministic = True if its key never matters; action_frequencies estimates them."
    )


def certain(who: str, answers: Answers, keys: npt.NDArray[np.uint64], mask: npt.NDArray[np.int8]) -> Probabilities:
    """Return rows of one 1 each [n, A] for an agent that says it is deterministic. Raises ValueError where two
    keys get different answers, or one that is not legal."""
    actions, rows = answers(keys), np.arange(len(mask))
    other = np.flatnonzero(answers(forked(keys, 0)) != actions)
    if len(other):
        raise InvalidValue(f"{who} says that it is deterministic, and answers two keys differently at row {other[0]}.")
    within = np.clip(actions, 0, mask.shape[1] - 1)
    if (within != actions).any() or not mask[rows, within].all():
        raise InvalidValue(f"{who} has no probabilities: it chooses an action that is not legal.")
    found = np.zeros(mask.shape)
    found[rows, actions] = 1.0
    return found


def shares(answers: Answers, keys: npt.NDArray[np.uint64], num_actions: int, draws: int) -> Probabilities:
    """Return how often each action is the answer to `draws` keys that follow from `keys` [n], as shares [n, A]."""
    draws = count(draws, "draws", 1)
    counts, rows = np.zeros((len(keys), num_actions), np.int64), np.arange(len(keys))
    for number in range(draws):
        counts[rows, answers(forked(keys, number))] += 1
    return counts / draws


def checked(who: str, given: Any, mask: npt.NDArray[np.int8]) -> Probabilities:
    """Return what a user's agent tells as float64 [n, A]. Raises ValueError where it is no distribution over the legal
    actions of each row."""
    try:
        found = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise InvalidValue(f"{who} gave action probabilities that are no array of numbers.") from None
    if found.shape != mask.shape:
        raise InvalidValue(f"{who} gave action probabilities of shape {found.shape}; this view takes {mask.shape}.")
    good = (found >= 0).all(1) & (np.abs(found.sum(1) - 1) <= _SUMS_TO) & ~(found * (mask == 0)).any(1)
    if not good.all():
        row = int(np.argmin(good))
        raise InvalidValue(
            f"{who} gave action probabilities that are no distribution over the legal actions of row {row}: they are 0 "
            "or more, 0 where an action is illegal, and sum to 1."
        )
    return found
