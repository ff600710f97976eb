"""Play a bot with a learned residual: the network predicts how much better each other action is than the bot's, and the
best one is played if it leads by more than a margin. It reads the observation with the bot's action, or the features of
one action after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.kernels import ActionFeatures, Bot, kernel, passing, specialise, template, unbound

from .inference import Net, forward_with_reference, rated_kernels


class Corrected(NamedTuple):
    """The kernel's first argument."""

    options: Any
    """The game's options, for the bot."""
    net: Net
    margin: float
    """In the network's own units; infinite means that only the bot plays."""


@kernel
def correction(advantages: npt.NDArray[np.float32], mask: npt.NDArray[np.int8], advice: int, margin: float) -> int:
    """Return the legal action of the greatest advantage over the advice, the first among equals, if that exceeds the
    margin; else the advice."""
    best = advice
    for action in range(mask.shape[0]):
        if mask[action] and action != advice:
            bar = margin if best == advice else float(advantages[best])
            if float(advantages[action]) > bar:
                best = action
    return best


@passing
def solves_nothing(options: Any, observation: Any) -> bool:
    """For bots whose play is nowhere exact."""
    return False


ADVICE = SOLVES = CORRECT = RATE = unbound
"""The bot's kernels in `act_corrected`, one of the two below, and `rate` for the game, in the templates below."""


@passing
def correct_by_observation(
    options: Any, net: Net, shown: Any, mask: npt.NDArray[np.int8], advice: int, margin: float
) -> int:
    """Return the `correction` of a network that reads the observation, the vector `shown[1]`."""
    return correction(forward_with_reference(net, shown[1], advice), mask, advice, margin)


@template
def correct_by_features(
    options: Any, net: Net, shown: Any, mask: npt.NDArray[np.int8], advice: int, margin: float
) -> int:
    """Return the `correction` of a network that rates one action by its features, from the record `shown[0]`."""
    RATE(options, net, shown[0], mask)
    gains = net.room.gains
    own = gains[advice]
    for action in range(mask.shape[0]):
        if mask[action]:
            gains[action] -= own
    return correction(gains, mask, advice, margin)


@functools.cache
def correct_by(features: ActionFeatures | None) -> Callable[..., int]:
    """Return the correction of a network that reads these features, or without any the observation."""
    if features is None:
        return correct_by_observation
    return specialise([correct_by_features], {"RATE": rated_kernels(features)["rate"]})["correct_by_features"]


@template
def after_advice(by: Corrected, shown: Any, mask: npt.NDArray[np.int8], advice: int) -> int:
    """Return the action for the record `shown[0]` and the vector `shown[1]` where the bot plays `advice`."""
    if by.margin == np.inf or SOLVES(by.options, shown[0]):
        return advice
    if not 0 <= advice < mask.shape[0] or not mask[advice]:
        return advice  # no input stands for it; validation reports an observation that no table shows
    return int(CORRECT(by.options, by.net, shown, mask, advice, by.margin))


@template
def act_corrected(by: Corrected, shown: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Return the action in the form of a bot's kernel."""
    played: int = after_advice(by, shown, mask, int(ADVICE(by.options, shown[0], mask, key)))
    return played


@template
def follow_advice(by: Corrected, shown: Any, mask: npt.NDArray[np.int8], advice: np.uint64) -> int:
    """Return the same in the form of a bot's kernel, with the bot's action in place of the key."""
    played: int = after_advice(by, shown, mask, np.int64(advice))
    return played


@functools.cache
def _kernels(bot: Bot, features: ActionFeatures | None) -> dict[str, Callable[..., int]]:
    names = {"ADVICE": bot.act, "SOLVES": bot.solves or solves_nothing, "CORRECT": correct_by(features)}
    return specialise([after_advice, act_corrected, follow_advice], names)


def corrected(bot: Bot, features: ActionFeatures | None) -> Callable[..., int]:
    """Return `act_corrected` for a bot, and for what the network reads of each action, if it does."""
    return _kernels(bot, features)["act_corrected"]


def advised(bot: Bot, features: ActionFeatures | None) -> Callable[..., int]:
    """Return `follow_advice` for the same."""
    return _kernels(bot, features)["follow_advice"]
