"""How a bot with learned corrections is played: the bot is asked, a network says how much better each other action is,
and the best of them is played where it leads by more than a margin."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from backalley.envs.core.kernel import kernel, passing
from backalley.envs.core.parts import Bot
from backalley.envs.core.specialise import specialise, template, unbound

from .inference import Net, forward_advised


class Corrected(NamedTuple):
    """What the kernel plays by."""

    options: Any
    """The game's, for the bot."""
    net: Net
    margin: float
    """In the network's own units; infinite, the bot alone plays."""


@kernel
def correction(advantages: npt.NDArray[np.float32], mask: npt.NDArray[np.int8], advice: int, margin: float) -> int:
    """The legal action of the greatest advantage over the advice, of equals the first, where that exceeds the margin;
    else the advice."""
    best = advice
    for action in range(mask.shape[0]):
        if mask[action] and action != advice:
            bar = margin if best == advice else float(advantages[best])
            if float(advantages[action]) > bar:
                best = action
    return best


@passing
def solves_nothing(options: Any, observation: Any) -> bool:
    """For bots that play exactly nowhere."""
    return False


ADVICE = SOLVES = unbound
"""The bot's kernels in `act_corrected`."""


@template
def act_corrected(by: Corrected, shown: Any, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """What is played where the record `shown[0]` and the vector `shown[1]` are seen, in the form of a bot's kernel."""
    advice: int = ADVICE(by.options, shown[0], mask, key)
    if by.margin == np.inf or SOLVES(by.options, shown[0]):
        return advice
    if not 0 <= advice < mask.shape[0] or not mask[advice]:
        return advice  # no input stands for it: whoever showed what no table shows is told so at the door
    return correction(forward_advised(by.net, shown[1], advice), mask, advice, by.margin)


@functools.cache
def corrected(bot: Bot) -> Callable[..., int]:
    """`act_corrected` for a bot."""
    return specialise([act_corrected], {"ADVICE": bot.act, "SOLVES": bot.solves or solves_nothing})["act_corrected"]
