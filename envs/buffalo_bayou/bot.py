"""The rule-based players of Buffalo Bayou Backhand; how they play a hand is `backhand_series/counting.py`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..backhand_series import counting
from ..backhand_series.counting import Stakes
from ..core.compile.interfaces import Bot
from ..core.compile.kernel import kernel
from .observation import Observation
from .state import Options


@kernel
def stakes(options: Options, observation: Observation) -> Stakes:
    """Every hand won gains 1, a tie nothing, every hand lost costs 1."""
    return Stakes(
        counting.show_cards(observation), options.dealer_total_cap, False, np.ones(counting.PLACES), 0.0, -1.0
    )


@kernel
def book(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """The book play of the series."""
    only = counting.only_action(mask)
    return only if only >= 0 else counting.book(observation, stakes(options, observation))


@kernel
def counter(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """One card ahead."""
    only = counting.only_action(mask)
    return only if only >= 0 else counting.counter(observation, mask, stakes(options, observation))


@kernel
def planner(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """To the end of the hand."""
    only = counting.only_action(mask)
    return only if only >= 0 else counting.planner(options, observation, mask, stakes(options, observation))


BOTS = (
    Bot(
        "book",
        book,
        (
            "Hits to 13, calls backhand from 14 where most of the stub "
            "passes 21 and beats the dealer, throws push hands away."
        ),
    ),
    Bot("counter", counter, "Counts the stub and takes the best expectation over the next card alone."),
    Bot(
        "planner",
        planner,
        "Counts the stub to the end of the hand: the best expectation over all the cards it may still draw.",
    ),
)
