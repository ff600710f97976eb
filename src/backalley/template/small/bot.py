"""The rule-based players of Template, weakest first."""

import numpy as np
import numpy.typing as npt

from backalley.envs.core.compile.interfaces import Bot
from backalley.envs.core.compile.kernel import kernel

from .observation import Observation
from .state import FOLD, PACK, STAY, Options


@kernel
def median(options: Options, observation: Observation, mask: npt.NDArray[np.int8], key: np.uint64) -> int:
    """Stays with a card of the upper half: hearts and spades."""
    for card in range(PACK // 2):
        if observation.card[card]:
            return FOLD
    return STAY


BOTS = (Bot("median", median, "Stays with a card of the upper half."),)
