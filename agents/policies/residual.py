"""Play a bot with a learned residual: the network predicts how much better each other action is than the bot's, and the
best one is played if it leads by more than a margin."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.game.kernels import Bot, kernel, passing, specialise, template, unbound

from .inference import Net, forward_with_reference


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


ADVICE = SOLVES = unbound
"""The bot's kernels in `act_corrected`."""


@template
def after_advice(by: Corrected, shown: Any, mask: npt.NDArray[np.int8], advice: int) -> int:
    """Return the action for the record `shown[0]` and the vector `shown[1]` where the bot plays `advice`."""
    if by.margin == np.inf or SOLVES(by.options, shown[0]):
        return advice
    if not 0 <= advice < mask.shape[0] or not mask[advice]:
        return advice  # no input stands for it; validation reports an observation that no table shows
    return correction(forward_with_reference(by.net, shown[1], advice), mask, advice, by.margin)


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
def _kernels(bot: Bot) -> dict[str, Callable[..., int]]:
    names = {"ADVICE": bot.act, "SOLVES": bot.solves or solves_nothing}
    return specialise([after_advice, act_corrected, follow_advice], names)


def corrected(bot: Bot) -> Callable[..., int]:
    """Return `act_corrected` for a bot."""
    return _kernels(bot)["act_corrected"]


def advised(bot: Bot) -> Callable[..., int]:
    """Return `follow_advice` for a bot."""
    return _kernels(bot)["follow_advice"]
