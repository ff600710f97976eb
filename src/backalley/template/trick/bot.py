"""The rule-based players of Template, weakest first."""

import numpy as np
import numpy.typing as npt

from backalley.envs.core.compile.interfaces import Bot
from backalley.envs.core.compile.kernel import kernel
from backalley.envs.core.rules import tricks

from .observation import Observation
from .state import PACK_SIZE, Options


@kernel
def highest(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Plays the highest card it may, of two equal ones that of the higher suit."""
    best = -1
    for card in range(PACK_SIZE):
        if mask[card] and (
            best < 0 or tricks.strength(card, tricks.JOKERS_HIGH) >= tricks.strength(best, tricks.JOKERS_HIGH)
        ):
            best = card
    return best


BOTS = (Bot("highest", highest, "Plays the highest card it may."),)
